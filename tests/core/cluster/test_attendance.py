"""A node's own side: it registers, is heard, and knows when it may lead."""

from goqueue.core.broker.lifecycle import BrokerLifecycle
from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.requests.call import Call
from goqueue.core.requests.cluster import (
    UNKNOWN,
    CatchingUp,
    LeaveNode,
    LeaveReply,
    NodeHeartbeat,
    NodeHeartbeatReply,
    RegisteredReply,
    RegisterNode,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request, ServiceName
from goqueue.core.requests.standing import Standing
from tests.core.cluster.gathered import Gathered, registration

MS = 1_000_000
OPTIONS = ClusterOptions(
    ["n1"], internal="n1:7000", incarnation=4, disk_id="disk-of-n1", heartbeat_ns=500 * MS, dead_ns=3000 * MS
)


class Attending:
    """A node that attends, and a controller in the test's hands."""

    def __init__(self) -> None:
        self.cluster = Gathered()
        self.moves: list[CatchingUp] = []
        self.attendance = BrokerLifecycle("n1", OPTIONS, "1.0", self.state, self.catching_up)
        self.now = 0
        self.asked: list[tuple[Call, Request]] = []

    def state(self) -> ClusterState:
        """What is agreed, as far as the node knows."""
        return self.cluster.state

    def catching_up(self) -> list[CatchingUp]:
        """How far moves have come."""
        return self.moves

    def turn(self, ms: int = 0) -> list[Request]:
        """Time goes by; what is asked then."""
        self.now += ms * MS
        self.attendance.wake(self.now)
        self.asked = self.attendance.wishes.take()
        self.attendance.check()
        assert all(asked.service is ServiceName.LIFECYCLE and asked.is_own for asked, _ in self.asked)
        return [wish for _, wish in self.asked]

    def answer(self, reply: Reply, ms: int = 0) -> None:
        """The answer to what was asked last, after a while."""
        self.now += ms * MS
        self.attendance.answered(self.now, self.asked[-1][0].number, reply)

    def register(self) -> None:
        """Come in as the process that it is."""
        [wish] = self.turn()
        assert isinstance(wish, RegisterNode)
        request = registration("n1", 4)
        self.cluster.do(request)
        self.answer(RegisteredReply("one", Standing.LIVE))

    def heard(self, *, incarnation: int = 4, standing: Standing = Standing.LIVE, term: int = 1, ms: int = 0) -> None:
        """A heartbeat is answered."""
        self.answer(NodeHeartbeatReply(1, term, "n1", incarnation, standing), ms)

    def has_left(self) -> bool:
        """Whether a stop hurts nobody any more."""
        return self.attendance.has_left

    def may_lead(self, ms: int = 0) -> bool:
        """Whether the node may lead, so long from this moment."""
        return self.attendance.may_lead(self.now + ms * MS)


def test_a_node_registers_as_soon_as_it_begins_and_is_heard_from_then_on() -> None:
    node = Attending()
    node.register()
    assert node.turn() == [NodeHeartbeat("n1", 4, 1)]
    node.heard()
    assert node.turn(499) == []
    assert node.turn(1) == [NodeHeartbeat("n1", 4, 2)]


def test_a_registration_says_all_that_others_need() -> None:
    node = Attending()
    node.cluster.state.cluster_id = "one"
    [wish] = node.turn()
    assert wish == RegisterNode("n1", 4, "disk-of-n1", "", "n1:7000", "", "", "1.0", "one")


def test_a_heartbeat_that_is_answered_lets_the_node_lead_from_when_it_was_sent() -> None:
    node = Attending()
    node.register()
    node.turn(1000)
    node.heard(ms=700)
    assert node.attendance.tenure_until == 4000 * MS
    assert node.may_lead(2299)
    assert not node.may_lead(2300)


def test_a_node_wants_to_be_woken_when_it_may_lead_no_more() -> None:
    node = Attending()
    node.register()
    node.turn()
    node.heard()
    for _ in range(5):
        node.turn(500)
    assert node.attendance.deadline() == 3000 * MS
    node.turn(450)
    assert (node.may_lead(), node.attendance.deadline()) == (True, 3000 * MS)
    node.turn(50)
    assert (node.may_lead(), node.attendance.deadline()) == (False, 3500 * MS)


def test_a_late_answer_takes_no_time_away() -> None:
    node = Attending()
    node.register()
    node.turn(1000)
    first = node.asked
    node.turn(1000)
    node.heard()
    node.asked = first
    node.heard()
    assert node.attendance.tenure_until == 5000 * MS


def test_nobody_leads_before_its_own_metadata_knows_it_as_this_process() -> None:
    node = Attending()
    node.cluster.do(registration("n1", 3))
    node.turn()
    node.answer(RegisteredReply("one", Standing.LIVE))
    assert not node.may_lead()
    node.cluster.do(registration("n1", 4))
    assert node.may_lead()


def test_a_registration_that_is_refused_or_lost_is_asked_for_again() -> None:
    node = Attending()
    node.turn()
    node.answer(Refusal(Code.NOT_CONTROLLER, "there is none"))
    assert node.turn(199) == []
    assert isinstance(node.turn(1)[0], RegisterNode)
    assert node.turn(1999) == []
    assert isinstance(node.turn(501)[0], RegisterNode)
    assert node.attendance.problem == ""


def test_a_node_that_is_not_welcome_says_so_and_asks_less_often() -> None:
    node = Attending()
    node.turn()
    node.answer(Refusal(Code.INVALID, "node n1 is known with another data folder"))
    assert node.attendance.problem == "node n1 is known with another data folder"
    assert node.turn(4999) == []
    assert isinstance(node.turn(1)[0], RegisterNode)
    node.answer(RegisteredReply("one", Standing.LIVE))
    assert node.attendance.problem == ""


def test_who_is_taken_for_dead_or_is_not_known_leads_nothing_and_registers_again() -> None:
    for incarnation, standing in ((4, Standing.DEAD), (UNKNOWN, Standing.DEAD)):
        node = Attending()
        node.register()
        node.turn()
        assert node.may_lead()
        node.heard(incarnation=incarnation, standing=standing)
        assert not node.may_lead()
        assert isinstance(node.turn()[0], RegisterNode)


def test_who_is_not_answered_for_long_may_have_been_forgotten_and_registers_again() -> None:
    """A controller that has forgotten a node writes to it no more, so nobody tells it who decides."""
    node = Attending()
    node.register()
    node.turn()
    node.heard()
    while node.now < 3_000 * MS:
        assert isinstance(node.turn(500)[0], NodeHeartbeat)
        node.answer(Refusal(Code.NOT_CONTROLLER, "nobody decides for the cluster now"))
    while isinstance(node.turn(500)[0], NodeHeartbeat):
        assert node.now < 10_000 * MS
    assert isinstance(node.asked[0][1], RegisterNode)
    assert "lost touch" in node.attendance.absence(node.now)
    node.answer(RegisteredReply("one", Standing.LIVE))
    assert not node.may_lead(), "nothing was to be agreed on, so whoever answered may be cut off as well"
    assert isinstance(node.turn()[0], NodeHeartbeat)
    node.heard()
    assert node.may_lead()


def test_a_controller_that_is_cut_off_itself_is_heard_and_not_asked_to_register_again() -> None:
    node = Attending()
    node.register()
    for _ in range(20):
        assert isinstance(node.turn(500)[0], NodeHeartbeat)
        node.answer(NodeHeartbeatReply(1, 1, "n1", 4, Standing.LIVE, 5_000 * MS))


def test_an_older_controller_is_not_believed() -> None:
    node = Attending()
    node.register()
    node.turn(500)
    node.heard(term=5)
    node.turn(500)
    node.heard(term=4, incarnation=UNKNOWN)
    assert node.may_lead()
    assert node.attendance.tenure_until == 3500 * MS


def test_who_is_displaced_time_and_again_gives_up() -> None:
    node = Attending()
    for _ in range(3):
        node.register()
        node.turn()
        node.heard(incarnation=99)
        assert node.attendance.problem == ""
    node.register()
    node.turn()
    node.heard(incarnation=99)
    assert "another process is node n1" in node.attendance.problem
    assert not node.may_lead()
    assert node.turn(59_000) == []


def test_before_a_planned_stop_others_are_let_lead() -> None:
    node = Attending()
    node.register()
    node.turn()
    node.heard()
    node.attendance.leave(node.now)
    leave, beat = node.turn()
    assert (leave, type(beat)) == (LeaveNode("n1", 4), NodeHeartbeat)
    assert not node.has_left()
    node.attendance.answered(node.now, node.asked[0][0].number, LeaveReply(0))
    assert not node.has_left()
    node.cluster.do(leave)
    assert node.has_left()
    assert not any(isinstance(wish, LeaveNode) for wish in node.turn(600))


def test_a_leave_that_is_refused_or_lost_is_asked_for_again() -> None:
    node = Attending()
    node.register()
    node.turn()
    node.attendance.leave(node.now)
    node.turn()
    node.attendance.answered(node.now, node.asked[0][0].number, Refusal(Code.NOT_CONTROLLER, "there is none"))
    assert isinstance(node.turn(200)[0], LeaveNode)
    assert isinstance(node.turn(2500)[0], LeaveNode)


def test_who_has_left_and_is_dead_does_not_come_again() -> None:
    node = Attending()
    node.register()
    node.turn()
    node.attendance.leave(node.now)
    node.turn()
    node.attendance.answered(node.now, node.asked[0][0].number, LeaveReply(0))
    node.heard(standing=Standing.DEAD)
    assert node.turn(5000) == []


def test_heartbeats_tell_of_moves() -> None:
    node = Attending()
    node.register()
    node.moves = [CatchingUp("orders", number, "n2", 1, 2) for number in range(500)]
    [beat] = node.turn()
    assert isinstance(beat, NodeHeartbeat)
    assert beat.catching_up == node.moves[:100]


def test_answers_that_nobody_gives_leave_nothing_behind() -> None:
    node = Attending()
    node.register()
    for _ in range(1000):
        node.turn(500)
    assert len(node.attendance._sent) < 10
    assert not node.may_lead()


def test_what_a_controller_gives_is_shorter_by_its_own_silence() -> None:
    node = Attending()
    node.register()
    node.turn(1000)
    node.answer(NodeHeartbeatReply(1, 1, "n1", 4, Standing.LIVE, silence_ns=900 * MS))
    assert node.attendance.tenure_until == 3100 * MS


def test_a_new_controller_is_told_at_once_who_lives() -> None:
    node = Attending()
    node.register()
    node.turn()
    node.heard()
    node.now += 100 * MS
    node.attendance.controller_changed(node.now)
    assert node.attendance.deadline() == node.now
    assert node.turn() == [NodeHeartbeat("n1", 4, 2)]
