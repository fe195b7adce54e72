"""Nodes tell how far their logs reach, and the controller lets the longest one lead once all have told."""

from goqueue.core.cluster.duties import EndStandstill
from goqueue.core.cluster.standstill import Standstills
from goqueue.core.requests.cluster import LogEnd, NodeHeartbeat
from tests.core.cluster.gathered import Gathered
from tests.core.cluster.test_controller import Office


def still() -> Gathered:
    """A partition of which nobody is known to have everything."""
    cluster = Gathered(3)
    cluster.topic("orders", 1, 3, fsync="none")
    for node_id in ("n1", "n2", "n3"):
        cluster.begin(node_id, lost="unsynced")
    return cluster


def told(cluster: Gathered, standstills: Standstills, ends: dict[str, tuple[int, int]]) -> None:
    """Nodes say how far their logs reach: the epoch of the last batch, and the end."""
    leader_epoch = cluster.at("orders").leader_epoch
    for node_id, end in ends.items():
        log = LogEnd("orders", 0, leader_epoch, *end)
        standstills.note(cluster.state, node_id, cluster.state.nodes[node_id].incarnation, [log])


def elected(cluster: Gathered, standstills: Standstills) -> str:
    """Who is to lead by what was told; nobody is empty."""
    asked = [*standstills.ended(cluster.state)]
    assert len(asked) <= 1
    return asked[0].node_id if asked else ""


def test_a_later_epoch_counts_for_more_than_a_longer_log() -> None:
    cluster, standstills = still(), Standstills()
    told(cluster, standstills, {"n1": (3, 70), "n2": (4, 50), "n3": (4, 49)})
    assert elected(cluster, standstills) == "n2"


def test_of_logs_that_are_alike_the_first_replica_leads() -> None:
    cluster, standstills = still(), Standstills()
    told(cluster, standstills, {"n3": (-1, 0), "n2": (-1, 0), "n1": (-1, 0)})
    assert elected(cluster, standstills) == "n1"


def test_all_replicas_are_waited_for_and_as_the_process_that_they_are() -> None:
    cluster, standstills = still(), Standstills()
    told(cluster, standstills, {"n1": (3, 70), "n2": (3, 50)})
    assert elected(cluster, standstills) == ""
    told(cluster, standstills, {"n3": (3, 60)})
    cluster.begin("n2")
    assert elected(cluster, standstills) == "", "its disk may have lost more"
    told(cluster, standstills, {"n2": (3, 71)})
    cluster.die("n1")
    assert elected(cluster, standstills) == ""
    cluster.begin("n1")
    told(cluster, standstills, {"n1": (3, 70)})
    assert elected(cluster, standstills) == "n2"


def test_what_is_over_is_forgotten_and_what_is_not_meant_is_not_noted() -> None:
    cluster, standstills = still(), Standstills()
    standstills.note(cluster.state, "n1", 2, [LogEnd("orders", 0, 99, 3, 70), LogEnd("gone", 0, 1, 1, 1)])
    standstills.note(cluster.state, "n1", 2, [LogEnd("orders", 7, 1, 1, 1)])
    assert standstills == Standstills()
    told(cluster, standstills, {"n1": (3, 70), "n2": (3, 50), "n3": (3, 60)})
    cluster.do(next(standstills.ended(cluster.state)))
    assert cluster.eligible("orders") == "n1 |  | n1"
    assert elected(cluster, standstills) == ""
    assert standstills == Standstills()


def test_the_controller_asks_for_it_once_heartbeats_have_told() -> None:
    office = Office(3)
    office.cluster.topic("orders", 1, 3, fsync="none")
    for node_id in ("n1", "n2", "n3"):
        office.cluster.begin(node_id, lost="unsynced")
    office.wake()
    leader_epoch = office.cluster.at("orders").leader_epoch
    for node_id, offset in (("n1", 5), ("n2", 9), ("n3", 7)):
        log = LogEnd("orders", 0, leader_epoch, 1, offset)
        request = NodeHeartbeat(node_id, 2, 1, [], [log])
        office.controller.heartbeat(office.now, office.cluster.state, request)
    office.now += 1_000_000_000
    assert any(isinstance(ask, EndStandstill) and ask.node_id == "n2" for ask in office.wake())
    assert office.cluster.at("orders").leader == "n2"
