"""The agreed state: one change after another, durable before it counts, on one node and on several."""

from random import Random

import pytest

from goqueue.core.clock import Clock
from goqueue.core.cluster.agreement import METADATA_CONFIG, METADATA_STREAM, Agreed, Agreement
from goqueue.core.cluster.applied import Changed
from goqueue.core.cluster.records import METADATA_CODEC, MetadataRecord, TopicCreated, TopicDeleted, TopicRemoved
from goqueue.core.log.effects import Append, Commit, Sync, SyncToken
from goqueue.core.log.thresholds import Thresholds
from goqueue.core.quorum.entries import VOTERS, Entry, QuorumError, Voters, encode_voters
from goqueue.core.quorum.messages import Append as AppendLetter
from goqueue.core.quorum.messages import QuorumLetter, QuorumMessage
from goqueue.core.ready import SaveVote
from goqueue.core.requests.metadata import FinishDelete
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import AlterTopic, CreateTopic, DeleteTopic
from goqueue.core.requests.voters import AddVoter, Confirm, MoveController
from tests.core.agreeing import Agreeing, Agreeings, Register, Told, appended, found
from tests.core.driven_node import stored
from tests.core.log.batches import FIRST, WALL_MS, beginning

ORDERS = TopicCreated("orders", 1, 2, "{}", WALL_MS)


def alone(*records: MetadataRecord) -> Agreeing:
    """A node alone whose log holds these records."""
    return Agreeing("n1", None, [Entry(at, 0, None, METADATA_CODEC.encode(one)) for at, one in enumerate(records)])


def codes(answers: list[Told]) -> list[tuple[int | None, Code]]:
    """Whom, and why, where nobody was granted anything."""
    refused = [(to, answer.code) for to, answer in answers if isinstance(answer, Refusal)]
    assert len(refused) == len(answers)
    return refused


def test_alone_a_change_counts_when_it_is_durable_and_not_before() -> None:
    node = alone()
    node.is_slow = True
    node.ask(0, 5, CreateTopic("orders"))
    assert node.turn(0) == []
    batch = stored(0, (WALL_MS, None, METADATA_CODEC.encode(ORDERS), ()))
    token = SyncToken(0, 1, FIRST, len(batch))
    assert node.effects == [Append(METADATA_STREAM, FIRST, 0, [batch]), Sync(METADATA_STREAM, token)]
    assert node.take_answers() == []
    assert node.agreement.state.topics == {}
    node.work(0)
    assert node.take_answers() == [(5, Agreed(CreateTopic("orders"), [ORDERS]))]
    assert [*node.agreement.state.topics] == ["orders"]
    assert node.agreement.take_votes() == []


def test_what_waits_together_is_planned_together_each_after_the_others() -> None:
    node = alone()
    node.is_slow = True
    node.ask(0, 1, CreateTopic("orders"))
    node.ask(0, 2, CreateTopic("orders"))
    node.ask(0, 3, DeleteTopic("orders"))
    node.ask(0, 4, AlterTopic("none", {}))
    node.turn(0)
    assert appended(node.effects) == [2]
    assert node.take_answers() == [], "a refusal may hang on what is not agreed yet"
    node.work(0)
    answers = node.take_answers()
    assert [to for to, _ in answers] == [1, 2, 3, 4]
    assert [answer.code for _, answer in answers if isinstance(answer, Refusal)] == [
        Code.TOPIC_EXISTS,
        Code.TOPIC_NOT_FOUND,
    ]
    assert node.agreement.state.topics == {}
    assert node.agreement.state.removing == {"orders": 1}


def test_a_refusal_that_hangs_on_nothing_is_answered_at_once() -> None:
    node = alone()
    node.is_slow = True
    node.ask(0, 1, DeleteTopic("none"))
    node.ask(0, 2, CreateTopic("orders"))
    node.turn(0)
    assert codes(node.take_answers()) == [(1, Code.TOPIC_NOT_FOUND)]


def test_the_next_changes_are_planned_when_those_before_count() -> None:
    node = alone()
    node.is_slow = True
    node.ask(0, 1, CreateTopic("orders"))
    node.turn(0)
    node.ask(0, 2, CreateTopic("late"))
    node.turn(0)
    assert node.effects == []
    node.work(0)
    node.turn(0)
    assert appended(node.effects) == [1]


def test_a_name_is_free_again_when_its_folder_is_gone_for_certain() -> None:
    node = alone(ORDERS, TopicDeleted("orders", 1))
    node.ask(0, 1, CreateTopic("orders"))
    node.turn(0)
    assert codes(node.take_answers()) == [(1, Code.UNAVAILABLE)]
    node.ask(0, None, FinishDelete("orders"))
    node.turn(0)
    assert node.take_answers() == [(None, Agreed(FinishDelete("orders"), [TopicRemoved("orders", 1)]))]
    assert node.agreement.state.removing == {}


def test_a_thousand_changes_may_wait_and_no_more() -> None:
    node = alone()
    for to in range(1_002):
        node.ask(0, to, DeleteTopic("x"))
    assert codes(node.take_answers()) == [(1_000, Code.UNAVAILABLE), (1_001, Code.UNAVAILABLE)]


def test_whoever_waits_when_the_disk_fails_is_told_once_and_the_change_may_have_come_to_be() -> None:
    node = alone()
    node.is_slow = True
    node.ask(0, 1, CreateTopic("orders"))
    node.turn(0)
    node.ask(0, 2, CreateTopic("t2"))
    node.agreement.disk_failed(0, "EIO")
    assert codes(node.take_answers()) == [(1, Code.OUTCOME_UNKNOWN), (2, Code.UNAVAILABLE)]
    node.ask(0, 3, CreateTopic("t3"))
    node.turn(0)
    assert codes(node.take_answers()) == [(3, Code.UNAVAILABLE)]
    entries = [Entry(0, 0, None, METADATA_CODEC.encode(ORDERS))]
    node.agreement.opened(0, found(0, entries), entries, None)
    assert [*node.agreement.state.topics] == ["orders"]
    assert [*node.agreement.take_changed().topics] == ["orders"]
    node.ask(0, 4, CreateTopic("orders"))
    node.turn(0)
    assert codes(node.take_answers()) == [(4, Code.TOPIC_EXISTS)]


def test_a_long_log_is_summed_up_and_what_lies_before_goes() -> None:
    round_trip: list[MetadataRecord] = [ORDERS, TopicDeleted("orders", 1), TopicRemoved("orders", 1)]
    node = alone(*round_trip * 333)
    node.ask(0, 1, CreateTopic("last"))
    node.turn(0)
    node.turn(0)
    node.turn(0)
    assert any(isinstance(effect, Commit) for effect in node.effects)
    assert node.start == 1000
    assert len(node.entries) == 1
    again = Agreeing("n1", None, node.entries)
    assert again.agreement.state == node.agreement.state
    assert [*again.agreement.state.topics] == ["last"]
    among = Agreeing("n1", ["n1"], node.entries)
    for _ in range(5):
        among.turn(0)
    assert among.agreement.is_controller, "a summary of when it was alone names it without its disk"
    assert among.agreement.voters == ["n1/disk"]
    assert [*among.agreement.state.topics] == ["last"]
    alone_again = Agreeing("n1", None, among.entries)
    assert alone_again.agreement.is_controller
    alone_again.ask(0, 1, CreateTopic("more"))
    alone_again.turn(0)
    alone_again.turn(0)
    assert [(to, type(answer)) for to, answer in alone_again.take_answers()] == [(1, Agreed)]


def test_alone_a_folder_of_several_voters_or_of_another_node_is_refused() -> None:
    for voters in (["n1", "n2"], ["n2"]):
        entries = [Entry(0, 1, VOTERS, encode_voters(Voters(voters)))]
        with pytest.raises(QuorumError, match=r"start (the node with its peers|it with the node id n2)"):
            Agreeing("n1", None, entries)


def test_alone_a_log_that_lacks_what_it_stands_on_is_refused() -> None:
    agreement = Agreement("n1", None, Clock(0, WALL_MS), Random(1), {}, Thresholds())
    with pytest.raises(QuorumError, match="was being replaced"):
        agreement.opened(0, beginning(METADATA_CONFIG, 7), [], None)


def three() -> Agreeings:
    """Three founders, one of whom is the controller, with something agreed besides who they are."""
    nodes = Agreeings("a", "b", "c")
    nodes.advance(4000)
    assert nodes.controller.agreement.voters == ["a/disk", "b/disk", "c/disk"]
    nodes.controller.ask(nodes.now, None, CreateTopic("first"))
    nodes.settle()
    nodes.controller.ask(nodes.now, None, DeleteTopic("first"))
    nodes.settle()
    nodes.controller.ask(nodes.now, None, FinishDelete("first"))
    nodes.settle()
    for node in nodes.nodes.values():
        node.take_answers()
    return nodes


def letter(message: QuorumMessage, disk_id: str = "disk", origin: str = "") -> QuorumLetter:
    """A letter of a node with a disk."""
    return QuorumLetter(disk_id, origin, message)


def others(nodes: Agreeings) -> list[Agreeing]:
    """Those who are not the controller."""
    return [node for node in nodes.nodes.values() if node is not nodes.controller]


def test_what_the_controller_is_asked_is_agreed_on_by_all() -> None:
    nodes = three()
    nodes.controller.ask(nodes.now, 1, CreateTopic("orders"))
    nodes.settle()
    assert [(to, type(answer)) for to, answer in nodes.controller.take_answers()] == [(1, Agreed)]
    for node in nodes.nodes.values():
        changed = node.agreement.take_changed()
        assert [*node.agreement.state.topics] == ["orders"]
        assert changed.everything
        assert node.agreement.controller == nodes.controller.name
    nodes.controller.ask(nodes.now, 2, CreateTopic("more"))
    nodes.settle()
    changed = others(nodes)[0].agreement.take_changed()
    assert ([*changed.topics], changed.nodes, changed.everything) == (["more"], False, False)


def test_another_node_refuses_and_says_who_is_to_be_asked() -> None:
    nodes = three()
    other = others(nodes)[0]
    other.ask(nodes.now, 1, CreateTopic("orders"))
    [(to, refusal)] = other.take_answers()
    assert isinstance(refusal, Refusal)
    assert (to, refusal.code, refusal.leader) == (1, Code.NOT_CONTROLLER, nodes.controller.name)


def test_a_plan_of_several_records_is_one_entry_and_each_entry_a_batch() -> None:
    nodes = three()
    old, end = nodes.controller, len(nodes.controller.entries)
    for to in range(3):
        old.ask(nodes.now, to, CreateTopic(f"t{to}"))
    nodes.settle()
    assert len(old.entries) == end + 3
    assert [one.entries for one in nodes.nodes.values()] == [old.entries] * 3


def test_a_proposal_that_was_overwritten_was_not_carried_out() -> None:
    nodes = three()
    old = nodes.controller
    nodes.isolated[old.name] = None
    old.ask(nodes.now, 1, CreateTopic("lost"))
    nodes.advance(4000)
    old.ask(nodes.now, 2, CreateTopic("late"))
    assert codes(old.take_answers()) == [(2, Code.NOT_CONTROLLER)], "nobody knows what became of the first"
    nodes.controller.ask(nodes.now, 3, CreateTopic("orders"))
    nodes.settle()
    nodes.isolated.clear()
    nodes.advance(1000)
    assert codes(old.take_answers()) == [(1, Code.NOT_CONTROLLER)]
    assert [*old.agreement.state.topics] == ["orders"]
    assert old.entries == nodes.controller.entries


def test_a_proposal_that_outlives_its_controllers_office_is_answered_as_agreed() -> None:
    nodes = three()
    old = nodes.controller
    old.is_slow = True
    old.ask(nodes.now, 1, CreateTopic("orders"))
    for to, message in old.turn(nodes.now):
        nodes.deliver(old.name, to, message)
    nodes.isolated[old.name] = None
    nodes.advance(4000)
    assert old.take_answers() == []
    old.is_slow = False
    nodes.isolated.clear()
    nodes.advance(1000)
    assert [(to, type(answer)) for to, answer in old.take_answers()] == [(1, Agreed)]


def test_a_proposal_that_nobody_decides_is_given_up_after_a_while() -> None:
    nodes = three()
    old = nodes.controller
    nodes.isolated[old.name] = None
    old.ask(nodes.now, 1, CreateTopic("lost"))
    nodes.advance(29_000)
    assert old.take_answers() == []
    nodes.advance(2_000)
    assert codes(old.take_answers()) == [(1, Code.OUTCOME_UNKNOWN)]


def test_a_node_that_starts_acts_on_nothing_before_it_has_heard_a_controller() -> None:
    nodes = three()
    nodes.controller.ask(nodes.now, 1, CreateTopic("orders"))
    nodes.settle()
    node = others(nodes)[0]
    nodes.isolated[node.name] = None
    nodes.restart(node.name)
    nodes.settle()
    assert [node.agreement.is_current for node in nodes.nodes.values()].count(False) == 1
    assert node.agreement.take_changed() == Changed()
    nodes.isolated.clear()
    nodes.advance(1000)
    assert all(node.agreement.is_current for node in nodes.nodes.values())
    assert node.agreement.take_changed().everything
    assert [*node.agreement.state.topics] == ["orders"]


def test_a_node_is_current_when_it_has_all_that_its_controller_named() -> None:
    nodes = three()
    controller, node = nodes.controller, others(nodes)[0]
    nodes.isolated[node.name] = None
    controller.ask(nodes.now, 1, CreateTopic("orders"))
    nodes.settle()
    nodes.restart(node.name)
    term, named = controller.agreement.term, controller.agreement.agreed_index
    node.agreement.receive(nodes.now, controller.name, letter(AppendLetter(term, nodes.now, 2, term, named, [])))
    assert node.agreement.agreed_index == 2
    assert [node.agreement.is_current, node.agreement.controller] == [False, controller.name]
    nodes.isolated.clear()
    nodes.advance(1000)
    assert [node.agreement.is_current, node.agreement.agreed_index] == [True, named]


def test_what_another_cluster_writes_does_not_get_into_the_log() -> None:
    nodes = three()
    controller, node = nodes.controller, others(nodes)[0]
    term, end = controller.agreement.term, controller.agreement.agreed_index
    entry = Entry(end, term + 1, None, b"strange")
    append = AppendLetter(term + 1, nodes.now, end, term, end + 1, [entry])
    node.agreement.receive(nodes.now, controller.name, letter(append, origin="z/disk in term 1"))
    nodes.advance(1000)
    assert (node.agreement.term, node.agreement.agreed_index) == (term, end)
    controller.ask(nodes.now, 1, CreateTopic("orders"))
    nodes.settle()
    assert [*node.agreement.state.topics] == ["orders"]


def test_a_vote_is_kept_over_a_restart() -> None:
    nodes = three()
    node = others(nodes)[0]
    assert node.vote == SaveVote(nodes.controller.agreement.term, f"{nodes.controller.name}/disk")
    nodes.restart(node.name)
    assert node.agreement.term == nodes.controller.agreement.term


def test_one_node_grows_into_three_and_a_summary_reaches_those_who_join() -> None:
    nodes = Agreeings("a")
    nodes.settle()
    first = nodes.nodes["a"]
    for number in range(600):
        first.ask(nodes.now, None, CreateTopic("orders"))
        first.ask(nodes.now, None, DeleteTopic("orders"))
        first.ask(nodes.now, None, FinishDelete("orders"))
        if number % 50 == 0:
            nodes.settle()
    nodes.settle()
    first.ask(nodes.now, 1, CreateTopic("last"))
    for name in ("b", "c"):
        first.ask(nodes.now, None, Register(name))
        nodes.join(name)
    nodes.advance(1000)
    assert first.start > 0
    assert first.agreement.state.topics.keys() == {"last"}
    assert all(node.agreement.state == first.agreement.state for node in nodes.nodes.values())
    assert all(node.agreement.voters == ["a/disk"] for node in nodes.nodes.values())
    first.take_answers()
    for to, name in ((2, "b"), (3, "c")):
        first.ask(nodes.now, to, AddVoter(f"{name}/disk"))
        nodes.advance(500)
    assert first.take_answers() == [(2, None), (3, None)]
    assert all(node.agreement.voters == ["a/disk", "b/disk", "c/disk"] for node in nodes.nodes.values())
    nodes.down["a"] = None
    nodes.advance(5000)
    nodes.controller.ask(nodes.now, 4, CreateTopic("after"))
    nodes.settle()
    assert [(to, type(answer)) for to, answer in nodes.controller.take_answers()] == [(4, Agreed)]


def test_the_controller_hands_over_when_asked_and_reads_are_confirmed_by_the_next() -> None:
    nodes = three()
    old = nodes.controller
    old.ask(nodes.now, 1, MoveController())
    nodes.settle()
    assert old.take_answers() == [(1, None)]
    assert nodes.controller is not old
    nodes.controller.ask(nodes.now, 2, Confirm())
    nodes.settle()
    assert nodes.controller.take_answers() == [(2, None)]


def test_a_controller_whose_disk_fails_is_replaced_and_follows_when_it_is_back() -> None:
    nodes = three()
    old = nodes.controller
    old.agreement.disk_failed(nodes.now, "EIO")
    nodes.advance(4000)
    assert nodes.controller is not old
    nodes.controller.ask(nodes.now, 1, CreateTopic("orders"))
    nodes.settle()
    old.agreement.opened(nodes.now, found(old.start, old.entries), [*old.entries], old.vote)
    nodes.advance(1000)
    assert [*old.agreement.state.topics] == ["orders"]
    assert old.entries == nodes.controller.entries
