"""The client on trio: a nursery for its tasks, a reader and a writer task for each connection."""

import ssl
import threading
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

import trio
from attrs import define
from trio.abc import Stream as ByteStream
from trio.lowlevel import Abort, current_task, reschedule, wait_task_rescheduled

from goqueue.core.records.varint import Readable
from goqueue.transports.client.link import Link
from goqueue.transports.client.loops import Task
from goqueue.transports.trio_descriptor import Descriptor, descriptor_of

READ_BYTES = 256 * 1024
# Less than this is put together before it is sent: the copy costs less than telling the system of the pieces.
JOINED_BYTES = 16 * 1024
PIECES_MAX = 512


class TrioParking:
    """See Parking."""

    __slots__ = ("_signal", "_tasks")

    def __init__(self) -> None:
        self._tasks: list[trio.lowlevel.Task] = []
        self._signal = False

    async def wait(self) -> None:
        """See Parking; taking a wake-up that was kept is no checkpoint."""
        if self._signal:
            self._signal = False
            return
        task = current_task()
        self._tasks.append(task)

        def leave(_raise_cancel: object) -> Abort:
            self._tasks.remove(task)
            return Abort.SUCCEEDED

        await wait_task_rescheduled(leave)

    def wake(self) -> None:
        """See Parking."""
        tasks = self._tasks
        if not tasks:
            self._signal = True
            return
        self._tasks = []
        for task in tasks:
            reschedule(task)


@define(eq=False)
class TrioTask:
    """See Task."""

    _scope: trio.CancelScope
    _over: trio.Event

    def cancel(self) -> None:
        """See Task."""
        self._scope.cancel()

    async def wait(self) -> None:
        """See Task."""
        await self._over.wait()


class TrioLoop:
    """See Loop."""

    def __init__(self) -> None:
        self._opening: AbstractAsyncContextManager[trio.Nursery] | None = None
        self._nursery: trio.Nursery | None = None

    async def __aenter__(self) -> "TrioLoop":
        """See Loop."""
        assert self._opening is None, "a loop is entered once"
        self._opening = trio.open_nursery()
        self._nursery = await self._opening.__aenter__()
        return self

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> bool | None:
        """See Loop; an error of the block comes out as it is, in no group."""
        assert self._opening is not None
        assert self._nursery is not None
        self._nursery.cancel_scope.cancel()
        try:
            swallowed = await self._opening.__aexit__(type(error) if error else None, error, None)
        except BaseExceptionGroup as group:
            others = group.split(lambda each: each is error)[1]
            if others is None:
                return False
            if len(others.exceptions) == 1:
                raise others.exceptions[0] from None
            raise others from None
        return swallowed

    def now(self) -> int:
        """See Loop."""
        return int(trio.current_time() * 1e9)

    def parking(self) -> TrioParking:
        """See Loop."""
        return TrioParking()

    def start(self, work: Callable[[], Awaitable[object]]) -> Task:
        """See Loop."""
        assert self._nursery is not None, "the loop's block was not entered"
        task = TrioTask(trio.CancelScope(), trio.Event())
        self._nursery.start_soon(_run, task, work)
        return task

    async def within(self, deadline: int, work: Callable[[], Awaitable[object]]) -> bool:
        """See Loop."""
        with trio.CancelScope(deadline=deadline / 1e9) as scope:
            await work()
        return not scope.cancelled_caught

    async def pause(self, duration_ns: int) -> None:
        """See Loop."""
        await trio.sleep(max(duration_ns, 0) / 1e9)

    async def sheltered(self, work: Callable[[], Awaitable[object]]) -> None:
        """See Loop."""
        with trio.CancelScope(shield=True):
            await work()

    def on_signal(self, number: int, told: Callable[[], None]) -> Callable[[], None]:
        """See Loop."""
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        # From before this returns: what comes meanwhile is told of once the task runs.
        receiver = trio.open_signal_receiver(number)
        signals = receiver.__enter__()

        async def listen() -> None:
            try:
                async for _ in signals:
                    told()
            finally:
                receiver.__exit__(None, None, None)

        return self.start(listen).cancel

    async def dial(self, host: str, port: int, tls: ssl.SSLContext | None, link: Link) -> "TrioCarrier":
        """See Loop."""
        socket = await _connect(host, port)
        stream: ByteStream = socket
        if tls is not None:
            secured = trio.SSLStream(socket, tls, server_hostname=host, https_compatible=True)
            try:
                await secured.do_handshake()
            except BaseException as error:
                await trio.aclose_forcefully(socket)
                if isinstance(error, trio.BrokenResourceError):
                    raise error.__cause__ if isinstance(error.__cause__, OSError) else OSError(str(error)) from error
                raise
            if secured.selected_alpn_protocol() != "h2":
                await trio.aclose_forcefully(socket)
                raise OSError("it does not offer HTTP/2 (ALPN)")
            stream = secured
        return TrioCarrier(self, stream, link)


class TrioCarrier:
    """See Carrier."""

    def __init__(self, loop: TrioLoop, stream: ByteStream, link: Link) -> None:
        self._stream = stream
        # Plain sockets are read and written without copies.
        self._descriptor = descriptor_of(stream)
        self._link = link
        self._kicked = TrioParking()
        self._flushed = TrioParking()
        # Taken from the link and not sent yet, while nobody is sending.
        self._rest: list[Readable] = []
        self._is_sending = False
        self._tasks = (loop.start(self._write), loop.start(self._read))

    def kick(self) -> None:
        """See Carrier."""
        self._kicked.wake()

    def flush(self) -> None:
        """See Carrier: the writer's turn would come one round of the loop later."""
        descriptor = self._descriptor
        if descriptor is not None and not self._is_sending and not self._rest:
            self._rest = _written(descriptor, self._link.take_pieces())
        if descriptor is None or self._rest or self._link.finished:
            self.kick()

    async def close(self) -> None:
        """See Carrier."""
        for task in self._tasks:
            task.cancel()
        await trio.aclose_forcefully(self._stream)

    async def _read(self) -> None:
        link, receive_some = self._link, self._stream.receive_some
        while not link.finished:
            while link.clogged:
                await self._flushed.wait()
            try:
                received = await receive_some(READ_BYTES)
            except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                link.lose(_why(error))
                return
            if not received:
                link.lose("the broker closed the connection")
                return
            link.receive(bytes(received))
            while link.backlog:
                await trio.lowlevel.checkpoint()
                link.work()
            if self._descriptor is not None:
                await self._read_into(self._descriptor)

    async def _read_into(self, descriptor: Descriptor) -> None:
        """Read on without copies until the link is lost."""
        link = self._link
        try:
            while not link.finished:
                while link.clogged:
                    await self._flushed.wait()
                link.rest()
                await descriptor.until_readable()
                while await self._read_room(descriptor):
                    await trio.lowlevel.checkpoint()
        except (OSError, trio.ClosedResourceError) as error:
            link.lose(_broken(error))

    async def _read_room(self, descriptor: Descriptor) -> bool:
        """Read what is there; whether there may be more at once."""
        link = self._link
        room = link.room()
        try:
            size = descriptor.read(room)
        except BlockingIOError:
            return False
        is_full = size == len(room)
        # The link may want to give the buffer away.
        del room
        if not size:
            link.lose("the broker closed the connection")
            return False
        link.received(size)
        while link.backlog:
            await trio.lowlevel.checkpoint()
            link.work()
        return is_full and not link.clogged and not link.finished

    async def _send(self, pieces: list[Readable]) -> None:
        descriptor = self._descriptor
        if descriptor is None or sum(map(len, pieces)) <= JOINED_BYTES:
            await self._stream.send_all(b"".join(pieces))
            return
        try:
            while pieces:
                try:
                    pieces = _unsent(pieces, descriptor.write(pieces[:PIECES_MAX]))
                except BlockingIOError:
                    await descriptor.until_writable()
                else:
                    await trio.lowlevel.checkpoint()
        except OSError as error:
            raise trio.BrokenResourceError from error

    async def _write(self) -> None:
        link = self._link
        try:
            while True:
                due = self._rest or link.take_pieces()
                if due:
                    self._rest = []
                    self._is_sending = True
                    await self._send(due)
                    self._is_sending = False
                    self._flushed.wake()
                elif link.finished:
                    return
                else:
                    await self._kicked.wait()
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            link.lose(_why(error))
        finally:
            await trio.aclose_forcefully(self._stream)


def _written(descriptor: Descriptor, pieces: list[Readable]) -> list[Readable]:
    """What is left of some pieces when as much was written as the socket takes."""
    if not pieces:
        return pieces
    try:
        return _unsent(pieces, descriptor.write(pieces[:PIECES_MAX]))
    except OSError:
        # Whatever it is, the writer finds out as well.
        return pieces


async def _run(task: TrioTask, work: Callable[[], Awaitable[object]]) -> None:
    try:
        with task._scope:
            await work()
    finally:
        task._over.set()


async def _connect(host: str, port: int) -> trio.SocketStream:
    try:
        return await trio.open_tcp_stream(host, port)
    except OSError as error:
        # With several addresses trio keeps the reasons behind a sentence of its own: one of them says more.
        cause = error.__cause__
        if isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        raise (cause if isinstance(cause, OSError) else error) from None


def _unsent(pieces: list[Readable], sent: int) -> list[Readable]:
    """What is left of some pieces once so many of their bytes were sent."""
    for index, piece in enumerate(pieces):
        if sent < len(piece):
            return [memoryview(piece)[sent:], *pieces[index + 1 :]]
        sent -= len(piece)
    return []


def _why(error: Exception) -> str:
    cause = error.__cause__
    return _broken(cause) if cause is not None else "the connection broke"


def _broken(cause: BaseException) -> str:
    return f"the connection broke: {cause}"
