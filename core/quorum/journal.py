"""What the quorum agrees on, on the disk: its entries as records of one log, and the answers of that log's storage.

An entry is a record: the index is its offset, the term the leader epoch of its batch, the kind its key, the content its
value. Among several nodes each entry is a batch of its own, since a batch can only be taken back whole; alone, entries
that were proposed together are one batch. A log that is being cut takes nothing until it was opened again, so what is
to be done to it waits in line.

Invariants: the log holds a beginning of the quorum's entries; what the quorum is told to be on the disk is no more.
"""

from collections import deque
from collections.abc import Callable, Iterable
from random import Random

from goqueue.core.clock import Clock
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import Effect, SyncToken
from goqueue.core.log.log import Log, LogState, LogUnsound
from goqueue.core.quorum.entries import SNAPSHOT, Entry, Vote
from goqueue.core.quorum.log import Cut, Restart, Write
from goqueue.core.quorum.quorum import Quorum, Tuning
from goqueue.core.records.build import encode


class Journal:
    """One quorum with the log that it is kept in."""

    def __init__(
        self,
        stream: str,
        config: LogConfig,
        clock: Clock,
        node_id: str,
        tuning: Tuning,
        random: Random,
        vet: Callable[[Entry], object],
    ) -> None:
        self.quorum = Quorum(node_id, tuning, random, vet)
        self.log: Log | None = None
        self._stream = stream
        self._config = config
        self._clock = clock
        self._changes: deque[Write | Cut | Restart] = deque()
        # Where the log is to end when a cut that is under way is done.
        self._cut_end: int | None = None
        # Before which entry the disk may let everything go.
        self._kept_from = 0

    def opened(self, now: int, state: LogState, entries: Iterable[Entry], vote: Vote, founders: list[str]) -> bool:
        """The log was recovered: True when all is to be looked at anew, False when a cut is done and all goes on."""
        if self.log is None:
            self.log = Log(self._stream, self._config, self._clock, state)
        else:
            self.log.reopened(now, state)
        expected, self._cut_end = self._cut_end, None
        if expected is not None and expected == self.log.next_offset:
            self._perform(now)
            return False
        self._changes.clear()
        held = [*entries]
        start = held[0].index if held else state.start_offset
        if self.quorum.is_open:
            self.quorum.halt(now)
        self.quorum.open(now, start, held, vote, founders)
        assert self.quorum.log.end == self.log.next_offset, "the entries are not those of the log"
        self.gather(now)
        return True

    @property
    def refusal(self) -> str:
        """Why the disk takes nothing at the moment; empty when it does, or will after a cut."""
        assert self.log is not None
        try:
            if self._cut_end is None:
                self.log.refuse_if_unsound()
        except LogUnsound as error:
            return str(error)
        return ""

    def disk_failed(self, now: int, why: str) -> None:
        """The disk refused or lost something: take part in nothing until the log was opened again."""
        assert self.log is not None
        self.log.disk_failed(now, why)
        self._cut_end = None
        self._changes.clear()
        self.quorum.halt(now)
        self.quorum.log.changes.clear()

    def synced(self, now: int, token: SyncToken) -> None:
        """The disk kept a promise."""
        assert self.log is not None
        self.log.synced(now, token)
        self._tell_synced(now)

    def _tell_synced(self, now: int) -> None:
        assert self.log is not None
        # What waits in line may take back what the log says.
        if not self._changes and not self.quorum.log.changes and self.log.unsound is None:
            self.quorum.synced(now, self.log.synced_offset)

    def gather(self, now: int) -> bool:
        """Carry out what the quorum has done to its log; True when some of it was to begin anew."""
        changes, self.quorum.log.changes = self.quorum.log.changes, []
        self._changes.extend(changes)
        self._perform(now)
        return any(isinstance(change, Restart) for change in changes)

    def _perform(self, now: int) -> None:
        log = self.log
        assert log is not None
        while self._changes and not self.refusal and log.unsound is None:
            change = self._changes.popleft()
            if isinstance(change, Write):
                self._write(now, log, change.entries)
            elif isinstance(change, Cut):
                self._cut(now, log, change.end)
            else:
                log.restart(now, change.entry.index)
                self._cut_end = change.entry.index
                self._changes.appendleft(Write([change.entry]))

    def _cut(self, now: int, log: Log, end: int) -> None:
        # What is to be cut may never have been written.
        if end < log.next_offset:
            log.truncate(now, end)
            self._cut_end = end

    def _write(self, now: int, log: Log, entries: list[Entry]) -> None:
        stamp = self._clock.wall_ms(now)
        if self.quorum.tuning.is_alone and all(entry.kind != SNAPSHOT for entry in entries):
            records = [(stamp, entry.kind, entry.content, ()) for entry in entries]
            log.append(now, encode(records), entries[0].term)
            return
        for entry in entries:
            if entry.kind == SNAPSHOT:
                log.roll(now)
            offset = log.append(now, encode([(stamp, entry.kind, entry.content, ())]), entry.term)
            assert offset == entry.index

    def forget_before(self, now: int, index: int) -> None:
        """Keep nothing before an agreed entry that stands for all before it."""
        self.quorum.forget_before(index)
        self._kept_from = index
        self._let_go(now)

    def _let_go(self, now: int) -> None:
        log = self.log
        assert log is not None
        # An entry that is not certain to be there stands for nothing.
        if log.start_offset < self._kept_from < log.synced_offset and not self.refusal and log.unsound is None:
            log.delete_before(now, self._kept_from)

    def take(self, now: int) -> list[Effect]:
        """Everything to be done on the disk since the last call, in order."""
        if self.log is None:
            return []
        self.gather(now)
        self._let_go(now)
        return self.log.take(now)

    def close(self, now: int) -> None:
        """Leave the log so that the next start has nothing to read back."""
        if self.log is not None:
            self.log.close(now)

    def check(self) -> None:
        """Assert the invariants."""
        self.quorum.check()
        if self.log is not None:
            self.log.check()
            if not self._changes and not self.quorum.log.changes and self.log.unsound is None:
                assert self.log.next_offset == self.quorum.log.end
                assert self.quorum.durable <= self.log.synced_offset
