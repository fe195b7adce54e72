"""The groups as a node knows them that does not coordinate them: a copy, read from the journal as any client could.

Whoever leads a partition of a shared group's topic needs to know its members and its settings, and to hear when a
member is gone. The copy tells both, a little late. It judges nobody: whether a member lives, the coordinator says.

It reads from the start of the journal, and waits at its end for more. `fresh_at` is the time at which the last read
was asked for that has come to the end: whatever was durable then is known. A copy that was cut off for long may have
missed the end of a group, since compaction forgets the words that said it; so it begins again, and what it had stands
until the new one is whole.

Committed offsets are passed over: nobody asks a copy for them.
"""

from attrs import define, field

from goqueue.core.errors import BatchError, ProtocolError
from goqueue.core.groups.journal import JOURNAL_TOPIC
from goqueue.core.groups.records import read_key
from goqueue.core.groups.shared import SharedNews
from goqueue.core.groups.state import Group, GroupStands, change_of
from goqueue.core.records.entries import entries_in
from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.services.internal_requests import InternalRequests

_READ_BYTES = 1 << 20
_WAIT_NS = 2_000_000_000
_PAUSE_LEAST_NS, _PAUSE_MOST_NS = 100_000_000, 2_000_000_000
# Compaction keeps for longer than this what says that something is no more.
_CUT_OFF_NS = 600_000_000_000


@define(eq=False)
class Mirror:
    """The copy; `news` is what has happened in it since that was last taken."""

    _wishes: InternalRequests
    groups: dict[str, Group] = field(factory=dict)
    news: SharedNews = field(factory=SharedNews)
    is_whole: bool = False
    fresh_at: int = -1
    _is_running: bool = False
    # What is being read anew, until it is whole; None while the copy itself is read on.
    _anew: dict[str, Group] | None = None
    _offset: int = 0
    _reading: int = 0
    _asked_at: int = 0
    _heard_at: int = 0
    _retry_at: int = 0
    _pause_ns: int = _PAUSE_LEAST_NS

    def start(self, now: int) -> None:
        """Somebody else coordinates, or will."""
        if not self._is_running:
            self._is_running = True
            self._begin(now)

    def stop(self) -> None:
        """There is no need of a copy any more."""
        if self._is_running:
            self._is_running, self.is_whole, self.fresh_at = False, False, -1
            self.groups, self.news, self._anew = {}, SharedNews(), None
            self._reading, self._retry_at = 0, 0

    def take_news(self) -> SharedNews:
        """What has happened since the last call."""
        news, self.news = self.news, SharedNews()
        return news

    # --- reading

    def _begin(self, now: int) -> None:
        self._anew, self._offset, self._heard_at = {}, 0, now
        self._read(now)

    def _read(self, now: int) -> None:
        self._asked_at, self._retry_at = now, 0
        self._reading = self._wishes.ask(Fetch(JOURNAL_TOPIC, 0, self._offset, _READ_BYTES, _WAIT_NS, looks=True))

    def answered(self, now: int, number: int, reply: Fetched | Refusal) -> None:
        """The answer to a read, if it is one of these."""
        if number != self._reading or not self._is_running:
            return
        self._reading = 0
        if isinstance(reply, Refusal):
            self._refused(now, reply)
            return
        try:
            for key, value in entries_in(reply.batches):
                self._take(key, value)
        except (BatchError, ProtocolError):
            # What is damaged here may be sound where it comes from, and is not to be read by half.
            self._pause(now, anew=True)
            return
        self._offset, self._heard_at, self._pause_ns = reply.next_offset, now, _PAUSE_LEAST_NS
        if reply.next_offset >= reply.high_watermark:
            self._complete()
        self._read(now)

    def _take(self, key: bytes, value: bytes | None) -> None:
        if isinstance(read_key(key), tuple):
            return
        change = change_of(key, value)
        assert isinstance(change, GroupStands)
        into = self.groups if self._anew is None else self._anew
        before, after = into.get(change.name), change.group
        if after is None:
            into.pop(change.name, None)
        else:
            into[change.name] = after
        if self._anew is None:
            self._tell(change.name, before, after)

    def _tell(self, name: str, before: Group | None, after: Group | None) -> None:
        news = self.news
        if after is None:
            news.ended(name)
        else:
            news.stands(after)
        left = {} if after is None else after.members
        for member_id in [] if before is None else [each for each in before.members if each not in left]:
            assert before is not None
            news.departed(before, member_id, lost=after is not None and after.lost == member_id)

    def _complete(self) -> None:
        """All that was durable when the read was asked for is known."""
        self.fresh_at = self._asked_at
        if self._anew is not None:
            self.groups, self._anew = self._anew, None
            self.is_whole, self.news = True, SharedNews(all_differ=True)

    # --- trouble

    def _refused(self, now: int, refusal: Refusal) -> None:
        is_lost = refusal.code is Code.OFFSET_OUT_OF_RANGE or now - self._heard_at > _CUT_OFF_NS
        self._pause(now, anew=is_lost)

    def _pause(self, now: int, *, anew: bool) -> None:
        if anew:
            self._anew, self._offset = {}, 0
        self._retry_at = now + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, _PAUSE_MOST_NS)

    def renew(self, now: int) -> None:
        """The journal may be led by another node: what was refused is asked again at once."""
        if self._retry_at:
            self._pause_ns = _PAUSE_LEAST_NS
            self._retry_at = now

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        return self._retry_at or None

    def wake(self, now: int) -> None:
        """Read again."""
        if self._retry_at and self._retry_at <= now:
            self._read(now)

    def check(self) -> None:
        """Assert the invariants."""
        assert bool(self._reading or self._retry_at) == self._is_running
        assert self._is_running or not self.groups
        for name, group in self.groups.items():
            assert group.name == name
