"""The client without a loop: a call runs what there is to run until it is done, in the caller's thread.

Theory: the same coroutines as on trio and asyncio, as fibers. A turn sends what there is to send, looks at the sockets,
fires the timers, and steps the fibers that are ready. A public call is `run`: turns until its own fiber is over. There
is no thread here, so what goes on beside goes on during calls only; a call that need not wait gives it a turn now and
then. What cannot wait for calls has a thread of its own that calls `beat`, which does nothing while a call lasts.

Invariant: whoever looks at anything here, or at what fibers change, holds `running`: one call, which a second thread
learns by an error and not by a broken queue, or one beat, which a call waits for.
"""

import selectors
import signal
import socket
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from goqueue.transports.client.blocking_sockets import BlockingCarrier, Watcher, connect
from goqueue.transports.client.fibers import Fiber, FiberParking, Fibers, Interruption
from goqueue.transports.client.link import Link

# A call begins with a look at the sockets when nobody has had one for so long, even if it need not wait.
ATTEND_NS = 1_000_000
# What an abandoned call gets to tidy up.
FAREWELL_TURNS = 8
# So much is done in one beat, and the rest in the next one.
BEAT_TURNS_MAX = 64
UNDER_WAY = "Another call on this connection is under way. A connection belongs to one thread; open one in each."

T = TypeVar("T")


class BlockingLoop:
    """See Loop, and `run`."""

    def __init__(self) -> None:
        self.kicked: list[BlockingCarrier] = []  # those with something to send
        self.carriers: list[BlockingCarrier] = []
        self._fibers = Fibers()
        self._main: Fiber | None = None  # of the call that is under way, or of the last one
        self._selector = selectors.DefaultSelector()
        self._attended_ns = 0
        self._calling = threading.Lock()  # held by a call
        self.running = threading.Lock()  # held by a call or a beat
        self._beater = 0  # the thread whose beat is under way
        self._closed = False

    # For the synchronous world.

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What this comes to; raises RuntimeError in a second thread, or in the middle of another call."""
        try:
            self.hold()
        except RuntimeError:
            work.close()
            raise
        try:
            if self._closed:
                work.close()
                raise RuntimeError("The connection is closed.")
            if time.monotonic_ns() - self._attended_ns >= ATTEND_NS:
                self._attend(work)
            main = self._main
            if main is None or main.over:
                main = self._main = Fiber(self._fibers, work)
            main.coroutine = work
            result: T = self._finish(main)  # type: ignore[assignment]
        finally:
            self.let_go()
        return result

    def hold(self) -> None:
        """Keep others out until `let_go`: raises RuntimeError if a call is under way, and waits for a beat to end."""
        if not self._calling.acquire(blocking=False):
            raise RuntimeError(UNDER_WAY)
        if self.running.acquire(blocking=False):
            return
        if self._beater == threading.get_ident():
            self._calling.release()
            raise RuntimeError(UNDER_WAY)
        try:
            self.running.acquire()
        except BaseException:
            self._calling.release()
            raise

    def let_go(self) -> None:
        """Let others in."""
        self.running.release()
        self._calling.release()

    def beat(self) -> None:
        """Let what goes on beside go on, if no call does that; what goes wrong is the next call's to raise."""
        if not self.running.acquire(blocking=False):
            return
        self._beater = threading.get_ident()
        fibers = self._fibers
        try:
            for _ in range(BEAT_TURNS_MAX):
                self._turn(wait=False)
                if not fibers.ready:
                    return
        except BaseException as error:  # noqa: BLE001 - nobody is there to take it
            fibers.crash = error
        finally:
            self._beater = 0
            self.running.release()

    def _attend(self, work: Coroutine[Any, Any, object]) -> None:
        """See what has happened since the last call, connections that have ended among it, before the next begins."""
        try:
            self._turn(wait=False)
        except BaseException:
            work.close()
            raise

    def _finish(self, main: Fiber) -> object:
        fibers = self._fibers
        fibers.current = main
        try:
            main.coroutine.send(None)
        except StopIteration as stop:
            # Most calls have no need to wait: such a fiber is as good as new.
            if fibers.ready or self.kicked:
                self._turn(wait=False)
            return stop.value
        finally:
            fibers.current = None
        try:
            while not main.over:
                self._turn(wait=True)
            if fibers.ready or self.kicked:
                self._turn(wait=False)
        finally:
            if not main.over:
                self._abandon(main)
        if main.error is not None:
            raise main.error
        return main.result

    # See Loop.

    async def __aenter__(self) -> "BlockingLoop":
        """See Loop."""
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> bool | None:
        """See Loop."""
        fibers = list(self._fibers.beside.values())
        for fiber in fibers:
            fiber.cancel()
        for fiber in fibers:
            await fiber.wait()
        for carrier in list(self.carriers):
            await carrier.close()
        self._closed = True
        self._selector.close()
        return None

    def now(self) -> int:
        """See Loop."""
        return time.monotonic_ns()

    def parking(self) -> FiberParking:
        """See Loop."""
        return FiberParking(self._fibers)

    def start(self, work: Callable[[], Awaitable[object]]) -> Fiber:
        """See Loop."""

        async def beside() -> None:
            await work()

        return self._fibers.start(beside())

    async def within(self, deadline: int, work: Callable[[], Awaitable[object]]) -> bool:
        """See Loop."""
        fiber = self._fibers.current
        assert fiber is not None, "only inside `run` is there anything to cut short"
        expired = Interruption("the deadline has passed")
        timer = self._fibers.at(deadline, lambda: fiber.interrupt(expired))
        try:
            await work()
        except Interruption as error:
            if error is not expired:
                raise
            return False
        finally:
            self._fibers.stop(timer)
            if expired in fiber.due:
                fiber.due.remove(expired)
        return True

    async def pause(self, duration_ns: int) -> None:
        """See Loop."""
        over = self.parking()
        timer = self._fibers.at(self.now() + duration_ns, over.wake)
        try:
            await over.wait()
        finally:
            self._fibers.stop(timer)

    async def sheltered(self, work: Callable[[], Awaitable[object]]) -> None:
        """See Loop: a call is interrupted once, and then waits like any other."""
        await work()

    def on_signal(self, number: int, told: Callable[[], None]) -> Callable[[], None]:
        """See Loop; it is told in the middle of whatever goes on."""
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        before = signal.signal(number, lambda _number, _frame: told())
        return lambda: _restore(number, before)

    async def dial(self, host: str, port: int, tls: ssl.SSLContext | None, link: Link) -> BlockingCarrier:
        """See Loop."""
        carrier = BlockingCarrier(self, await connect(self, host, port, tls), link)
        self.carriers.append(carrier)
        return carrier

    # Sockets.

    def watch(self, watched: socket.socket, events: int, watcher: Watcher) -> None:
        """Tell this watcher when a socket can be read or written."""
        self._selector.register(watched, events, watcher)

    def watch_for(self, watched: socket.socket, events: int, watcher: Watcher) -> None:
        """Tell the same watcher of something else."""
        self._selector.modify(watched, events, watcher)

    def unwatch(self, watched: socket.socket) -> None:
        """Tell nobody any more."""
        self._selector.unregister(watched)

    # The turn.

    def _turn(self, *, wait: bool) -> None:
        if self._closed:
            return
        self._flush()
        patience = self._patience() if wait else 0
        if self._selector.get_map():
            for key, events in self._selector.select(patience):
                watcher: Watcher = key.data
                watcher.attend(events)
        else:
            assert patience is not None, "a call that nothing will ever end"
            time.sleep(patience)
        self._attended_ns = now = self.now()
        fibers = self._fibers
        fibers.fire(now)
        fibers.step_ready()
        self._flush()
        if fibers.crash is not None:
            crash, fibers.crash = fibers.crash, None
            raise crash

    def _patience(self) -> float | None:
        """How many seconds nothing will happen but on sockets; None for ever."""
        if self._fibers.ready:
            return 0
        due = self._fibers.due()
        return None if due is None else max(due - self.now(), 0) / 1e9

    def _flush(self) -> None:
        while self.kicked:
            kicked, self.kicked = self.kicked, []
            for carrier in kicked:
                carrier.flush()

    def _abandon(self, main: Fiber) -> None:
        """The caller was interrupted: let its work tidy up, and end it."""
        main.cancel()
        for _ in range(FAREWELL_TURNS):
            if not main.over:
                self._fibers.step_ready()
        if not main.over:
            main.coroutine.close()
            main.finish()


def _restore(number: int, before: Any) -> None:  # noqa: ANN401 - whatever stood there
    signal.signal(number, before)
