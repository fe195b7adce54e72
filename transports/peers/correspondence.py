"""A node's letters between its turns: what came in waits here, what goes out leaves from here.

Letters are handed to the node when it has its turn, those of one turn together. What the metadata says of others, where
they are and what the cluster is called, is passed on to the connections and to the data folder.
"""

from collections.abc import Callable, Sequence
from functools import partial

import trio
from attrs import evolve

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.node import Node
from goqueue.core.ready import Letter
from goqueue.storage.disk import Disk
from goqueue.storage.identity import Identity, claim_folder, name_cluster
from goqueue.storage.lives import begin_life, end_life, system_boot_id
from goqueue.storage.open_log import system_wall_ms
from goqueue.transports.peers.hello import Hello
from goqueue.transports.peers.network import Home, Network

# What came in: a method of the node by its name, and what it is told.
_Came = tuple[str, tuple[object, ...]]


class Correspondence:
    """See the module; one of it serves one run of one node."""

    def __init__(self, network: Network, listeners: Sequence[trio.SocketListener] = ()) -> None:
        self.network = network
        self._listeners = listeners
        self._came: list[_Came] = []
        self._disk: Disk
        self._options: NodeOptions
        self._identity: Identity
        self._routes: dict[str, str] | None = None

    def claim(self, disk: Disk, options: NodeOptions) -> NodeOptions:
        """The node's options with what its folder says. Raises FormatError where that is another's, OSError."""
        assert options.cluster is not None, "a node alone has no letters"
        self._disk = disk
        self._identity = claim_folder(disk, options.node_id, options.cluster.disk_id)
        before = begin_life(disk, options.cluster.incarnation, system_boot_id())
        self._options = evolve(
            options,
            cluster=evolve(options.cluster, disk_id=self._identity.disk_id, whole=before.whole, synced=before.lives),
        )
        return self._options

    def end(self) -> None:
        """The node has ended in order: all that it wrote is on the disk. Raises OSError."""
        end_life(self._disk)

    async def run(
        self, kick: Callable[[], None], task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Have connections until cancelled; `kick` is called whenever something waits for a turn."""

        def came(verb: str, *told: object) -> None:
            self._came.append((verb, told))
            kick()

        home = Home(self._hello, *(partial(came, verb) for verb in ("receive", "peer_met", "peer_lost", "peer_gone")))
        await self.network.run(home, self._listeners, task_status=task_status)

    def deliver(self, now: int, node: Node) -> None:
        """Tell the node all that came since it had its last turn."""
        came, self._came = self._came, []
        self.network.taken()
        for verb, told in came:
            getattr(node, verb)(now, *told)
        faults = node.faults
        if faults.count > self.network.meters.letters_refused:
            self.network.meters.letters_refused = faults.count
            for peer, sentence in faults.take().items():
                self.network.blame(peer, sentence)

    def send(self, letters: list[Letter]) -> None:
        """Send what the node has written."""
        self.network.send(letters)

    def follow(self, node: Node) -> None:
        """Pass on what the node knows of others. Raises FormatError where the folder belongs to another cluster."""
        routes = node.peers()
        if routes is not self._routes:
            self._routes = routes
            self.network.route(routes)
        cluster_id = node.cluster_id
        if cluster_id != self._identity.cluster_id and cluster_id:
            self._identity = name_cluster(self._disk, self._identity, cluster_id)

    def _hello(self) -> Hello:
        cluster = self._options.cluster
        assert cluster is not None
        return Hello(
            self._options.node_id,
            self._identity.disk_id,
            cluster.incarnation,
            self._identity.cluster_id,
            self._options.version,
            cluster.internal,
            system_wall_ms(),
        )
