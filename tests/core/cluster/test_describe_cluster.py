"""The cluster for people, and its figures."""

from goqueue.core.cluster.describe import describe_cluster
from goqueue.core.cluster.duties import DeclareDead
from goqueue.core.cluster.liveness import Liveness
from goqueue.core.cluster.tally import Tally
from goqueue.core.requests.cluster import Drain, PartitionName, Reassign, ReplicaMove
from goqueue.core.requests.metadata import FinishDelete
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.topics import CreateTopic, DeleteTopic
from tests.core.cluster.gathered import Gathered, registration, voter

MS = 1_000_000


def test_nodes_are_described_with_what_hangs_on_them() -> None:
    cluster = Gathered(3)
    cluster.topic("orders", 3, 2)
    cluster.do(Drain("n2"))
    liveness = Liveness(1500 * MS, 3000 * MS)
    liveness.begin(0, ["n1", "n2"])
    liveness.heard(900 * MS, "n2")
    reply = describe_cluster(2000 * MS, cluster.state, "n1", 7, [voter("n2"), voter("n1")], liveness)
    assert (reply.controller, reply.term, reply.voters, reply.partitions) == ("n1", 7, ["n1", "n2"], 3)
    assert [(node.node_id, node.standing, node.leaders, node.replicas, node.in_sync) for node in reply.nodes] == [
        ("n1", Standing.LIVE, 1, 2, 2),
        ("n2", Standing.DRAINING, 0, 2, 2),
        ("n3", Standing.LIVE, 2, 2, 2),
    ]
    assert [(node.is_controller, node.is_voter, node.is_suspect, node.seen_ago_ms) for node in reply.nodes] == [
        (True, True, True, 2000),
        (False, True, False, 1100),
        (False, False, False, -1),
    ]


def test_partitions_that_are_not_as_they_should_be_are_named() -> None:
    cluster = Gathered(3)
    cluster.topic("single", 1, 1)
    cluster.topic("orders", 1, 2)
    cluster.do(Reassign([ReplicaMove("orders", 0, ["n1", "n2", "n3"])]))
    reply = describe_cluster(0, cluster.state, "n1", 1, ["n1"], None)
    assert (reply.under_replicated_count, reply.offline_count, reply.moving) == (0, 0, 1)
    cluster.die("n1", "n2", "n3")
    reply = describe_cluster(0, cluster.state, "n3", 1, ["n1"], None)
    assert [(one.topic, one.partition, one.eligible) for one in reply.offline] == [
        ("orders", 0, ["n3"]),
        ("single", 0, ["n1"]),
    ]
    cluster.do(registration("n3"))
    cluster.do(registration("n1"))
    reply = describe_cluster(0, cluster.state, "n1", 1, ["n1"], None)
    assert (reply.under_replicated, reply.offline_count) == ([PartitionName("orders", 0)], 0)


class Counted:
    """A cluster whose records are counted as they are applied."""

    def __init__(self, nodes: int) -> None:
        self.cluster = Gathered(nodes)
        self.cluster.topic("orders", 1, 2)
        self.cluster.topic("hasty", 1, 2, unclean_leader_election=True)
        self.tally = Tally()
        self.tally.begin(0, self.cluster.state)

    def do(self, request: object, at_ms: int = 0) -> None:
        """Have a request change what it does."""
        self.cluster.do(request)
        self.tally.follow(at_ms * MS, self.cluster.state, ["orders", "hasty"])


def test_elections_and_changes_of_the_isr_are_counted() -> None:
    counted = Counted(2)
    counted.do(DeleteTopic("hasty"))
    counted.do(DeclareDead("n1", 1))
    counted.do(DeclareDead("n2", 1), 100)
    counted.do(registration("n2", 2), 400)
    counted.do(registration("n1", 2))
    counted.do(counted.cluster.syncing("orders", ["n1", "n2"]))
    figures = counted.tally.figures(counted.cluster.state, is_controller=True)
    assert (figures.leader_elections_total, figures.unclean_leader_elections_total) == (2, 0)
    assert (figures.isr_shrinks_total, figures.isr_expands_total, figures.isr_size) == (1, 1, 2)
    assert (figures.leader_election_latency_count, figures.leader_election_latency_ms_sum) == (2, 300)
    assert (figures.nodes_total, figures.nodes_healthy, figures.is_controller) == (2, 2, True)
    assert figures.leaders_per_node == {"n1": 0, "n2": 1}


def test_an_unclean_election_is_counted_as_such() -> None:
    counted = Counted(2)
    for request in (DeclareDead("n2", 1), DeclareDead("n1", 1), registration("n2", 2)):
        counted.do(request)
    figures = counted.tally.figures(counted.cluster.state, is_controller=False)
    assert figures.unclean_leader_elections_total == 1


def test_a_topic_that_is_made_again_is_another_one() -> None:
    counted = Counted(2)
    counted.do(DeclareDead("n1", 1), 5)
    before = counted.tally.figures(counted.cluster.state, is_controller=False).leader_elections_total
    counted.do(DeleteTopic("hasty"))
    for node_id in ("n1", "n2"):
        counted.cluster.do(FinishDelete("hasty", node_id))
    counted.do(CreateTopic("hasty", 1, 1))
    after = counted.tally.figures(counted.cluster.state, is_controller=False).leader_elections_total
    assert after == before


def test_what_is_read_as_a_whole_is_no_event() -> None:
    counted = Counted(2)
    counted.cluster.die("n1")
    counted.tally.begin(0, counted.cluster.state)
    counted.do(DeclareDead("n1", 1))
    assert counted.tally.figures(counted.cluster.state, is_controller=False).leader_elections_total == 0


def test_a_controller_is_counted_once_a_term() -> None:
    tally = Tally()
    for controller, term in (("n1", 1), ("n1", 1), ("", 1), ("n1", 1), ("n2", 2), ("n1", 3)):
        tally.led_by(controller, term)
    assert tally.controller_elections == 3
