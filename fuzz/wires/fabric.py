"""Hosts, ports and the routes between them: what an operating system and a network are to the transports.

Each node is a host, and each client. A host is up, or its machine is gone: then nothing leaves it and nothing arrives,
and whoever writes to it on an old connection once it is back learns that it is reset. A route may be cut in one
direction, slow, or still for a while. Only who dials is found by the context of the task that does.
"""

import errno
import os
import socket as system
from contextvars import Context, ContextVar, copy_context
from random import Random
from typing import TYPE_CHECKING, Any

import trio
from attrs import define, field

from goqueue.fuzz.wires.pipe import Pipe
from goqueue.fuzz.wires.sockets import Address, SimulatedListener, SimulatedSocket, Wire

if TYPE_CHECKING:
    from collections.abc import Callable

    from goqueue.fuzz.wires.tasks import Tasks
    from goqueue.fuzz.world import World

# What a direction of a connection holds: of clients, and of nodes, for whom a few thousand bytes each few milliseconds
# would be too little to live on.
_BUFFERS = (2_000, 20_000, 200_000)
_NODE_BUFFERS = (20_000, 200_000)
_SYN_AGAIN_S = 0.5

current_host: ContextVar["Host"] = ContextVar("current_host")


@define(eq=False)
class Host:
    """A machine on the network; `paused_until` tells until when it stands still."""

    name: str
    ip: str
    paused_until: "Callable[[], int]" = field(default=lambda: 0)
    is_node: bool = False
    is_up: bool = True
    listeners: dict[int, SimulatedListener] = field(factory=dict)
    sockets: list[SimulatedSocket] = field(factory=list)
    ports_used: int = 40_000
    # Whose calls are refused on its behalf, by whatever is in between.
    refuses: set[str] = field(factory=set)

    def context(self) -> Context:
        """Where whatever dials does so from this host."""
        context = copy_context()
        context.run(current_host.set, self)
        return context


@define(eq=False)
class Passage:
    """The way from one host to another; see Route."""

    _fabric: "Fabric"
    _here: Host
    _there: Host
    cuts: int = 0
    still_until: int = 0
    _parked: list[Pipe] = field(factory=list)
    name: str = ""

    def delay_ns(self) -> int:
        """See Route."""
        return self._fabric.delay_ns(self._here, self._there)

    def p_damage(self) -> float:
        """See Route."""
        return self._fabric.p_damage(self._here, self._there)

    def open_at(self) -> int | None:
        """See Route."""
        if self.cuts:
            return None
        return max(self.still_until, self._here.paused_until(), self._there.paused_until(), self._fabric.now)

    def park(self, pipe: Pipe) -> None:
        """See Route."""
        self._parked.append(pipe)

    def mend(self) -> None:
        """One of those who have cut it does so no more."""
        self.cuts = max(self.cuts - 1, 0)
        if not self.cuts:
            parked, self._parked = self._parked, []
            for pipe in parked:
                pipe.resume()


class Fabric:
    """All hosts of a world and what connects them."""

    def __init__(
        self, world: "World", random: Random, delay_ns: "Callable[[Host, Host], int]",
        p_damage: "Callable[[Host, Host], float]",
    ) -> None:  # fmt: skip
        self._world = world
        self._random = random
        self.delay_ns = delay_ns
        self.p_damage = p_damage
        self._hosts: dict[str, Host] = {}
        self._by_name: dict[str, Host] = {}
        # By the names that are in use at this moment, and how many addresses there ever were.
        self._called: dict[str, Host] = {}
        self._addresses = 0
        self._passages: dict[tuple[str, str], Passage] = {}
        self._buffer_bytes = random.choice(_BUFFERS), random.choice(_NODE_BUFFERS)
        self.tasks: Tasks

    @property
    def now(self) -> int:
        """The moment of the world."""
        return self._world.now

    def install(self) -> None:
        """Have all sockets of the tasks be of this fabric; called within their loop."""
        trio.socket.set_custom_socket_factory(_Factory(self))
        trio.socket.set_custom_hostname_resolver(_Resolver(self))

    def add(self, name: str, paused_until: "Callable[[], int]" = lambda: 0, *, is_node: bool = False) -> Host:
        """A host by a name, which is known to all."""
        host = Host(name, self._next_ip(), paused_until, is_node)
        self._hosts[host.ip] = self._by_name[name] = self._called[name] = host
        return host

    def _next_ip(self) -> str:
        self._addresses += 1
        return f"10.0.{self._addresses >> 8}.{self._addresses & 255}"

    def rename(self, name: str, called: str) -> None:
        """A host is called otherwise from here on, and has another address; nobody answers at the one before."""
        host = self._by_name[name]
        del self._hosts[host.ip]
        self._called = {known: one for known, one in self._called.items() if one is not host}
        host.ip = self._next_ip()
        self._hosts[host.ip] = self._called[called] = host

    def named(self, name: str) -> Host | None:
        """The host of a name that it had from the beginning."""
        return self._by_name.get(name)

    def called(self, name: str) -> Host | None:
        """The host that a name leads to at this moment."""
        return self._called.get(name)

    def passage(self, here: Host, there: Host) -> Passage:
        """The way from one to another."""
        key = here.name, there.name
        found = self._passages.get(key)
        if found is None:
            found = self._passages[key] = Passage(self, here, there, name=f"{here.name}>{there.name}")
        return found

    # --- connections

    def listen(self, host: Host, port: int) -> trio.SocketListener:
        """Somebody waits for callers."""
        host.listeners[port] = listener = SimulatedListener(self, host, port)
        return trio.SocketListener(listener)

    async def connect(self, caller: SimulatedSocket, address: Address) -> None:
        """See SimulatedSocket."""
        here, there = caller.host, self._hosts.get(address[0])
        while True:
            if there is not None and here.name in there.refuses:
                await trio.sleep(self.delay_ns(here, there) / 1e9)
                raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
            if there is not None and self._reaches(here, there):
                break
            await trio.sleep(_SYN_AGAIN_S)
        await trio.sleep(self.delay_ns(here, there) / 1e9)
        listener = there.listeners.get(address[1])
        if not there.is_up or self.passage(there, here).cuts:
            await trio.sleep_forever()
        if listener is None:
            await trio.sleep(self.delay_ns(there, here) / 1e9)
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        self._join(caller, listener, address)
        await trio.sleep(self.delay_ns(there, here) / 1e9)

    def _reaches(self, here: Host, there: Host) -> bool:
        return here.is_up and there.is_up and self.passage(here, there).open_at() == self.now

    def _join(self, caller: SimulatedSocket, listener: SimulatedListener, address: Address) -> None:
        here, there = caller.host, listener.host
        out, back = self._pipe(here, there), self._pipe(there, here)
        here.ports_used += 1
        caller.here, caller.there = (here.ip, here.ports_used), address
        caller.descriptor = Wire(out, back, self.tasks.stir)
        called = SimulatedSocket(self, there, Wire(back, out, self.tasks.stir))
        called.here, called.there = address, caller.here
        for one in (caller, called):
            one.host.sockets = [each for each in one.host.sockets if each.descriptor and not each.descriptor.is_closed]
            one.host.sockets.append(one)
        listener.admit(called)

    def _pipe(self, here: Host, there: Host) -> Pipe:
        return Pipe(
            self._world, self._random, self.passage(here, there), self._buffer_bytes[here.is_node and there.is_node]
        )

    # --- what happens to hosts and routes

    def end_of_life(self, host: Host, *, silently: bool) -> None:
        """All that a process had open is closed by its system; with the machine, nobody says a word."""
        sockets, host.sockets = host.sockets, []
        for listener in host.listeners.values():
            listener.close()
        host.listeners.clear()
        for one in sockets:
            wire = one.descriptor
            assert wire is not None
            wire.close()
            if silently:
                # Who is at the other end is told once there is a machine again, and hears something of it.
                wire.out.die()
                self._world.later(self._random.randint(0, 4_000_000_000), _reset, wire.out)
        host.is_up = not silently
        self.tasks.stir()

    def break_between(self, host: Host, other: Host) -> None:
        """Reset all connections between two hosts: each end learns of it some time later."""
        for one, ips in ((host, other.ip), (other, host.ip)):
            for each in one.sockets:
                if each.there is not None and each.there[0] == ips and each.descriptor is not None:
                    each.descriptor.into.reset()

    def reset_at(self, host: Host, other: Host) -> None:
        """All connections of a host to another are reset where it is, and nothing is said to the other."""
        for each in host.sockets:
            if each.there is not None and each.there[0] == other.ip and each.descriptor is not None:
                each.descriptor.into.reset_now()

    def mend_all(self) -> None:
        """Nothing is cut any more."""
        for host in self._hosts.values():
            host.refuses.clear()
        for passage in self._passages.values():
            passage.cuts = min(passage.cuts, 1)
            passage.mend()

    def last_moved(self, host: Host, other: Host) -> int:
        """When bytes arrived last on the connections of a host to another."""
        wires = [one.descriptor for one in host.sockets if one.there is not None and one.there[0] == other.ip]
        return max((max(wire.out.moved_ns, wire.into.moved_ns) for wire in wires if wire is not None), default=self.now)

    def lose(self, host: Host, other: Host) -> None:
        """From here on nothing that one sends to the other on the connections there are arrives, and nobody knows."""
        for each in host.sockets:
            if each.there is not None and each.there[0] == other.ip and each.descriptor is not None:
                each.descriptor.out.die()


def _reset(pipe: Pipe) -> None:
    pipe.reset()


class _Factory(trio.abc.SocketFactory):
    """Makes sockets of the host whose task asks."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric

    def socket(self, family: Any = None, type: Any = None, proto: Any = None) -> trio.socket.SocketType:  # noqa: A002, ANN401
        """One that is not connected."""
        return SimulatedSocket(self._fabric, current_host.get())


class _Resolver(trio.abc.HostnameResolver):
    """Knows hosts by their names."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric

    async def getaddrinfo(self, host: Any, port: Any, *_: object) -> Any:  # noqa: ANN401 - as trio has it
        """Where a host is."""
        await trio.lowlevel.checkpoint()
        found = self._fabric.called(host.decode() if isinstance(host, bytes) else str(host))
        if found is None:
            raise system.gaierror(system.EAI_NONAME, "nobody is called that")
        return [(system.AF_INET, system.SOCK_STREAM, 6, "", (found.ip, int(port)))]

    async def getnameinfo(self, sockaddr: Any, flags: int) -> Any:  # noqa: ANN401 - as trio has it
        """Nobody asks."""
        raise system.gaierror(system.EAI_NONAME, "addresses have no names here")
