"""What has become of leaders and ISRs since the node began, seen from how places differ from what they were.

Every node sees the same places, so each counts the same, from its own start on. What a node reads when it starts, or
gets as a whole from another, is no event; of changes that it learns of at once the last one counts.
"""

from collections.abc import Iterable

from attrs import define, field

from goqueue.core.cluster.apply import ClusterState, Placement
from goqueue.core.cluster.describe import health
from goqueue.core.requests.cluster import ClusterFigures
from goqueue.core.requests.standing import Standing

_MS = 1_000_000


@define
class _Seen:
    """A place as it was, and since when it is without a leader."""

    epoch: int
    isr: list[str]
    eligible: list[str]
    leaderless_since: int | None


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
    # By topic, with the id that it had, and partition.
    _seen: dict[str, tuple[int, dict[int, _Seen]]] = field(factory=dict)

    def led_by(self, controller: str, term: int) -> None:
        """Somebody is the controller in a term; the same once more is no election."""
        if controller and (controller, term) != self._controller:
            self._controller = (controller, term)
            self.controller_elections += 1

    def begin(self, now: int, state: ClusterState) -> None:
        """Take a whole state as it is."""
        self._seen.clear()
        self.follow(now, state, state.topics)

    def follow(self, now: int, state: ClusterState, topics: Iterable[str]) -> None:
        """Count what is another way in some topics, which may be gone."""
        for name in topics:
            topic = state.topics.get(name)
            if topic is None:
                self._seen.pop(name, None)
                continue
            topic_id, seen = self._seen.get(name, (topic.topic_id, {}))
            if topic_id != topic.topic_id:
                seen = {}
            self._seen[name] = (topic.topic_id, seen)
            for number, placed in topic.placements.items():
                before = seen.get(number)
                if before is None:
                    seen[number] = _Seen(
                        placed.leader_epoch, placed.isr, placed.eligible, None if placed.leader else now
                    )
                elif (before.epoch, before.isr, before.eligible) != (
                    placed.leader_epoch,
                    placed.isr,
                    placed.eligible,
                ):
                    self._replaced(now, before, placed)

    def _replaced(self, now: int, before: _Seen, placed: Placement) -> None:
        self.isr_shrinks += any(one not in placed.isr for one in before.isr)
        self.isr_expands += any(one not in before.isr for one in placed.isr)
        if placed.leader_epoch != before.epoch:
            self._led_anew(now, before, placed)
        before.epoch, before.isr, before.eligible = placed.leader_epoch, placed.isr, placed.eligible

    def _led_anew(self, now: int, before: _Seen, placed: Placement) -> None:
        if not placed.leader:
            if before.leaderless_since is None:
                before.leaderless_since = now
            return
        since = now if before.leaderless_since is None else before.leaderless_since
        before.leaderless_since = None
        self.leader_elections += 1
        # Whoever leads without having been eligible may lack what was acknowledged.
        self.unclean_elections += placed.leader not in before.eligible
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
