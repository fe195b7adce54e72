"""A cluster as it is agreed on, in a test's hands: requests are planned and applied, as the controller would."""

from goqueue.core.cluster.apply import ClusterState, Placement
from goqueue.core.cluster.duties import DeclareDead
from goqueue.core.cluster.plan import Plan
from goqueue.core.cluster.plans import Plans
from goqueue.core.cluster.records import MetadataRecord
from goqueue.core.requests.cluster import AlterIsr, IsrChange, RegisterNode
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.topics import CreateTopic

WALL_MS = 1_700_000_000_000


def registration(node_id: str, incarnation: int = 1, rack: str = "", lost: str = "") -> RegisterNode:
    """How a node registers whose processes before this one lost nothing, or `unsynced` writes, or anything."""
    before = [*range(1, incarnation)]
    return RegisterNode(
        node_id, incarnation, f"disk-of-{node_id}", rack, f"{node_id}:7000", version="1.0",
        whole=[] if lost else before, synced=before if lost in ("", "unsynced") else [],
    )  # fmt: skip


def voter(node_id: str) -> str:
    """The voter id of a node that has registered so."""
    return f"{node_id}/disk-of-{node_id}"


class Gathered:
    """An agreed state, and who begins: `n1` is the controller, as which every request is planned."""

    def __init__(self, nodes: int = 0, racks: str = "", replicas_default: int = 1) -> None:
        self.state = ClusterState()
        self._plans = Plans("n1", 2, replicas_default).table()
        for number in range(nodes):
            self.do(registration(f"n{number + 1}", 1, racks[number : number + 1]))

    def plan(self, request: object) -> Plan:
        """What a request would change."""
        return self._plans[type(request)](self.state, request, WALL_MS)

    def do(self, request: object) -> list[MetadataRecord]:
        """Have a request change what it does; it must not be refused."""
        plan = self.plan(request)
        assert not isinstance(plan, Refusal), plan
        for record in plan:
            self.state.apply(record)
        self.state.check()
        return plan

    def refused(self, request: object) -> Refusal:
        """How a request is refused; it must be."""
        plan = self.plan(request)
        assert isinstance(plan, Refusal), plan
        assert plan.message
        return plan

    # --- what tests often want

    def topic(self, name: str, partitions: int = 1, replicas: int = 1, **config: object) -> None:
        """Make a topic."""
        self.do(CreateTopic(name, partitions, replicas, config))

    def at(self, topic: str, partition: int = 0) -> Placement:
        """The place of a partition."""
        return self.state.topics[topic].placements[partition]

    def brief(self, topic: str, partition: int = 0) -> str:
        """The place of a partition in a line: replicas, ISR, leader and epoch."""
        placed = self.at(topic, partition)
        replicas, isr = " ".join(placed.replicas), " ".join(placed.isr)
        return f"{replicas} | {isr} | {placed.leader or '-'} {placed.leader_epoch}"

    def die(self, *nodes: str) -> None:
        """Nodes are found dead, one after another."""
        for node_id in nodes:
            self.do(DeclareDead(node_id, self.state.nodes[node_id].incarnation))

    def begin(self, node_id: str, lost: str = "") -> list[MetadataRecord]:
        """A node begins anew, as another process."""
        return self.do(registration(node_id, self.state.nodes[node_id].incarnation + 1, lost=lost))

    def eligible(self, topic: str, partition: int = 0) -> str:
        """Who is in sync, who may lead besides, and who leads, in a line."""
        placed = self.at(topic, partition)
        return f"{' '.join(placed.isr)} | {' '.join(placed.elr)} | {placed.leader or '-'}"

    def syncing(
        self, topic: str, isr: list[str], partition: int = 0, *, resigns: bool = False, lost: tuple[str, ...] = ()
    ) -> AlterIsr:
        """The leader's report of who is in sync, at the place as it is."""
        placed = self.at(topic, partition)
        incarnations = {one: self.state.nodes[one].incarnation for one in isr}
        change = IsrChange(topic, partition, placed.leader_epoch, placed.version, isr, incarnations, resigns, [*lost])
        return AlterIsr(placed.leader, self.state.nodes[placed.leader].incarnation, [change])
