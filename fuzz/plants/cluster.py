"""Bugs of `core/cluster`: how changes of the metadata are planned, applied and summed up."""

from collections.abc import Iterable

from goqueue.core.cluster import plan_isr, plan_nodes, standstill
from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.draft import Draft
from goqueue.core.requests.cluster import IsrChange
from goqueue.fuzz.plants import clusters
from goqueue.fuzz.plants.plant import Plant, Replace


def _isr_shrinks_without_epoch(replace: Replace) -> None:
    """The controller believes whoever says that others are out of sync, whatever that speaks of."""

    def problem(state: ClusterState, _: str, change: IsrChange) -> str:
        topic = state.topics.get(change.topic)
        placed = None if topic is None else topic.placements.get(change.partition)
        return "" if placed is not None and change.isr else "there is no such partition"

    replace(plan_isr, "_problem", problem)


def _unclean_restart_stays_eligible(replace: Replace) -> None:
    """A node that has lost its power is taken for one that has everything."""
    replace(plan_nodes, "_keeps_acknowledged", lambda *_, **__: True)


def _all_dropped_stay_eligible(replace: Replace) -> None:
    """Who leaves the ISR is eligible, although those who stay acknowledge messages."""
    keep = Draft.keep_in_sync

    def lasting(changed: Draft, members: Iterable[str]) -> None:
        before = changed.min_isr
        changed.min_isr = len(changed.replicas) + 1
        keep(changed, members)
        changed.min_isr = before

    replace(Draft, "keep_in_sync", lasting)
    replace(Draft, "check", lambda *_: None)


def _longest_log_not_awaited(replace: Replace) -> None:
    """Of those who had everything and lost some of it, whoever tells first leads."""
    replace(standstill, "_is_complete", lambda *_: True)


def _epoch_kept_by_the_same_leader(replace: Replace) -> None:
    """A leader that is appointed once more goes on in its epoch."""
    real = Draft.appoint

    def appoint(changed: Draft, node_id: str) -> None:
        is_same = changed.leader == node_id
        real(changed, node_id)
        changed.leader_epoch -= is_same

    replace(Draft, "appoint", appoint)


PLANTS = (
    Plant(
        "isr-shrinks-without-epoch",
        "Only the leader of the present epoch says who is out of sync.",
        _isr_shrinks_without_epoch,
        nodes=3,
        worlds=clusters.cut_off,
        within=5,
    ),
    Plant(
        "unclean-restart-stays-eligible",
        "A node that has lost its power, and with it what is acknowledged, does not lead.",
        _unclean_restart_stays_eligible,
        nodes=3,
        worlds=clusters.power_cuts,
        within=5,
    ),
    Plant(
        "all-dropped-stay-eligible",
        "Nobody outside of the ISR may lead while those in it acknowledge messages.",
        _all_dropped_stay_eligible,
        nodes=3,
        worlds=clusters.power_cuts,
        within=5,
    ),
    Plant(
        "longest-log-not-awaited",
        "Where all in sync have lost something, the one with the longest log leads.",
        _longest_log_not_awaited,
        nodes=3,
        worlds=clusters.power_cuts,
        within=5,
        seed=1,
        finder="Standstills",
    ),
    Plant(
        "epoch-kept-by-the-same-leader",
        "A leader that was appointed once more begins another epoch.",
        _epoch_kept_by_the_same_leader,
        nodes=3,
        worlds=clusters.power_cuts,
        within=10,
        seed=1,
    ),
)
"""All bugs of the cluster's metadata."""
