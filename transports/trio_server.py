"""Accepts connections on trio and serves each of them behind a barrier.

What is decided here: how many connections there may be, in all and from one address, how long a TLS handshake may take,
and how the server goes: it stops accepting, warns every connection, and gives what is in flight some time.
"""

import logging
import ssl
from collections import Counter
from collections.abc import Sequence

import trio
from attrs import define, field
from trio.abc import Stream as ByteStream

from goqueue.transports.exchange import Application
from goqueue.transports.http2.limits import SECOND_NS, Limits
from goqueue.transports.trio_http2 import ConnectionDriver

log = logging.getLogger(__name__)


@define(frozen=True)
class ServerLimits:
    """What all connections together may take; `connection` is for each of them."""

    connections_max: int = 10_000
    connections_per_address_max: int = 2000
    handshake_ns: int = 10 * SECOND_NS
    connection: Limits = field(factory=Limits)


class Server:
    """Serves one application on any number of listeners."""

    def __init__(
        self, application: Application, *, limits: ServerLimits | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self._application = application
        self._limits = limits or ServerLimits()
        self._tls = tls
        if tls is not None:
            tls.set_alpn_protocols(["h2"])
        self._drivers: set[ConnectionDriver] = set()
        self._by_address: Counter[str] = Counter()
        self._accepting = trio.CancelScope()
        self._draining = False
        self._emptied = trio.Event()

    @property
    def connection_count(self) -> int:
        """How many connections there are."""
        return self._by_address.total()

    async def serve(
        self,
        listeners: Sequence[trio.SocketListener],
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve until `drain` has ended, or until cancelled."""
        async with trio.open_nursery() as nursery:
            with self._accepting:
                task_status.started()
                await trio.serve_listeners(self._welcome, list(listeners), handler_nursery=nursery)

    async def drain(self, grace_ns: int) -> None:
        """Accept no more; warn every connection; return when all are gone, or when the time is up and they are cut."""
        self._draining = True
        self._accepting.cancel()
        for driver in list(self._drivers):
            driver.drain()
        with trio.move_on_after(grace_ns / 1e9):
            while self.connection_count:
                self._emptied = trio.Event()
                await self._emptied.wait()
        for driver in list(self._drivers):
            driver.cut()

    async def _welcome(self, stream: trio.SocketStream) -> None:
        """Serve a connection and let nothing of it out: neither its errors nor its socket."""
        address = peer_address(stream)
        host = address.rpartition(":")[0]
        self._by_address[host] += 1
        try:
            if self._admits(host):
                await self._converse(stream, address)
        except Exception:
            log.exception("a connection from %s failed", address)
        finally:
            self._by_address[host] -= 1
            if not self._by_address[host]:
                del self._by_address[host]
            self._emptied.set()
            await trio.aclose_forcefully(stream)

    def _admits(self, host: str) -> bool:
        limits = self._limits
        within = self.connection_count <= limits.connections_max
        return within and self._by_address[host] <= limits.connections_per_address_max and not self._draining

    async def _converse(self, stream: trio.SocketStream, address: str) -> None:
        secured = stream if self._tls is None else await self._secure(stream, self._tls)
        if secured is None:
            return
        driver = ConnectionDriver(secured, self._application, self._limits.connection, address)
        self._drivers.add(driver)
        if self._draining:
            driver.drain()
        try:
            await driver.run()
        finally:
            self._drivers.discard(driver)

    async def _secure(self, stream: trio.SocketStream, tls: ssl.SSLContext) -> ByteStream | None:
        """The stream under TLS; None for a peer that does not manage it in time, or does not want HTTP/2."""
        secured = trio.SSLStream(stream, tls, server_side=True, https_compatible=True)
        try:
            with trio.fail_after(self._limits.handshake_ns / 1e9):
                await secured.do_handshake()
        except (trio.BrokenResourceError, trio.TooSlowError):
            return None
        if secured.selected_alpn_protocol() != "h2":
            return None
        return secured


def peer_address(stream: trio.SocketStream) -> str:
    """Who is at the other end, as `host:port`; empty for what has no name, or has gone."""
    try:
        name = stream.socket.getpeername()
    except OSError:
        return ""
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else ""
