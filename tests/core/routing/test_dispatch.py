"""Requests reach the node that they belong to, are tried again when it was the wrong one, and always have an end."""

from typing import Any

import pytest

from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.cluster.records import NodeStanding, PartitionPlaced, TopicCreated, TopicDeleted
from goqueue.core.records.build import encode
from goqueue.core.requests.call import Origin
from goqueue.core.requests.cluster import NodeHeartbeat, RegisterNode
from goqueue.core.requests.groups import GroupHeartbeat
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.messages import Fetch, Fetched, PublishBatch, PublishReply
from goqueue.core.requests.queues import PolledWork, PollWork
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import ServiceName
from goqueue.core.requests.standing import Standing
from goqueue.core.requests.topics import CreateTopic, DeleteTopic, ListTopics, TopicReply
from goqueue.core.routing.messages import ANY_LIFE, Forwarded
from tests.core.routing.cluster_of_dispatchers import ME, USUAL, Cluster, Place, stored

BEAT = GroupHeartbeat("g", "m", 1)
# How long a node that is cut off looks after what it was asked.
DEAD_S = ClusterOptions([]).dead_ns / 1e9


def cluster() -> Cluster:
    """Three nodes; a leads the partitions 0 and 1 of `orders`, b 2, c 3 and decides."""
    made = Cluster("a", "b", "c", controller="c")
    made.create("orders", "a", "a", "b", "c")
    return made


def batch(partition: int) -> PublishBatch:
    return PublishBatch("orders", partition, bytearray(b"short"))


def test_what_belongs_to_the_node_that_is_asked_is_not_looked_after() -> None:
    nodes = cluster()
    nodes["a"].ask(1, batch(0))
    assert nodes["a"].answers == {1: stored(0, 0)}
    assert [to.number for to, _ in nodes["a"].taken] == [1]


def test_a_request_is_carried_out_by_its_leader_and_answered_here() -> None:
    nodes = cluster()
    nodes["a"].ask(1, batch(2))
    nodes.run()
    assert nodes["a"].answers == {1: stored(2, 0)}
    [(to, request)] = nodes["b"].taken
    assert to.origin is Origin.NODE
    assert to.is_part
    assert not to.is_own
    assert request == batch(2)
    assert not nodes["a"].taken


def test_the_wish_of_a_room_is_the_brokers_own_there_as_well() -> None:
    nodes = cluster()
    nodes["a"].ask(-9, batch(2))
    nodes.run()
    assert nodes["a"].answers == {-9: stored(2, 0)}
    assert nodes["b"].taken[0][0].is_own


def test_a_node_that_does_not_lead_is_asked_no_second_time_until_the_routes_are_others() -> None:
    nodes = cluster()
    nodes.lead("orders", 2, "c", only="c")
    nodes.lead("orders", 2, "c", only="b")
    nodes["a"].ask(1, batch(2))
    nodes.run()
    assert len(nodes["b"].taken) == 1
    assert 1 not in nodes["a"].answers
    nodes.lead("orders", 2, "c")
    nodes.run()
    assert nodes["a"].answers == {1: stored(2, 0)}
    assert len(nodes["b"].taken) == 1


def test_two_nodes_that_each_believe_the_other_leads_do_not_send_a_request_round() -> None:
    nodes = cluster()
    nodes.lead("orders", 2, "c", only="b")
    nodes.lead("orders", 3, "b", only="c")
    nodes["b"].ask(1, batch(3))
    nodes.run()
    assert len(nodes["c"].taken) == 1
    assert not nodes["b"].taken
    nodes.wait(40)
    assert isinstance(nodes["b"].answers[1], Refusal)
    assert nodes["b"].answers[1].code is Code.NOT_LEADER
    assert len(nodes["c"].taken) < 200


def test_a_partition_without_a_leader_is_waited_for() -> None:
    nodes = cluster()
    nodes.lead("orders", 2, "")
    nodes["a"].ask(1, batch(2))
    nodes.wait(5)
    assert not nodes["a"].answers
    nodes.lead("orders", 2, "a")
    nodes.run()
    assert nodes["a"].answers == {1: stored(2, 0)}


def test_a_partition_that_gets_no_leader_is_refused_in_the_end() -> None:
    nodes = cluster()
    nodes.lead("orders", 2, "")
    nodes["a"].ask(1, batch(2))
    nodes.wait(33)
    refusal = nodes["a"].answers[1]
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.NOT_LEADER
    assert "partition 2 of orders has no leader" in refusal.message


def test_publishes_to_a_topic_of_which_one_is_held_keep_their_order() -> None:
    nodes = cluster()
    nodes.lead("orders", 2, "")
    nodes["a"].ask(1, batch(2))
    nodes["a"].ask(2, batch(2))
    nodes["a"].ask(3, batch(0))
    nodes.lead("orders", 2, "b")
    nodes["a"].ask(4, batch(2))
    nodes.wait(1)
    assert nodes["a"].answers == {1: stored(2, 0), 2: stored(2, 1), 3: stored(0, 0), 4: stored(2, 2)}


def test_a_node_that_dies_may_have_stored_what_it_was_given() -> None:
    nodes = cluster()
    nodes["b"].parks = (PublishBatch,)
    nodes["a"].ask(1, batch(2))
    nodes.run()
    nodes.die("b")
    refusal = nodes["a"].answers[1]
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.OUTCOME_UNKNOWN
    assert "may have been carried out" in refusal.message


def test_what_a_dead_node_may_have_done_is_not_undone_by_what_others_refuse() -> None:
    """A numbered batch may be given to the next leader as well; that there is none says nothing of the first."""
    nodes = cluster()
    nodes["b"].parks = (PublishBatch,)
    content = encode([(1, None, b"v", ())], producer_id=7, producer_epoch=0, base_sequence=0)
    nodes["a"].ask(1, PublishBatch("orders", 2, content))
    nodes.run()
    nodes.lead("orders", 2, "")
    nodes.die("b")
    nodes.wait(60)
    refusal = nodes["a"].answers[1]
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.OUTCOME_UNKNOWN


@pytest.mark.parametrize("code", [Code.NOT_ENOUGH_REPLICAS, Code.UNAVAILABLE, Code.FENCED, Code.INVALID_TIMESTAMP])
def test_what_a_dead_node_may_have_stored_is_not_undone_by_what_the_next_leader_says_of_the_batch(code: Code) -> None:
    nodes = cluster()
    nodes["b"].parks = nodes["c"].parks = (PublishBatch,)
    content = encode([(1, None, b"v", ())], producer_id=7, producer_epoch=0, base_sequence=0)
    nodes["a"].ask(1, PublishBatch("orders", 2, content))
    nodes.run()
    nodes.die("b")
    nodes.lead("orders", 2, "c")
    nodes.wait(1)
    [(to, _)] = nodes["c"].taken
    nodes["c"].tell(to, PublishReply([Refusal(code, "nothing was stored")]))
    nodes.run()
    reply = nodes["a"].answers[1]
    assert isinstance(reply, PublishReply)
    assert [result.code for result in reply.results if isinstance(result, Refusal)] == [Code.OUTCOME_UNKNOWN]


def test_a_node_that_has_stopped_as_planned_is_not_waited_for() -> None:
    nodes = cluster()
    nodes["b"].parks = (Fetch,)
    nodes["a"].dispatch.met(nodes.now, "b")
    nodes["a"].ask(1, Fetch("orders", 2, 0))
    nodes.run()
    nodes.agree(NodeStanding("b", Standing.STOPPING))
    nodes.lead("orders", 2, "c")
    nodes.run()
    assert not nodes["a"].answers, "it answers yet what it was asked before"
    nodes["a"].dispatch.peer_lost(nodes.now, "b")
    nodes.wait(0.1)
    assert nodes["a"].answers == {1: USUAL[Fetch]}
    assert len(nodes["c"].taken) == 1


def test_what_may_be_repeated_goes_to_the_next_leader() -> None:
    nodes = cluster()
    nodes.outcome = lambda place, _request: Refusal(Code.INVALID, place.node_id)
    nodes["b"].parks = (Fetch,)
    nodes["a"].ask(1, Fetch("orders", 2, 0))
    nodes.run()
    nodes.die("b")
    nodes.lead("orders", 2, "c")
    nodes.wait(1)
    assert nodes["a"].answers == {1: Refusal(Code.INVALID, "c")}


def test_a_node_that_has_begun_anew_carries_out_nothing_that_was_sent_to_it_before() -> None:
    nodes = cluster()
    nodes["a"].ask(1, batch(2))
    nodes.collect()
    [(sender, letter)] = nodes.letters
    nodes.letters.clear()
    nodes.restart("b")
    assert "may have been carried out" in str(nodes["a"].answers[1])
    nodes.deliver(sender, letter)
    nodes.run()
    assert not nodes["b"].taken


def test_answers_for_an_earlier_life_of_the_origin_are_nobodys() -> None:
    nodes = cluster()
    nodes["b"].parks = (Fetch,)
    nodes["a"].ask(1, Fetch("orders", 2, 0))
    nodes.run()
    nodes.restart("a")
    nodes["a"].ask(1, Fetch("orders", 2, 7))
    nodes.run()
    for to, request in nodes["b"].taken:
        nodes["b"].tell(to, Fetched(b"", request.offset, 0, 0))
    nodes.run()
    assert nodes["a"].answers == {1: Fetched(b"", 7, 0, 0)}


def test_nobody_waits_for_an_answer_that_was_forgotten() -> None:
    nodes = cluster()
    nodes["b"].parks = (Fetch,)
    nodes["a"].ask(1, Fetch("orders", 2, 0, wait_ns=1 << 40))
    nodes.run()
    nodes["a"].forget(1)
    nodes.run()
    [(to, _)] = nodes["b"].taken
    assert nodes["b"].forgotten == [to]
    nodes["b"].tell(to, Fetched(b"", 0, 0, 0))
    nodes.wait(100)
    assert not nodes["a"].answers


def test_an_answer_that_never_comes_is_not_waited_for_for_ever() -> None:
    nodes = cluster()
    nodes["b"].parks = (Fetch,)
    nodes["a"].ask(1, Fetch("orders", 2, 0, wait_ns=5_000_000_000))
    nodes.wait(36)
    assert not nodes["a"].answers
    nodes.wait(2)
    assert isinstance(nodes["a"].answers[1], Refusal)
    assert nodes["b"].forgotten == [nodes["b"].taken[0][0]]


# --- the controller and the coordinator


def test_a_topic_that_was_made_elsewhere_is_known_here_when_that_is_answered() -> None:
    nodes = cluster()
    reply = TopicReply("new", 1, {}, 0, {}, 0)
    nodes.outcome = lambda _place, _request: reply
    nodes["a"].ask(1, CreateTopic("new"))
    nodes.run()
    assert len(nodes["c"].taken) == 1
    assert not nodes["a"].answers
    nodes.agree(TopicCreated("new", 9, 1, "{}", 0))
    assert nodes["a"].answers == {1: reply}
    nodes.outcome = lambda _place, _request: None
    nodes["a"].ask(2, DeleteTopic("new"))
    nodes.run()
    assert 2 not in nodes["a"].answers
    nodes.agree(TopicDeleted("new", 9))
    assert nodes["a"].answers[2] is None


def test_a_node_that_hears_of_nothing_answers_all_the_same() -> None:
    nodes = cluster()
    nodes["a"].ask(1, CreateTopic("new"))
    nodes.wait(2)
    assert nodes["a"].answers == {1: USUAL[CreateTopic]}
    assert len(nodes["c"].taken) == 1


def test_what_is_for_the_controller_waits_until_there_is_one() -> None:
    nodes = cluster()
    nodes.controller = ""
    nodes["a"].ask(1, DeleteTopic("nothing"))
    nodes.wait(3)
    assert not nodes["a"].answers
    nodes.controller = "a"
    nodes["a"].dispatch.routes_changed(nodes.now)
    nodes.run()
    assert nodes["a"].answers == {1: None}
    assert nodes["a"].taken[0][0].service is ServiceName.ROUTING


def test_a_controller_that_has_lost_its_office_is_not_the_end_of_a_request() -> None:
    nodes = cluster()
    codes = iter([Code.NOT_CONTROLLER, Code.NOT_CONTROLLER])
    nodes.outcome = lambda _place, _request: _refusal(next(codes, None))
    nodes["c"].ask(1, DeleteTopic("nothing"))
    nodes.wait(1)
    assert nodes["c"].answers == {1: None}
    assert len(nodes["c"].taken) == 3


def _refusal(code: Code | None) -> Reply:
    return None if code is None else Refusal(code, "no")


def test_a_heartbeat_is_not_kept_until_it_means_nothing() -> None:
    nodes = cluster()
    nodes.controller = ""
    nodes["a"].ask(-12, NodeHeartbeat("a", 1, 1))
    refusal = nodes["a"].answers[-12]
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.NOT_CONTROLLER


def test_groups_are_asked_for_at_their_coordinator_wherever_that_goes() -> None:
    nodes = cluster()
    nodes.agree(TopicCreated("__groups", 2, 1, "{}", 0))
    nodes.agree(PartitionPlaced("__groups", 0, ["b", "c"], ["b", "c"], "b", 1, 1))
    nodes.outcome = _coordinate
    nodes["b"].ask(1, BEAT)
    nodes["a"].ask(2, BEAT)
    nodes.run()
    assert not nodes["a"].answers
    assert not nodes["b"].answers
    nodes.agree(PartitionPlaced("__groups", 0, ["b", "c"], ["b", "c"], "c", 2, 2))
    nodes.run()
    assert nodes["b"].answers == {1: USUAL[GroupHeartbeat]}
    assert nodes["a"].answers == {2: USUAL[GroupHeartbeat]}


def _coordinate(place: Place, _request: Any) -> Reply:  # noqa: ANN401
    leader = place.state.topics["__groups"].placements[0].leader
    is_coordinator = leader == place.node_id == "c"
    return USUAL[GroupHeartbeat] if is_coordinator else Refusal(Code.NOT_COORDINATOR, "no")


# --- a node that a room asks


def test_a_room_may_ask_one_node_and_no_other() -> None:
    nodes = cluster()
    nodes.outcome = lambda _place, _request: PolledWork([])
    nodes["a"].ask(-9, AskNode("b", PollWork("g", "m")))
    nodes.run()
    assert nodes["a"].answers == {-9: PolledWork([])}
    assert nodes["b"].taken[0][1] == PollWork("g", "m")


@pytest.mark.parametrize("node", ["b", "nobody"])
def test_a_node_that_cannot_be_asked_is_refused_at_once(node: str) -> None:
    nodes = cluster()
    nodes.die("b")
    nodes["a"].ask(-9, AskNode(node, ListTopics()))
    refusal = nodes["a"].answers[-9]
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.UNAVAILABLE
    assert f"node {node} cannot be asked" in refusal.message


def test_a_node_that_dies_while_it_is_asked_is_an_answer() -> None:
    nodes = cluster()
    nodes["b"].parks = (PollWork,)
    nodes["a"].ask(-9, AskNode("b", PollWork("g", "m", wait_ns=1 << 40)))
    nodes.run()
    nodes.die("b")
    assert isinstance(nodes["a"].answers[-9], Refusal)


# --- a node that nobody knows


def test_a_node_that_joins_is_introduced_by_one_that_it_has_met() -> None:
    nodes = cluster()
    nodes["a"].state.nodes.clear()
    nodes["a"].dispatch.met(nodes.now, "b")
    nodes.outcome = lambda place, _request: Refusal(Code.INVALID, place.node_id)
    nodes["a"].ask(-12, RegisterNode("a", 1000, "disk"))
    nodes.run()
    assert nodes["a"].answers == {-12: Refusal(Code.INVALID, "c")}
    assert not nodes["b"].taken


def test_a_node_that_joins_asks_another_one_when_the_first_knows_nobody() -> None:
    nodes = cluster()
    nodes["a"].state.nodes.clear()
    nodes["b"].state.nodes.clear()
    for peer in "bc":
        nodes["a"].dispatch.met(nodes.now, peer)
    for to in (-12, -20):
        nodes["a"].ask(to, RegisterNode("a", 1000, "disk"))
        nodes.run()
    refusal = nodes["a"].answers[-12]
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.NOT_CONTROLLER
    assert nodes["a"].answers[-20] == USUAL[RegisterNode]
    assert [name for name in "abc" if nodes[name].taken] == ["c"]


def test_a_node_registers_with_a_controller_of_which_it_knows_an_earlier_process() -> None:
    nodes = cluster()
    controller = nodes["c"]
    controller.incarnation += 100
    controller.begin()
    for name in "bc":
        nodes.agree(nodes._registered("c"), only=name)
    nodes["a"].ask(-12, RegisterNode("a", 1000, "disk"))
    nodes["a"].ask(1, CreateTopic("made", 1))
    nodes.run()
    assert nodes["a"].answers[-12] == USUAL[RegisterNode]
    refusal = nodes["a"].answers[1]
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.OUTCOME_UNKNOWN


def test_a_node_that_joins_and_has_met_nobody_is_refused() -> None:
    nodes = cluster()
    nodes["a"].state.nodes.clear()
    nodes["a"].dispatch.met(nodes.now, "b")
    nodes["a"].dispatch.peer_lost(nodes.now, "b")
    nodes["a"].ask(-12, RegisterNode("a", 1000, "disk"))
    assert isinstance(nodes["a"].answers[-12], Refusal)


def test_nothing_else_is_passed_on_for_a_node_that_nobody_knows() -> None:
    nodes = cluster()
    nodes["b"].dispatch.receive(nodes.now, "a", Forwarded(1000, ANY_LIFE, 1, 1, False, ME, batch(2)))
    nodes.run()
    assert not nodes["b"].taken


# --- bounds


def test_what_is_looked_after_is_bounded() -> None:
    nodes = cluster()
    nodes["b"].parks = (PublishBatch,)
    megabyte = bytearray(1 << 20)
    for to in range(1, 70):
        nodes["a"].ask(to, PublishBatch("orders", 2, megabyte))
    refused = [to for to, reply in nodes["a"].answers.items() if isinstance(reply, Refusal)]
    assert len(refused) == 69 - 63
    nodes["a"].ask(100, batch(0))
    assert nodes["a"].answers[100] == stored(0, 0)


def test_what_a_node_looks_after_ends_early_when_it_is_cut_off_and_others_may_be_asked() -> None:
    nodes = cluster()
    place = nodes["a"]
    place.dispatch.in_touch(nodes.now, is_in_touch=True)
    nodes.is_fit = lambda _sender, _letter: False
    place.ask(1, batch(2))
    nodes.lead("orders", 1, "")
    place.ask(2, batch(1))
    nodes.wait(1)
    place.dispatch.in_touch(nodes.now, is_in_touch=False)
    nodes.wait(DEAD_S - 0.1)
    assert place.answers == {}
    nodes.wait(0.2)
    answers = {to: answer.code for to, answer in place.answers.items() if isinstance(answer, Refusal)}
    assert answers == {1: Code.OUTCOME_UNKNOWN, 2: Code.NOT_LEADER}, "the first may have been carried out"
    place.ask(3, batch(1))
    nodes.wait(DEAD_S + 0.1)
    assert 3 in place.answers


def test_a_node_that_is_in_touch_again_looks_after_requests_as_long_as_any() -> None:
    nodes = cluster()
    place = nodes["a"]
    place.dispatch.in_touch(nodes.now, is_in_touch=True)
    nodes.lead("orders", 1, "")
    place.ask(1, batch(1))
    place.dispatch.in_touch(nodes.now, is_in_touch=False)
    nodes.wait(DEAD_S / 2)
    place.dispatch.in_touch(nodes.now, is_in_touch=True)
    nodes.wait(2 * DEAD_S)
    assert place.answers == {}
    nodes.lead("orders", 1, "a")
    nodes.run()
    assert place.answers == {1: stored(1, 0)}


def test_a_node_that_never_was_in_touch_looks_after_requests_as_long_as_any() -> None:
    nodes = cluster()
    place = nodes["a"]
    place.dispatch.in_touch(nodes.now, is_in_touch=False)
    nodes.lead("orders", 1, "")
    place.ask(1, batch(1))
    nodes.wait(2 * DEAD_S)
    assert place.answers == {}
