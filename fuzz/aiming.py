"""Deaths, cuts and pauses at an event: when a node next appends to a ledger, votes, installs a snapshot, or leads.

A moment that is drawn from the clock seldom lies between two steps that belong together. So a calamity of the kind
`aimed` strikes nobody at its own time: it waits for an event, and strikes the node to which that happens, at once or
some operations of its disk later. Events are seen from outside: operations of disks by their paths, letters by their
kinds, and what a node is after a turn.
"""

import re
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from attrs import define, field

from goqueue.core.quorum.messages import Ballot, Conflict, Install, Installed, Matched, QuorumLetter, StandUp, Voted
from goqueue.core.replication.messages import Kept, Pull, Pulled, Verdict
from goqueue.core.requests.cluster import AlterIsr, LeaveNode, RegisterNode
from goqueue.core.routing.messages import Answered, Forwarded
from goqueue.fuzz.faults import PowerCut

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.world import World

_MS = 1_000_000

DISK_EVENTS: dict[str, tuple[str, re.Pattern[str]]] = {
    "append": ("write", re.compile(r"logs/[^/]+/\d+/\d+(\.\d+)?\.log")),
    "ledger append": ("write", re.compile(r"logs/.*/ledger/.*\.log")),
    "schedule append": ("write", re.compile(r"logs/.*/schedule/.*\.log")),
    "metadata append": ("write", re.compile(r"meta/.*\.log")),
    "sync": ("sync", re.compile(r"logs/.*\.log")),
    "metadata sync": ("sync", re.compile(r"meta/.*\.log")),
    "vote": ("rename", re.compile(r"meta/vote.*")),
    "checkpoint": ("rename", re.compile(r"logs/.*/checkpoint.*")),
    "metadata checkpoint": ("rename", re.compile(r"meta/checkpoint.*")),
    "mark": ("write", re.compile(r".*/synced")),
    "cut": ("truncate", re.compile(r"logs/.*\.log")),
    "metadata cut": ("truncate", re.compile(r"meta/.*\.log")),
    "new segment": ("create", re.compile(r"(logs/.*|meta)/\d+\.log")),
    "rewritten segment": ("create", re.compile(r"logs/.*/\d+\.\d+\.log")),
    "removed file": ("remove", re.compile(r"(logs|meta)/.*")),
    "new folder": ("make_folder", re.compile(r"logs/.*")),
    "removed folder": ("remove_folder", re.compile(r"logs/.*")),
    "beginning of a life": ("rename", re.compile(r"LIVES.*")),
}
"""What happens on disks: an operation, and the paths that it is about."""


def _of_quorum(*kinds: type) -> Callable[[object], bool]:
    def fits(letter: object) -> bool:
        return isinstance(letter, QuorumLetter) and isinstance(letter.message, kinds)

    return fits


def _of_request(*kinds: type) -> Callable[[object], bool]:
    def fits(letter: object) -> bool:
        return isinstance(letter, Forwarded) and isinstance(letter.request, kinds)

    return fits


def _is_granted(letter: object) -> bool:
    message = letter.message if isinstance(letter, QuorumLetter) else None
    return isinstance(message, Voted) and message.is_granted and not message.is_trial


def _is_cutting(letter: object) -> bool:
    return isinstance(letter, Pulled) and any(part.verdict is not Verdict.GOES_ON for part in letter.parts)


LETTER_EVENTS: dict[str, Callable[[object], bool]] = {
    "change of an ISR": _of_request(AlterIsr),
    "registration": _of_request(RegisterNode),
    "planned stop": _of_request(LeaveNode),
    "request passed on": lambda letter: isinstance(letter, Forwarded) and not letter.is_own,
    "answer passed back": lambda letter: isinstance(letter, Answered),
    "pull": lambda letter: isinstance(letter, Pull) and letter.round == 1,
    "verdict": _is_cutting,
    "kept": lambda letter: isinstance(letter, Kept),
    "ballot": _of_quorum(Ballot),
    "granted vote": _is_granted,
    "entries matched": _of_quorum(Matched),
    "entries in conflict": _of_quorum(Conflict),
    "piece of a snapshot": _of_quorum(Install),
    "piece that is installed": _of_quorum(Installed),
    "handed over office": _of_quorum(StandUp),
}
"""What nodes write to each other."""

CHANGE_EVENTS = ("office", "led partition", "metadata")
"""What a node comes to be: controller, leader of a partition under another epoch, one that knows the metadata."""

_STRIKES = ("kill", "kill", "crash", "crash", "isolate", "pause")


@define
class Aim:
    """An event, the next but so many, and what is done to the node to which it happens."""

    event: str
    strike: str
    passed_by: int
    # From the event to the death: operations of the disk, or milliseconds where the event is a letter.
    after: int
    # Whether it is waited for on any node, and not only on that which was drawn.
    is_anywhere: bool

    def text(self) -> str:
        """The same for people."""
        where = "anywhere" if self.is_anywhere else "there"
        unit = "ms" if self.event in LETTER_EVENTS else "operations"
        late = f", {self.after} {unit} later" if self.after else ""
        return f"{self.strike} at {self.event} {where}, {self.passed_by} passed by{late}"


def drawn_aim(luck: int) -> Aim:
    """What a calamity of this kind waits for."""
    random = Random(luck)
    events: list[str] = random.choice(([*DISK_EVENTS], [*LETTER_EVENTS], [*CHANGE_EVENTS]))
    return Aim(
        random.choice(events),
        random.choice(_STRIKES),
        random.choice((0, 0, 0, 1, 5, 20)),
        random.choice((0, 0, 0, 1, 3, 10)),
        random.random() < 0.5,
    )


def drawn_death(random: Random) -> Aim:
    """A death amid the work of a disk, for a node that is alone."""
    is_crash = random.random() < 0.7
    event, after = random.choice([*DISK_EVENTS]), random.choice((0, 0, 1, 2, 5))
    return Aim(event, "crash" if is_crash else "kill", random.choice((0, 0, 1, 3)), after, is_anywhere=False)


@define
class _Roles:
    """What a node was when it was last looked at."""

    life: int = 0
    is_controller: bool = False
    knows: bool = False
    led: dict[str, int] = field(factory=dict)


@define(eq=False)
class _Armed:
    """An aim that waits."""

    aim: Aim
    process: "Process"
    lasts_ns: int | None
    cut: Callable[["Process"], None]


class Aiming:
    """All aims of a world; none is left once it is healed."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._armed: list[_Armed] = []
        self._roles: dict[str, _Roles] = {}

    def arm(
        self, aim: Aim, process: "Process", lasts_ns: int | None = None, cut: Callable[["Process"], None] | None = None
    ) -> None:
        """Wait for an event at a node, or at any; `cut` takes a node from the network."""
        self._armed.append(_Armed(aim, process, lasts_ns, cut or (lambda _: None)))
        self._watch_disks()

    def heal(self) -> None:
        """Nothing is waited for any more."""
        self._armed.clear()
        self._watch_disks()

    def _watch_disks(self) -> None:
        waits = any(armed.aim.event in DISK_EVENTS for armed in self._armed)
        for process in self._world.processes:
            process.faults.watch = partial(self._operated, process) if waits else None

    # --- what is seen

    def _operated(self, process: "Process", operation: str, path: str) -> None:
        """An operation of a disk is about to be done."""
        for armed in [*self._armed]:
            wanted = DISK_EVENTS.get(armed.aim.event)
            if wanted is not None and wanted[0] == operation and wanted[1].fullmatch(path):
                self._happened(armed, process, is_amid=True)

    def posted(self, process: "Process", letter: object) -> None:
        """A node has written to a peer."""
        for armed in [*self._armed]:
            fits = LETTER_EVENTS.get(armed.aim.event)
            if fits is not None and fits(letter):
                self._happened(armed, process, is_amid=True)

    def looked(self, process: "Process") -> None:
        """Something has happened to a node."""
        waiting = [armed for armed in self._armed if armed.aim.event in CHANGE_EVENTS]
        if not waiting or process.node is None:
            return
        node, known = process.node, self._roles.get(process.node_id, _Roles())
        led = {stream: one.leader_epoch for stream, one in node.led.streams.items() if one.is_settled}
        roles = _Roles(process.life, node.is_controller, node.has_metadata, led)
        self._roles[process.node_id] = roles
        if known.life != roles.life:
            known = _Roles()
        changes = {
            "office": roles.is_controller and not known.is_controller,
            "metadata": roles.knows and not known.knows,
            "led partition": any(known.led.get(stream) != epoch for stream, epoch in led.items()),
        }
        for armed in waiting:
            if changes[armed.aim.event]:
                self._happened(armed, process, is_amid=False)

    # --- what is done

    def _happened(self, armed: _Armed, process: "Process", *, is_amid: bool) -> None:
        """The event; `is_amid` says that the process is in the middle of something."""
        aim = armed.aim
        if process is not armed.process and not aim.is_anywhere:
            return
        if aim.passed_by:
            aim.passed_by -= 1
            return
        self._armed.remove(armed)
        self._watch_disks()
        self._world.count(f"aimed at {aim.event}")
        self._world.note(process, "aimed", aim.text())
        if aim.strike == "isolate":
            armed.cut(process)
        elif aim.strike == "pause":
            process.still_until = self._world.now + (armed.lasts_ns or 0)
        else:
            self._kill(armed, process, is_amid=is_amid)

    def _kill(self, armed: _Armed, process: "Process", *, is_amid: bool) -> None:
        death = PowerCut(crash=armed.aim.strike == "crash", down_ns=armed.lasts_ns)
        if armed.aim.after and armed.aim.event in LETTER_EVENTS:
            # What was written has time to arrive.
            self._world.later(armed.aim.after * _MS, partial(_end, death), process, process=process)
        elif armed.aim.after:
            process.faults.operations_left, process.faults.death = armed.aim.after, death
        elif is_amid:
            raise death
        else:
            _end(death, process)


def _end(death: PowerCut, process: "Process") -> None:
    process.die(crash=death.crash, down_ns=death.down_ns)
