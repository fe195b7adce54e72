"""Sockets without a loop: connecting, TLS, and a link's carrier, each told by a selector when it can go on."""

import os
import selectors
import socket
import ssl
from typing import TYPE_CHECKING, Any, Protocol

from attrs import define

from goqueue.transports.client.fibers import FiberParking
from goqueue.transports.client.link import Link

if TYPE_CHECKING:
    from goqueue.transports.client.blocking_loop import BlockingLoop

READ_BYTES = 256 * 1024
# A record of TLS is 16 KB; so many of them are read at once.
RECORDS_MAX = 16


class Watcher(Protocol):
    """Who is told that a socket can be read or written."""

    def attend(self, events: int) -> None:
        """It can."""
        ...


@define
class _Waking:
    """A watcher that waits once, for a fiber."""

    parking: FiberParking

    def attend(self, events: int) -> None:
        self.parking.wake()


class BlockingCarrier:
    """See Carrier."""

    def __init__(self, loop: "BlockingLoop", plain: socket.socket, link: Link) -> None:
        self._loop = loop
        self._socket = plain
        self._turns = RECORDS_MAX if isinstance(plain, ssl.SSLSocket) else 1
        self._link = link
        self._rest = memoryview(b"")
        self._kicked = False
        self._closed = False
        self._events = selectors.EVENT_READ
        loop.watch(plain, self._events, self)
        self.kick()

    def kick(self) -> None:
        """See Carrier."""
        if not self._kicked:
            self._kicked = True
            self._loop.kicked.append(self)

    async def close(self) -> None:
        """See Carrier."""
        self._shut()

    def attend(self, events: int) -> None:
        """See Watcher."""
        if events & selectors.EVENT_READ:
            self._read()
        if self._rest:
            self.flush()

    def flush(self) -> None:
        """Send what the link has, as far as the socket takes it."""
        link = self._link
        try:
            while not self._closed:
                if not self._rest:
                    self._rest = memoryview(link.take())
                if self._rest:
                    self._rest = self._rest[self._socket.send(self._rest) :]
                elif link.finished:
                    self._shut()
                else:
                    break
        except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
            pass
        except OSError as error:
            self._break(f"the connection broke: {error}")
        self._kicked = False
        self._adjust()

    def _read(self) -> None:
        link = self._link
        try:
            for _ in range(self._turns):
                received = self._socket.recv(READ_BYTES)
                if not received:
                    self._break("the broker closed the connection")
                    return
                link.receive(received)
                while link.backlog:
                    link.work()
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass
        except OSError as error:
            self._break(f"the connection broke: {error}")
        self._adjust()

    def _adjust(self) -> None:
        if self._closed:
            return
        events = selectors.EVENT_WRITE if self._rest else 0
        if not self._link.clogged or not events:
            events |= selectors.EVENT_READ
        if events != self._events:
            self._events = events
            self._loop.watch_for(self._socket, events, self)

    def _break(self, why: str) -> None:
        self._shut()
        self._link.lose(why)

    def _shut(self) -> None:
        if not self._closed:
            self._closed = True
            self._rest = memoryview(b"")
            self._loop.unwatch(self._socket)
            self._socket.close()
            self._loop.carriers.remove(self)


async def connect(loop: "BlockingLoop", host: str, port: int, tls: ssl.SSLContext | None) -> socket.socket:
    """A socket connected to the first address of the host that takes it; raises OSError.

    Looking the name up is not cut short by any deadline: the system offers no way to wait for it.
    """
    failure: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        plain = socket.socket(family, kind, protocol)
        try:
            await _connect(loop, plain, address)
            return plain if tls is None else await _secure(loop, plain, tls, host)
        except OSError as error:
            plain.close()
            failure = error
        except BaseException:
            plain.close()
            raise
    raise failure or OSError("the name has no address")


async def _connect(loop: "BlockingLoop", plain: socket.socket, address: Any) -> None:  # noqa: ANN401 - the family's
    plain.setblocking(False)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        plain.connect(address)
    except BlockingIOError:
        await _until(loop, plain, selectors.EVENT_WRITE)
        number = plain.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if number:
            raise OSError(number, os.strerror(number)) from None


async def _secure(loop: "BlockingLoop", plain: socket.socket, tls: ssl.SSLContext, host: str) -> ssl.SSLSocket:
    secured = tls.wrap_socket(plain, server_hostname=host, do_handshake_on_connect=False)
    try:
        await _shake_hands(loop, secured)
    except BaseException:
        secured.close()
        raise
    return secured


async def _shake_hands(loop: "BlockingLoop", secured: ssl.SSLSocket) -> None:
    while True:
        try:
            secured.do_handshake()
            break
        except ssl.SSLWantReadError:
            await _until(loop, secured, selectors.EVENT_READ)
        except ssl.SSLWantWriteError:
            await _until(loop, secured, selectors.EVENT_WRITE)
    if secured.selected_alpn_protocol() != "h2":
        raise OSError("it does not offer HTTP/2 (ALPN)")


async def _until(loop: "BlockingLoop", watched: socket.socket, events: int) -> None:
    """Wait until a socket can be read or written."""
    waking = _Waking(loop.parking())
    loop.watch(watched, events, waking)
    try:
        await waking.parking.wait()
    finally:
        loop.unwatch(watched)
