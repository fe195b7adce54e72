"""What a leader knows of one other node's log, and how much it may send before it hears more.

    PROBING      where the logs part is not known: one letter at a time
    STREAMING    letters go out without waiting for answers, up to a bound of bytes and of letters
    INSTALLING   its log ends before the leader's begins: the entry that stands for all before goes in pieces

Letters that were lost are found out by the stamps: an answer to something sent after them that knows nothing of them.

Invariants: durable <= matched <= following; what is under way is bounded.
"""

from collections import deque
from enum import StrEnum

from attrs import define, field

from goqueue.core.quorum.snapshot import Sending

BYTES_UNDER_WAY_MAX = 1 << 20
LETTERS_UNDER_WAY_MAX = 64


class Pace(StrEnum):
    """How a node is sent entries."""

    PROBING = "probing"
    STREAMING = "streaming"
    INSTALLING = "installing"


@define(eq=False)
class Progress:
    """One node's log as its leader sees it."""

    # The index of the entry to be sent next.
    following: int
    pace: Pace = Pace.PROBING
    # Its log is the leader's up to here, and up to there on its disk.
    matched: int = 0
    durable: int = 0
    # How far it was told that all is agreed.
    told_agreed: int = 0
    # The stamp of the latest letter that it is known to have read; 0 for none in this term.
    heard_stamp: int = 0
    # The stamp of the last letter with entries.
    sent_stamp: int = 0
    sending: Sending | None = None
    # Ends and bytes of letters with entries that were not answered.
    _under_way: deque[tuple[int, int]] = field(factory=deque)
    _bytes_under_way: int = 0

    def may_send(self) -> bool:
        """Whether another letter with entries may go out."""
        if self.pace is not Pace.STREAMING:
            return self.pace is Pace.PROBING and not self._under_way
        return len(self._under_way) < LETTERS_UNDER_WAY_MAX and self._bytes_under_way < BYTES_UNDER_WAY_MAX

    def sent(self, stamp: int, end: int, size: int) -> None:
        """Entries up to `end` went out."""
        self.sent_stamp = stamp
        self._under_way.append((end, size))
        self._bytes_under_way += size
        if self.pace is Pace.STREAMING:
            self.following = end

    def hear(self, stamp: int) -> bool:
        """It has read what bore the stamp; True when that is news."""
        is_news = stamp > self.heard_stamp
        self.heard_stamp = max(self.heard_stamp, stamp)
        return is_news

    def forgot(self, matched: int) -> None:
        """It knows of less than it once did: it has begun anew, and has what was on its disk."""
        if self.pace is not Pace.INSTALLING and matched < self.matched:
            self.matched = self.durable
            self.probe(self.following)

    def has_matched(self, stamp: int, matched: int, durable: int) -> None:
        """It says so in an answer to what bore the stamp."""
        self.durable = max(self.durable, durable)
        self.matched = max(self.matched, matched, durable)
        while self._under_way and self._under_way[0][0] <= self.matched:
            self._bytes_under_way -= self._under_way.popleft()[1]
        if self.sending is not None and self.matched > self.sending.entry.index:
            self.sending = None
            self.pace = Pace.PROBING
        if self.pace is Pace.INSTALLING:
            return
        if stamp >= self.sent_stamp and self._under_way:
            # It has read something that was sent later, and knows nothing of these.
            self.lost()
        if self.following < self.matched:
            self._go_on_at(self.matched)
        if 0 < self.following <= matched:
            self.pace = Pace.STREAMING

    def conflicts(self, at: int) -> bool:
        """Its log is another's before `at`; False where that has been settled since."""
        if self.pace is Pace.STREAMING:
            return self.matched < at <= self.following
        return self.pace is Pace.PROBING and at == self.following and bool(self._under_way)

    def probe(self, index: int) -> None:
        """Look for the place where the logs part at an index, or at the last that is known to be common."""
        self.pace = Pace.PROBING
        self._go_on_at(max(index, self.matched))

    def lost(self) -> None:
        """What is under way was lost, or may have been."""
        self._go_on_at(self.matched if self.pace is Pace.STREAMING else self.following)

    def _go_on_at(self, index: int) -> None:
        self.following = index
        self._under_way.clear()
        self._bytes_under_way = 0

    def install(self, sending: Sending) -> None:
        """It gets the entry that stands for all before it."""
        self.pace, self.sending = Pace.INSTALLING, sending
        self._go_on_at(sending.entry.index)

    def check(self) -> None:
        """Assert the invariants."""
        assert self.durable <= self.matched
        assert self.matched <= self.following or self.pace is Pace.INSTALLING
        assert self._bytes_under_way == sum(size for _, size in self._under_way)
        assert (self.sending is not None) == (self.pace is Pace.INSTALLING)
