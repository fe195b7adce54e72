"""A place where one task waits until another wakes it, at the price of one reschedule.

A wake-up that comes while nobody waits is kept, so none is lost; whoever wakes looks again at what it waited for,
because wake-ups may be too many.
"""

import trio
from trio.lowlevel import Abort, Task, current_task, reschedule, wait_task_rescheduled


class Parking:
    """Room for one waiting task."""

    __slots__ = ("_signal", "_task")

    def __init__(self) -> None:
        self._task: Task | None = None
        self._signal = False

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


def now_ns() -> int:
    """The loop's clock in nanoseconds, which a test may replace."""
    return int(trio.current_time() * 1e9)
