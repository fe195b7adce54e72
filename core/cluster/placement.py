"""Which nodes get a partition: spread over racks, then over nodes, with leaders and replicas in balance.

The choice is greedy, one partition after another. Whoever has the fewest to lead leads; the other replicas go where no
rack is used twice as long as there are others, then to whoever has the fewest replicas, then to whoever follows that
leader least, so that what a dead node led is taken over by many. Ties go by the order of the nodes' names: the same
state gives the same places.
"""

from collections.abc import Iterable

from attrs import define, field

from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.records import PartitionPlaced
from goqueue.core.requests.standing import Standing


@define
class Loads:
    """What hangs on each node, counted on with every place that is chosen."""

    racks: dict[str, str]
    # Who may lead, and who may have a replica only where there are not enough of them.
    leading: list[str]
    spare: list[str]
    _leaders: dict[str, int] = field(factory=dict)
    _replicas: dict[str, int] = field(factory=dict)
    _pairs: dict[tuple[str, str], int] = field(factory=dict)

    @property
    def usable(self) -> int:
        """How many nodes may have a replica."""
        return len(self.leading) + len(self.spare)

    def count(self, replicas: list[str]) -> None:
        """Somebody has a partition: the first of them is to lead it."""
        leader = replicas[0]
        self._leaders[leader] = self._leaders.get(leader, 0) + 1
        for node_id in replicas:
            self._replicas[node_id] = self._replicas.get(node_id, 0) + 1
        for node_id in replicas[1:]:
            self._pairs[leader, node_id] = self._pairs.get((leader, node_id), 0) + 1

    def choose(self, replica_count: int) -> list[str]:
        """Places for one partition; the first is to lead."""
        assert 1 <= replica_count <= self.usable
        replicas = [self._least_leading()]
        while len(replicas) < replica_count:
            replicas.append(self._next(replicas))
        self.count(replicas)
        return replicas

    def widen(self, replicas: list[str], replica_count: int) -> list[str]:
        """Replicas and as many more as there are to be, or as there are nodes for."""
        wider = [*replicas]
        while len(wider) < min(replica_count, len(self._others(wider)) + len(wider)):
            wider.append(self._next(wider))
        for node_id in wider[len(replicas) :]:
            self._replicas[node_id] = self._replicas.get(node_id, 0) + 1
        return wider

    def _others(self, replicas: list[str]) -> list[str]:
        return [one for one in [*self.leading, *self.spare] if one not in replicas]

    def _least_leading(self) -> str:
        candidates = self.leading or self.spare
        return min(candidates, key=lambda one: (self._leaders.get(one, 0), self._replicas.get(one, 0), one))

    def _next(self, replicas: list[str]) -> str:
        used = [self.racks[one] for one in replicas if self.racks.get(one)]
        leader = replicas[0]

        def cost(node_id: str) -> tuple[bool, int, int, int, str]:
            followed = self._pairs.get((leader, node_id), 0)
            crowd = used.count(self.racks[node_id]) if self.racks[node_id] else 0
            return node_id in self.spare, crowd, self._replicas.get(node_id, 0), followed, node_id

        return min(self._others(replicas), key=cost)


def loads(state: ClusterState) -> Loads:
    """What hangs on each node as it is agreed."""
    racks = {node_id: state.nodes[node_id].rack for node_id in sorted(state.nodes)}
    leading = [one for one in racks if state.nodes[one].standing is Standing.LIVE]
    spare = [one for one in racks if state.nodes[one].standing is Standing.DRAINING]
    counted = Loads(racks, leading, spare)
    for name in sorted(state.topics):
        for placed in state.topics[name].placements.values():
            counted.count(placed.replicas)
    return counted


def first_places(topic: str, numbers: Iterable[int], chosen: Loads, replica_count: int) -> list[PartitionPlaced]:
    """Records that place partitions that nobody has yet: all replicas are in sync, since there is nothing to have."""
    return [begun(topic, number, chosen.choose(replica_count)) for number in numbers]


def begun(topic: str, partition: int, replicas: list[str]) -> PartitionPlaced:
    """The record that places a partition for the first time, where all replicas live."""
    return PartitionPlaced(topic, partition, replicas, [*replicas], replicas[0], 1, 1)
