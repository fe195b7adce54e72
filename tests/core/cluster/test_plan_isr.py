"""Leaders report who is in sync: what is taken, and what is fenced."""

from collections.abc import Callable

import pytest

from goqueue.core.requests.cluster import AlterIsr, Drain, IsrChange, LeaveNode, Reassign, ReplicaMove
from goqueue.core.requests.refusals import Code
from tests.core.cluster.gathered import Gathered


def trio() -> Gathered:
    """Three nodes with a partition, led by the first; the third has fallen out."""
    cluster = Gathered(3)
    cluster.topic("orders", 1, 3)
    cluster.do(cluster.syncing("orders", ["n1", "n2"]))
    return cluster


def test_a_follower_that_fell_behind_leaves_the_isr() -> None:
    assert trio().brief("orders") == "n1 n2 n3 | n1 n2 | n1 1"


def test_a_follower_that_caught_up_joins_the_isr_in_the_order_of_the_replicas() -> None:
    cluster = trio()
    cluster.do(cluster.syncing("orders", ["n3", "n2", "n1"]))
    assert cluster.brief("orders") == "n1 n2 n3 | n1 n2 n3 | n1 1"


def test_every_report_that_is_taken_raises_the_version_even_if_nothing_else_changes() -> None:
    cluster = trio()
    before = cluster.at("orders").version
    cluster.do(cluster.syncing("orders", ["n1", "n2"]))
    assert cluster.at("orders").version == before + 1


def _another_epoch(report: AlterIsr) -> None:
    report.changes[0].leader_epoch += 1


def _another_version(report: AlterIsr) -> None:
    report.changes[0].version -= 1


def _not_the_leader(report: AlterIsr) -> None:
    report.node_id = "n2"


def _another_process(report: AlterIsr) -> None:
    report.incarnation = 9


def _without_itself(report: AlterIsr) -> None:
    report.changes[0].isr = ["n2"]


def _a_stranger(report: AlterIsr) -> None:
    report.changes[0].isr = ["n1", "n4"]


def _nobody(report: AlterIsr) -> None:
    report.changes[0].isr = []


def _no_such_partition(report: AlterIsr) -> None:
    report.changes[0].partition = 7


def _as_another_process(report: AlterIsr) -> None:
    report.changes[0].incarnations["n3"] = 9


def _as_nobody_in_particular(report: AlterIsr) -> None:
    del report.changes[0].incarnations["n3"]


@pytest.mark.parametrize(
    "spoil",
    [
        _another_epoch,
        _another_version,
        _not_the_leader,
        _another_process,
        _without_itself,
        _a_stranger,
        _nobody,
        _no_such_partition,
        _as_another_process,
        _as_nobody_in_particular,
    ],
)
def test_a_report_that_does_not_hold_changes_nothing(spoil: Callable[[AlterIsr], None]) -> None:
    cluster = trio()
    report = cluster.syncing("orders", ["n1", "n2", "n3"])
    spoil(report)
    assert cluster.refused(report).code is Code.INVALID


def test_a_follower_that_began_anew_since_it_caught_up_does_not_join() -> None:
    cluster = trio()
    report = cluster.syncing("orders", ["n1", "n2", "n3"])
    cluster.begin("n3")
    assert "begun anew" in cluster.refused(report).message


@pytest.mark.parametrize("go", [Gathered.die, lambda cluster, one: cluster.do(LeaveNode(one, 1))])
def test_a_follower_that_is_dead_or_about_to_stop_does_not_join(go: Callable[[Gathered, str], None]) -> None:
    cluster = trio()
    report = cluster.syncing("orders", ["n1", "n2", "n3"])
    go(cluster, "n3")
    assert cluster.refused(report).code is Code.INVALID


def test_of_many_changes_those_that_hold_are_made() -> None:
    cluster = Gathered(2)
    cluster.topic("orders", 2, 2)
    report = cluster.syncing("orders", ["n1"])
    report.changes.append(IsrChange("orders", 1, 1, 1, ["n1"]))
    report.changes.append(IsrChange("nowhere", 0, 1, 1, ["n1"]))
    cluster.do(report)
    assert cluster.brief("orders", 0) == "n1 n2 | n1 | n1 1"
    assert cluster.brief("orders", 1) == "n2 n1 | n2 n1 | n2 1"


def test_when_one_joins_who_can_lead_a_drained_node_hands_over() -> None:
    cluster = Gathered(2)
    cluster.topic("orders", 1, 2)
    cluster.do(cluster.syncing("orders", ["n1"]))
    cluster.do(Drain("n1"))
    assert cluster.at("orders").leader == "n1"
    cluster.do(cluster.syncing("orders", ["n1", "n2"]))
    assert cluster.brief("orders") == "n1 n2 | n1 n2 | n2 2"


def test_a_leader_whose_disk_lost_something_is_followed_by_one_that_has_everything() -> None:
    cluster = trio()
    cluster.do(cluster.syncing("orders", ["n2"], resigns=True))
    assert cluster.brief("orders") == "n1 n2 n3 | n2 | n2 2"


def test_a_leader_that_is_alone_and_lost_something_leads_under_another_epoch() -> None:
    cluster = Gathered(1)
    cluster.topic("orders")
    cluster.do(cluster.syncing("orders", ["n1"], resigns=True))
    assert cluster.brief("orders") == "n1 | n1 | n1 2"


def test_with_the_last_of_the_new_replicas_in_sync_the_old_ones_leave() -> None:
    cluster = Gathered(3)
    cluster.topic("orders", 1, 2)
    cluster.do(Reassign([ReplicaMove("orders", 0, ["n3", "n2"])]))
    assert cluster.brief("orders") == "n3 n2 n1 | n1 n2 | n1 1"
    cluster.do(cluster.syncing("orders", ["n1", "n2", "n3"]))
    assert cluster.brief("orders") == "n3 n2 | n3 n2 | n3 2"
    assert (cluster.at("orders").adding, cluster.at("orders").removing) == ([], [])
