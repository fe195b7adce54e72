"""Steps coroutines as events of a world: those of one program, or of the server of one process.

Each has a context of its own, as a task has, and of those that are ready a random one goes first. A turn comes when
somebody stirs and when a timer is due; nothing here waits for real time.

At the end of a life every coroutine is thrown out of wherever it waits, so that none is left to be tidied up at a
moment that no seed decides.
"""

from collections.abc import Callable, Coroutine
from contextvars import copy_context
from random import Random
from typing import TYPE_CHECKING, Any, cast

from goqueue.transports.client.fibers import Fiber, FiberParking, Fibers, Interruption

if TYPE_CHECKING:
    from goqueue.fuzz.world import World

# Whoever has others go first as often as this waits for something that never comes.
_ROUNDS_MAX = 2_000
_VAIN_MAX = 5_000
_INTERRUPTIONS = 1_000


class _Apart:
    """A coroutine in a context of its own."""

    def __init__(self, work: Coroutine[Any, Any, object]) -> None:
        self._work = work
        self._context = copy_context()

    def send(self, value: None) -> object:
        """See Coroutine."""
        return self._context.run(self._work.send, value)

    def close(self) -> None:
        """See Coroutine."""
        self._context.run(self._work.close)


class Turns:
    """See the module; `flush` is called after each round, and `still_until` says when it goes on again."""

    def __init__(
        self, world: "World", random: Random, flush: Callable[[], None], still_until: Callable[[], int] = lambda: 0
    ) -> None:
        self._world = world
        self._random = random
        self._flush = flush
        self._still_until = still_until
        self._due: int | None = None
        self._is_turning = False
        # How many turns there were at one moment.
        self._vain = 0
        self._last = -1
        self.fibers = Fibers()
        self.is_over = False

    def parking(self) -> FiberParking:
        """A new place to wait."""
        return FiberParking(self.fibers)

    def start(self, work: Coroutine[Any, Any, object]) -> Fiber:
        """Let a coroutine run beside the others."""
        fiber = self.fibers.start(cast("Coroutine[Any, Any, object]", _Apart(work)))
        self.stir()
        return fiber

    def stir(self) -> None:
        """Something has changed for somebody who waits."""
        if not self._is_turning:
            self._turn_at(self._world.now)

    def _turn_at(self, due: int) -> None:
        if not self.is_over and (self._due is None or due < self._due):
            self._due = due
            self._world.later(max(due - self._world.now, 0), self._turn, due)

    def _turn(self, due: object) -> None:
        if self.is_over or self._due != due:
            return
        still_until = self._still_until()
        self._due = None
        if still_until > self._world.now:
            self._turn_at(still_until)
            return
        self._vain = self._vain + 1 if self._last == self._world.now else 0
        self._last = self._world.now
        assert self._vain < _VAIN_MAX, "turn after turn is wanted, and no time passes"
        self._is_turning = True
        try:
            self._step_all()
        finally:
            self._is_turning = False
        self._rearm()

    def _step_all(self) -> None:
        fibers, rounds = self.fibers, 0
        fibers.fire(self._world.now)
        while fibers.ready and not self.is_over:
            rounds += 1
            assert rounds < _ROUNDS_MAX, "coroutines wake each other for ever"
            ready = [*fibers.ready]
            fibers.ready.clear()
            if len(ready) > 1:
                self._random.shuffle(ready)
            for fiber in ready:
                fibers.step(fiber)
            if fibers.crash is not None:
                crash, fibers.crash = fibers.crash, None
                raise crash
            if not fibers.ready:
                self._flush()
        if not self.is_over:
            self._flush()

    def _rearm(self) -> None:
        due = self._world.now if self.fibers.ready else self.fibers.due()
        if due is not None:
            self._turn_at(max(due, self._world.now))

    def end(self) -> None:
        """Nothing runs here any more: whoever waits is thrown out of there, and again where it waits in leaving."""
        self.is_over = True
        fibers = self.fibers
        while fibers.beside:
            for fiber in [*fibers.beside.values()]:
                if fiber.parking is not None:
                    fiber.parking.leave(fiber)
                fiber.due.extend(Interruption("its process is gone") for _ in range(_INTERRUPTIONS))
                fibers.step(fiber)
                assert fiber.over, "a coroutine waits on though it is thrown out again and again"
        fibers.crash = None
        fibers.ready.clear()


async def within(turns: Turns, deadline: int, work: Callable[[], Any]) -> bool:
    """Run something until it is done, or until a time of the world: False."""
    fiber = turns.fibers.current
    assert fiber is not None
    expired = Interruption("the deadline has passed")
    timer = turns.fibers.at(deadline, lambda: fiber.interrupt(expired))
    try:
        await work()
    except Interruption as error:
        if error is not expired:
            raise
        return False
    finally:
        turns.fibers.stop(timer)
        if expired in fiber.due:
            fiber.due.remove(expired)
    return True


async def pause(turns: Turns, until: int) -> None:
    """Wait until a time of the world."""
    over = turns.parking()
    timer = turns.fibers.at(until, over.wake)
    try:
        await over.wait()
    finally:
        turns.fibers.stop(timer)
