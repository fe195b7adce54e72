"""The simplest possible log, a list of what was appended, and what a real one may have made of it after any stop.

It says nothing of how: a log that was stopped may hold any prefix of what was appended that covers what was promised,
byte for byte; where it compacts, it may lack records that a later one of their key supersedes.
"""

from attrs import define

from goqueue.core.records.batch import read_header
from goqueue.core.records.record import iterate
from goqueue.storage.open_log import OpenLog
from tests.storage.logbook import stored


@define
class Entered:
    """One batch that was appended: its offsets, its bytes as stamped, and (offset, key, value) of its records."""

    base: int
    next_offset: int
    batch: bytes
    records: tuple[tuple[int, bytes | None, bytes | None], ...]


def contents(batch: bytes) -> tuple[tuple[int, bytes | None, bytes | None], ...]:
    """(offset, key, value) of each record."""
    return tuple(
        (
            record.offset,
            None if record.key is None else bytes(record.key),
            None if record.value is None else bytes(record.value),
        )
        for record in iterate(batch)
    )


class ListModel:
    """What was appended, and how much of it has been promised to survive.

    `promised` is the end of what a crash leaves, `written` of what a kill leaves; the start of the log lies between
    `start_least`, which is durable, and `start_most`, which was asked for.
    """

    def __init__(self, *, compacts: bool = False) -> None:
        self.entries: list[Entered] = []
        self.promised = 0
        self.written = 0
        self.start_least = 0
        self.start_most = 0
        # A cut that is under way, and whether the log is to begin anew there.
        self.cut_offset: int | None = None
        self.restarts = False
        # Where the log may end: wherever a batch began or ended, and where it was begun anew.
        self._borders = {0}
        self._compacts = compacts

    def append(self, batch: bytes | bytearray) -> None:
        """Note a batch as the log has stamped it."""
        header = read_header(batch)
        self._borders |= {header.base_offset, header.next_offset}
        self.entries.append(Entered(header.base_offset, header.next_offset, bytes(batch), contents(bytes(batch))))

    def copy(self) -> "ListModel":
        """The same, to be judged by without being changed."""
        twin = ListModel(compacts=self._compacts)
        twin.entries = list(self.entries)
        twin.promised, twin.written = self.promised, self.written
        twin.start_least, twin.start_most = self.start_least, self.start_most
        twin.cut_offset, twin.restarts = self.cut_offset, self.restarts
        twin._borders = set(self._borders)
        return twin

    def promise(self, end: int) -> None:
        """Everything below `end` has been acknowledged as durable, save what is being cut."""
        self.promised = max(self.promised, end if self.cut_offset is None else min(end, self._end_below_cut()))
        self.written = max(self.written, self.promised)

    def cut(self, offset: int, *, restarts: bool = False) -> None:
        """Everything at `offset` and later is to go, and with `restarts` all before it."""
        self.cut_offset, self.restarts = offset, restarts
        self.promised = min(self.promised, self._end_below_cut())
        self.written = min(self.written, self._end_below_cut())
        if restarts:
            self.start_most = max(self.start_most, offset)
            self._borders.add(offset)

    def _end_below_cut(self) -> int:
        assert self.cut_offset is not None
        if self.restarts:
            return 0
        return max((entry.next_offset for entry in self.entries if entry.next_offset <= self.cut_offset), default=0)

    def judge_and_adopt(self, log: OpenLog, floor: int) -> None:
        """Assert that the log holds what it must and nothing else, and go on from what it holds."""
        start, end = log.log.start_offset, log.log.next_offset
        assert floor <= end, f"promised up to {floor}, found up to {end}"
        assert end in self._borders, f"the log ends at {end}, where no batch begins or ends"
        assert min(self.start_least, end) <= start, f"the log starts at {start}, below {self.start_least}"
        if not (self.restarts and self.cut_offset is not None):
            assert start <= self.start_most, f"the log starts at {start}, nobody asked for more than {self.start_most}"
        self._compare(stored(log), start, end)
        self.entries = [entry for entry in self.entries if entry.next_offset <= end]
        self.promised = self.written = end
        self.start_least = self.start_most = start
        self.cut_offset, self.restarts = None, False

    def reopened(self, log: OpenLog) -> None:
        """A cut was carried out in the life of one process: it is there, whole."""
        offset, restarts = self.cut_offset, self.restarts
        assert offset is not None
        kept = [] if restarts else [entry for entry in self.entries if entry.next_offset <= offset]
        if restarts:
            assert log.log.start_offset == log.log.next_offset == offset
        self.entries = kept
        self.judge_and_adopt(log, self.promised)

    def compare(self, log: OpenLog) -> None:
        """Assert that a reader gets from the log what was written and nothing else."""
        self._compare(stored(log), log.log.start_offset, self.written)

    def _compare(self, found: list[bytes], start: int, end: int) -> None:
        expected = [entry for entry in self.entries if start < entry.next_offset <= end]
        if self._compacts:
            self._compare_records(found, expected)
        else:
            assert found == [entry.batch for entry in expected]

    def _compare_records(self, found: list[bytes], expected: list[Entered]) -> None:
        by_base = {entry.base: entry for entry in expected}
        present: set[int] = set()
        previous = -1
        for batch in found:
            header = read_header(batch)
            entry = by_base[header.base_offset]
            assert header.base_offset > previous
            assert header.next_offset == entry.next_offset
            previous = header.base_offset
            held = contents(batch)
            assert set(held) <= set(entry.records)
            present.update(offset for offset, _, _ in held)
        newest = {key: offset for entry in expected for offset, key, _ in entry.records}
        for entry in expected:
            for offset, key, _ in entry.records:
                assert offset in present or (key is not None and newest[key] > offset), f"offset {offset} is missing"
