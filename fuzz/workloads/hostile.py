"""A client that publishes batches which nobody could read, or which claim what is not so: each under a right CRC.

Every one of them is wrong for certain, in the header or in its records, so a broker that looks refuses each; in worlds
with such a client every topic has all records checked. What others do is none of its business, and must go on.
"""

from functools import cache
from random import Random

from goqueue.core.log.producers import MOVER_ID
from goqueue.core.records.batch import HEADER_BYTES, Codec
from goqueue.core.records.build import encode
from goqueue.core.records.compression import DECOMPRESSED_BYTES_MAX, compress
from goqueue.core.records.varint import INT64_MAX
from goqueue.core.requests.messages import Acks, PublishBatch
from goqueue.core.requests.row import Request
from goqueue.fuzz.bytes.sealing import seal_batch
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client

_NOW_MS = 1_700_000_000_000
_ATTRIBUTES, _LAST_DELTA, _BASE_TIME, _LATEST_TIME, _PRODUCER, _SEQUENCE, _COUNT = 21, 23, 27, 35, 43, 53, 57
_COMPRESSED = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
# A frame that says how large its content is, which no reader makes room for.
_MORE_THAN_ALL = DECOMPRESSED_BYTES_MAX + 1


class Hostile(Client):
    """Sends batches that are to be refused, as fast as it may."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self.in_flight_max = random.randint(1, options.in_flight_max)

    def next_request(self) -> Request:
        """A publish that must be refused."""
        acks = self.random.choice((Acks.ALL, Acks.ALL, Acks.LEADER, Acks.NONE))
        return PublishBatch(self.draw_topic(), self.draw_partition(), bytearray(self._batch()), acks)

    def _batch(self) -> bytes:
        make = self.random.choice(
            (self._lying, self._spoilt, self._garbled, self._untimely, self._not_ours, self._bomb, self._jumping)
        )
        return seal_batch(bytes(make()))

    def _sound(self, codec: Codec = Codec.NONE) -> bytearray:
        count = self.random.choice((1, 1, 3, 20))
        return encode([(_NOW_MS, b"a", b"hostile|%d" % at, ()) for at in range(count)], codec=codec)

    def _lying(self) -> bytearray:
        """More records than its bytes hold, and as many offsets."""
        batch, count = self._sound(self.random.choice((Codec.NONE, Codec.ZSTD))), 0
        count = self.random.choice((1_000, 1 << 20, (1 << 31) - 1))
        _write(batch, _LAST_DELTA, count - 1, 4)
        _write(batch, _COUNT, count, 4)
        return batch

    def _spoilt(self) -> bytearray:
        """A last record that goes on behind the batch."""
        batch = self._sound()
        batch[-1] = 0x7F
        return batch

    def _garbled(self) -> bytearray:
        """Something compressed that is none."""
        codec = self.random.choice(_COMPRESSED)
        batch = self._sound(codec)
        batch[HEADER_BYTES:] = self.random.randbytes(self.random.choice((1, 10, 1_000)))
        return batch

    def _untimely(self) -> bytearray:
        """A time that never comes, of all records or of the header alone."""
        batch = self._sound()
        _write(batch, _LATEST_TIME, self.random.choice((INT64_MAX, _NOW_MS + 10 * 365 * 86_400_000, _NOW_MS + 1)), 8)
        if self.random.random() < 0.5:
            _write(batch, _BASE_TIME, INT64_MAX - 1, 8)
        return batch

    def _not_ours(self) -> bytearray:
        """What only brokers write, or nobody."""
        batch = self._sound()
        place, value, size = self.random.choice(
            ((_ATTRIBUTES, 0x20, 2), (_ATTRIBUTES, 0x10, 2), (_ATTRIBUTES, 0x08, 2), (_ATTRIBUTES, 0x700, 2),
             (_ATTRIBUTES, 5, 2), (_PRODUCER, MOVER_ID, 8), (_PRODUCER, -2, 8), (_SEQUENCE, 4, 4))
        )  # fmt: skip
        _write(batch, place, value, size)
        return batch

    def _bomb(self) -> bytearray:
        """A few thousand bytes that decompress to more than anybody has room for."""
        batch = self._sound(Codec.ZSTD)
        batch[HEADER_BYTES:] = _bomb()
        return batch

    def _jumping(self) -> bytearray:
        """Offsets that do not rise one by one."""
        batch = encode([(_NOW_MS, b"a", b"hostile|", ())] * 3)
        size = (len(batch) - HEADER_BYTES) // 3
        batch[HEADER_BYTES + size + 3] = self.random.choice((0, 4, 6))
        return batch


def _write(batch: bytearray, place: int, value: int, size: int) -> None:
    batch[place : place + size] = value.to_bytes(size, "big", signed=True)


@cache
def _bomb() -> bytes:
    return compress(Codec.ZSTD, bytes(_MORE_THAN_ALL))
