"""The journal that groups stand on: a partition of the broker's own, in which the last record of a key counts.

It is a client of that partition like any other, only that its requests come from the node itself: they go out as
`InternalRequests`, and their answers come back with the same numbers. So whatever carries a partition over a lost disk
or to another node carries the groups as well.

    ABSENT  --ensure-->  MAKING  -->  LOADING  -->  READY
    READY, LOADING  --an append or a read is refused-->  FAILED  --opened, or a pause-->  LOADING

What is appended and not yet durable is unknown to memory after a failure, so the journal is then read again from its
start. `opened` says that the partition was recovered, and may hold more or less than what was read before. What
replicas have not confirmed in time may be confirmed later, so it is read to the end of what was written, however long
that takes.

Invariant: batches are answered in the order in which they were appended, or one of them is refused and ends READY.
"""

from collections.abc import Iterable
from enum import Enum

from attrs import define, field

from goqueue.core.errors import BatchError
from goqueue.core.records.entries import Entry, batches_of, entries_in
from goqueue.core.requests.messages import Acks, Fetch, Fetched, PublishBatch, Published, PublishReply
from goqueue.core.requests.metadata import MakeOwnTopic
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.services.internal_requests import InternalRequests

JOURNAL_TOPIC, JOURNAL_STREAM = "__groups", "logs/__groups/0"
# Small segments, so that what is superseded soon lies in one that compaction may touch.
JOURNAL_CONFIG: dict[str, object] = {
    "cleanup": "compact",
    "segment_bytes": 8 << 20,
    "max_message_bytes": 64 << 20,
    "retention_hours": -1,
}
_READ_BYTES = 1 << 20
# What was written and can be read by nobody yet is waited for.
_WAIT_NS = 1_000_000_000
_PAUSE_LEAST_NS, _PAUSE_MOST_NS = 500_000_000, 60_000_000_000


class Standing(Enum):
    """How far the journal is from being written to."""

    ABSENT = "absent"
    MAKING = "making"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@define
class Journal:
    """The journal's state; `appended` and `durable` count batches since it was last ready."""

    _wishes: InternalRequests
    standing: Standing = Standing.ABSENT
    why: str = ""
    appended: int = 0
    durable: int = 0
    # The numbers of what is under way; answers to others are of no use any more.
    _making: int = 0
    _reading: int = 0
    _appending: dict[int, None] = field(factory=dict)
    _loaded: dict[bytes, bytes] = field(factory=dict)
    _retry_at: int = 0
    _pause_ns: int = _PAUSE_LEAST_NS

    # --- getting ready

    def ensure(self) -> None:
        """Have the journal's topic made, if there is none."""
        if self.standing is Standing.ABSENT:
            self.standing = Standing.MAKING
            self._making = self._wishes.ask(MakeOwnTopic(JOURNAL_TOPIC, 1, JOURNAL_CONFIG))

    def is_made(self, number: int, reply: Reply) -> bool:
        """Whether the topic was made, if this is the answer to that; it was not now, and may be another time."""
        if number != self._making or self.standing is not Standing.MAKING or not isinstance(reply, Refusal):
            return True
        self.standing, self.why = Standing.ABSENT, reply.message
        return False

    def expected(self) -> None:
        """The topic is there, and its partition is about to be opened."""
        if self.standing is Standing.ABSENT:
            self.standing = Standing.MAKING

    def opened(self) -> None:
        """The partition can be used: for the first time, or again and with other contents."""
        self._forsake()
        self._pause_ns = _PAUSE_LEAST_NS
        self._load()

    def failed(self, why: str) -> None:
        """The partition cannot be used, and `opened` says when it can."""
        self._forsake()
        self.standing, self.why, self._retry_at = Standing.FAILED, why, 0

    def unreadable(self, now: int, why: str) -> None:
        """What the partition holds cannot be read; it is tried again, with growing pauses."""
        self.failed(why)
        self._retry_at = now + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, _PAUSE_MOST_NS)

    def _forsake(self) -> None:
        self._appending, self.appended, self.durable = {}, 0, 0
        self._reading, self._loaded = 0, {}

    def _load(self) -> None:
        self.standing, self.why, self._retry_at = Standing.LOADING, "", 0
        self._read(0)

    def _read(self, offset: int, wait_ns: int = 0) -> None:
        self._reading = self._wishes.ask(Fetch(JOURNAL_TOPIC, 0, offset, _READ_BYTES, wait_ns, looks=True))

    def fetched(self, now: int, number: int, reply: Fetched | Refusal, end: int) -> bool:
        """An answer to a read; True when that was the last one, and `take_loaded` has everything.

        `end` is where ends what was written to the partition, be it readable or not.
        """
        if number != self._reading:
            return False
        self._reading = 0
        if isinstance(reply, Refusal):
            self.unreadable(now, reply.message)
        elif reply.batches:
            self._keep(now, reply)
        elif reply.next_offset < end:
            self._read(reply.next_offset, _WAIT_NS)
        else:
            self.standing = Standing.READY
            self._pause_ns = _PAUSE_LEAST_NS
        return self.standing is Standing.READY

    def _keep(self, now: int, fetched: Fetched) -> None:
        """Take what was read, and read on."""
        try:
            for key, value in entries_in(fetched.batches):
                if value is None:
                    self._loaded.pop(key, None)
                else:
                    self._loaded[key] = value
        except BatchError as error:
            self.unreadable(now, str(error))
        else:
            self._read(fetched.next_offset)

    def take_loaded(self) -> dict[bytes, bytes]:
        """What the journal holds: the last value of every key."""
        loaded, self._loaded = self._loaded, {}
        return loaded

    # --- writing

    def append(self, wall_ms: int, entries: Iterable[Entry]) -> None:
        """Write entries; they are durable when `durable` has come to what `appended` is then."""
        assert self.standing is Standing.READY
        for batch in batches_of(wall_ms, entries):
            self.appended += 1
            self._appending[self._wishes.ask(PublishBatch(JOURNAL_TOPIC, 0, batch, Acks.ALL))] = None

    def published(self, now: int, number: int, reply: PublishReply | Refusal) -> None:
        """An answer to an append."""
        if number not in self._appending:
            return
        result = reply.results[0] if isinstance(reply, PublishReply) else reply
        if isinstance(result, Published):
            assert number == next(iter(self._appending)), "batches are durable in their order"
            del self._appending[number]
            self.durable += 1
        else:
            self.unreadable(now, result.message)

    # --- time

    def renew(self, now: int) -> None:
        """There is reason to think that it can be read by now."""
        if self._retry_at:
            self._retry_at, self._pause_ns = now, _PAUSE_LEAST_NS

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        return self._retry_at or None

    def wake(self, now: int) -> None:
        """Read again what could not be read for a passing reason."""
        if self._retry_at and self._retry_at <= now:
            self._load()

    def check(self) -> None:
        """Assert the invariants."""
        assert len(self._appending) == self.appended - self.durable
        assert not self._appending or self.standing is Standing.READY
        assert not self._retry_at or self.standing is Standing.FAILED
        assert bool(self._reading) == (self.standing is Standing.LOADING)
