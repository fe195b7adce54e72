"""One Subscribe: what partitions hold from given positions on, and whatever is added, until the client goes.

Each position has one fetch at the broker, waiting if need be; its answer is queued within the turn, and the next fetch
follows unless the client is slow. Then the position rests until the client has taken enough. So there is no task for a
position, and none for a reply. The batches of a reply are not copied: they are queued as the view that was read.

Memory: what is queued for a client passes the bound of its stream by at most one reply for each position, and these
share `ANSWERS_BYTES_MAX`, except that a batch is never cut.

A position that is refused ends alone. When the broker leaves, each position is told where to go on.
"""

from collections.abc import Callable
from functools import partial

from attrs import define

from goqueue.core.records.varint import INT64_MAX
from goqueue.core.verbs import Code, Fetch, Fetched, FindOffset, FoundOffset, Refusal, Reply
from goqueue.proto import translate, v1
from goqueue.transports.broker import Broker
from goqueue.transports.grpc.call import ServerCall
from goqueue.transports.http2.errors import StreamGone
from goqueue.transports.services.calls import caller_of
from goqueue.transports.services.envelopes import bytes_field, number_field
from goqueue.transports.trio_parking import Parking

REPLY_BYTES_MAX = 16 << 20
ANSWERS_BYTES_MAX = 16 << 20
REPLY_BYTES_LEAST = 16 << 10
_WAIT_NS = 300_000_000_000
# Before every record, and after every one.
_EARLIEST_MS, _LATEST_MS = -1, INT64_MAX


@define(eq=False)
class _Position:
    """One of the positions asked for; `to` is its request at the broker, if it has one."""

    number: int
    topic: str
    partition: int
    next_offset: int = 0
    to: int = 0
    has_ended: bool = False


_Receive = Callable[[_Position, Reply], None]


class Subscription:
    """The state of one call."""

    def __init__(self, call: ServerCall, broker: Broker, wanted: translate.Subscription) -> None:
        share = max(ANSWERS_BYTES_MAX // len(wanted.starts), REPLY_BYTES_LEAST)
        self._reply_bytes = min(wanted.max_bytes, REPLY_BYTES_MAX, share)
        self._call = call
        self._broker = broker
        self._caller = caller_of(call)
        self._starts = wanted.starts
        self._positions = [
            _Position(number, start.topic, start.partition) for number, start in enumerate(wanted.starts)
        ]
        self._live = len(wanted.starts)
        self._resting: list[_Position] = []
        self._is_roomy = True
        self._is_over = False
        self._stirred = Parking()

    async def serve(self) -> None:
        """Serve the call until every position has ended, or the broker leaves."""
        self._call.send_headers()
        try:
            goes_on = await self._call.until_leaving(self._follow)
        finally:
            self._is_over = True
            for position in self._positions:
                if position.to:
                    self._broker.forget(position.to)
        if not goes_on:
            self._take_leave()

    async def _follow(self) -> None:
        for position, start in zip(self._positions, self._starts, strict=True):
            self._begin(position, start)
        while self._live:
            await self._stirred.wait()
            await self._resume()

    async def _resume(self) -> None:
        """Once the client has taken enough, fetch for the positions that rest."""
        if self._is_roomy and not self._resting:
            return
        await self._call.relieved()
        self._is_roomy = True
        resting, self._resting = self._resting, []
        for position in resting:
            self._go_on(position)

    def _begin(self, position: _Position, start: translate.Start) -> None:
        if start.offset is not None:
            position.next_offset = start.offset
            self._go_on(position)
            return
        timestamp = start.timestamp
        if timestamp is None:
            timestamp = _LATEST_MS if start.latest else _EARLIEST_MS
        self._post(position, FindOffset(position.topic, position.partition, timestamp), self._found)

    def _post(self, position: _Position, request: FindOffset | Fetch, receive: _Receive) -> None:
        position.to = self._broker.post(self._caller, request, partial(self._receive, position, receive))

    def _receive(self, position: _Position, receive: _Receive, reply: Reply) -> None:
        """An answer has come; one that nobody is there for any more is dropped."""
        position.to = 0
        if self._is_over:
            return
        try:
            receive(position, reply)
        except StreamGone:
            self._is_over = True

    def _found(self, position: _Position, reply: Reply) -> None:
        if isinstance(reply, FoundOffset):
            position.next_offset = reply.offset
            self._go_on(position)
        else:
            self._end(position, reply)

    def _go_on(self, position: _Position) -> None:
        """Fetch what follows, or rest."""
        if not self._is_roomy:
            self._resting.append(position)
            self._stirred.wake()
            return
        fetch = Fetch(position.topic, position.partition, position.next_offset, self._reply_bytes, _WAIT_NS)
        self._post(position, fetch, self._fetched)

    def _fetched(self, position: _Position, reply: Reply) -> None:
        if type(reply) is not Fetched:
            self._end(position, reply)
            return
        position.next_offset = reply.next_offset
        size = len(reply.batches)
        if size:
            head = (
                number_field(1, position.number)
                + number_field(3, reply.next_offset)
                + number_field(4, reply.high_watermark)
                + number_field(5, reply.start_offset)
                + bytes_field(2, size)
            )
            self._is_roomy = self._call.put(head, reply.batches)
        self._go_on(position)

    def _end(self, position: _Position, reply: Reply) -> None:
        assert isinstance(reply, Refusal)
        self._live -= 1
        position.has_ended = True
        self._stirred.wake()
        if reply.code is Code.SHUTTING_DOWN:
            self._say(translate.leaving(position.number, position.next_offset))
        else:
            self._say(translate.subscribe_reply(position.number, reply))

    def _take_leave(self) -> None:
        for position in self._positions:
            if not position.has_ended:
                self._say(translate.leaving(position.number, position.next_offset))

    def _say(self, reply: v1.SubscribeReply) -> None:
        self._call.put(self._call.codec.encode(reply))
