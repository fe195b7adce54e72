"""What the controller brings into order of its own accord, a bounded number of places at a time.

Most of it was planned when it came about: a death, a registration, an ISR. Here is what became possible later: a leader
where there is none, a leader elsewhere than on a node that is to lead nothing, a move whose goal is reached, more
replicas for the broker's own topics when the cluster has grown, and the first replicas leading again what they led.
"""

from goqueue.core.cluster.apply import ClusterState, Placement
from goqueue.core.cluster.draft import Draft, draft, standings
from goqueue.core.cluster.duties import NameCluster, Tidy
from goqueue.core.cluster.placement import Loads, loads
from goqueue.core.cluster.plan import OWN_REPLICAS, Plan, is_own
from goqueue.core.cluster.plan_moves import prefer
from goqueue.core.cluster.plan_nodes import altered, hand_over
from goqueue.core.cluster.records import ClusterNamed, MetadataRecord
from goqueue.core.requests.standing import Standing

# Of a round. A leader that moves costs its clients a pause, so few do so at a time.
_PLACES_MAX = 500
_PREFERRED_MAX = 20
_WIDENED_MAX = 20


def plan_tidy(state: ClusterState, request: Tidy) -> Plan:
    """The records of a round; none when all is well."""
    tidier = _Tidier(state, request.settled)
    records: list[MetadataRecord] = []
    for name in sorted(state.topics):
        topic = state.topics[name]
        for number, placed in topic.placements.items():
            if len(records) < _PLACES_MAX and tidier.may_differ(name, placed):
                changed = draft(topic, number)
                tidier.look(changed)
                records += altered(state, changed)
    return records


class _Tidier:
    """One round, and how much of it is left."""

    def __init__(self, state: ClusterState, settled: list[str]) -> None:
        self._state = state
        self._standing = standings(state)
        self._living = [*self._standing.values()].count(Standing.LIVE)
        # Counted when it is first asked for: mostly it is not.
        self._loads: Loads | None = None
        self._settled = settled
        self._preferred_left = _PREFERRED_MAX
        self._widened_left = _WIDENED_MAX

    def may_differ(self, topic: str, placed: Placement) -> bool:
        """Whether a place is worth a look: most are as they should be, and this is asked often."""
        return (
            placed.leader != placed.replicas[0]
            or self._standing.get(placed.leader) is not Standing.LIVE
            or bool(placed.adding or placed.removing)
            or (len(placed.replicas) < min(OWN_REPLICAS, self._living) and is_own(topic))
        )

    def look(self, changed: Draft) -> None:
        """Make of a place what it should be."""
        self._widen(changed)
        changed.finish_move(self._standing)
        if not changed.leader:
            if self._can_elect(changed):
                changed.elect(self._standing)
        elif self._standing.get(changed.leader) is not Standing.LIVE:
            hand_over(changed, changed.leader, self._standing)
        elif not changed.is_moving and self._preferred_left and changed.replicas[0] in self._settled:
            self._preferred_left -= prefer(changed, self._standing)

    def _can_elect(self, changed: Draft) -> bool:
        able = (Standing.LIVE, Standing.DRAINING)
        is_unclean = changed.is_unclean_allowed and any(self._standing.get(one) in able for one in changed.replicas)
        return is_unclean or bool(changed.heir(self._standing))

    def _widen(self, changed: Draft) -> None:
        if not is_own(changed.topic) or changed.is_moving or not self._widened_left:
            return
        wanted = min(OWN_REPLICAS, self._living)
        if len(changed.replicas) < wanted:
            self._loads = self._loads or loads(self._state)
            self._widened_left -= 1
            changed.aim(self._loads.widen(changed.replicas, wanted))


def plan_name(state: ClusterState, request: NameCluster) -> Plan:
    """The record that gives the cluster its id."""
    return [] if state.cluster_id else [ClusterNamed(request.cluster_id)]
