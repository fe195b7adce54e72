"""What has become of leaders and ISRs since the node began, counted from the records as they are agreed on.

Every node sees the same records, so each counts the same, from its own start on. What a node reads when it starts, or
gets as a whole from another, is no event.
"""

from attrs import define, field

from goqueue.core.cluster.apply import ClusterState, Placement
from goqueue.core.cluster.describe import health
from goqueue.core.cluster.records import MetadataRecord, PartitionPlaced, Standing, TopicDeleted
from goqueue.core.cluster.verbs import ClusterFigures

_MS = 1_000_000


@define
class Tally:
    """The counts of one node."""

    controller_elections: int = 0
    leader_elections: int = 0
    unclean_elections: int = 0
    isr_shrinks: int = 0
    isr_expands: int = 0
    latency_count: int = 0
    latency_ms_sum: int = 0
    _controller: tuple[str, int] = ("", 0)
    # Since when partitions are without a leader.
    _leaderless: dict[tuple[str, int], int] = field(factory=dict)

    def led_by(self, controller: str, term: int) -> None:
        """Somebody is the controller in a term; the same once more is no election."""
        if controller and (controller, term) != self._controller:
            self._controller = (controller, term)
            self.controller_elections += 1

    def before(self, now: int, state: ClusterState, record: MetadataRecord) -> None:
        """A record is about to be applied to a state."""
        if isinstance(record, TopicDeleted):
            for key in [key for key in self._leaderless if key[0] == record.name]:
                del self._leaderless[key]
        if not isinstance(record, PartitionPlaced):
            return
        topic = state.topics.get(record.topic)
        placed = topic.placements.get(record.partition) if topic is not None else None
        if placed is not None:
            self._replaced(now, placed, record)

    def _replaced(self, now: int, placed: Placement, record: PartitionPlaced) -> None:
        key = (record.topic, record.partition)
        self.isr_shrinks += any(one not in record.isr for one in placed.isr)
        self.isr_expands += any(one not in placed.isr for one in record.isr)
        if record.leader_epoch == placed.leader_epoch:
            return
        if not record.leader:
            self._leaderless.setdefault(key, now)
            return
        self.leader_elections += 1
        # Whoever leads without having been in sync lacks what was acknowledged.
        self.unclean_elections += record.leader not in placed.isr
        since = self._leaderless.pop(key, now)
        self.latency_count += 1
        self.latency_ms_sum += (now - since) // _MS

    def figures(self, state: ClusterState, *, is_controller: bool) -> ClusterFigures:
        """Everything for whoever measures."""
        seen = health(state)
        return ClusterFigures(
            len(state.nodes),
            sum(node.standing is not Standing.DEAD for node in state.nodes.values()),
            is_controller,
            seen.partitions,
            len(seen.under_replicated),
            len(seen.offline),
            seen.in_sync,
            seen.leaders,
            self.controller_elections,
            self.leader_elections,
            self.unclean_elections,
            self.isr_shrinks,
            self.isr_expands,
            self.latency_count,
            self.latency_ms_sum,
        )
