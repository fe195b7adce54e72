"""Whether a world goes on: turns, events and virtual time come to no end that nobody would see.

Three things can stand still although a world is busy. A turn may go on for ever, since a node always has more to be
done; then `Turn` counts. Events may follow each other without virtual time passing, or so many of them in a second of
it that nothing else comes; then `Watchdog` counts. And one call may never return; then nothing counts, and `Patience`
looks at the processor time that the process has used since the last event. Counts are the same in every run of a seed.
The processor time is not, so it decides nothing in a world that ends: it is longer than any event takes by far.

Where the world itself waits for what never comes, time passes; that is what the end of a world is for (`healing.py`),
and `waiting.py` says who waits for whom.
"""

import signal
import sys
import threading
import traceback
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from goqueue.fuzz.history import Violation

if TYPE_CHECKING:
    from collections.abc import Callable

    from goqueue.fuzz.process import Process

# In 400 worlds of one node and 30 clusters there were never more than 288 events at once, and 4728 in a second.
EVENTS_AT_ONCE_MAX = 20_000
EVENTS_A_SECOND_MAX = 50_000
# There a node that is alone had more to be done 13 times in a turn, and one among others 60 times.
TAKES_MAX = 1_000
_SECOND_NS = 1_000_000_000
# No event of 43 worlds took more than 0.03 s of the processor.
PATIENCE_S = 3
_TICK_S = 1.0


class StandsStill(BaseException):
    """One event does not end. The product catches what is an Exception, and must not catch this."""

    def __init__(self, said: str, stack: str) -> None:
        super().__init__(said)
        self.stack = stack


class Watchdog:
    """Counts the events of a world, and knows which is the latest."""

    def __init__(self) -> None:
        self.events = 0
        self.is_over = False
        self._at = -1
        self._at_once = 0
        self._second = -1
        self._a_second = 0
        self._process: Process | None = None
        self._act: Callable[[Any], None] | None = None

    def event(self, now: int, process: "Process | None", act: "Callable[[Any], None]") -> None:
        """An event comes; raises Violation when there were too many without time passing."""
        self.events += 1
        self._process, self._act = process, act
        self._at_once = self._at_once + 1 if now == self._at else 1
        self._at = now
        second = now // _SECOND_NS
        self._a_second = self._a_second + 1 if second == self._second else 1
        self._second = second
        if self._at_once > EVENTS_AT_ONCE_MAX:
            raise Violation(f"time stands still: {EVENTS_AT_ONCE_MAX} events at once, the last of them {self.doing}")
        if self._a_second > EVENTS_A_SECOND_MAX:
            raise Violation(f"time hardly passes: {EVENTS_A_SECOND_MAX} events in a second, the last {self.doing}")

    def rest(self) -> None:
        """No more events come: what is looked at now may take its time."""
        self.is_over = True

    @property
    def doing(self) -> str:
        """What the latest event is, for people."""
        what = getattr(self._act, "__qualname__", "nothing")
        return what if self._process is None else f"{what} of {self._process.node_id}"


class Turn:
    """Counts how often a node has more to be done within one turn."""

    def __init__(self, node_id: str) -> None:
        self._node_id = node_id
        self._takes = 0

    def taken(self) -> None:
        """The node has more; raises Violation when that has no end."""
        self._takes += 1
        if self._takes > TAKES_MAX:
            raise Violation(f"a turn of {self._node_id} does not end: it has had {TAKES_MAX} times more to be done")


class Patience:
    """Ends the event that has used too much of the processor, while the block lasts."""

    def __init__(self, watchdog: Watchdog) -> None:
        self._watchdog = watchdog
        self._seen = -1
        self._ticks = 0
        self._before: Any = None
        # Signals come to the main thread only, so elsewhere nobody is watched.
        self._is_on = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> None:
        if self._is_on:
            self._before = signal.signal(signal.SIGPROF, self._tick)
            signal.setitimer(signal.ITIMER_PROF, _TICK_S, _TICK_S)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_on:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.signal(signal.SIGPROF, self._before)

    def _tick(self, _number: int, frame: FrameType | None) -> None:
        watchdog = self._watchdog
        if watchdog.events != self._seen or watchdog.is_over:
            self._seen, self._ticks = watchdog.events, 0
            return
        self._ticks += 1
        if self._ticks >= PATIENCE_S:
            self._ticks = 0
            raise StandsStill(f"the world stands still: {watchdog.doing} does not end", _stacks(frame))


def _stacks(frame: FrameType | None) -> str:
    """Where the world is, and where the work is that it waits for."""
    frames = [("the world", frame)]
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    frames += [
        (names[ident], other)
        for ident, other in sorted(sys._current_frames().items())
        if names.get(ident, "").startswith(WORK_THREAD) and other.f_code.co_name != "pause"
    ]
    return "\n".join(
        f"{name}:\n{''.join(traceback.format_stack(found)[-_FRAMES_MAX:])}".rstrip() for name, found in frames
    )


WORK_THREAD = "work beside a node"
"""How threads are called that do work for a world."""
_FRAMES_MAX = 12
