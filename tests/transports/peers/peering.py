"""Nodes for tests that are nothing but their connections: letters are bytes, and all that is heard is kept."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

import trio
from attrs import define, evolve, field

from goqueue.core.errors import ProtocolError
from goqueue.core.ready import Letter
from goqueue.transports.peers.addresses import PeerAddress
from goqueue.transports.peers.connection import PeerLimits
from goqueue.transports.peers.hello import Hello
from goqueue.transports.peers.network import Home, Network
from goqueue.transports.peers.secret import ClusterSecrets
from goqueue.transports.peers.tls import PeerTls
from tests.transports.loopback import OWN_HOST

HOST = OWN_HOST
# Nothing in a test waits for a second.
LIMITS = PeerLimits(pause_first_s=0.005, pause_most_s=0.05, pause_refused_s=0.05)


@define
class Station:
    """One node's connections, and what it has heard and reported."""

    hello: Hello
    limits: PeerLimits = LIMITS
    tls: PeerTls | None = None
    secrets: ClusterSecrets | None = None
    compression: str = "none"
    # Whether it takes letters as soon as they come.
    takes: bool = True
    known: list[PeerAddress] = field(factory=list)
    letters: list[tuple[str, bytes]] = field(factory=list)
    met: list[str] = field(factory=list)
    lost: list[str] = field(factory=list)
    gone: list[str] = field(factory=list)
    said: list[str] = field(factory=list)
    network: Network = field(init=False)
    port: int = 0

    def __attrs_post_init__(self) -> None:
        self.network = Network(
            encoded, decoded, known=self.known, limits=self.limits, tls=self.tls, secrets=self.secrets,
            compression=self.compression, report=self.said.append,
        )  # fmt: skip

    @property
    def place(self) -> PeerAddress:
        """Where it listens, under its name."""
        return PeerAddress(self.hello.node_id, HOST, self.port)

    def send(self, to: str, *contents: bytes) -> None:
        """Write letters to a peer."""
        self.network.send([Letter(to, content) for content in contents])

    def hear(self, sender: str, content: object) -> None:
        """Keep a letter."""
        assert isinstance(content, bytes)
        self.letters.append((sender, content))
        if self.takes:
            trio.lowlevel.current_trio_token().run_sync_soon(self.network.taken)

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Station"]:
        """Call and be called for as long as the block lasts."""
        listeners = await trio.open_tcp_listeners(self.port, host=HOST)
        self.port = listeners[0].socket.getsockname()[1]
        self.hello = evolve(self.hello, internal=self.place.place)
        home = Home(lambda: self.hello, self.hear, self.met.append, self.lost.append, self.gone.append)
        async with trio.open_nursery() as nursery:
            await nursery.start(partial(self.network.run, home, listeners))
            try:
                yield self
            finally:
                nursery.cancel_scope.cancel()
        for listener in listeners:
            listener.socket.close()


def encoded(message: object, _version: int) -> list[bytes]:
    """A letter as it travels: in two pieces, to be of some use."""
    assert isinstance(message, bytes)
    if message == b"unspeakable":
        raise ProtocolError("there are no words for it")
    return [b"letter ", message]


def decoded(content: memoryview) -> bytes:
    """The letter that was sent; ProtocolError for any other."""
    whole = bytes(content)
    if not whole.startswith(b"letter "):
        raise ProtocolError("this is no letter")
    return whole.removeprefix(b"letter ")


def station(name: str, *known: PeerAddress, **settings: object) -> Station:
    """A node of this name that was told of some others."""
    return Station(Hello(name, f"disk of {name}", ord(name[0])), known=[*known], **settings)  # type: ignore[arg-type]


async def until(condition: Callable[[], object]) -> None:
    """Wait until something has become true; the test's own time is the bound."""
    while not condition():  # noqa: ASYNC110 - nothing tells of what is waited for
        await trio.sleep(0.002)


def raw(place: PeerAddress) -> socket.socket:
    """A plain connection to a node."""
    return socket.create_connection((place.host, place.port), timeout=20)
