"""Work that is done in pieces: between two operations on the disk anything else may happen.

A broker runs what waits for the disk in threads. A world does as well, but only one of all threads ever runs: a piece
of work goes on when the world says so, and pauses before an operation that the seed has drawn. So what a thread of a
broker can see, such as a turn between two steps of a job, happens here as well, and in the same order every time.

A process that dies takes its work along: what is paused ends where it stands, and not one operation more is done.
"""

from collections.abc import Callable
from ctypes import c_ulong, py_object, pythonapi
from random import Random
from threading import Lock, Thread

from goqueue.fuzz.faults import Interruptions, PowerCut
from goqueue.fuzz.watchdog import WORK_THREAD

_OPERATIONS_MAX = 10
_LOOK_S = 1.0


class Slice:
    """One piece of work, which runs while the world waits and pauses while it does not."""

    def __init__(self, run: Callable[[], None]) -> None:
        self.run = run
        self.worker: Worker | None = None
        self.error: BaseException | None = None
        self.operations_left = 0
        self.is_dead = False
        self.is_done = False

    def operate(self) -> None:
        """An operation comes: pause before it, or not; the work's own thread calls this."""
        assert self.worker is not None
        if not self.is_dead:
            self.operations_left -= 1
            if self.operations_left < 0:
                self.worker.pause()
        if self.is_dead:
            raise PowerCut


class Worker:
    """A thread that does one piece of work after another: to begin a thread costs more than most of them."""

    def __init__(self) -> None:
        # Held by whoever waits: a plain lock hands over several times faster than a semaphore.
        self._may_go, self._has_stopped = Lock(), Lock()
        self._may_go.acquire()
        self._has_stopped.acquire()
        self._piece: Slice | None = None
        self._thread = Thread(target=self._live, name=WORK_THREAD, daemon=True)
        self._thread.start()

    def go_on(self, piece: Slice | None) -> None:
        """Let a piece of work run up to its next pause, or its end; None ends the thread."""
        self._piece = piece
        self._may_go.release()
        self._await()
        if piece is None:
            self._thread.join()

    def _await(self) -> None:
        """Wait until the thread pauses, and look now and then whether a signal has come meanwhile."""
        while not self._has_stopped.acquire(timeout=_LOOK_S):
            pass

    def break_off(self) -> None:
        """End work that does not pause, wherever it is."""
        assert self._thread.ident is not None
        pythonapi.PyThreadState_SetAsyncExc(c_ulong(self._thread.ident), py_object(PowerCut))
        self._await()

    def pause(self) -> None:
        """Let the world go on, and wait for it."""
        self._has_stopped.release()
        self._may_go.acquire()

    def _live(self) -> None:
        self._may_go.acquire()
        while (piece := self._piece) is not None:
            try:
                piece.run()
            except BaseException as error:  # noqa: BLE001 - it is raised where the world waits
                piece.error = error
            piece.is_done = True
            self.pause()
        self._has_stopped.release()


class Slices:
    """All work of a world that is done in pieces."""

    def __init__(self, random: Random, faults: Interruptions) -> None:
        self._random = random
        self._faults = faults
        self._living: list[Slice] = []
        self._idle: list[Worker] = []

    def begin(self, run: Callable[[], None]) -> Slice:
        """A piece of work that has not begun."""
        piece = Slice(run)
        self._living.append(piece)
        return piece

    def go_on(self, piece: Slice) -> bool:
        """Let it run up to its next pause; True when it is done. Raises what the work raises."""
        if piece.worker is None:
            piece.worker = self._idle.pop() if self._idle else Worker()
        piece.operations_left = int(self._random.random() * (_OPERATIONS_MAX + 1))
        self._faults.running = piece
        try:
            piece.worker.go_on(piece)
        except BaseException:
            # Whoever watches has lost patience: the work is still running, and would run for ever.
            piece.worker.break_off()
            self._faults.running = None
            self._living.remove(piece)
            self._idle.append(piece.worker)
            raise
        self._faults.running = None
        if piece.is_done:
            self._living.remove(piece)
            self._idle.append(piece.worker)
        if piece.error is not None:
            raise piece.error
        return piece.is_done

    def end(self) -> None:
        """The process is dead: nothing that is paused does another operation."""
        for piece in self._living:
            piece.is_dead = True
            if piece.worker is not None:
                self._faults.running = piece
                piece.worker.go_on(piece)
                assert piece.is_done
                self._idle.append(piece.worker)
        self._faults.running = None
        self._living.clear()

    def close(self) -> None:
        """The world ends, and its threads with it."""
        self.end()
        for worker in self._idle:
            worker.go_on(None)
        self._idle.clear()
