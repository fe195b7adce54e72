"""The connections between programs and processes: bytes in order, late, and sometimes not at all.

A connection has two ends, each with its own opinion of whether it stands. It ends as those of `fuzz/network.py` do: one
side closes it, it is cut and both sides notice some time later, it loses one direction silently, or the process dies;
its system then resets it, and if the machine is dead nobody does.

A process that is down and whose machine is not refuses whoever connects. A machine that is down says nothing at all,
and neither does an address that is hushed for a program: whoever connects there waits until he gives up, and what is
sent on connections that stand arrives when the hush is over.
"""

from random import Random
from typing import TYPE_CHECKING

from attrs import define, field

from goqueue.fuzz.users.served import Served
from goqueue.transports.client.link import Link

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.users.loop import SimulatedLoop
    from goqueue.fuzz.world import World

_S = 1_000_000_000
_ASK_AGAIN_NS = _S
_HUSHES_NS = (200_000_000, 1_000_000_000, 3_000_000_000, 8_000_000_000)


@define(eq=False)
class Wire:
    """One connection."""

    program: str
    process: "Process"
    life: int
    carrier: "SimulatedCarrier" = field(init=False)
    served: Served | None = None
    up_due: int = 0
    down_due: int = 0
    loses_up: bool = False
    loses_down: bool = False

    @property
    def is_served(self) -> bool:
        """Whether the process that it led to lives."""
        return self.process.is_up and self.process.life == self.life


class SimulatedCarrier:
    """A program's end; see Carrier."""

    def __init__(self, wires: "Wires", loop: "SimulatedLoop", wire: Wire, link: Link) -> None:
        self._wires = wires
        self._loop = loop
        self._wire = wire
        self._link = link
        self._is_kicked = False
        self.is_closed = False
        self.kick()

    def kick(self) -> None:
        """See Carrier."""
        if not self._is_kicked and not self.is_closed:
            self._is_kicked = True
            self._loop.kicked.append(self)
            self._loop.turns.stir()

    def flush(self) -> None:
        """See Carrier."""
        self._is_kicked = False
        if self._loop.is_over:
            return
        while not self.is_closed and (content := self._link.take()):
            self._wires.send_up(self._wire, content)
        if self._link.finished and not self.is_closed:
            self._shut()

    async def close(self) -> None:
        """See Carrier."""
        self._shut()

    def _shut(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            if not self._loop.is_over:
                self._wires.send_up(self._wire, b"")

    def receive(self, content: bytes) -> None:
        """Bytes came; none when the other side has closed the connection."""
        if self.is_closed or self._loop.is_over:
            return
        if not content:
            self.break_off("the broker closed the connection")
            return
        link = self._link
        link.receive(content)
        while link.backlog:
            link.work()
        self._loop.turns.stir()

    def break_off(self, why: str) -> None:
        """The connection is no more."""
        if not self.is_closed and not self._loop.is_over:
            self.is_closed = True
            self._link.lose(why)
            self._loop.turns.stir()


class Wires:
    """All connections of a world's programs."""

    def __init__(self, random: Random, world: "World") -> None:
        self._random = random
        self._world = world
        self._delay_ns_max = world.options.delay_ns_max
        self._wires: dict[Wire, None] = {}
        # Until when nothing passes between a program and a machine.
        self._hushed: dict[tuple[str, str], int] = {}
        # Machines that are dead, and not only their processes.
        self._silent: set[str] = set()

    def begin(self) -> None:
        """Let things go wrong from here on, as the options say."""
        if self._world.options.wire_trouble_ns:
            self._world.later(self._pause(), self._trouble)

    def _delay(self) -> int:
        return 1_000 + int(self._random.random() * self._delay_ns_max)

    def _hushed_until(self, program: str, node_id: str) -> int:
        return self._hushed.get((program, node_id), 0)

    # --- what programs do

    async def dial(self, loop: "SimulatedLoop", host: str, link: Link) -> SimulatedCarrier:
        """Connect to whoever listens at a name; raises OSError."""
        world, process = self._world, self._world.machine_at(host)
        await loop.pause(self._delay())
        if process is None:
            raise OSError(-2, "Name or service not known")
        while (until := self._hushed_until(loop.name, process.node_id)) > world.now:
            await loop.pause(until - world.now)
        while not process.is_up and process.node_id in self._silent:
            # TCP asks again until the machine is back.
            await loop.pause(_ASK_AGAIN_NS)
        if world.machine_at(host) is not process:
            # The machine is back under another name, and nobody answers under this one.
            await loop.parking().wait()
        if not process.is_up or process.is_stopping:
            raise ConnectionRefusedError(111, "Connection refused")
        wire = Wire(loop.name, process, process.life)
        self._wires[wire] = None
        wire.carrier = SimulatedCarrier(self, loop, wire, link)
        world.count("wire")
        return wire.carrier

    def send_up(self, wire: Wire, content: bytes) -> None:
        """Bytes on their way to the process; none to close the connection."""
        world = self._world
        due = max(world.now + self._delay(), wire.up_due, self._hushed_until(wire.program, wire.process.node_id))
        wire.up_due = due
        world.later(due - world.now, self._arrive, (wire, content))

    def send_down(self, wire: Wire, content: bytes) -> None:
        """Bytes on their way to the program; none to close the connection."""
        world = self._world
        due = max(world.now + self._delay(), wire.down_due, self._hushed_until(wire.program, wire.process.node_id))
        wire.down_due = due
        world.later(due - world.now, self._come_back, (wire, content))

    def _arrive(self, sent: tuple[Wire, bytes]) -> None:
        wire, content = sent
        world, process = self._world, wire.process
        if wire.loses_up:
            return
        if process.still_until > world.now:
            wire.up_due = max(wire.up_due, process.still_until)
            world.later(process.still_until - world.now, self._arrive, sent)
        elif wire.is_served:
            if wire.served is None:
                wire.served = process.front.accept(wire)
            wire.served.receive(content)
        elif process.node_id not in self._silent and not wire.loses_down:
            # A system that knows nothing of a connection resets it.
            world.later(self._delay(), self._reset, wire)

    def _come_back(self, sent: tuple[Wire, bytes]) -> None:
        wire, content = sent
        if not wire.loses_down:
            wire.carrier.receive(content)
            if not content:
                self._wires.pop(wire, None)

    def _reset(self, wire: Wire) -> None:
        self._wires.pop(wire, None)
        wire.carrier.break_off("the connection broke: Connection reset by peer")

    def _node_notices(self, wire: Wire) -> None:
        if wire.served is not None and wire.is_served:
            wire.served.lose()

    # --- what goes wrong

    def node_started(self, process: "Process") -> None:
        """A machine lives, and a process on it."""
        self._silent.discard(process.node_id)

    def node_died(self, process: "Process", *, silently: bool) -> None:
        """The process is gone; with its machine, nobody tells the programs."""
        if silently:
            self._silent.add(process.node_id)
        for wire in [wire for wire in self._wires if wire.process is process]:
            if not silently and not wire.loses_down:
                self._world.later(self._delay(), self._reset, wire)

    def program_died(self, program: str) -> None:
        """A program is gone; its system resets its connections."""
        for wire in [wire for wire in self._wires if wire.program == program]:
            del self._wires[wire]
            self._world.later(self._delay(), self._node_notices, wire)

    def cut(self, wire: Wire) -> None:
        """Cut a connection: each end notices some time later."""
        self._world.later(self._delay(), self._node_notices, wire)
        self._world.later(self._delay(), self._reset, wire)

    def _pause(self) -> int:
        return int(self._random.random() * 2 * self._world.options.wire_trouble_ns)

    def _trouble(self, _: object) -> None:
        world, random = self._world, self._random
        if world.is_healed:
            return
        world.later(self._pause(), self._trouble)
        wires = [wire for wire in self._wires if not wire.carrier.is_closed]
        kind = random.choice(("cut", "hush", "hush", "deaf", "mute", "stall"))
        if kind == "hush":
            key = random.choice(world.users).name, random.choice(world.processes).node_id
            self._hushed[key] = world.now + int(random.choice(_HUSHES_NS) * (0.5 + random.random()))
        elif wires:
            wire = random.choice(wires)
            if kind == "cut":
                self.cut(wire)
            elif kind == "stall":
                wire.up_due = wire.down_due = world.now + int(random.random() * 3 * _S)
            else:
                wire.loses_up, wire.loses_down = wire.loses_up or kind == "deaf", wire.loses_down or kind == "mute"
        world.count(f"wire trouble {kind}")

    def heal(self) -> None:
        """From here on connections lose nothing; those that did are cut."""
        self._hushed.clear()
        self._silent.clear()
        for wire in [wire for wire in self._wires if wire.loses_up or wire.loses_down]:
            wire.loses_up = wire.loses_down = False
            self.cut(wire)
