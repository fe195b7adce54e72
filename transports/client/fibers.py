"""Coroutines stepped by hand: what runs the client where no loop does.

A fiber is a coroutine under way; it parks, and whoever wakes it puts it among the ready ones, which somebody steps. No
clock and no socket is looked at here: `fire` is told the time, and the sockets are the business of `blocking_loop.py`.

Invariants: a fiber is running, parked in one place, ready, or over; an interruption reaches it where it waits, each
once, and one that comes too late for its deadline's block is taken back.
"""

import heapq
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any

from attrs import Factory, define

# Of timers that are off, so many are not worth tidying up.
STALE_MAX = 64


class Interruption(BaseException):
    """What ends a fiber's waiting from outside: a cancelled task, or a deadline."""


@define(eq=False)
class Fiber:
    """A coroutine under way, which is also the Task that it is to others."""

    _fibers: "Fibers"
    coroutine: Coroutine[Any, Any, Any]
    parking: "FiberParking | None" = None
    due: deque[Interruption] = Factory(deque)
    result: object = None
    error: BaseException | None = None
    over: bool = False
    _end: "FiberParking | None" = None
    _cancelled: bool = False

    def cancel(self) -> None:
        """See Task."""
        if not self.over and not self._cancelled:
            self._cancelled = True
            self.interrupt(Interruption("cancelled"))

    async def wait(self) -> None:
        """See Task."""
        while not self.over:
            if self._end is None:
                self._end = FiberParking(self._fibers)
            await self._end.wait()

    def interrupt(self, why: Interruption) -> None:
        """Raise this where the fiber waits, or where it waits next."""
        if self.over:
            return
        self.due.append(why)
        if self.parking is not None:
            self.parking.leave(self)
            self._fibers.ready.append(self)

    def finish(self) -> None:
        """Nothing of it will run any more."""
        self.over = True
        if self._end is not None:
            self._end.wake()


@coroutine
def _suspend(fiber: Fiber) -> Generator[None, None, None]:
    if not fiber.due:
        yield
    if fiber.due:
        raise fiber.due.popleft()


class FiberParking:
    """See Parking."""

    __slots__ = ("_fibers", "_signal", "_waiting")

    def __init__(self, fibers: "Fibers") -> None:
        self._fibers = fibers
        self._waiting: list[Fiber] = []
        self._signal = False

    async def wait(self) -> None:
        """See Parking."""
        if self._signal:
            self._signal = False
            return
        fiber = self._fibers.current
        assert fiber is not None, "only inside `run` can anything wait"
        self._waiting.append(fiber)
        fiber.parking = self
        try:
            await _suspend(fiber)
        finally:
            self.leave(fiber)

    def wake(self) -> None:
        """See Parking."""
        waiting = self._waiting
        if not waiting:
            self._signal = True
            return
        self._waiting = []
        for fiber in waiting:
            fiber.parking = None
            self._fibers.ready.append(fiber)

    def leave(self, fiber: Fiber) -> None:
        """This fiber waits here no longer."""
        if fiber.parking is self:
            fiber.parking = None
            self._waiting.remove(fiber)


@define(order=True)
class Timer:
    """Something to do at a time."""

    when: int
    number: int
    _fire: Callable[[], None] | None = None

    @property
    def live(self) -> bool:
        """Whether it has not fired and is not off."""
        return self._fire is not None

    def fire(self) -> None:
        """The time has come."""
        fire, self._fire = self._fire, None
        if fire is not None:
            fire()

    def stop(self) -> None:
        """It need not fire any more."""
        self._fire = None


class Fibers:
    """All fibers of a loop, and its timers."""

    def __init__(self) -> None:
        self.current: Fiber | None = None
        self.ready: deque[Fiber] = deque()
        self.beside: dict[int, Fiber] = {}  # those that nobody's call is about, in the order they were started
        self.crash: BaseException | None = None  # what one of them failed with
        self._timers: list[Timer] = []
        self._timers_made = 0
        self._stale = 0

    def start(self, work: Coroutine[Any, Any, object]) -> Fiber:
        """A fiber that runs beside."""
        fiber = Fiber(self, work)
        self.beside[id(fiber)] = fiber
        self.ready.append(fiber)
        return fiber

    def step(self, fiber: Fiber) -> None:
        """Run a fiber up to where it waits next."""
        before, self.current = self.current, fiber
        try:
            fiber.coroutine.send(None)
            return
        except StopIteration as stop:
            fiber.result = stop.value
        except Interruption:
            pass
        except BaseException as error:  # noqa: BLE001 - whatever it is, it ends the fiber
            fiber.error = error
        finally:
            self.current = before
        fiber.finish()
        if self.beside.pop(id(fiber), None) is not None and fiber.error is not None:
            self.crash = fiber.error

    def step_ready(self) -> None:
        """Step each of those that are ready once."""
        for _ in range(len(self.ready)):
            self.step(self.ready.popleft())

    def at(self, when: int, fire: Callable[[], None]) -> Timer:
        """Call something at a time."""
        self._timers_made += 1
        timer = Timer(when, self._timers_made, fire)
        heapq.heappush(self._timers, timer)
        return timer

    def stop(self, timer: Timer) -> None:
        """Do not call it; harmless if that was done."""
        if not timer.live:
            return
        timer.stop()
        self._stale += 1
        if self._stale > STALE_MAX and self._stale * 2 > len(self._timers):
            self._timers = [each for each in self._timers if each.live]
            heapq.heapify(self._timers)
            self._stale = 0

    def fire(self, now: int) -> None:
        """Call what is due."""
        while self._timers and self._timers[0].when <= now:
            timer = heapq.heappop(self._timers)
            if timer.live:
                timer.fire()
            else:
                self._stale -= 1

    def due(self) -> int | None:
        """When `fire` has something to do."""
        while self._timers and not self._timers[0].live:
            heapq.heappop(self._timers)
            self._stale -= 1
        return self._timers[0].when if self._timers else None
