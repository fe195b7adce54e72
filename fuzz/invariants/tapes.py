"""What a stream says, record by record, as far as it is agreed: whichever node leads it.

A tape goes on where it ended, from the log of whoever leads then; what was on it once stays on it. Where a log was
trimmed before anybody read it, the tape has a gap, and nothing can be said of what it lacks.
"""

from attrs import define

from goqueue.core.partition.partition import Partition
from goqueue.core.records.batch import Header
from goqueue.core.records.record import Record, iterate
from goqueue.fuzz.checkers.checker import Broker
from goqueue.fuzz.insight import whole_batches
from goqueue.storage.layout import LOG_ENDING


@define(eq=False)
class Tape:
    """One stream, read once."""

    end: int = 0
    has_gap: bool = False
    # Which log was read last, in which file, and how far.
    _whose: tuple[str, int, int] = ("", 0, 0)
    _file: str = ""
    _position: int = 0

    def entries(self, broker: Broker, partition: Partition) -> list[tuple[bytes, bytes | None]]:
        """The keys and values of what is agreed since the last time, in order."""
        return [
            (bytes(record.key or b""), None if record.value is None else bytes(record.value))
            for _, batch in self.read(broker, partition)
            for record in iterate(batch)
        ]

    def records(self, broker: Broker, partition: Partition, producer_id: int) -> list[Record]:
        """The records of one producer of what is agreed since the last time, in order."""
        found = self.read(broker, partition)
        return [record for header, batch in found if header.producer_id == producer_id for record in iterate(batch)]

    def read(self, broker: Broker, partition: Partition) -> list[tuple[Header, bytes]]:
        """The batches that are agreed since the last time, in order."""
        log, limit = partition.log, partition.high_watermark
        found: list[tuple[Header, bytes]] = []
        if limit <= self.end or log.unsound is not None:
            return found
        whose = broker.node_id, broker.disk.life, log.incarnation
        if self._whose != whose:
            self._whose, self._file, self._position = whose, "", 0
        for segment in log.segments:
            if not segment.size or segment.next_offset <= self.end or segment.base >= limit:
                continue
            if segment.base > self.end and not log.config.cleanup.compacts:
                self.has_gap = True
            if segment.name != self._file:
                self._file, self._position = segment.name, 0
            content = broker.disk.seen_bytes(f"{log.stream}/{segment.name}{LOG_ENDING}", self._position)
            begin = self._position
            for at, header in whole_batches(content):
                if header.next_offset > limit:
                    break
                self._position = begin + at + header.size
                if header.base_offset >= self.end:
                    found.append((header, content[at : at + header.size]))
                    self.end = header.next_offset
        return found
