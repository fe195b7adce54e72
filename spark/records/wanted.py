"""Which records are asked for: topics, partitions, a range of offsets, a range of times.

What is asked for comes from options and from the filters of a query, and bounds only ever narrow. A plan carries what
is left of them to the task, where every record is held against it. What is left out before that (topics, segments,
batches that were never decompressed) is left out because no record in it could pass.

Times are milliseconds since 1970, as records have them. A record without a time has -1: it passes a `since_ms` of -1,
while one of 0 asks for records with a time.
"""

from typing import Final, TypeVar

from attrs import define

from goqueue.core.log.segment import NO_TIMESTAMP
from goqueue.core.records.batch import Header

_T = TypeVar("_T")

# Above every offset and every time.
ENDLESS: Final = 1 << 63


@define
class Wanted:
    """Records with offsets in [first_offset, end_offset) and times in [since_ms, until_ms); None stands for all."""

    topics: tuple[str, ...] | None = None
    partitions: tuple[int, ...] | None = None
    first_offset: int = 0
    end_offset: int = ENDLESS
    since_ms: int = NO_TIMESTAMP
    until_ms: int = ENDLESS

    def has_partition(self, topic: str, partition: int) -> bool:
        """Whether anything of a partition is asked for, as far as its name tells."""
        return self.has_topic(topic) and (self.partitions is None or partition in self.partitions)

    def has_topic(self, topic: str) -> bool:
        """Whether anything of a topic is asked for, as far as its name tells."""
        return self.topics is None or topic in self.topics

    @property
    def is_nothing(self) -> bool:
        """Whether no record can pass."""
        return self.first_offset >= self.end_offset or self.since_ms >= self.until_ms

    def takes(self, header: Header, *, control: bool) -> bool:
        """Whether a record of this batch may pass."""
        return (
            header.record_count > 0
            and header.next_offset > self.first_offset
            and header.base_offset < self.end_offset
            and header.max_timestamp >= self.since_ms
            and (control or not header.is_control)
        )

    def takes_all(self, header: Header) -> bool:
        """Whether every record of this batch passes for certain."""
        return (
            header.base_offset >= self.first_offset
            and header.next_offset <= self.end_offset
            and self.since_ms <= NO_TIMESTAMP
            and self.until_ms >= ENDLESS
        )

    def __and__(self, other: "Wanted") -> "Wanted":
        """What both ask for."""
        return Wanted(
            _both(self.topics, other.topics),
            _both(self.partitions, other.partitions),
            max(self.first_offset, other.first_offset),
            min(self.end_offset, other.end_offset),
            max(self.since_ms, other.since_ms),
            min(self.until_ms, other.until_ms),
        )


def _both(one: tuple[_T, ...] | None, other: tuple[_T, ...] | None) -> tuple[_T, ...] | None:
    if one is None or other is None:
        return other if one is None else one
    return tuple(each for each in one if each in other)
