"""The log in which one machine keeps its state: it is read from its start, written to, and shortened by snapshots.

    CLOSED  --opened-->  LOADING  --everything read-->  READY
    LOADING, READY  --a read or an append is refused, or the stream fails-->  FAILED
    FAILED  --opened, or a pause-->  LOADING

The log is a stream of a partition. What is asked of it goes through the node like any request, so whatever carries the
partition over a lost disk or to another node carries the state as well.

What is in memory may be ahead of the disk and of the replicas. `appended` counts the writes and `durable` those that
will last: an answer that rests on a write is held until `durable` has come to what `appended` was then. After a failure
nobody knows which writes will last. So the machine forgets everything, the log waits until all of its own batches were
answered, and reads again to the end of what was written; what replicas have not confirmed yet is waited for.

A machine whose records are changes writes pages: its snapshot, at the head of a segment. When the page is durable,
everything before it goes, so a start reads one page and what came after it. A page may be lost half-way: everything
before it is still there.

Invariants: batches are durable in the order in which they were appended, or one of them is refused and ends READY; the
machine has nothing that was not replayed or made while READY.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Protocol

from attrs import define, field

from goqueue.core.errors import BatchError, ProtocolError
from goqueue.core.records.entries import Entry, batches_of, entries_in
from goqueue.core.requests.internal import RollSide, TrimSide
from goqueue.core.requests.messages import (
    Acks,
    Fetch,
    Fetched,
    InitProducer,
    ProducerReply,
    PublishBatch,
    Published,
    PublishReply,
    Side,
)
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request

_READ_BYTES = 1 << 20
# How long to wait for what was written and can be read by nobody yet.
_WAIT_NS = 1_000_000_000
_PAUSE_LEAST_NS, _PAUSE_MOST_NS = 500_000_000, 60_000_000_000


class Standing(Enum):
    """How far a log is from being used."""

    CLOSED = "closed"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


class Machine(Protocol):
    """What a log keeps the state of."""

    def forget(self) -> None:
        """Drop everything: it was lost, or is about to be read."""

    def replay(self, now: int, key: bytes, value: bytes | None, /) -> None:
        """Take the next entry of the log. Raises ProtocolError for one that cannot be."""

    def loaded(self) -> None:
        """The log was read to its end, and may be written to."""

    def stirred(self) -> None:
        """The standing is another one, or more is durable."""


@define
class _Batch:
    """A batch under way: the count of writes that it makes durable, 0 for none; whether it begins or ends a page."""

    number: int
    begins_page: bool = False
    ends_page: bool = False


@define(eq=False)
class StateLog:
    """One log; see the module."""

    topic: str
    partition: int
    side: Side
    _machine: Machine
    # Ask the node for something; the number that the answer bears.
    _ask: Callable[[Request], int]
    # Where ends what was written to the stream, be it readable or not.
    _end: Callable[[], int]
    # Whether each load is to have a number that no other load of any log has.
    _is_numbered: bool = False
    standing: Standing = Standing.CLOSED
    why: str = ""
    # How often the log was read, the number of the last load, and the writes since then.
    load: int = 0
    epoch: int = 0
    appended: int = 0
    durable: int = 0
    # From where on the stream is to be read.
    _start: int = 0
    # The numbers of what is under way; answers to others are of no use any more.
    _numbering: int = 0
    _reading: int = 0
    _appending: dict[int, _Batch] = field(factory=dict)
    # Batches of an earlier load that were not answered yet; each may be in the stream or not.
    _forsaken: dict[int, None] = field(factory=dict)
    # Bytes since the page, those of the page, and where the stream may begin once the page is durable.
    _grown: int = 0
    _page_bytes: int = 0
    _page_offset: int = -1
    _retry_at: int = 0
    _pause_ns: int = _PAUSE_LEAST_NS

    @property
    def is_ready(self) -> bool:
        """Whether the state is complete, and may be changed."""
        return self.standing is Standing.READY

    # --- getting ready

    def opened(self, start: int) -> None:
        """The stream can be used: for the first time, or again and maybe with other contents."""
        self._pause_ns, self._start = _PAUSE_LEAST_NS, start
        self._forsake()
        self._forsaken = {}
        self.reload()

    def failed(self, why: str) -> None:
        """The stream cannot be used, and `opened` says when it can."""
        self._forsake()
        self.standing, self.why, self._retry_at = Standing.FAILED, why, 0
        self._machine.stirred()

    def unreadable(self, now: int, why: str) -> None:
        """What the stream holds cannot be read or written for now; it is tried again, with growing pauses."""
        self.failed(why)
        self._retry_at = now + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, _PAUSE_MOST_NS)

    def _forsake(self) -> None:
        self._machine.forget()
        self._forsaken |= dict.fromkeys(self._appending)
        self._appending, self.appended, self.durable = {}, 0, 0
        self._grown, self._page_bytes, self._page_offset = 0, 0, -1
        self._numbering = self._reading = 0

    def reload(self) -> None:
        """Read everything, once more if it was read before."""
        self._forsake()
        self.standing, self.why, self._retry_at = Standing.LOADING, "", 0
        self.load += 1
        self._machine.stirred()
        if self._is_numbered:
            self._numbering = self._ask(InitProducer())
        self._read_first()

    def _read_first(self) -> None:
        """Begin to read, once the load has its number and nothing more comes to the stream."""
        if self.standing is Standing.LOADING and not (self._numbering or self._reading or self._forsaken):
            self._read(self._start)

    def _read(self, offset: int, wait_ns: int = 0) -> None:
        self._reading = self._ask(
            Fetch(self.topic, self.partition, offset, _READ_BYTES, wait_ns, side=self.side, looks=True)
        )

    # --- answers

    def answered(self, now: int, number: int, reply: Reply) -> bool:
        """Take an answer; False when it is none to what was asked here, or of no use any more."""
        if number == self._numbering:
            self._numbered(now, reply)
        elif number == self._reading:
            self._fetched(now, reply)
        elif number in self._forsaken:
            del self._forsaken[number]
            self._read_first()
        elif number in self._appending:
            self._published(now, number, reply)
        else:
            return False
        return True

    def _numbered(self, now: int, reply: Reply) -> None:
        self._numbering = 0
        if isinstance(reply, ProducerReply):
            self.epoch = reply.producer_id
            self._read_first()
        else:
            assert isinstance(reply, Refusal)
            self.unreadable(now, reply.message)

    def _fetched(self, now: int, reply: Reply) -> None:
        self._reading = 0
        if isinstance(reply, Refusal):
            self.unreadable(now, reply.message)
            return
        assert isinstance(reply, Fetched)
        if not reply.batches and reply.next_offset < self._end():
            self._read(reply.next_offset, _WAIT_NS)
        elif not reply.batches:
            self.standing, self._pause_ns = Standing.READY, _PAUSE_LEAST_NS
            self._machine.loaded()
            self._machine.stirred()
        else:
            self._replay(now, reply)

    def _replay(self, now: int, fetched: Fetched) -> None:
        try:
            for key, value in entries_in(fetched.batches):
                self._machine.replay(now, key, value)
        except (BatchError, ProtocolError) as error:
            self.unreadable(now, str(error))
        else:
            self._grown += len(fetched.batches)
            self._read(fetched.next_offset)

    def _published(self, now: int, number: int, reply: Reply) -> None:
        result = reply.results[0] if isinstance(reply, PublishReply) else reply
        is_first = number == next(iter(self._appending))
        batch = self._appending.pop(number)
        if not isinstance(result, Published):
            assert isinstance(result, Refusal)
            self.unreadable(now, result.message)
            return
        assert is_first, "batches are durable in their order"
        if batch.number:
            self.durable = batch.number
            self._machine.stirred()
        if batch.begins_page:
            self._page_offset = result.offset
        if batch.ends_page:
            self._ask(TrimSide(self.topic, self.partition, self.side, self._page_offset))
            self._start, self._page_offset = self._page_offset, -1

    # --- writing

    def append(self, wall_ms: int, entries: Iterable[Entry]) -> None:
        """Write entries; they are durable when `durable` has come to what `appended` is then."""
        self._append(wall_ms, entries, is_page=False)

    def wants_page(self, least: int) -> bool:
        """Whether the log has grown by more than its page, and by more than `least` bytes."""
        return self._grown > max(least, 2 * self._page_bytes) and self._page_offset < 0

    def append_page(self, wall_ms: int, entries: Iterable[Entry]) -> None:
        """Write a snapshot of everything; what is before it goes once it is durable."""
        self._ask(RollSide(self.topic, self.partition, self.side))
        self._page_offset = 0
        self._append(wall_ms, entries, is_page=True)

    def _append(self, wall_ms: int, entries: Iterable[Entry], *, is_page: bool) -> None:
        assert self.is_ready
        batches = batches_of(wall_ms, entries)
        if not batches:
            return
        size = sum(map(len, batches))
        self._grown += size
        self.appended += 1
        for at, batch in enumerate(batches):
            number = self._ask(PublishBatch(self.topic, self.partition, batch, Acks.ALL, self.side))
            is_last = at == len(batches) - 1
            count = self.appended if is_last else 0
            self._appending[number] = _Batch(count, is_page and not at, is_page and is_last)
        if is_page:
            self._grown, self._page_bytes = 0, size

    # --- time

    def renew(self, now: int) -> None:
        """There is reason to think that the stream can be read by now."""
        if self._retry_at:
            self._retry_at, self._pause_ns = now, _PAUSE_LEAST_NS

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        return self._retry_at or None

    def wake(self, now: int) -> None:
        """Read again what could not be read for a passing reason."""
        if self._retry_at and self._retry_at <= now:
            self.reload()

    def check(self) -> None:
        """Assert the invariants."""
        assert sum(batch.number > 0 for batch in self._appending.values()) == self.appended - self.durable
        assert not self._appending or self.is_ready
        assert not self._retry_at or self.standing is Standing.FAILED
        is_loading = self.standing is Standing.LOADING
        assert is_loading or not (self._reading or self._numbering)
        assert bool(self._reading or self._numbering or self._forsaken) or not is_loading
