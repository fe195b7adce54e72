"""The entries since the last that stands for all before it, in memory.

The disk holds the same, later: what is to be done there goes out as `changes`, in order. Whoever proposes keeps the
list short by proposing such an entry now and then, so it is bounded by what lies between two of them.

Invariants: indexes follow without a gap from `start`; terms never fall; before index 0 lies nothing, of term 0. What
lies before a later start is not known, not even its term.
"""

from bisect import bisect_right

from attrs import define, field

from goqueue.core.quorum.entries import Entry


@define
class Write:
    """Entries to be appended to the log on the disk."""

    entries: list[Entry]


@define
class Cut:
    """Everything at `end` and later is to be taken back from the disk."""

    end: int


@define
class Restart:
    """The log on the disk is to begin anew with this entry."""

    entry: Entry


@define(eq=False)
class EntryLog:
    """The entries, and what is to be done about them on the disk."""

    start: int = 0
    entries: list[Entry] = field(factory=list)
    changes: list[Write | Cut | Restart] = field(factory=list)

    @property
    def end(self) -> int:
        """The index of the next entry."""
        return self.start + len(self.entries)

    @property
    def last_term(self) -> int:
        """The term of the last entry; 0 without any."""
        return self.entries[-1].term if self.entries else 0

    @property
    def is_hollow(self) -> bool:
        """Whether what came before its start is missing: it was to begin anew, and that did not come to an end."""
        return self.start > 0 and not self.entries

    def term_at(self, index: int) -> int | None:
        """The term of an entry, 0 before the first; None where it is not known."""
        if self.start <= index < self.end:
            return self.entries[index - self.start].term
        return 0 if index == -1 and self.start == 0 else None

    def since(self, index: int, bytes_max: int) -> list[Entry]:
        """Entries from an index on, as many as the bytes allow but one at least if there is one."""
        assert index >= self.start
        taken: list[Entry] = []
        at, size = index - self.start, 0
        while at < len(self.entries):
            size += self.entries[at].size
            if taken and size > bytes_max:
                break
            taken.append(self.entries[at])
            at += 1
        return taken

    def append(self, entry: Entry) -> None:
        """Add one entry at the end."""
        assert entry.index == self.end
        assert entry.term >= self.last_term
        self.entries.append(entry)
        if self.changes and isinstance(last := self.changes[-1], Write):
            last.entries.append(entry)
        else:
            self.changes.append(Write([entry]))

    def cut(self, end: int) -> None:
        """Take back everything at `end` and later."""
        assert self.start < end or self.start == 0
        assert end < self.end
        del self.entries[end - self.start :]
        self.changes.append(Cut(end))

    def restart(self, entry: Entry) -> None:
        """Forget everything, and begin with an entry that stands for it."""
        self.start, self.entries = entry.index, [entry]
        self.changes.append(Restart(entry))

    def forget_before(self, index: int) -> None:
        """Keep nothing before an entry that stands for it; the disk lets go of it by other means."""
        assert self.start <= index < self.end
        del self.entries[: index - self.start]
        self.start = index

    def shared_end(self, end: int, term: int) -> tuple[int, int]:
        """The last place, no later than `end`, after an entry of `term` or an earlier one; and that entry's term.

        Whatever lies between there and `end` is of a later term than the other has at `end`, so it cannot be common.
        """
        end = min(end, self.end)
        if end <= self.start:
            return (0, 0) if self.is_hollow or self.start == 0 else (self.start, 0)
        held = bisect_right(self.entries, term, 0, end - self.start, key=lambda entry: entry.term)
        return (self.start + held, self.entries[held - 1].term) if held else (self.start, 0)

    def check(self) -> None:
        """Assert the invariants that the module's opening names."""
        assert all(entry.index == self.start + at for at, entry in enumerate(self.entries))
        assert all(one.term <= two.term for one, two in zip(self.entries, self.entries[1:], strict=False))
