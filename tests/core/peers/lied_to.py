"""Real nodes that a liar speaks to, and what must hold of them whatever it says."""

from collections.abc import Callable
from typing import Any

from goqueue.core.node import Node
from goqueue.core.quorum.entries import Entry
from goqueue.core.records.build import encode
from goqueue.core.requests.cluster import DescribeReassignments
from goqueue.core.requests.deadletters import BrowseDead, StartRedrive
from goqueue.core.requests.delays import ListDelayed
from goqueue.core.requests.groups import FetchOffsets, GroupMode, JoinGroup, ListGroups
from goqueue.core.requests.messages import Fetch, InitProducer, NewRecord, Publish
from goqueue.core.requests.nodes import DescribeNode, NodeReply
from goqueue.core.requests.queues import MeasureWork, PollWork
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.topics import CreateTopic
from tests.core.driven_cluster import CALLER, DrivenCluster
from tests.core.peers.lies import Liar

_WORDS = (
    "n1", "n2", "n3", "stranger", "orders", "billing", "workers", "__groups", "disk-of-n1", "disk-of-n3",
    "n1/disk-of-n1", "n2/disk-of-n2", "n3/disk-of-n3", "../orders", "a/b", "{}", '{"fsync": "none"}', "null", "[1]",
)  # fmt: skip

_REQUESTS: tuple[Callable[[], Any], ...] = (
    lambda: Publish("orders", [NewRecord(b"k", b"v", partition=part) for part in range(3)]),
    lambda: CreateTopic("more"),
    lambda: Fetch("orders", 1, 0),
    lambda: FetchOffsets("billing", ["orders"]),
    ListGroups,
    lambda: PollWork("workers", "nobody"),
    lambda: JoinGroup("workers", ["orders"], mode=GroupMode.SHARED),
    lambda: ListDelayed("orders"),
    lambda: MeasureWork(everywhere=True),
    lambda: StartRedrive("orders.dlq"),
    lambda: BrowseDead("orders.dlq"),
    InitProducer,
    DescribeReassignments,
)


def agreed_of(node: Node) -> tuple[int, list[Entry]]:
    """Where what a node holds to be agreed begins, and the entries."""
    quorum = node._agreement._quorum
    return quorum.log.start, quorum.log.entries[: max(0, quorum.agreed - quorum.log.start)]


class Lied:
    """A cluster, and a liar that knows what its nodes know."""

    def __init__(self, cluster: DrivenCluster, seed: int) -> None:
        self.cluster = cluster
        self.liar = Liar(seed)
        self.told: list[tuple[str, str, object]] = []
        deliver = cluster._deliver

        def overheard(sender: str, to: str, message: object) -> None:
            self.liar.hear(message)
            deliver(sender, to, message)

        cluster._deliver = overheard  # type: ignore[method-assign]

    def learn(self) -> None:
        """Have the liar know the numbers, words and contents that the nodes use."""
        cluster, liar = self.cluster, self.liar
        numbers, contents = {0, 1, 2}, [b"", bytes(encode([(0, b"k", b"v", ())])), b"\x01\x01", b"voters"]
        owed: list[int] = []
        for name in cluster.living():
            node = cluster.node(name)
            agreement = node._agreement
            quorum = agreement._quorum
            numbers |= {quorum.term, quorum.agreed, quorum.log.end, quorum.log.start, cluster.now}
            contents += [bytes(entry.content) for entry in quorum.log.entries[-8:]]
            contents += [entry.kind for entry in quorum.log.entries if entry.kind is not None][-4:]
            numbers |= {cluster.members[name].incarnation}
            for topic in agreement.state.topics.values():
                numbers |= {topic.topic_id, *(placed.leader_epoch for placed in topic.placements.values())}
            peering = node._peering
            if peering is None:
                continue
            for pulling in peering.replication._pullings.values():
                numbers |= {pulling._session, pulling._round, *(one.named for one in pulling.parts.values())}
            for peer in peering.dispatch._outgoing._peers.values():
                numbers |= {peer.next, peer.floor}
                owed += peer.sent
        liar.owed = owed or [1]
        liar.incarnations = [member.incarnation for member in cluster.members.values()]
        liar.numbers, liar.contents, liar.words = sorted(numbers), contents, [*_WORDS]

    def tell(self, to: str, sender: str, message: object) -> None:
        """Say something to a node under a name, and let it have its turn."""
        cluster = self.cluster
        node = cluster.node(to)
        start, before = agreed_of(node)
        self.told.append((sender, to, message))
        node.receive(cluster.now, sender, message)
        cluster._turn(cluster.members[to])
        began, after = agreed_of(node)
        kept = {entry.index: entry for entry in after}
        for entry in before:
            if entry.index > began:
                assert kept[entry.index] == entry, "what was agreed has changed"
        assert began + len(after) >= start + len(before), "less is agreed than was"

    def lead(self, to: str, sender: str) -> None:
        """Pose as the leader of a term, to a node whose log is known."""
        quorum = self.cluster.node(to)._agreement._quorum
        term = quorum.term + self.liar.random.randrange(3)
        log, now = quorum.log, self.cluster.now
        self.tell(to, sender, self.liar.lead(term, log.end, log.last_term, now, quorum.agreed))

    def ask(self, name: str) -> None:
        """Have a node be asked for something that others are to do."""
        request = self.liar.random.choice(_REQUESTS)
        cluster = self.cluster
        cluster._last_to += 1
        cluster.node(name).ask(cluster.now, cluster._last_to, CALLER, request())

    def serves(self, name: str) -> bool:
        """Whether a node answers a client, be it that it has yet to hear from a controller."""
        to = self.cluster.ask(name, DescribeNode())
        return isinstance(self.cluster.members[name].answers.pop(to, None), NodeReply | Refusal)
