"""What stands between a process and the network: the real server with its applications, and the Broker that they ask.

One of it serves one life of one process, as the runtime does in a broker (`transports/runtime.py`): requests wait for
the node's next turn, and an answer goes to whoever asked within the turn that made it. All above is the product's.
"""

from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING

from attrs import define

from goqueue.core.requests.call import Caller
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.table import weight
from goqueue.fuzz.wires.comparison import meaning_of
from goqueue.fuzz.wires.fabric import Fabric, Host
from goqueue.fuzz.workloads.client import Client
from goqueue.transports.admission import Admission
from goqueue.transports.http2.limits import Limits
from goqueue.transports.rest.edge import Rest
from goqueue.transports.services.application import application
from goqueue.transports.trio_asking import answered
from goqueue.transports.trio_server import Server, ServerLimits

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process

PORT = 8080
_ADMITTED_BYTES_MAX = 64 << 20
_GRACE_NS = 1_000_000_000


@define(eq=False)
class Errand:
    """A request that came through a server, and who is waiting for its answer."""

    front: "Front"
    client: Client
    request: Request
    receive: Callable[[Reply], None]
    size: int
    # What it asked before the node changed it.
    meaning: Hashable

    @property
    def name(self) -> str:
        """Who asks."""
        return self.client.name

    def reply(self, to: int, reply: Reply) -> None:
        """The node has answered."""
        self.front.answer(to, reply)


class Front:
    """See the module: the Broker that applications ask."""

    def __init__(
        self, process: "Process", fabric: Fabric, host: Host, client_at: Callable[[str], Client],
        saw: Callable[[Errand, Reply], None],
    ) -> None:  # fmt: skip
        self._process = process
        self._life = process.life
        self._fabric = fabric
        self._host = host
        self._client_at = client_at
        self._saw = saw
        self._admission = Admission(_ADMITTED_BYTES_MAX)
        self._waiting: dict[int, Errand] = {}
        self._forgotten: list[int] = []
        self._when_leaving: list[Callable[[], None]] = []
        self._is_leaving = False
        self._server = Server(
            application(self, wall_ms=process.wall_ms), Rest(self, process.wall_ms), limits=_limits(process)
        )
        self.scope = fabric.tasks.start(self._serve)

    @property
    def _lives(self) -> bool:
        return self._process.is_up and self._process.life == self._life

    async def _serve(self) -> None:
        listener = self._fabric.listen(self._host, PORT)
        await self._server.serve([listener])

    def leave(self) -> None:
        """The process begins to stop."""
        self._is_leaving = True
        for told in self._when_leaving:
            told()
        self._fabric.tasks.start(partial(self._server.drain, _GRACE_NS))

    # --- for the applications

    async def ask(self, caller: Caller, request: Request) -> Reply:
        """See Broker."""
        if weight(request):
            await self._admission.room()
        return await answered(self.post, self.forget, caller, request)

    def post(self, caller: Caller, request: Request, receive: Callable[[Reply], None]) -> int:
        """See Broker."""
        to = self._process.world.next_to()
        if self._is_leaving or not self._lives:
            receive(Refusal(Code.SHUTTING_DOWN, "the broker is about to stop", retry_after_ms=1000))
            return to
        size = weight(request)
        self._admission.take(size)
        client = self._client_at(caller.address)
        errand = Errand(self, client, request, receive, size, meaning_of(request))
        self._waiting[to] = errand
        self._process.receive(to, errand, request)
        return to

    def forget(self, to: int) -> None:
        """See Broker; harmless when it has been answered."""
        errand = self._waiting.pop(to, None)
        if errand is None:
            return
        self._admission.release(errand.size)
        if not self._forgotten:
            self._process.world.later(0, self._let_go)
        self._forgotten.append(to)

    def is_roomy(self) -> bool:
        """See Broker."""
        return self._admission.is_roomy

    async def room(self) -> None:
        """See Broker."""
        await self._admission.room()

    def when_leaving(self, told: Callable[[], None]) -> None:
        """See Broker."""
        self._when_leaving.append(told)

    # --- for the process

    def answer(self, to: int, reply: Reply) -> None:
        """The node has answered."""
        errand = self._waiting.pop(to, None)
        if errand is None:
            return
        self._admission.release(errand.size)
        self._saw(errand, reply)
        errand.receive(reply)
        self._fabric.tasks.stir()

    def _let_go(self, _: object) -> None:
        """Nobody waits for these any more; in the order of their numbers, whatever that was of the tasks."""
        gone, self._forgotten = sorted(self._forgotten), []
        if self._lives:
            self._process.world.forget(self._process, gone)


def _limits(process: "Process") -> ServerLimits:
    """A broker's limits, but for the window of a call, which is as small as the world wants it."""
    window_bytes = process.world.options.window_bytes
    return ServerLimits(connection=Limits(stream_window_bytes=window_bytes) if window_bytes else Limits())
