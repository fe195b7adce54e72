"""Answers to those who read: from memory, from the disk, or later when there is news.

A fetch ends in one of three ways at once: it is refused, it becomes a request to the disk, or it waits for batches
that are not there yet, until news or its deadline. What the disk says is checked against what the partition has become
meanwhile: a log that was recovered or deleted since makes the read begin again or be refused.

What the reads of one turn may bring is bounded; those beyond it are made in the next turns, in the order they were
asked.

Invariants: every fetch is answered once, or forgotten when nobody waits for it any more; one that waits is in exactly
one partition's list and has its deadline set.
"""

from collections import deque
from collections.abc import Callable
from enum import IntEnum

from attrs import define, evolve, field

from goqueue.core.cluster.plan import deleted, is_own
from goqueue.core.log.effects import FindTime, Read, ReadResult, TimeResult
from goqueue.core.partition.partition import Partition
from goqueue.core.ready import Fetching
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.requests.call import Call
from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, FoundOffset, Side
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.timers.alarms import Alarms

_FETCH_BYTES_MAX = 64 << 20
_WAIT_NS_MAX = 300_000_000_000
# What all reads of one turn may bring at most, save that there is always one: whoever sends the answers on counts them
# only when they are there, so thousands that ask in one instant must not all be answered in it.
_TURN_BYTES_MAX = 64 << 20


class Look(IntEnum):
    """What a node sees of batches that it has read: nothing, where it passes them on; their headers; or all of them."""

    NOTHING = 0
    HEADS = 1
    RECORDS = 2


@define
class WaitingFetch:
    """A fetch that found nothing, until news or `deadline`."""

    call: Call
    partition: Partition
    fetch: Fetch
    deadline: int


@define
class PendingRead:
    """What the disk was asked for; `incarnation` is the log's at that time."""

    call: Call
    partition: Partition
    request: Fetch | FindOffset
    read: Read | FindTime
    incarnation: int
    deadline: int


@define
class Reads:
    """All reads under way in one node."""

    _send: Callable[[Call, Reply], None]
    _led: ReplicaSet
    _wanted: deque[Fetching] = field(factory=deque)
    # Of what was taken since the last `wake`.
    _turn_bytes: int = 0
    _pending: dict[int, PendingRead] = field(factory=dict)
    _next_token: int = 0
    _waiting: dict[Call, WaitingFetch] = field(factory=dict)
    _by_stream: dict[str, dict[Call, WaitingFetch]] = field(factory=dict)
    _alarms: Alarms[Call] = field(factory=Alarms)

    # --- requests

    def fetch(self, now: int, call: Call, fetch: Fetch) -> None:
        """Take a fetch."""
        partition = self._led.partition(fetch.topic, fetch.partition, fetch.side)
        refusal = self._led.replaced(fetch.topic, fetch.identity) if fetch.identity else None
        if refusal is not None:
            self._send(call, refusal)
            return
        if isinstance(partition, Refusal):
            self._send(call, partition)
            return
        if not 0 < fetch.max_bytes <= _FETCH_BYTES_MAX:
            fetch = evolve(fetch, max_bytes=min(max(fetch.max_bytes, 1), _FETCH_BYTES_MAX))
        deadline = now + min(max(fetch.wait_ns, 0), _WAIT_NS_MAX)
        self._try_fetch(now, WaitingFetch(call, partition, fetch, deadline))

    def find(self, now: int, call: Call, find: FindOffset) -> None:
        """Take a search by time."""
        partition = self._led.partition(find.topic, find.partition)
        if isinstance(partition, Refusal):
            self._send(call, partition)
        else:
            self._find(now, call, partition, find)

    def _find(self, now: int, call: Call, partition: Partition, find: FindOffset) -> None:
        if not partition.is_settled:
            self._send(call, partition.nothing(0))
            return
        log = partition.log
        search = log.find_time(find.timestamp, log.config.latest_ms(log.clock.wall_ms(now)))
        if search is None:
            self._send(call, _found(None, partition))
        else:
            self._begin(PendingRead(call, partition, find, search, log.incarnation, 0))

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call` any more."""
        waiting = self._waiting.get(call)
        if waiting is not None:
            self._leave(waiting)

    def _try_fetch(self, now: int, waiting: WaitingFetch) -> None:
        partition, fetch = waiting.partition, waiting.fetch
        found = partition.read(fetch)
        if isinstance(found, Read):
            incarnation = partition.log.incarnation
            self._begin(PendingRead(waiting.call, partition, fetch, found, incarnation, waiting.deadline))
        elif found is not None:
            self._send(waiting.call, found)
        elif waiting.deadline > now:
            self._wait(waiting)
        else:
            self._send(waiting.call, partition.nothing(fetch.offset))

    def _begin(self, pending: PendingRead) -> None:
        self._next_token += 1
        self._pending[self._next_token] = pending
        self._wanted.append(Fetching(self._next_token, pending.read))

    @property
    def has_wanted(self) -> bool:
        """Whether the disk is to be asked for something."""
        return bool(self._wanted)

    def take(self) -> list[Fetching]:
        """What the disk is asked for in this turn."""
        taken: list[Fetching] = []
        while self._wanted:
            read = self._wanted[0].request
            size = read.max_bytes if isinstance(read, Read) else 0
            if self._turn_bytes and self._turn_bytes + size > _TURN_BYTES_MAX:
                break
            self._turn_bytes += size
            taken.append(self._wanted.popleft())
        return taken

    # --- waiting

    def _wait(self, waiting: WaitingFetch) -> None:
        self._waiting[waiting.call] = waiting
        self._by_stream.setdefault(waiting.partition.log.stream, {})[waiting.call] = waiting
        self._alarms.set(waiting.call, waiting.deadline)

    def _leave(self, waiting: WaitingFetch) -> None:
        del self._waiting[waiting.call]
        stream = waiting.partition.log.stream
        others = self._by_stream[stream]
        del others[waiting.call]
        if not others:
            del self._by_stream[stream]
        self._alarms.drop(waiting.call)

    def news(self, now: int, partition: Partition) -> None:
        """Try again what waits for batches of a partition that may have come."""
        others = self._by_stream.get(partition.log.stream)
        if others is None:
            return
        for waiting in list(others.values()):
            if waiting.fetch.offset < partition.high_watermark:
                self._leave(waiting)
                self._try_fetch(now, waiting)

    def abandon(self, partition: Partition, refusal: Refusal) -> None:
        """A partition is gone: whoever waits for it is told."""
        for waiting in list(self._by_stream.get(partition.log.stream, {}).values()):
            self._leave(waiting)
            self._send(waiting.call, refusal)

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        return 0 if self._wanted else self._alarms.deadline()

    def wake(self, now: int) -> None:
        """Begin a turn: answer those whose time is up."""
        self._turn_bytes = 0
        for call in self._alarms.due(now):
            waiting = self._waiting[call]
            self._leave(waiting)
            self._try_fetch(now, waiting)

    # --- what the disk says

    def done(self, now: int, token: int, result: ReadResult | TimeResult | None) -> None:
        """The answer to a `Fetching`."""
        pending = self._pending.pop(token)
        if self._is_outdated(pending):
            self._again(now, pending)
            return
        partition, request = pending.partition, pending.request
        if isinstance(request, FindOffset):
            self._send(pending.call, _found(result, partition))
            return
        assert isinstance(result, ReadResult)
        assert isinstance(pending.read, Read)
        log = partition.log
        log.read_done(pending.read, result.next_offset, result.next_position)
        if not result.batches and result.next_offset > request.offset:
            # Compaction left nothing here; go on behind the gap.
            behind = evolve(request, offset=result.next_offset)
            self._try_fetch(now, WaitingFetch(pending.call, partition, behind, pending.deadline))
            return
        fetched = Fetched(result.batches, result.next_offset, partition.high_watermark, log.start_offset)
        self._send(pending.call, fetched)

    def looks_into(self, token: int) -> Look:
        """What the node itself sees of what a `Fetching` brings, which was not answered yet.

        Records that clients wrote are looked at only where they were to come from the disk: what is kept of the last
        ones in memory is not whole in a replay.
        """
        request = self._pending[token].request
        if not isinstance(request, Fetch) or (request.side is Side.DATA and not request.looks):
            return Look.NOTHING
        if request.side is Side.DATA and not request.from_disk and not is_own(request.topic):
            return Look.HEADS
        return Look.RECORDS

    def failed(self, now: int, token: int, why: str, *, damaged: bool) -> None:
        """The disk could not answer a `Fetching`: what it holds is damaged, or it may work another time."""
        pending = self._pending.pop(token)
        if self._is_outdated(pending):
            self._again(now, pending)
        elif damaged:
            self._send(pending.call, Refusal(Code.DAMAGED, why))
        else:
            self._send(pending.call, Refusal(Code.UNAVAILABLE, why, retry_after_ms=1000))

    def _is_outdated(self, pending: PendingRead) -> bool:
        """Whether the log was recovered or left since: its files may hold other batches where the read looked."""
        partition = pending.partition
        return partition.log.incarnation != pending.incarnation or not self._led.is_led(partition)

    def _again(self, now: int, pending: PendingRead) -> None:
        partition, request = pending.partition, pending.request
        if not self._led.is_led(partition):
            self._send(pending.call, _left(partition))
        elif isinstance(request, FindOffset):
            self._find(now, pending.call, partition, request)
        else:
            self._try_fetch(now, WaitingFetch(pending.call, partition, request, pending.deadline))

    def check(self) -> None:
        """Assert the invariants."""
        self._alarms.check()
        assert len(self._alarms) == len(self._waiting)
        assert sum(len(others) for others in self._by_stream.values()) == len(self._waiting)
        for call, waiting in self._waiting.items():
            assert waiting.call == call
            assert call in self._alarms
            assert self._by_stream[waiting.partition.log.stream][call] is waiting


def _left(partition: Partition) -> Refusal:
    """Why a partition cannot be read here any more: another may lead it, who also knows whether its topic is gone."""
    if partition.leadership is None:
        return deleted(partition.topic)
    message = f"partition {partition.number} of {partition.topic} is led by another node from here on"
    return Refusal(Code.NOT_LEADER, message, "partition", retry_after_ms=100)


def _found(result: ReadResult | TimeResult | None, partition: Partition) -> FoundOffset | Refusal:
    if isinstance(result, TimeResult) and result.offset < partition.high_watermark:
        return FoundOffset(result.offset, result.timestamp)
    return partition.withheld(0) or FoundOffset(partition.high_watermark, -1)
