"""A listener: accepts connections, secures them, finds out what each of them speaks, and runs it behind a barrier.

What is decided here: how many connections there may be, in all and from one address, how long a TLS handshake and the
first bytes may take, and how a port ends: it stops accepting, drains every conversation, and gives what is in flight
some time. Where the process has no descriptors left for one more connection, accepting pauses for a tenth of a second
and goes on; trio does that.

Nothing that goes wrong on a connection ends the listener or another connection.
"""

import logging
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress

import trio
from attrs import evolve
from trio.abc import Stream as ByteStream

from goqueue.transports.listening.counts import ConnectionCounts
from goqueue.transports.listening.limits import SECOND_NS, ListenerLimits
from goqueue.transports.listening.names import bound, host_in, local_host, remote_address
from goqueue.transports.listening.newcomers import Newcomers
from goqueue.transports.listening.protocols import Accepted, Conversation, WireProtocol, agreed, candidates

GONE = (trio.BrokenResourceError, trio.ClosedResourceError)

# Told of a connection that did not begin: who it was, and why TLS did not come to be, or None for one that gave way.
TurnedAway = Callable[[str, Exception | None], None]

log = logging.getLogger(__name__)


def _without_a_word(remote: str, error: Exception | None) -> None:
    pass


class Listener:
    """Serves protocols on any number of sockets, with one set of limits.

    `tls` may be replaced at any time; connections that are there keep what they have.
    """

    def __init__(
        self,
        protocols: Sequence[WireProtocol],
        limits: ListenerLimits | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        turned_away: TurnedAway = _without_a_word,
    ) -> None:
        if sum(not each.opening for each in protocols) > 1:
            raise ValueError("two protocols on one port have no opening, so nothing tells them apart")
        self._protocols = [*protocols]
        self._limits = limits or ListenerLimits()
        self._turned_away = turned_away
        self._tls: ssl.SSLContext | None = None
        self.renew_tls(tls)
        self._counts = ConnectionCounts(self._limits.connections_max, self._limits.connections_per_address_max)
        self._newcomers = Newcomers(self._limits.newcomers_max)
        # In the order in which they came, so that a simulated listener ends them in the same order every time.
        self._conversations: dict[Conversation, None] = {}
        # Where it listens: hosts and ports.
        self.addresses: list[tuple[str, int]] = []
        self._accepting = trio.CancelScope()
        self._draining = False
        self._emptied = trio.Event()

    @property
    def connection_count(self) -> int:
        """How many connections there are."""
        return self._counts.total

    def connections_from(self, host: str) -> int:
        """How many of them come from an address."""
        return self._counts.of(host)

    def renew_tls(self, tls: ssl.SSLContext | None) -> None:
        """Welcome whoever comes from here on with this key and these certificates."""
        names = [each.alpn for each in self._protocols if each.alpn]
        if tls is not None and names:
            tls.set_alpn_protocols(names)
        self._tls = tls

    async def serve(
        self,
        sockets: Sequence[trio.SocketListener],
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve until `drain` has ended, or until cancelled."""
        self.addresses += [bound(each) for each in sockets]
        async with trio.open_nursery() as nursery:
            with self._accepting:
                task_status.started()
                await trio.serve_listeners(self._welcome, list(sockets), handler_nursery=nursery)

    async def drain(self, grace_ns: int) -> None:
        """Accept no more; drain every conversation; return when all are gone, or the time is up and they are cut."""
        self._draining = True
        self._accepting.cancel()
        self._newcomers.dismiss()
        for conversation in list(self._conversations):
            conversation.drain()
        with trio.move_on_after(grace_ns / SECOND_NS):
            while self._counts.total:
                self._emptied = trio.Event()
                await self._emptied.wait()
        self.cut()

    def cut(self) -> None:
        """End every conversation now."""
        for conversation in list(self._conversations):
            conversation.cut()

    async def _welcome(self, stream: trio.SocketStream) -> None:
        """Serve a connection and let nothing of it out: neither its errors nor its socket."""
        remote = remote_address(stream)
        host = host_in(remote)
        try:
            if self._counts.enter(host) and not self._draining:
                for option in self._limits.socket_options:
                    stream.setsockopt(*option)
                await self._serve(stream, remote, host)
        except Exception:
            log.exception("a connection from %s failed", remote)
        finally:
            self._counts.leave(host)
            self._emptied.set()
            await trio.aclose_forcefully(stream)

    async def _serve(self, stream: trio.SocketStream, remote: str, host: str) -> None:
        conversation = await self._begin(stream, remote, host)
        if conversation is None:
            return
        self._conversations[conversation] = None
        if self._draining:
            conversation.drain()
        try:
            await conversation.run()
        finally:
            del self._conversations[conversation]

    async def _begin(self, stream: trio.SocketStream, remote: str, host: str) -> Conversation | None:
        """What comes of a newcomer."""
        since_s = trio.current_time()
        newcomer = self._newcomers.enter(host)
        try:
            with newcomer.scope:
                secured = stream if self._tls is None else await self._secure(stream, self._tls, remote)
                if secured is None:
                    return None
                return await self._recognise(Accepted(secured, remote, host, local_host(stream), since_s))
        finally:
            self._newcomers.leave(newcomer)
        if newcomer.is_driven_out:
            self._turned_away(remote, None)
        return None

    async def _secure(self, stream: trio.SocketStream, tls: ssl.SSLContext, remote: str) -> ByteStream | None:
        """The stream under TLS; None for a client that does not manage it in time."""
        secured = trio.SSLStream(stream, tls, server_side=True, https_compatible=True)
        try:
            with trio.fail_after(self._limits.handshake_ns / SECOND_NS):
                await secured.do_handshake()
        except (trio.BrokenResourceError, trio.TooSlowError) as error:
            self._turned_away(remote, error)
            return None
        return secured

    async def _recognise(self, accepted: Accepted) -> Conversation | None:
        """The conversation of the protocol that the client speaks; None for one that speaks none, or says nothing."""
        found = agreed(self._protocols, accepted.stream)
        if len(found) > 1:
            received = await self._first_bytes(accepted.stream)
            found = candidates(self._protocols, received)
            if len(found) > 1:
                return None
            accepted = evolve(accepted, received=received)
        return await found[0].begin(accepted) if found else None

    async def _first_bytes(self, stream: ByteStream) -> bytes:
        """As many bytes as tell what is spoken; fewer when no more come in time."""
        limits = self._limits
        received = b""
        with trio.move_on_after(limits.silence_ns / SECOND_NS) as scope, suppress(*GONE):
            while len(candidates(self._protocols, received)) > 1:
                more = await stream.receive_some(limits.read_bytes)
                if not more:
                    break
                if not received:
                    scope.deadline = trio.current_time() + limits.opening_ns / SECOND_NS
                received += more
        return received
