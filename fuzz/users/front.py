"""The server of one process: its connections, the broker's own services, and the way from there to the node.

What `transports/runtime.py` does for its requests is done here: publishes that were not answered are bounded, and an
answer is handed on within the turn that made it.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from attrs import define, field

from goqueue.core.requests.call import Caller
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.table import weight
from goqueue.fuzz.users.served import Served
from goqueue.fuzz.users.turns import Turns, pause
from goqueue.proto.codec import StrictCodec
from goqueue.transports.buffer_budget import BufferBudget
from goqueue.transports.client.fibers import FiberParking
from goqueue.transports.grpc.routes import Service
from goqueue.transports.grpc.service import GrpcService
from goqueue.transports.services.delays import Delays
from goqueue.transports.services.groups import Groups
from goqueue.transports.services.messages import Messages
from goqueue.transports.services.topics import Topics

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.users.wires import Wire, Wires

_S = 1_000_000_000
_SWEEP_NS = _S


@define(eq=False)
class _Waiting:
    """A request of a program that has no answer; see `Asker`."""

    name: str
    request: Request
    receive: Callable[[Reply], None]
    size: int
    front: "Front" = field(repr=False)

    def reply(self, to: int, reply: Reply) -> None:
        """The node answered."""
        self.front.answered(to, reply)


class Front:
    """See the module, and Broker."""

    def __init__(self, process: "Process") -> None:
        options = process.world.options
        self._process = process
        self._life = process.life
        self.world = process.world
        self.turns: Turns = Turns(
            self.world, self.world.random(f"{process.node_id}/front/{process.life}"), self._flush,
            lambda: process.still_until,
        )  # fmt: skip
        self.budget: BufferBudget = BufferBudget(options.answer_bytes_max, self._pressed)
        self.kicked: list[Served] = []
        self._served: dict[Served, None] = {}
        self._waiting: dict[int, _Waiting] = {}
        self._held_bytes = 0
        self._room: list[FiberParking] = []
        self._is_sweeping = False
        self._is_over = False
        messages = Messages(self, unanswered_bytes_max=options.stream_bytes_max)
        services: list[Service] = [Topics(self), messages, Groups(self, process.wall_ms), Delays(self)]
        self.application = GrpcService(services, codec=StrictCodec())

    @property
    def wires(self) -> "Wires":
        """Where bytes go."""
        return self.world.program_wires

    def now(self) -> int:
        """The machine's monotonic clock."""
        return self._process.local_ns()

    def world_ns(self, local_ns: int) -> int:
        """When in the world the machine's clock shows that much."""
        return self._process.world_ns(local_ns)

    def accept(self, wire: "Wire") -> Served:
        """A program has connected."""
        served = Served(self, wire)
        self._served[served] = None
        if self._process.is_stopping:
            served.leave()
        return served

    def forget_served(self, served: Served) -> None:
        """A connection is no more."""
        self._served.pop(served, None)

    def leave(self) -> None:
        """The process is about to stop."""
        for served in [*self._served]:
            served.leave()

    def die(self) -> None:
        """The process is gone."""
        self._is_over = True
        self.turns.end()
        for waiting in self._waiting.values():
            self.world.scribe.lost(waiting.request)
        self._waiting.clear()
        self.kicked.clear()

    def _flush(self) -> None:
        while self.kicked:
            kicked, self.kicked = self.kicked, []
            for served in kicked:
                served.flush()

    # --- memory

    def _pressed(self) -> None:
        if not self._is_sweeping and not self._is_over:
            self._is_sweeping = True
            self.turns.start(self._sweep())

    async def _sweep(self) -> None:
        try:
            while self.budget.is_pressed:
                self.budget.sweep()
                await pause(self.turns, self.world.now + _SWEEP_NS)
        finally:
            self._is_sweeping = False

    def is_roomy(self) -> bool:
        """See Broker."""
        return self._held_bytes < self.world.options.publish_bytes_max

    async def room(self) -> None:
        """See Broker."""
        while not self.is_roomy():
            parking = self.turns.parking()
            self._room.append(parking)
            await parking.wait()

    def _release(self, size: int) -> None:
        self._held_bytes -= size
        if size and self.is_roomy():
            room, self._room = self._room, []
            for parking in room:
                parking.wake()

    # --- requests

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """See Broker."""
        if weight(request):
            await self.room()
        parking, replies = self.turns.parking(), list[Reply]()

        def receive(reply: Reply) -> None:
            replies.append(reply)
            parking.wake()

        to = self.post(caller, request, receive)
        try:
            while not replies:
                await parking.wait()
        except BaseException:
            self.forget(to)
            raise
        return replies[0]

    def post(self, caller: Caller, request: Request, receive: Callable[[Reply], None]) -> int:
        """See Broker."""
        if self._is_over:
            return 0
        to, size = self.world.next_to(), weight(request)
        self._held_bytes += size
        self._waiting[to] = waiting = _Waiting(caller.address, request, receive, size, self)
        self.world.scribe.asked(caller.address, request)
        self._process.receive(to, waiting, request)
        return to

    def forget(self, to: int) -> None:
        """See Broker."""
        waiting = self._waiting.pop(to, None)
        if waiting is None:
            return
        self.world.scribe.lost(waiting.request)
        if not self._is_over:
            self._release(waiting.size)
            self.world.forget(self._process, {to})

    def answered(self, to: int, reply: Reply) -> None:
        """The node has answered."""
        waiting = self._waiting.pop(to, None)
        if waiting is None or self._is_over:
            return
        self._release(waiting.size)
        self.world.scribe.answered(waiting.request, reply)
        waiting.receive(reply)
        self.turns.stir()

    def when_leaving(self, told: Callable[[], None]) -> None:
        """See Broker; nobody here watches the health of a process."""
