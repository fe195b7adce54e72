"""Where one task waits until another wakes it, at the price of one reschedule; and what wakes it at a time.

A wake-up that comes while nobody waits is kept, so none is lost; whoever wakes looks again at what it waited for,
because wake-ups may be too many.
"""

import math
from collections.abc import Callable

import trio
from trio.lowlevel import (
    Abort,
    Task,
    cancel_shielded_checkpoint,
    current_task,
    reschedule,
    wait_task_rescheduled,
)


class Parking:
    """Room for one waiting task."""

    __slots__ = ("_signal", "_task")

    def __init__(self) -> None:
        self._task: Task | None = None
        self._signal = False

    @property
    def signalled(self) -> bool:
        """Whether the next `wait` would return at once."""
        return self._signal

    async def wait(self) -> None:
        """Wait for a wake-up; one that was missed counts, and then this is no checkpoint."""
        if self._signal:
            self._signal = False
            return
        assert self._task is None, "one task waits at a time"
        self._task = current_task()
        await wait_task_rescheduled(self._leave)

    def wake(self) -> None:
        """Wake whoever waits, or the next one to come."""
        task = self._task
        if task is None:
            self._signal = True
        else:
            self._task = None
            reschedule(task)

    def _leave(self, _raise_cancel: object) -> Abort:
        self._task = None
        return Abort.SUCCEEDED


async def step_back() -> None:
    """Let everybody else run who can, before going on; nothing cancels this."""
    await cancel_shielded_checkpoint()


class Alarm:
    """Calls `ring` when the time comes that it was set to.

    A scope of cancellation costs several times what a reschedule does. So there is one that stays, and nothing is to be
    done while the time that it is set to is early enough: it may ring too early, never too late.
    """

    __slots__ = ("_due_s", "_ring", "_scope")

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._due_s = math.inf
        self._scope = trio.CancelScope()

    def set(self, due_s: float) -> None:
        """Ring at this time of the loop's clock, or before."""
        if due_s < self._due_s:
            self._due_s = due_s
            self._scope.deadline = due_s

    async def run(self) -> None:
        """Ring whenever it is time, until cancelled."""
        while True:
            with trio.CancelScope(deadline=self._due_s) as self._scope:
                await trio.sleep_forever()
            self._due_s = math.inf
            self._ring()


def now_ns() -> int:
    """The loop's clock in nanoseconds, which a test may replace."""
    return int(trio.current_time() * 1e9)
