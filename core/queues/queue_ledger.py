"""The ledger of one partition: the stream in which all groups' work queues on it are kept, and moves of dead letters.

Records of a queue lie under the name of its group, those of the moves under an empty key, and the secret of receipts
under a key of its own; a name without a value is a queue that ended. All that a turn changed is one batch.

    LOADING  --everything read-->  READY  --an append or a read is refused-->  FAILED  --opened, or a pause-->  LOADING

What is in memory may be ahead of the disk, so what is promised waits until `durable` has come to what `appended` was.
After a failure nobody knows what was written: the queues are dropped, and read anew under an epoch of their own. What
replicas have not confirmed in time may be confirmed later, so all that was written is read, however long that takes.

Records are changes, so the stream would grow for ever. When it has grown by more than its queues take, all of them are
written as snapshots at the head of a segment, a page, and what lies before the page goes once it is durable. So a start
reads a page and what came after it. A page may be lost half-way: each snapshot stands for itself, and what is before it
is still there.

Invariants: batches are durable in their order. Nothing is in `queues` that was not replayed or begun here.
"""

from collections.abc import Callable
from enum import Enum

from attrs import define, field

from goqueue.core.cluster.queue_settings import WorkSettings
from goqueue.core.errors import BatchError, ProtocolError
from goqueue.core.partition.partition import Partition
from goqueue.core.queues.errands import Errands, Turn
from goqueue.core.queues.feed import LaneFeed
from goqueue.core.queues.moves import Moves
from goqueue.core.queues.queue import WorkQueue
from goqueue.core.queues.receipts import Seal
from goqueue.core.queues.records import WORK_CODEC, Restarted, Snapshot
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
from goqueue.core.services.secret_names import SECRET_BYTES, SECRET_KEY
from goqueue.core.services.secrets import Key
from goqueue.core.services.service import ServiceContext

MOVES_KEY = b""
_READ_BYTES = 1 << 20
# What was written and can be read by nobody yet is waited for.
_WAIT_NS = 1_000_000_000
_PAUSE_LEAST_NS, _PAUSE_MOST_NS = 500_000_000, 60_000_000_000
# Lease numbers have 31 bits for the epoch.
_EPOCHS_END = 1 << 31


class Standing(Enum):
    """How far a book is from being written to."""

    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@define
class _Batch:
    """A batch under way: the count it makes durable, 0 for none, and whether a page begins or ends with it."""

    number: int
    begins_page: bool = False
    ends_page: bool = False


@define(eq=False)
class QueueLedger:
    """The queues of one partition; `appended` and `durable` count what was written since the last load."""

    topic: str
    partition: int
    _site: ServiceContext
    _errands: Errands
    _turn: Turn
    # The settings of a group on a topic.
    _settings: Callable[[str, str], WorkSettings]
    standing: Standing = Standing.LOADING
    why: str = ""
    # How often the stream was read: with each time, all that was in memory is void.
    load: int = 0
    appended: int = 0
    durable: int = 0
    queues: dict[str, WorkQueue] = field(factory=dict)
    moves: Moves = field(factory=Moves)
    lanes: LaneFeed = field(init=False)
    _secret: Key | None = None
    # Whether the secret is yet to be written.
    _has_drawn: bool = False
    _epoch: int = 0
    _start: int = 0
    # The numbers of what is under way; answers to others are of no use any more.
    _numbering: int = 0
    _reading: int = 0
    _appending: dict[int, _Batch] = field(factory=dict)
    # Batches under way of which memory has let go; they may be in the stream or not, and it is read after that.
    _forsaken: dict[int, None] = field(factory=dict)
    # Queues that may have something to write, and entries that are none of a queue's.
    _touched: dict[str, None] = field(factory=dict)
    _entries: list[Entry] = field(factory=list)
    # Bytes since the page, those of the page, and where the stream may begin once the page is durable.
    _grown: int = 0
    _page_bytes: int = 0
    _page_offset: int = -1
    _retry_at: int = 0
    _pause_ns: int = _PAUSE_LEAST_NS

    def __attrs_post_init__(self) -> None:
        self.lanes = LaneFeed(self, self._errands, self._turn)

    @property
    def slot(self) -> tuple[str, int]:
        """Topic and partition."""
        return self.topic, self.partition

    @property
    def is_ready(self) -> bool:
        """Whether its queues can be used."""
        return self.standing is Standing.READY

    # --- getting ready

    def opened(self, partition: Partition) -> None:
        """The stream can be used: for the first time, or again and with other contents."""
        assert partition.side is Side.LEDGER
        self._pause_ns, self._start = _PAUSE_LEAST_NS, partition.log.start_offset
        self._forsake()
        self._forsaken = {}
        self._begin_load()

    def failed(self, why: str) -> None:
        """The stream cannot be used, and `opened` says when it can."""
        self._forsake()
        self.standing, self.why, self._retry_at = Standing.FAILED, why, 0
        self._turn.stir(self)

    def unreadable(self, now: int, why: str) -> None:
        """What the stream holds cannot be read; it is tried again, with growing pauses."""
        self.failed(why)
        self._retry_at = now + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, _PAUSE_MOST_NS)

    def _forsake(self) -> None:
        self.queues, self.moves, self._secret, self._has_drawn = {}, Moves(), None, False
        self.lanes = LaneFeed(self, self._errands, self._turn)
        self._touched, self._entries = {}, []
        self._forsaken |= dict.fromkeys(self._appending)
        self._appending, self.appended, self.durable = {}, 0, 0
        self._grown, self._page_bytes, self._page_offset = 0, 0, -1
        self._numbering = self._reading = 0

    def reload(self) -> None:
        """Read everything once more: what was known of the partition is not so."""
        self._begin_load()

    def _begin_load(self) -> None:
        self._forsake()
        self.standing, self.why, self._retry_at = Standing.LOADING, "", 0
        self.load += 1
        self._turn.stir(self)
        # A lease that was lost with the memory must not share its number with a later one.
        self._numbering = self._errands.ask(self, InitProducer())

    def _read(self, offset: int, wait_ns: int = 0) -> None:
        fetch = Fetch(*self.slot, offset, _READ_BYTES, wait_ns, side=Side.LEDGER, looks=True)
        self._reading = self._errands.ask(self, fetch)

    def _end(self) -> int:
        """Where ends what was written, be it readable or not."""
        partition = self._site.led.partition(*self.slot, Side.LEDGER)
        return partition.log.next_offset if isinstance(partition, Partition) else 0

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """The answer to a wish, which may be of no use any more."""
        if number == self._numbering:
            self._numbered(now, reply)
        elif number == self._reading:
            self._fetched(now, reply)
        elif number in self._forsaken:
            del self._forsaken[number]
            self._read_first()
        elif number in self._appending:
            self._published(now, number, reply)

    def _numbered(self, now: int, reply: Reply) -> None:
        self._numbering = 0
        if isinstance(reply, ProducerReply):
            assert 0 < reply.producer_id < _EPOCHS_END
            self._epoch = reply.producer_id
            self._read_first()
        else:
            assert isinstance(reply, Refusal)
            self.unreadable(now, reply.message)

    def _read_first(self) -> None:
        """Begin to read, once there is a number for leases and nothing more comes to the stream."""
        if self.standing is Standing.LOADING and not (self._numbering or self._reading or self._forsaken):
            self._read(self._start)

    def _fetched(self, now: int, reply: Reply) -> None:
        self._reading = 0
        if isinstance(reply, Refusal):
            self.unreadable(now, reply.message)
            return
        assert isinstance(reply, Fetched)
        if not reply.batches and reply.next_offset < self._end():
            self._read(reply.next_offset, _WAIT_NS)
            return
        if not reply.batches:
            self._ready()
            return
        try:
            for key, value in entries_in(reply.batches):
                self._replay(now, key, value)
        except (BatchError, ProtocolError) as error:
            self.unreadable(now, str(error))
        else:
            self._grown += len(reply.batches)
            self._read(reply.next_offset)

    def _replay(self, now: int, key: bytes, value: bytes | None) -> None:
        if key == SECRET_KEY:
            if value is None or len(value) != SECRET_BYTES:
                raise ProtocolError(
                    f"the ledger of {self.topic}-{self.partition} has no secret of {SECRET_BYTES} bytes"
                )
            self._secret = self._site.secrets.key(value)
        elif key == MOVES_KEY:
            self.moves.replay(now, value or b"")
        elif value is None:
            self.queues.pop(key.decode(), None)
        else:
            queue = self.queues.get(key.decode())
            if queue is None:
                if not isinstance(WORK_CODEC.decode(value), Restarted | Snapshot):
                    # Its snapshot comes: a queue that ended, or one that was never begun, has nothing to change.
                    return
                queue = self._make(key.decode())
            queue.replay(now, value)

    def _ready(self) -> None:
        self.standing, self._pause_ns = Standing.READY, _PAUSE_LEAST_NS
        self._turn.stir(self)
        self._turn.touch(self)
        if self._secret is None:
            self._secret, self._has_drawn = self._site.secrets.fresh(), True

    # --- queues

    def _make(self, group: str) -> WorkQueue:
        if self._secret is None:
            raise ProtocolError(f"the ledger of {self.topic}-{self.partition} has a queue and no secret before it")
        site, settings = self._site, self._settings(self.topic, group)
        topic_id = site.led.topics[self.topic].topic.topic_id
        seal = Seal(site.secrets, self._secret, group, self.topic, self.partition, topic_id)
        index, epoch = self.lanes.index, self._epoch
        queue = self.queues[group] = WorkQueue(site.clock, site.random, seal, epoch, settings, index)
        return queue

    def begin(self, now: int, group: str, floor: int) -> WorkQueue:
        """A queue for a group that had none, from an offset on."""
        assert self.is_ready
        assert group not in self.queues
        queue = self._make(group)
        queue.restart(now, floor)
        self.touch(group)
        return queue

    def feed_anew(self) -> None:
        """Find out about lanes from further back than it was begun with."""
        self.lanes = LaneFeed(self, self._errands, self._turn)
        for queue in self.queues.values():
            queue.deal_by(self.lanes.index)

    def end(self, group: str) -> None:
        """A group is no more."""
        if self.queues.pop(group, None) is not None:
            self._touched.pop(group, None)
            self._entries.append((group.encode(), None))
            self._turn.touch(self)

    def touch(self, group: str) -> None:
        """A queue may have something to write."""
        self._touched[group] = None
        self._turn.touch(self)

    # --- writing

    def write(self, now: int) -> list[str]:
        """Write all that the queues and the moves have changed; it is durable with what `appended` is then.

        Answers the groups whose queues were touched.
        """
        assert self.is_ready
        entries, self._entries = self._entries, []
        if self._has_drawn:
            self._has_drawn, entries = False, [self._secret_entry(), *entries]
        touched, self._touched = self._touched, {}
        for group in touched:
            key = group.encode()
            entries += [(key, content) for content in self.queues[group].take()]
        entries += [(MOVES_KEY, content) for content in self.moves.take()]
        if entries:
            self._append(now, entries)
        least = self._site.led.thresholds.ledger_page_bytes
        if self._grown > max(least, 2 * self._page_bytes) and self._page_offset < 0:
            self._turn_page(now)
        return [*touched]

    def _secret_entry(self) -> Entry:
        assert self._secret is not None
        return SECRET_KEY, self._secret.content or self._secret.name

    def _append(self, now: int, entries: list[Entry], *, is_page: bool = False) -> None:
        batches = batches_of(self._site.clock.wall_ms(now), entries)
        size = sum(map(len, batches))
        self._grown += size
        self.appended += 1
        for at, batch in enumerate(batches):
            number = self._errands.ask(self, PublishBatch(*self.slot, batch, Acks.ALL, Side.LEDGER))
            is_last = at == len(batches) - 1
            count = self.appended if is_last else 0
            self._appending[number] = _Batch(count, is_page and not at, is_page and is_last)
        if is_page:
            self._grown, self._page_bytes = 0, size

    def _turn_page(self, now: int) -> None:
        """Write everything once more, at the head of a segment."""
        for queue in self.queues.values():
            assert not queue.take(), "a queue was changed and not touched"
        self._errands.ask(self, RollSide(*self.slot, Side.LEDGER))
        entries: list[Entry] = [self._secret_entry()]
        entries += [(group.encode(), queue.snapshot(now)) for group, queue in self.queues.items()]
        entries.append((MOVES_KEY, self.moves.snapshot(now)))
        self._page_offset = 0
        self._append(now, entries, is_page=True)

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
            self._turn.stir(self)
        if batch.begins_page:
            self._page_offset = result.offset
        if batch.ends_page:
            self._errands.ask(self, TrimSide(*self.slot, Side.LEDGER, self._page_offset))
            self._start, self._page_offset = self._page_offset, -1

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
            self._begin_load()

    def check(self) -> None:
        """Assert the invariants."""
        assert sum(batch.number > 0 for batch in self._appending.values()) == self.appended - self.durable
        assert not self._appending or self.is_ready
        assert not self._retry_at or self.standing is Standing.FAILED
        is_loading = self.standing is Standing.LOADING
        assert is_loading or not (self._reading or self._numbering)
        assert bool(self._reading or self._numbering or self._forsaken) or not is_loading
        assert not self.queues or self.standing is not Standing.FAILED
        assert self._touched.keys() <= self.queues.keys()
        self.moves.check()
        for queue in self.queues.values():
            queue.check()
