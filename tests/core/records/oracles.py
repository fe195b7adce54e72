"""The two Python clients of Kafka that ours is compared with, each behind one way to write and one to read a batch."""

import warnings
from collections.abc import Iterable
from types import ModuleType

import aiokafka.record.default_records as aiokafka_records
from attrs import frozen

from goqueue.core.records.batch import Codec
from goqueue.core.records.build import Entry
from goqueue.core.records.record import Record

with warnings.catch_warnings():
    # It reads its schemas, at import, by a function of importlib that 3.11 calls deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.record.default_records as kafka_records
    from kafka.record.util import encode_varint


@frozen
class Oracle:
    """A client's module of batches; both have the same names in it."""

    records: ModuleType

    def encode(
        self,
        entries: Iterable[Entry],
        codec: Codec = Codec.NONE,
        *,
        transactional: bool = False,
        producer: tuple[int, int, int] = (-1, -1, -1),
    ) -> bytearray:
        """The batch that the client makes of `entries`."""
        builder = self.records.DefaultRecordBatchBuilder(2, codec, transactional, *producer, 1 << 22)
        for delta, (timestamp, key, value, headers) in enumerate(entries):
            assert builder.append(delta, timestamp, key, value, list(headers)) is not None
        return bytearray(builder.build())

    def open(self, batch: bytearray) -> "Opened":
        """The batch as the client reads it."""
        return Opened(self.records.DefaultRecordBatch(bytes(batch)))


class Opened:
    """A batch in a client's hands: its CRC checked, its fields, its records."""

    def __init__(self, batch: aiokafka_records.DefaultRecordBatchProtocol) -> None:
        assert batch.validate_crc()
        self.is_control = batch.is_control_batch
        self.is_transactional = batch.is_transactional
        self.next_offset = batch.next_offset
        self.codec = batch.compression_type
        self.has_append_time = batch.timestamp_type == 1
        self.producer = (batch.producer_id, batch.producer_epoch, batch.base_sequence)
        self.records = [Record(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in batch]


AIOKAFKA = Oracle(aiokafka_records)
KAFKA_PYTHON = Oracle(kafka_records)


def kafka_varint(value: int) -> bytes:
    """The varint that kafka-python writes."""
    spelled = bytearray()
    encode_varint(value, spelled.append)
    return bytes(spelled)
