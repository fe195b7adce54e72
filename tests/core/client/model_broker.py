"""The simplest broker that can be told from a real one by a producer: lists of records, and who wrote what last."""

from collections.abc import Sequence

from attrs import define, field

from goqueue.core.records.batch import read_header, validate_exact
from goqueue.core.records.record import iterate

REMEMBERED = 5


@define
class ModelPartition:
    """A log, and for each producer its epoch, its next sequence, and its last batches as (sequence, count, offset)."""

    log: list[bytes] = field(factory=list)
    producers: dict[int, tuple[int, int]] = field(factory=dict)
    batches: dict[int, list[tuple[int, int, int]]] = field(factory=dict)

    def append(self, batch: bytes) -> tuple[str, int]:
        """("", offset) or (code, -1)."""
        validate_exact(batch)
        header = read_header(batch)
        values = [bytes(record.value or b"") for record in iterate(batch)]
        producer, epoch, sequence = header.producer_id, header.producer_epoch, header.base_sequence
        offset = len(self.log)
        if producer < 0:
            self.log += values
            return "", offset
        known_epoch, expected = self.producers.get(producer, (-1, 0))
        if epoch < known_epoch:
            return "producer_fenced", -1
        if epoch > known_epoch:
            expected, self.batches[producer] = 0, []
        for first, count, at in self.batches[producer]:
            if first == sequence and count == len(values):
                return "", at
        if sequence != expected:
            return "out_of_order_sequence", -1
        self.log += values
        self.producers[producer] = epoch, sequence + len(values)
        self.batches[producer] = [*self.batches[producer], (sequence, len(values), offset)][-REMEMBERED:]
        return "", offset

    def forget(self) -> None:
        """Lose what is known of producers."""
        self.producers.clear()
        self.batches.clear()


def first_occurrences(log: Sequence[bytes]) -> list[bytes]:
    """A log without what stands in it again."""
    return list(dict.fromkeys(log))
