"""Letters between nodes on real connections: each process has the network of peers that brokers have.

Who is called, how two greet each other, what is framed how, what waits and what gives way, when a link counts as lost
and when a process as ended: all of that is `transports/peers/`. From this side nodes only get simulated sockets whose
routes are cut, slow and still. TCP sends again what is lost, so a storm of losses makes letters late here, and in some
worlds bytes are changed on their way, which the frames' checksums find.

What arrives has been sent: no letter may be another one than somebody has written.
"""

from collections.abc import Sequence
from contextvars import Context
from functools import partial
from hashlib import blake2b
from random import Random
from typing import TYPE_CHECKING

from goqueue.core.peers.codec import decode, encode
from goqueue.core.ready import Letter
from goqueue.core.records.varint import Readable
from goqueue.fuzz.history import Violation
from goqueue.fuzz.options import Options
from goqueue.fuzz.post import Link, Post
from goqueue.fuzz.wires.fabric import Fabric, Host, current_host
from goqueue.fuzz.wires.tasks import raised
from goqueue.transports.peers.addresses import PeerAddress
from goqueue.transports.peers.hello import Hello
from goqueue.transports.peers.network import Home, Network

if TYPE_CHECKING:
    import trio

    from goqueue.core.node import Node
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.world import World

PORT = 7000
_AGAIN_NS = 200_000_000


class PeerNode:
    """The network of one life of one process, and the way between it and the node."""

    def __init__(self, post: "WiredPost", process: "Process", fabric: Fabric, host: Host, random: Random) -> None:
        self._process = process
        self._life = process.life
        self._fabric = fabric
        self._host = host
        self._context: Context = host.context()
        self._routes: dict[str, str] | None = None
        self._is_begun = False
        # Who begins is told where others are by then, and finds out by itself what changes later.
        others = [(one.node_id, one.host) for one in process.world.processes if one is not process]
        self._network = Network(
            post.encode,
            post.decode,
            known=[PeerAddress(name, host, PORT) for name, host in others],
            compression=post.compression,
            report=partial(process.world.say, process),
            pauses=random,
        )
        self.scope: trio.CancelScope = fabric.tasks.start(self._run)

    @property
    def _lives(self) -> bool:
        return self._process.is_up and self._process.life == self._life

    async def _run(self) -> None:
        current_host.set(self._host)
        self._is_begun = True
        home = Home(self._hello, self._letter, self._met, self._lost, self._gone)
        await self._network.run(home, [self._fabric.listen(self._host, PORT)])

    def send(self, letters: Sequence[Letter]) -> None:
        """Send what a turn has written."""
        if self._is_begun:
            self._context.run(self._network.send, letters)
            self._fabric.tasks.stir()

    def taken(self) -> None:
        """The node has taken what came."""
        self._network.taken()
        self._fabric.tasks.stir()

    def follow(self, node: "Node") -> None:
        """Pass on what the node knows of others."""
        routes = node.peers()
        if self._is_begun and routes is not self._routes:
            self._routes = routes
            self._context.run(self._network.route, routes)
            self._fabric.tasks.stir()

    def _hello(self) -> Hello:
        process, node = self._process, self._process.node
        assert process.cluster is not None
        return Hello(
            process.node_id,
            process.cluster.disk_id,
            process.incarnation,
            "" if node is None else node.cluster_id,
            "simulated",
            process.cluster.internal,
            process.wall_ms(),
        )

    def _letter(self, sender: str, letter: object) -> None:
        if self._lives:
            self._process.take_letter(sender, letter)

    def _met(self, peer: str) -> None:
        self._process.world.count("link between nodes")
        if self._lives:
            self._process.hear_of_peer(peer, is_up=True)

    def _lost(self, peer: str) -> None:
        world = self._process.world
        if world.options.is_calm:
            world.later(0, raised, Violation(f"nothing fails, and {self._process.node_id} lost its link to {peer}"))
        if self._lives:
            self._process.hear_of_peer(peer, is_up=False)

    def _gone(self, peer: str) -> None:
        self._process.world.count("process that seems to have ended")
        if self._lives:
            self._process.hear_of_end(peer)


class WiredPost(Post):
    """See the module."""

    def __init__(self, random: Random, world: "World", options: Options, fabric: Fabric) -> None:
        super().__init__(random, world, options)
        self._fabric = fabric
        self._nodes: dict[str, PeerNode] = {}
        self._written: set[bytes] = set()
        self.compression = random.choice(("none", "none", "lz4", "zstd"))
        self.p_damage = options.p_damage

    def encode(self, message: object, version: int) -> Sequence[Readable]:
        """A letter as bytes, which are remembered."""
        pieces = encode(message, version)
        self._written.add(_sum(pieces))
        return pieces

    def decode(self, content: memoryview) -> object:
        """A letter of bytes that somebody has written."""
        if _sum([content]) not in self._written:
            self._world.later(0, raised, Violation(f"a letter of {len(content)} bytes arrived that nobody wrote"))
        return decode(content)

    def delay_ns(self) -> int:
        """How long bytes take this time; those that are lost come when they are sent again."""
        lost = 0.0 if self._world.is_healed else self._options.p_letter_loss + self.weather.p_loss
        again_ns = _AGAIN_NS if lost and self._random.random() < lost else 0
        return self._delay() + again_ns

    # --- letters

    def send_all(self, sender: "Process", letters: Sequence[Letter]) -> None:
        """Put what a turn has written on its way."""
        if not letters:
            return
        for letter in letters:
            self._world.count("letter")
            for checker in self._readers:
                checker.posted(sender, letter)
        self._nodes[sender.node_id].send(letters)

    def taken(self, process: "Process") -> None:
        """A process has read what came."""
        self._nodes[process.node_id].taken()

    def follow(self, process: "Process") -> None:
        """A process has had a turn."""
        if process.node is not None:
            self._nodes[process.node_id].follow(process.node)

    # --- links

    def _hosts(self, link: Link) -> tuple[Host, Host]:
        here, there = (self._fabric.named(name) for name in link)
        assert here is not None
        assert there is not None
        return here, there

    def is_cut(self, sender: "Process", to: "Process") -> bool:
        """Whether nothing that one sends reaches the other."""
        return self._fabric.passage(*self._hosts((sender.node_id, to.node_id))).cuts > 0

    def cut(self, links: list[Link]) -> None:
        """Let nothing pass; each may be cut more than once."""
        for link in links:
            self._fabric.passage(*self._hosts(link)).cuts += 1

    def mend(self, links: list[Link]) -> None:
        """Take a cut back."""
        for link in links:
            here, there = self._hosts(link)
            here.refuses.discard(there.name)
            self._fabric.passage(here, there).mend()

    def deny(self, name: str, other: str, delay_ns: int) -> None:
        """The link between two is reset where `other` is, and whatever refuses its calls does so on `name`'s behalf."""
        here, there = self._hosts((name, other))
        here.refuses.add(other)
        self._fabric.reset_at(there, here)
        self._fabric.tasks.stir()

    def heal(self) -> None:
        """From here on nothing is cut and nothing is lost."""
        super().heal()
        self.p_damage = 0.0
        self._fabric.mend_all()

    # --- processes

    def started(self, process: "Process") -> None:
        """A process has begun, and calls others."""
        host = self._fabric.named(process.node_id)
        assert host is not None
        random = Random(f"{self._world.seed}/calls/{process.node_id}/{process.life}")
        self._nodes[process.node_id] = PeerNode(self, process, self._fabric, host, random)

    def died(self, process: "Process", *, silently: bool) -> None:
        """A process is gone."""
        gone = self._nodes.pop(process.node_id, None)
        if gone is not None:
            # One that dies while it starts has called nobody.
            gone.scope.cancel()
        self._fabric.tasks.stir()


def _sum(pieces: Sequence[Readable]) -> bytes:
    summed = blake2b(digest_size=8)
    for piece in pieces:
        summed.update(piece)
    return summed.digest()
