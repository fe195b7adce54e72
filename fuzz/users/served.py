"""One connection as the server of a process has it, and the requests on it: `transports/trio_http2.py` without sockets.

The state of the connection and the services that answer are the broker's own. What trio does for them there, the turns
of a world do here.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from goqueue.core.records.varint import Readable
from goqueue.fuzz.users.turns import pause, within
from goqueue.transports.buffer_budget import BufferShare
from goqueue.transports.callers import Callers
from goqueue.transports.client.fibers import Fiber, FiberParking, Interruption
from goqueue.transports.exchange import Outcome
from goqueue.transports.http2.connection import Connection
from goqueue.transports.http2.errors import StreamGone
from goqueue.transports.http2.limits import Limits
from goqueue.transports.http2.request import Headers
from goqueue.transports.http2.stream import Stream

if TYPE_CHECKING:
    from goqueue.fuzz.users.front import Front
    from goqueue.fuzz.users.wires import Wire

_S = 1_000_000_000
# As the server has it: how long an answer waits for a client that takes nothing, and for room.
_WINDOW_NS = 30 * _S
_PATIENCE_NS = 5 * _S
_LOOK_NS = 10 * _S
LIMITS = Limits()


class SimulatedExchange:
    """See Exchange."""

    def __init__(self, served: "Served", stream: Stream) -> None:
        self._served = served
        self._turns = served.front.turns
        self._stream = stream
        self.request = stream.request
        self.callers = served.callers
        self._reading = self._turns.parking()
        self._writing = self._turns.parking()
        self._patience: tuple[Fiber, Interruption] | None = None
        self.fiber: Fiber | None = None

    def now(self) -> int:
        """See Exchange."""
        return self._served.front.now()

    async def receive(self) -> bytes:
        """See Exchange."""
        stream = self._stream
        while True:
            if stream.unread_bytes or stream.gone is not None:
                content = stream.read()
                self._served.kick()
                return content
            if stream.ended:
                return b""
            await self._reading.wait()

    async def divert(self, sink: Callable[[Readable], bool]) -> bool:
        """See Exchange."""
        stream = self._stream
        while stream.unread_bytes or stream.gone is not None:
            goes_on = sink(stream.read())
            self._served.kick()
            if not goes_on:
                return False
        if stream.ended:
            return True
        stream.sink = sink
        try:
            while stream.is_diverted:
                await self._reading.wait()
        finally:
            wants_more = stream.drop_sink()
        stream.check_there()
        return wants_more

    def start(self, headers: Headers, *, end: bool = False) -> None:
        """See Exchange."""
        self._stream.send_headers(headers, end=end)
        self._served.kick()

    async def send(self, data: bytes) -> None:
        """See Exchange."""
        if not self.put(data):
            await self.relieved()

    def put(self, data: Readable) -> bool:
        """See Exchange."""
        is_roomy = self._stream.send(data)
        self._served.kick()
        return is_roomy

    async def relieved(self) -> None:
        """See Exchange."""
        stream = self._stream
        while stream.crowded:
            await self._writing.wait()
        if stream.gone is not None:
            raise stream.gone

    async def reserve(self, size: int, least: int) -> int:
        """See Exchange."""
        stream = self._stream
        if not stream.may_begin:
            await self.within(self.now() + _WINDOW_NS, self._until_open)
            if not stream.may_begin:
                stream.check_there()
                return 0
        share = self._served.share
        taken = share.take(size, least)
        if taken:
            return taken
        parking = self._turns.parking()
        ticket = share.ask(size, least, parking.wake)
        if ticket is None:
            return 0
        try:
            await self.within(self.now() + _PATIENCE_NS, parking.wait)
        except BaseException:
            share.budget.forget(ticket)
            raise
        if not ticket.granted:
            share.budget.forget(ticket)
        return ticket.granted

    async def _until_open(self) -> None:
        while not self._stream.may_begin:
            self._stream.check_there()
            await self._writing.wait()

    def take_room(self, size: int, least: int) -> int:
        """See Exchange."""
        stream = self._stream
        return self._served.share.take(size, least) if stream.queued_bytes or stream.may_begin else 0

    def unreserve(self, size: int) -> None:
        """See Exchange."""
        self._served.share.give(size)

    def hold(self, size: int) -> bool:
        """See Exchange."""
        share = self._served.share
        if size < 0:
            share.give(-size)
            return True
        share.add(size)
        return not share.budget.is_overfull

    async def aside(self, work: Callable[[], Outcome]) -> Outcome:
        """See Exchange; there are no threads."""
        return work()

    def finish(self, trailers: Headers | None = None) -> None:
        """See Exchange."""
        self._stream.end(trailers)
        self._served.kick()

    def abort(self, code: int) -> None:
        """See Exchange."""
        self._stream.reset(code)
        self._served.kick()

    def parking(self) -> FiberParking:
        """See Exchange."""
        return self._turns.parking()

    async def beside(self, work: Callable[[], Awaitable[None]], *others: Callable[[], Awaitable[None]]) -> None:
        """See Exchange."""
        fiber = self._turns.fibers.current
        assert fiber is not None
        failed = Interruption("what ran beside has failed")
        failures: list[Exception] = []

        async def run(other: Callable[[], Awaitable[None]]) -> None:
            try:
                await other()
            except Exception as error:  # noqa: BLE001 - whoever runs it raises it
                failures.append(error)
                fiber.interrupt(failed)

        fibers = [self._turns.start(run(other)) for other in others]
        try:
            await work()
        except Interruption as why:
            if why is not failed:
                raise
            raise failures[0] from None
        finally:
            if failed in fiber.due:
                fiber.due.remove(failed)
            for each in fibers:
                each.cancel()

    async def within(self, deadline: int, work: Callable[[], Awaitable[None]]) -> bool:
        """See Exchange."""
        return await within(self._turns, self._served.front.world_ns(deadline), work)

    async def until_leaving(self, work: Callable[[], Awaitable[None]]) -> bool:
        """See Exchange."""
        fiber = self._turns.fibers.current
        assert fiber is not None
        leaving = Interruption("the server is about to go")
        self._patience = fiber, leaving
        if self._served.is_leaving:
            self.hurry()
        try:
            await work()
        except Interruption as why:
            if why is not leaving:
                raise
            return False
        finally:
            self._patience = None
            if leaving in fiber.due:
                fiber.due.remove(leaving)
        return True

    def hurry(self) -> None:
        """The server is about to go: break off what runs only until then."""
        if self._patience is not None:
            fiber, leaving = self._patience
            if leaving not in fiber.due:
                fiber.interrupt(leaving)

    def wake_reader(self) -> None:
        """The stream has something to read, or is gone and with it the exchange."""
        if self._stream.gone is not None and self.fiber is not None:
            self.fiber.cancel()
        self._reading.wake()

    def wake_writer(self) -> None:
        """The stream's queue has room again."""
        self._writing.wake()


class Served:
    """A connection of a program to this process."""

    def __init__(self, front: "Front", wire: "Wire") -> None:
        self.front = front
        self._wire = wire
        self.share = BufferShare(front.budget, front.budget.bytes_max)
        self.share.cut_stalled = self._cut_stalled
        self.callers = Callers(wire.program)
        self._connection = Connection(front.now(), LIMITS, peer=wire.program, share=self.share)
        self._exchanges: dict[int, SimulatedExchange] = {}
        self._is_kicked = False
        self._is_closed = False
        self.is_leaving = False
        self.kick()
        front.turns.start(self._keep_time())

    def kick(self) -> None:
        """There may be something to send."""
        if not self._is_kicked and not self._is_closed:
            self._is_kicked = True
            self.front.kicked.append(self)
            self.front.turns.stir()

    def receive(self, content: bytes) -> None:
        """Bytes came; none when the other side has closed the connection."""
        if self._is_closed:
            return
        if not content:
            self.lose()
            return
        connection = self._connection
        connection.receive(self.front.now(), content)
        self._spread()
        while connection.backlog:
            connection.work(self.front.now())
            self._spread()
        self.kick()

    def lose(self) -> None:
        """The other side is gone."""
        if not self._is_closed:
            self._is_closed = True
            self._connection.lose("The peer closed the connection.")
            self._spread()
            self.share.close()
            self.front.forget_served(self)

    def flush(self) -> None:
        """Send what there is to send."""
        self._is_kicked = False
        connection = self._connection
        while not self._is_closed and (pieces := connection.take_pieces(self.front.now())):
            self.front.wires.send_down(self._wire, b"".join(pieces))
            self._spread()
        if connection.finished and not self._is_closed:
            self.front.wires.send_down(self._wire, b"")
            self.lose()

    def leave(self) -> None:
        """Let what is in flight finish, and take no more."""
        self.is_leaving = True
        for exchange in self._exchanges.values():
            exchange.hurry()
        self._connection.drain(self.front.now())
        self.kick()

    def _cut_stalled(self) -> int:
        count = self._connection.cut_stalled()
        self._spread()
        if count:
            self.share.doubt()
        return count

    def _spread(self) -> None:
        """Start and wake whom the news concerns."""
        while (news := self._connection.take_news()) is not None:
            for stream in news.arrived:
                exchange = self._exchanges[stream.id] = SimulatedExchange(self, stream)
                exchange.fiber = self.front.turns.start(self._serve(exchange, stream))
            for stream_id in [*news.readable]:
                if (found := self._exchanges.get(stream_id)) is not None:
                    found.wake_reader()
            for stream_id in [*news.writable]:
                if (found := self._exchanges.get(stream_id)) is not None:
                    found.wake_writer()
        self.front.turns.stir()

    async def _serve(self, exchange: SimulatedExchange, stream: Stream) -> None:
        try:
            await self.front.application(exchange)
        except StreamGone:
            pass
        finally:
            self._exchanges.pop(stream.id, None)
            self._connection.release(stream)
            self.kick()

    async def _keep_time(self) -> None:
        front, connection = self.front, self._connection
        while not self._is_closed:
            connection.wake(front.now())
            self._spread()
            self.kick()
            now = front.world.now
            due = max(front.world_ns(connection.deadline()), now + _S // 100)
            await pause(front.turns, min(due, now + _LOOK_NS))
