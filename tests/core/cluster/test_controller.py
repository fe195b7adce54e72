"""The controller's office: who is heard, what is asked for, and when."""

from random import Random

import pytest

from goqueue.core.cluster.controller import Ask, Controller
from goqueue.core.cluster.duties import DeclareDead, NameCluster, Tidy
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.requests.cluster import (
    UNKNOWN,
    CatchingUp,
    DescribeReassignments,
    Drain,
    NodeHeartbeat,
    NodeHeartbeatReply,
    Reassign,
    ReplicaMove,
)
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.voters import AddVoter, MoveController, RemoveVoter
from tests.core.cluster.gathered import Gathered, voter

SECOND = 1_000_000_000
OPTIONS = ClusterOptions(["n1"], dead_ns=3 * SECOND)


class Office:
    """A controller with its cluster; whatever it asks for comes to be at once."""

    def __init__(self, nodes: int, voters: str = "1") -> None:
        self.cluster = Gathered(nodes)
        self.voters = [voter(f"n{digit}") for digit in voters]
        # Who has not got all of the log.
        self.behind: list[str] = []
        self.controller = Controller("n1", OPTIONS, Random(1))
        self.now = 0
        self.silent: list[str] = []
        self.moved_to = ""
        self.controller.became(0, 7, self.cluster.state)

    def beat(self, node_id: str, incarnation: int = 1, *moves: CatchingUp) -> NodeHeartbeatReply:
        """A heartbeat comes."""
        request = NodeHeartbeat(node_id, incarnation, 5, [*moves])
        return self.controller.heartbeat(self.now, self.cluster.state, request)

    def wake(self) -> list[Ask]:
        """What is asked for at this moment."""
        self.controller.voters_agreed(self.now, self.voters)
        asks = self.controller.wake(
            self.now, self.cluster.state, self.voters, lambda now, one: now == self.now and one not in self.behind
        )
        for ask in asks:
            if isinstance(ask, AddVoter):
                self.voters.append(ask.voter)
            elif isinstance(ask, RemoveVoter):
                self.voters.remove(ask.voter)
            elif isinstance(ask, MoveController):
                self.moved_to = ask.node_id
            else:
                self.cluster.do(ask)
        self.controller.changed(self.now, self.cluster.state)
        self.controller.check()
        return asks

    def run(self, seconds: float) -> list[Ask]:
        """Let time go by, with heartbeats of all who live and are not silent."""
        asks: list[Ask] = []
        for _ in range(int(seconds * 4)):
            self.now += SECOND // 4
            for node_id, node in self.cluster.state.nodes.items():
                if node_id not in self.silent:
                    self.beat(node_id, node.incarnation)
            asks += self.wake()
        return asks


def test_a_new_controller_gives_the_cluster_a_name_once() -> None:
    office = Office(1)
    [ask] = office.wake()
    assert isinstance(ask, NameCluster)
    assert len(ask.cluster_id) == 32
    assert office.run(2) == []
    office.controller.became(office.now, 8, office.cluster.state)
    assert office.run(2) == []


def test_who_is_heard_lives() -> None:
    office = Office(3, "123")
    office.wake()
    assert office.run(30) == []


def test_who_is_silent_is_declared_dead_and_led_by_others() -> None:
    office = Office(3, "123")
    office.cluster.topic("orders", 1, 3)
    office.wake()
    office.silent = ["n1"]
    assert office.run(2.5) == []
    assert office.run(1) == [DeclareDead("n1", 1)]
    assert office.cluster.brief("orders") == "n1 n2 n3 | n2 n3 | n2 2"
    assert office.run(10) == []


def test_a_new_controller_gives_everybody_the_time_to_be_heard() -> None:
    office = Office(2)
    office.now = 100 * SECOND
    office.controller.became(office.now, 8, office.cluster.state)
    office.silent = ["n1", "n2"]
    assert [type(ask) for ask in office.run(2.75)] == [NameCluster]
    assert len(office.run(0.25)) == 2


def test_a_death_that_did_not_come_to_be_is_asked_for_again() -> None:
    office = Office(2)
    state = office.cluster.state
    at = 3 * SECOND
    assert DeclareDead("n2", 1) in office.controller.wake(at, state, office.voters, lambda *_: True)
    assert office.controller.wake(at + SECOND // 2, state, office.voters, lambda *_: True) == []
    assert DeclareDead("n2", 1) in office.controller.wake(at + SECOND, state, office.voters, lambda *_: True)


def test_a_process_that_has_certainly_ended_is_not_waited_for() -> None:
    office = Office(2)
    office.run(1)
    office.controller.peer_gone(office.now, office.cluster.state, "n9")
    office.controller.peer_gone(office.now, office.cluster.state, "n2")
    assert office.controller.deadline() == office.now
    assert office.wake() == [DeclareDead("n2", 1)]


def test_a_new_controller_knows_whose_process_has_ended_before() -> None:
    office = Office(3)
    office.controller.lost()
    office.controller.peer_gone(1, office.cluster.state, "n2")
    office.controller.peer_gone(1, office.cluster.state, "n3")
    office.controller.peer_met("n3")
    office.controller.became(2, 8, office.cluster.state)
    office.now = 2
    assert DeclareDead("n2", 1) in office.wake()
    assert office.cluster.state.nodes["n3"].standing is Standing.LIVE


def test_a_process_that_has_begun_since_the_last_one_ended_is_waited_for() -> None:
    office = Office(2)
    office.controller.lost()
    office.controller.peer_gone(1, office.cluster.state, "n2")
    office.cluster.begin("n2")
    office.controller.became(2, 8, office.cluster.state)
    office.now = 2
    office.wake()
    assert office.cluster.state.nodes["n2"].standing is Standing.LIVE


def test_a_process_that_is_heard_after_all_lives() -> None:
    office = Office(2)
    office.run(1)
    office.controller.peer_gone(office.now, office.cluster.state, "n2")
    office.beat("n2")
    assert office.wake() == []


def test_to_register_is_to_be_heard() -> None:
    office = Office(2)
    office.wake()
    office.silent = ["n2"]
    office.run(2.5)
    office.cluster.begin("n2")
    office.controller.changed(office.now, office.cluster.state)
    assert office.run(2.5) == []
    assert office.run(1) == [DeclareDead("n2", 2)]


@pytest.mark.parametrize(
    ("node_id", "incarnation", "known_as", "standing"),
    [("n2", 1, 1, Standing.LIVE), ("n2", 9, 1, Standing.LIVE), ("n9", 1, UNKNOWN, Standing.DEAD)],
)
def test_a_heartbeat_is_answered_with_what_is_known(
    node_id: str, incarnation: int, known_as: int, standing: Standing
) -> None:
    assert Office(2).beat(node_id, incarnation) == NodeHeartbeatReply(5, 7, "n1", known_as, standing)


def test_another_process_under_the_id_does_not_keep_a_node_alive() -> None:
    office = Office(2)
    office.now = 2 * SECOND
    office.beat("n2", 9)
    office.now = 3 * SECOND
    assert DeclareDead("n2", 1) in office.wake()
    assert office.beat("n2").standing is Standing.DEAD


def test_who_is_back_for_long_enough_leads_again_what_it_led() -> None:
    office = Office(3, "123")
    office.cluster.topic("orders", 1, 3)
    office.wake()
    office.cluster.begin("n1")
    office.cluster.do(office.cluster.syncing("orders", ["n1", "n2", "n3"]))
    assert office.cluster.at("orders").leader == "n2"
    assert office.run(12) == []
    assert office.run(50) == [Tidy(["n1", "n2", "n3"])]
    assert office.cluster.at("orders").leader == "n1"


def test_nodes_that_joined_become_voters_one_after_another() -> None:
    office = Office(3)
    office.wake()
    office.behind = ["n3"]
    assert office.run(6) == []
    office.behind = []
    while len(office.voters) == 1:
        office.run(0.25)
    assert office.voters[1:] == [voter("n2")]
    assert office.wake() == [AddVoter(voter("n3"))], "the number of voters stays even no longer than it must"


def test_a_voter_that_never_came_is_replaced_after_a_while() -> None:
    office = Office(3, "123")
    office.voters[2] = "n9/a-disk"
    office.wake()
    assert office.run(50) == []
    assert office.run(12) == [AddVoter(voter("n3")), RemoveVoter("n9/a-disk")]
    assert office.run(20) == []


def test_a_drained_controller_lets_another_voter_decide() -> None:
    office = Office(3, "123")
    office.cluster.do(Drain("n1"))
    office.wake()
    office.run(2)
    assert office.moved_to == "n2"


def test_a_drained_controller_that_is_the_only_voter_goes_on() -> None:
    office = Office(2)
    office.cluster.do(Drain("n1"))
    office.wake()
    office.run(2)
    assert office.moved_to == ""


def test_moves_are_told_of_with_how_far_they_have_come() -> None:
    office = Office(3, "123")
    office.cluster.topic("orders", 1, 1)
    office.cluster.do(Reassign([ReplicaMove("orders", 0, ["n2"])]))
    office.beat("n1", 1, CatchingUp("orders", 0, "n2", 40, 100), CatchingUp("orders", 0, "n3", 1, 2))
    office.beat("n3", 1, CatchingUp("orders", 0, "n2", 99, 100))
    [move] = office.controller.reassignments(office.cluster.state, DescribeReassignments()).moves
    assert (move.adding, move.removing, move.leader) == (["n2"], ["n1"], "n1")
    assert move.progress == [CatchingUp("orders", 0, "n2", 40, 100)]
    office.cluster.do(office.cluster.syncing("orders", ["n1", "n2"]))
    assert office.controller.reassignments(office.cluster.state, DescribeReassignments()).moves == []


def test_out_of_office_nothing_is_asked_for() -> None:
    office = Office(2)
    office.controller.lost()
    assert (office.controller.is_active, office.controller.term, office.controller.deadline()) == (False, 0, None)
    office.now = 100 * SECOND
    assert office.wake() == []


def test_the_deadline_is_never_later_than_what_is_due() -> None:
    office = Office(2)
    office.wake()
    office.silent = ["n2"]
    for _ in range(200):
        due = office.controller.deadline()
        assert due is not None
        office.now = max(office.now, due)
        office.beat("n1")
        if DeclareDead("n2", 1) in office.wake():
            break
    assert office.now == 3 * SECOND


def test_the_controller_before_is_silent_since_it_was_last_in_touch_with_a_majority() -> None:
    office = Office(3, "123")
    office.controller.lost()
    office.now = 100 * SECOND
    office.controller.became(office.now, 8, office.cluster.state, "n3", office.now - SECOND)
    office.silent = ["n2", "n3"]
    assert [type(ask) for ask in office.run(1.75)] == [NameCluster]
    assert office.run(0.25) == [DeclareDead("n3", 1)]
    assert office.run(0.75) == []
    assert office.run(0.25) == [DeclareDead("n2", 1)]


def test_the_controller_before_that_is_heard_after_all_lives() -> None:
    office = Office(3, "123")
    office.controller.lost()
    office.now = 100 * SECOND
    office.controller.became(office.now, 8, office.cluster.state, "n3", 0)
    assert [type(ask) for ask in office.run(10)] == [NameCluster]


def test_the_controller_before_has_the_time_to_be_heard_however_long_it_was_silent() -> None:
    office = Office(3, "123")
    office.controller.lost()
    office.now = 100 * SECOND
    office.controller.became(office.now, 8, office.cluster.state, "n3", 0)
    assert office.controller.liveness.deadline() == office.now + OPTIONS.heartbeat_ns


def test_a_node_that_decides_again_does_not_wait_for_itself() -> None:
    office = Office(2)
    office.controller.lost()
    office.now = 100 * SECOND
    office.controller.became(office.now, 8, office.cluster.state, "n1", 0)
    assert office.controller.liveness.deadline() == office.now + OPTIONS.dead_ns
