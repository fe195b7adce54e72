"""Rounds of polls over several nodes: who is asked when, and what becomes of what comes too late."""

from random import Random

from goqueue.core.queues.errands import Errands
from goqueue.core.queues.nodes import Nodes
from goqueue.core.queues.rounds import Rounds
from goqueue.core.requests.call import Call
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.queues import EndPoll, LeasedBatches, LeaseRun, PolledWork, PollWork, ReceiptRun, ReleaseWork
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import ServiceName
from goqueue.core.services.internal_requests import InternalRequests
from tests.core.calls import call
from tests.core.far_topics import led_by, move

MS = 1_000_000
EMPTY = PolledWork([])
AWAY = Refusal(Code.UNAVAILABLE, "away", retry_after_ms=100)
NOBODY = Refusal(Code.UNKNOWN_MEMBER, "nobody")
SOME = PolledWork([LeasedBatches("orders", 0, b"batch", [LeaseRun(4, 2, 1, "stem", 0)])])


class Gone:
    """Rounds over n1, which is this node, n2 and n3, and who was asked what."""

    def __init__(self) -> None:
        self.now = 0
        self.wishes = InternalRequests(ServiceName.QUEUES)
        self.led = led_by(orders=["n2", "n1", "n3"])
        self.nodes = Nodes(self.led)
        self.errands = Errands(self.wishes)
        self.rounds = Rounds(self.nodes, self.errands, Random(1))
        self._to = 0

    def begin(self, wait_ms: int = 0) -> Call:
        """A poll; its call."""
        self._to += 1
        self.rounds.begin(self.now, call(self._to), PollWork("g", "m"), ["orders"], wait_ms * MS)
        return call(self._to)

    def asked(self) -> dict[str, tuple[int, int]]:
        """Who was asked to poll since, under which number, for how many milliseconds."""
        found: dict[str, tuple[int, int]] = {}
        for asked, wish in self.wishes.take():
            assert isinstance(wish, AskNode)
            assert isinstance(wish.request, PollWork), wish
            assert wish.node not in found, "a node is asked once"
            found[wish.node] = asked.number, wish.request.wait_ns // MS
        return found

    def told(self) -> list[tuple[str, object]]:
        """Whom something else was said since, and what."""
        found: list[tuple[str, object]] = []
        for _, wish in self.wishes.take():
            assert isinstance(wish, AskNode)
            found.append((wish.node, wish.request))
        return found

    def answer(self, part: tuple[int, int], reply: Reply) -> None:
        """A node answers."""
        if part[0] < 0:
            self.errands.answered(self.now, part[0], reply)
        else:
            self.rounds.answered(self.now, part[0], reply)
        self.rounds.check()


def test_nodes_are_asked_in_turn_and_the_next_round_begins_behind_who_gave() -> None:
    gone = Gone()
    to = gone.begin()
    [(name, part)] = gone.asked().items()
    assert (name, part[1]) == ("n1", 0)
    gone.answer(part, EMPTY)
    [(name, part)] = gone.asked().items()
    assert name == "n2"
    gone.answer(part, SOME)
    assert gone.rounds.take_answers() == [(to, SOME)]
    assert gone.told() == []
    gone.begin()
    assert [*gone.asked()] == ["n3"]


def test_a_poll_that_does_not_wait_ends_when_all_have_nothing() -> None:
    gone = Gone()
    to = gone.begin()
    for _ in range(3):
        [part] = gone.asked().values()
        gone.answer(part, EMPTY)
    assert gone.rounds.take_answers() == [(to, EMPTY)]
    assert gone.asked() == {}


def test_a_poll_that_waits_waits_everywhere_and_takes_the_first() -> None:
    gone = Gone()
    to = gone.begin(900)
    for _ in range(3):
        [part] = gone.asked().values()
        gone.answer(part, EMPTY)
    parts = gone.asked()
    assert {name: part[1] for name, part in parts.items()} == {"n1": 900, "n2": 900, "n3": 900}
    gone.answer(parts["n3"], SOME)
    assert gone.rounds.take_answers() == [(to, SOME)]
    told = gone.told()
    assert [(name, type(request)) for name, request in told] == [("n1", EndPoll), ("n2", EndPoll)]
    # One had given something by then, and the other had nothing.
    gone.answer(parts["n1"], SOME)
    gone.answer(parts["n2"], EMPTY)
    assert gone.told() == [("n1", ReleaseWork([ReceiptRun("stem", 4, 2)]))]
    assert gone.rounds.take_answers() == []


def test_where_there_was_nothing_the_last_time_all_are_asked_at_once() -> None:
    gone = Gone()
    gone.begin()
    for _ in range(3):
        [part] = gone.asked().values()
        gone.answer(part, EMPTY)
    to = gone.begin(500)
    parts = gone.asked()
    assert sorted(parts) == ["n1", "n2", "n3"]
    for part in parts.values():
        gone.now += 400 * MS
        gone.answer(part, EMPTY)
    assert gone.rounds.take_answers()[-1] == (to, EMPTY)


def test_what_a_forgotten_poll_is_given_is_handed_back() -> None:
    gone = Gone()
    to = gone.begin()
    [part] = gone.asked().values()
    gone.answer(part, EMPTY)
    [part] = gone.asked().values()
    gone.rounds.forget(to)
    gone.rounds.check()
    [(name, request)] = gone.told()
    assert (name, type(request)) == ("n2", EndPoll)
    gone.answer(part, SOME)
    assert gone.told() == [("n2", ReleaseWork([ReceiptRun("stem", 4, 2)]))]
    assert gone.rounds.take_answers() == []


def test_a_refusal_that_does_not_pass_is_the_answer() -> None:
    gone = Gone()
    to = gone.begin(900)
    [part] = gone.asked().values()
    gone.answer(part, NOBODY)
    assert gone.rounds.take_answers() == [(to, NOBODY)]


def test_nodes_that_cannot_be_asked_just_then_are_asked_again_while_there_is_time() -> None:
    gone = Gone()
    to = gone.begin(900)
    for _ in range(3):
        [part] = gone.asked().values()
        gone.answer(part, AWAY)
    for part in gone.asked().values():
        gone.answer(part, AWAY)
    due = gone.rounds.deadline()
    assert due is not None
    assert gone.asked() == {}
    gone.now = due
    gone.rounds.wake(due)
    parts = gone.asked()
    assert sorted(parts) == ["n1", "n2", "n3"]
    gone.now = 900 * MS
    for part in parts.values():
        gone.answer(part, AWAY)
    assert gone.rounds.take_answers() == [(to, AWAY)]


def test_who_waits_waits_at_a_new_leader_as_well() -> None:
    gone = Gone()
    gone.begin(900)
    for _ in range(3):
        [part] = gone.asked().values()
        gone.answer(part, EMPTY)
    assert len(gone.asked()) == 3
    move(gone.led, "orders", 0, "n4")
    gone.now = 300 * MS
    gone.nodes.topics_changed()
    gone.rounds.topics_changed(gone.now)
    assert {name: part[1] for name, part in gone.asked().items()} == {"n4": 600}


def test_a_node_that_does_not_answer_is_not_waited_for() -> None:
    for wait_ms in (0, 900):
        gone = Gone()
        to = gone.begin(wait_ms)
        [part] = gone.asked().values()
        gone.answer(part, EMPTY)
        [(name, part)] = gone.asked().items()
        due = gone.rounds.deadline()
        assert due is not None
        assert wait_ms * MS < due <= (wait_ms + 300) * MS
        gone.now = due
        gone.rounds.wake(due)
        gone.rounds.check()
        assert gone.rounds.take_answers() == [(to, EMPTY)]
        assert [(node, type(request)) for node, request in gone.told()] == [(name, EndPoll)]
        gone.answer(part, SOME)
        assert [type(request) for _, request in gone.told()] == [ReleaseWork]
