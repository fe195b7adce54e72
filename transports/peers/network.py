"""All connections of a node to its peers: who is called and who may call, and which way a letter takes.

Each node calls every peer whose address it knows and who is not connected yet: those it was told of, those that the
metadata names, those who have called it and said where they listen. Two that call each other at once have two
connections, and use the first. A letter to a peer without a connection is lost at once, as letters may be: one that
waited would come long after whoever wrote it has sent the next.

What a peer does wrong costs its connection and nothing else. Each sentence about a peer is reported once until there is
another one to report; of those who call and are no peers, one sentence a second.
"""

import logging
import random
import ssl
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import trio
from attrs import define, evolve, field
from trio.abc import Stream

from goqueue.core.codec.shapes import items_read
from goqueue.core.errors import GoQueueError, ProtocolError
from goqueue.core.ready import Letter
from goqueue.core.records.batch import Codec
from goqueue.core.records.varint import Readable
from goqueue.transports.listening.listener import Listener
from goqueue.transports.listening.names import host_in
from goqueue.transports.listening.protocols import Accepted, Conversation, WireProtocol
from goqueue.transports.peers.addresses import PeerAddress, parse_peer
from goqueue.transports.peers.connection import Connection, PeerLimits, Terms
from goqueue.transports.peers.greeting import Greeting, Refused
from goqueue.transports.peers.hello import CODECS, Hello, agreed_version, clocks_apart, disagreement, is_itself
from goqueue.transports.peers.hosts import host_of, hosts_of, normal
from goqueue.transports.peers.inbox import Inbox
from goqueue.transports.peers.meters import PeerMeters
from goqueue.transports.peers.parting import Parting
from goqueue.transports.peers.port import CalledConversation, listener_limits, place_of, socket_options
from goqueue.transports.peers.secret import ClusterSecrets
from goqueue.transports.peers.tls import PeerTls
from goqueue.transports.report_limit import ReportLimit

log = logging.getLogger("goqueue")

# A letter in the version that its reader speaks; ProtocolError for one that no bytes can hold.
Encode = Callable[[object, int], Sequence[Readable]]
Decode = Callable[[memoryview], object]

# What may go wrong while a connection comes to be, and is nobody's defect; ValueError for a host that is no name.
_FAILURES = (OSError, ValueError, trio.BrokenResourceError, trio.ClosedResourceError, trio.TooSlowError, GoQueueError)
_NOTES_MAX = 256
# About what an item of a list in a letter takes in memory.
_ITEM_BYTES = 128


@define
class Home:
    """The node: what it says of itself at the time, and how it hears of letters and of first and last connections."""

    hello: Callable[[], Hello]
    letter: Callable[[str, object], None]
    met: Callable[[str], None]
    lost: Callable[[str], None]
    # After the loss, where everything says that the process has ended: see `parting.py`.
    gone: Callable[[str], None]


@define
class _Call:
    """A peer to be called: under an id, or under an address alone."""

    # Who answered last; empty until somebody did.
    node_id: str = ""
    places: list[PeerAddress] = field(factory=list)


class Network:
    """See the module; `run` brings it to life."""

    def __init__(
        self,
        encode: Encode,
        decode: Decode,
        *,
        known: Iterable[PeerAddress] = (),
        limits: PeerLimits | None = None,
        tls: PeerTls | None = None,
        secrets: ClusterSecrets | None = None,
        compression: str = "none",
        report: Callable[[str], None] = log.warning,
        pauses: random.Random | None = None,
    ) -> None:
        self._encode = encode
        self._decode = decode
        self._known = [*known]
        self._limits = limits or PeerLimits()
        self._tls = tls
        # Those that were renewed last: a handshake may have begun with them.
        self._tls_before: PeerTls | None = None
        self._secrets = secrets
        self._compression = compression
        self._report = report
        self._of_strangers = ReportLimit(report, trio.current_time)
        self._of_peers = ReportLimit(report, trio.current_time)
        self._home: Home
        self._nursery: trio.Nursery
        self._connections: dict[str, list[Connection]] = {}
        self._calls: dict[str, _Call] = {}
        self._routes: dict[str, str] = {}
        # Set, and another one, whenever a connection has ended.
        self._left = trio.Event()
        # Peers that were lost, until it is concluded what became of them.
        self._partings: dict[str, Parting] = {}
        # Addresses at which this node has found itself.
        self._own_places: set[str] = set()
        self._listener: Listener | None = None
        self._inbox = Inbox(self._limits.inbox_bytes_max)
        self._notes: dict[str, str] = {}
        self._pauses = pauses or random.Random()  # noqa: S311 - nobody gains by knowing when a call comes
        self.meters = PeerMeters()

    # --- for the node

    @property
    def peers(self) -> list[str]:
        """The ids of those who are connected."""
        return [*self._connections]

    @property
    def callees(self) -> list[str]:
        """Who is called whenever there is no connection to it, by id or by address."""
        return [name for name, call in self._calls.items() if call.places]

    def send(self, letters: Sequence[Letter]) -> None:
        """Send what a turn has for others, at once; what has no way is lost."""
        by_peer: dict[str, list[object]] = {}
        for letter in letters:
            by_peer.setdefault(letter.to, []).append(letter.message)
        for peer, messages in by_peer.items():
            connections = self._connections.get(peer)
            encoded = self._encoded(messages, connections[0].version) if connections else []
            self.meters.letters_dropped += len(messages) - len(encoded)
            if connections and encoded:
                connections[0].send(encoded)

    def _encoded(self, messages: list[object], version: int) -> list[Sequence[Readable]]:
        encoded: list[Sequence[Readable]] = []
        for message in messages:
            try:
                encoded.append(self._encode(message, version))
            except ProtocolError as error:
                self._say("letters", f"a {type(message).__name__} cannot be sent: {error}")
        return encoded

    def route(self, addresses: dict[str, str]) -> None:
        """Take the addresses of nodes as the metadata has them, in place of those that it had before."""
        if addresses == self._routes:
            return
        gone = [node_id for node_id in self._routes if node_id not in addresses]
        self._routes = dict(addresses)
        for node_id in gone:
            self._forget(node_id)
        for node_id, text in addresses.items():
            self._note_place(node_id, text)

    async def run(
        self,
        home: Home,
        listeners: Sequence[trio.SocketListener],
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Call and be called until cancelled."""
        self._home = home
        tls = self._tls.called if self._tls is not None else None
        self._listener = Listener(
            [WireProtocol(self._greet_caller)],
            listener_limits(self._limits),
            tls=tls,
            turned_away=self._turn_caller_away,
        )
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            for place in self._known:
                self.find(place)
            if listeners:
                nursery.start_soon(self._listener.serve, listeners)
            task_status.started()
            await trio.sleep_forever()

    def renew_tls(self, tls: PeerTls | None) -> None:
        """Greet whoever comes or is called from here on with these; connections that are there keep what they have."""
        self._tls_before, self._tls = self._tls, tls
        if self._listener is not None:
            self._listener.renew_tls(tls.called if tls is not None else None)

    def renew_secrets(self, secrets: ClusterSecrets | None) -> None:
        """Greet whoever comes or is called from here on with these; connections that are there stay."""
        self._secrets = secrets

    def blame(self, peer: str, sentence: str) -> None:
        """The node has refused something that a peer has said: tell an operator, at a bounded rate."""
        self._of_peers.say(f"node {peer}: {sentence}")

    def taken(self) -> None:
        """The node has taken all that came."""
        self._inbox.empty()

    def find(self, place: PeerAddress) -> None:
        """A peer is said to be there; one that does not answer is given up in time, unless the metadata names it."""
        if place.node_id != self._home.hello().node_id and place.place not in self._own_places:
            self._add_place(place.node_id or str(place), place)

    # --- who is called

    def _note_place(self, node_id: str, text: str) -> None:
        try:
            place = parse_peer(text)
        except ValueError:
            return
        self.find(evolve(place, node_id=node_id))

    def _add_place(self, name: str, place: PeerAddress) -> None:
        call = self._calls.get(name)
        if call is None:
            if len(self._calls) >= self._limits.callees_max and not self._is_lasting(name, place):
                return
            call = self._calls[name] = _Call(place.node_id)
            self._nursery.start_soon(self._call_on, name, call)
        # What was said last is tried first.
        call.places = [place, *(each for each in call.places if each != place)][: self._limits.connections_max]

    def _forget(self, node_id: str) -> None:
        """The cluster has a node no more; it is called no more, unless this node was told to."""
        if not any(place.node_id == node_id for place in self._known):
            call = self._calls.pop(node_id, None)
            if call is not None:
                call.places = []

    async def _call_on(self, name: str, call: _Call) -> None:
        """Call a peer whenever it is not connected, with pauses that grow."""
        limits, attempt = self._limits, 0
        while call.places:
            if call.node_id in self._connections:
                await self._left.wait()
                continue
            place = call.places[attempt % len(call.places)]
            began_s = trio.current_time()
            pause_s = await self._call_once(place, call)
            has_lasted = trio.current_time() - began_s > limits.dial_s + limits.hello_s
            attempt = 0 if has_lasted else attempt + 1
            if attempt > limits.attempts_max and not self._is_lasting(name, place):
                break
            pause_s = pause_s or min(limits.pause_most_s, limits.pause_first_s * 2 ** min(attempt, 16))
            parting = self._partings.get(call.node_id)
            if parting is not None:
                pause_s = parting.pause_s(trio.current_time(), pause_s)
            await trio.sleep(pause_s * self._pauses.uniform(0.5, 1))
        if self._calls.get(name) is call:
            del self._calls[name]

    def _is_lasting(self, name: str, place: PeerAddress) -> bool:
        """Whether a peer is called for ever: this node was told to, or the metadata names it."""
        return name in self._routes or place in self._known

    async def _call_once(self, place: PeerAddress, call: _Call) -> float:
        """A connection from this side, to its end; how long to wait before the next, 0 for as usual."""
        stream: trio.SocketStream | None = None
        try:
            with trio.fail_after(self._limits.dial_s):
                stream = await trio.open_tcp_stream(place.host, place.port)
                for option in socket_options(self._limits):
                    stream.setsockopt(*option)
            greeting, peer = await self._greet_there(stream, place)
        except _Itself:
            self._own_places.add(place.place)
            call.places = []
        except _FAILURES as error:
            self._turn_away(str(place), error, self._report)
            if _is_refused(error):
                await self._note_refusal(call.node_id, place)
            return self._limits.pause_refused_s if isinstance(error, Refused | ProtocolError) else 0
        else:
            call.node_id = peer.node_id
            await self._serve(self._connection(greeting, peer, host_of(stream)), str(place))
        finally:
            if stream is not None:
                await trio.aclose_forcefully(stream)
        return 0

    async def _note_refusal(self, node_id: str, place: PeerAddress) -> None:
        """Nothing listens at a place, or somebody says so; it may mean that the process of a lost peer has ended."""
        hosts = await hosts_of(place) if node_id in self._partings else set()
        # Meanwhile the peer may have called.
        parting = self._partings.get(node_id)
        if parting is not None and parting.refused(trio.current_time(), place.place, hosts):
            del self._partings[node_id]
            self._home.gone(node_id)

    async def _greet_there(self, stream: trio.SocketStream, place: PeerAddress) -> tuple[Greeting, Hello]:
        own, tls, binding = self._home.hello(), self._tls, b""

        def judge(other: Hello) -> str:
            return self._judged(own, other, place.node_id)

        with trio.fail_after(self._limits.hello_s):
            secured: Stream = stream
            if tls is not None:
                secured = trio.SSLStream(stream, tls.calling, server_hostname=place.host)
                await secured.do_handshake()
                binding = tls.binding(secured, calls=True)
            greeting = Greeting(secured, self._limits.frame_bytes_max, self._secrets, binding)
            return greeting, await greeting.call(own, judge)

    # --- who calls

    async def _greet_caller(self, accepted: Accepted) -> Conversation | None:
        """Greet whoever calls; nothing comes of one that is no peer."""
        try:
            with trio.fail_at(accepted.since_s + self._limits.hello_s):
                greeting, peer = await self._greet_here(accepted.stream)
        except _Itself:
            return None
        except _FAILURES as error:
            self._turn_caller_away(accepted.remote, error)
            return None
        if peer.internal:
            self._note_place(peer.node_id, peer.internal)
        connection = self._connection(greeting, peer, normal(accepted.host))
        return CalledConversation(connection, partial(self._serve_caller, connection, accepted.remote))

    async def _serve_caller(self, connection: Connection, remote: str) -> None:
        try:
            await self._serve(connection, place_of(remote))
        except _FAILURES as error:
            self._turn_caller_away(remote, error)

    def _turn_caller_away(self, remote: str, error: Exception | None) -> None:
        """See TurnedAway."""
        if error is None:
            self.meters.connections_refused += 1
        else:
            self._turn_away(host_in(place_of(remote)), error, self._of_strangers.say)

    async def _greet_here(self, stream: Stream) -> tuple[Greeting, Hello]:
        def judge(other: Hello) -> str:
            return self._judged(self._home.hello(), other, "")

        greeting = Greeting(stream, self._limits.frame_bytes_max, self._secrets, self._binding_of(stream))
        return greeting, await greeting.answer(self._home.hello, judge)

    def _binding_of(self, stream: Stream) -> bytes:
        for tls in (self._tls, self._tls_before):
            if tls is not None and isinstance(stream, trio.SSLStream) and stream.context is tls.called:
                return tls.binding(stream, calls=False)
        return b""

    def _judged(self, own: Hello, other: Hello, expected: str) -> str:
        """Why a node cannot be a peer of this one; empty where it can. Raises _Itself."""
        if is_itself(own, other):
            raise _Itself
        if other.node_id not in self._connections and len(self._connections) >= self._limits.peers_max:
            return f"{len(self._connections)} nodes are connected to node {own.node_id}, and no more may be"
        return disagreement(own, other, expected, self._present(other))

    def _present(self, other: Hello) -> Hello | None:
        connections = self._connections.get(other.node_id)
        return connections[0].peer if connections else None

    def _turn_away(self, place: str, error: Exception, report: Callable[[str], None]) -> None:
        self.meters.connections_refused += 1
        self._say(place, f"peer {place}: {_words(error, is_secure=self._tls is not None)}", report)

    def _say(self, about: str, sentence: str, report: Callable[[str], None] | None = None) -> None:
        """Report a sentence, unless it was the last one about the same."""
        if self._notes.get(about) == sentence:
            return
        if len(self._notes) >= _NOTES_MAX:
            self._notes.pop(next(iter(self._notes)))
        self._notes[about] = sentence
        (report or self._report)(sentence)

    # --- connections

    def _connection(self, greeting: Greeting, peer: Hello, host: str) -> Connection:
        codec = CODECS[self._compression] if self._compression in peer.codecs else Codec.NONE
        terms = Terms(agreed_version(self._home.hello(), peer), codec)
        return Connection(greeting, peer, terms, self._take, self._limits, self.meters, self._inbox, host)

    async def _serve(self, connection: Connection, place: str) -> None:
        """Carry letters until the connection ends; it counts as one to that peer meanwhile."""
        peer = connection.peer
        node_id = peer.node_id
        try:
            self._enter(node_id, connection)
            warning = clocks_apart(self._home.hello(), peer)
            if warning:
                self._say(f"clock of {node_id}", warning)
            self._notes.pop(place, None)
            log.debug("connected to node %s at %s", node_id, place)
            await connection.run()
        finally:
            self._leave(node_id, connection)
        if connection.complaint:
            self._say(place, f"node {node_id} at {place}: {connection.complaint}; its connection was ended")

    def _enter(self, node_id: str, connection: Connection) -> None:
        self.meters.connections_opened += 1
        others = self._connections.setdefault(node_id, [])
        is_first = not others
        # A node that was started again has left its earlier connections behind.
        for stale in [each for each in others if each.peer.incarnation != connection.peer.incarnation]:
            stale.close()
            others.remove(stale)
        others.append(connection)
        if len(others) > self._limits.connections_max:
            others.pop(0).close()
        if is_first:
            self._partings.pop(node_id, None)
            log.info("node %s is connected, release %s", node_id, connection.peer.release)
            self._home.met(node_id)

    def _leave(self, node_id: str, connection: Connection) -> None:
        self._left.set()
        self._left = trio.Event()
        connections = self._connections.get(node_id, [])
        if connection in connections:
            connections.remove(connection)
        if not connections and self._connections.pop(node_id, None) is not None:
            log.info("node %s is not connected any more", node_id)
            if len(self._partings) >= self._limits.callees_max:
                self._partings.pop(next(iter(self._partings)))
            self._partings[node_id] = Parting(
                connection.peer.internal, connection.host, trio.current_time(), connection.is_ended_there
            )
            self._home.lost(node_id)

    def _take(self, peer: Hello, letter: memoryview) -> int:
        self._home.letter(peer.node_id, self._decode(letter))
        return len(letter) + items_read() * _ITEM_BYTES


class _Itself(GoQueueError):
    """A node has called itself."""


def _is_refused(error: BaseException | None) -> bool:
    """Whether the host has said that nothing listens, at any of a name's addresses."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_refused(each) for each in error.exceptions)
    return isinstance(error, ConnectionRefusedError) or (
        isinstance(error, OSError) and not error.errno and _is_refused(error.__cause__)
    )


def _words(error: Exception, *, is_secure: bool) -> str:
    """What an operator reads of a failure."""
    cause = error.__cause__ if isinstance(error, trio.BrokenResourceError) and error.__cause__ else error
    if isinstance(cause, ssl.SSLError):
        return f"no TLS came to be with it ({cause.reason or cause}): all nodes need cluster.tls of one authority"
    if isinstance(error, trio.TooSlowError):
        return "no node answers there" + (" with TLS" if is_secure else "")
    if isinstance(error, OSError) and not error.errno:
        return "nobody listens there yet, or it cannot be reached"
    return str(cause) or type(cause).__name__
