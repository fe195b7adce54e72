"""Tasks of trio inside a world: stepped by hand, by the clock of the world, in an order that the seed gives.

Trio runs as the guest of a loop of our own (`trio.lowlevel.start_guest_run`), which is asked for a turn whenever
something has happened, and comes back once no task can go on. It is never idle in a real clock: the clock that it is
given says that it is always time, notes what it is asked to wait for, and the world lets that moment come.

Where several tasks can run, trio shuffles them. It does so by a generator of its own and by the order in which tasks
were made, which `hypothesis` relies on as well; here the generator is one of the world's.

Invariants: between two events of a world no task can go on; what a task does to the world it does by `later`, so that a
broken promise is raised in the world and never inside a task.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from math import ceil, inf
from random import Random
from typing import TYPE_CHECKING, Any

import trio
import trio._core._run as trio_run
from attrs import define
from outcome import Outcome

from goqueue.fuzz.history import Violation

if TYPE_CHECKING:
    from goqueue.fuzz.world import World

_TURNS_MAX = 100_000
# What trio calls the two, which it keeps for tests that want the same order every time.
_IN_ORDER, _GENERATOR = "_ALLOW_DETERMINISTIC_SCHEDULING", "_r"
_NS = 1_000_000_000


@define
class _Clock(trio.abc.Clock):
    """The clock of a world, as trio asks it."""

    _world: "World"
    is_idle: bool = False
    due_s: float = inf

    def start_clock(self) -> None:
        """It goes already."""

    def current_time(self) -> float:
        """The moment of the world in seconds."""
        return self._world.now / _NS

    def deadline_to_sleep_time(self, deadline: float) -> float:
        """Asked only when no task can go on: note it, and have trio not wait."""
        self.is_idle, self.due_s = True, deadline
        return 0


class _Faults(logging.Handler):
    """Keeps what the transports report as their own fault."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line; what was raised says more."""
        error = record.exc_info[1] if record.exc_info else None
        self.lines.append(f"{record.getMessage()}: {type(error).__name__}: {error}" if error else record.getMessage())


class Tasks:
    """All tasks of a world; `close` ends them, and must come."""

    def __init__(self, world: "World", random: Random, services: Sequence[Callable[[], None]] = ()) -> None:
        self._world = world
        self._random = random
        self._services = services
        self._clock = _Clock(world)
        self._turns: deque[Callable[[], object]] = deque()
        self._outcome: Outcome[Any] | None = None
        self._scope = trio.CancelScope()
        self._stirred = False
        self._alarm_ns: int | None = None
        self._faults = _Faults()
        self._log = logging.getLogger("goqueue.transports")
        self._propagated = self._log.propagate
        self.nursery: trio.Nursery
        self._begin()

    def _begin(self) -> None:
        inner = vars(trio_run)
        self._before = {name: inner[name] for name in (_IN_ORDER, _GENERATOR)}
        inner.update({_IN_ORDER: True, _GENERATOR: self._random})
        self._log.addHandler(self._faults)
        self._log.propagate = False
        trio.lowlevel.start_guest_run(
            self._live,
            run_sync_soon_threadsafe=self._turns.append,
            run_sync_soon_not_threadsafe=self._turns.append,
            done_callback=self._ended,
            clock=self._clock,
            # Otherwise each signal, as the watchdog's ticks of the CPU's clock, would be one more task that runs.
            host_uses_signal_set_wakeup_fd=True,
        )
        self._run_on()

    async def _live(self) -> None:
        for begin in self._services:
            begin()
        with self._scope:
            async with trio.open_nursery() as self.nursery:
                await trio.sleep_forever()

    def _ended(self, outcome: Outcome[Any]) -> None:
        self._outcome = outcome

    # --- for the world

    def start(self, work: Callable[..., Awaitable[object]], *told: object) -> trio.CancelScope:
        """Begin a task; the scope ends it. One that raises ends the world."""
        scope = trio.CancelScope()
        self.nursery.start_soon(_within, scope, work, told)
        self.stir()
        return scope

    def run(self, act: Callable[[], None]) -> None:
        """Do something that tasks hear of."""
        act()
        self.stir()

    def stir(self) -> None:
        """Something has happened to tasks: let them go on, in an event of its own at this moment."""
        if not self._stirred:
            self._stirred = True
            self._world.later(0, self._go_on)

    def _go_on(self, _: object) -> None:
        self._stirred = False
        if self._outcome is None:
            self._run_on()
            self._set_alarm()

    def _run_on(self) -> None:
        """Let tasks run until none can go on."""
        self._clock.is_idle = False
        for _ in range(_TURNS_MAX):
            # One turn at least goes from what woke the loop to who was woken.
            self._turns.popleft()()
            if self._clock.is_idle or self._outcome is not None:
                break
        else:
            raise Violation("tasks of the transports go on and on without waiting for anything")
        self._judge()

    def _judge(self) -> None:
        """Raise what went wrong in a task, or what the transports call their own fault."""
        if self._outcome is not None:
            self._outcome.unwrap()
        if self._faults.lines:
            raise Violation(f"a transport failed: {'; '.join(self._faults.lines)}"[:500])

    def _set_alarm(self) -> None:
        """Come back when the first deadline has passed."""
        due_s = self._clock.due_s
        if due_s == inf:
            return
        due_ns = max(ceil(due_s * _NS) + 1, self._world.now + 1)
        if self._alarm_ns is None or due_ns < self._alarm_ns:
            self._alarm_ns = due_ns
            self._world.later(due_ns - self._world.now, self._ring, due_ns)

    def _ring(self, due_ns: int) -> None:
        if self._alarm_ns == due_ns:
            self._alarm_ns = None
        self._go_on(None)

    def close(self) -> None:
        """End all tasks; nothing of them goes on, whatever state the world is in."""
        if self._outcome is None:
            self._scope.cancel()
            while self._outcome is None:
                self._turns.popleft()()
        vars(trio_run).update(self._before)
        self._log.removeHandler(self._faults)
        self._log.propagate = self._propagated


def raised(violation: Violation) -> None:
    """What a task has found, raised in the world."""
    raise violation


async def _within(scope: trio.CancelScope, work: Callable[..., Awaitable[object]], told: tuple[object, ...]) -> None:
    with scope:
        await work(*told)
