"""A publish is divided by leaders, each message is answered in its place, and keeps the partition chosen at first."""

from goqueue.core.cluster.records import TopicDeleted
from goqueue.core.requests.messages import NewRecord, Publish, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.row import ServiceName
from tests.core.routing.cluster_of_dispatchers import Cluster


def cluster() -> Cluster:
    """Three nodes; a leads the partition 0 of `orders`, b 1, c 2."""
    made = Cluster("a", "b", "c", controller="c")
    made.create("orders", "a", "b", "c")
    return made


def publish(*partitions: int | None) -> Publish:
    return Publish("orders", [NewRecord(None, b"%d" % at, partition=one) for at, one in enumerate(partitions)])


def test_each_leader_gets_its_messages_and_each_message_its_answer() -> None:
    nodes = cluster()
    nodes["a"].ask(1, publish(2, 0, 1, 2, 0))
    nodes.run()
    places = [Published(2, 0), Published(0, 0), Published(1, 0), Published(2, 1), Published(0, 1)]
    assert nodes["a"].answers == {1: PublishReply(list(places))}
    assert [record.value for record in nodes["c"].taken[0][1].records] == [b"0", b"3"]
    assert nodes["a"].taken[0][0].service is ServiceName.ROUTING


def test_a_topic_that_is_led_here_alone_is_not_looked_after() -> None:
    nodes = cluster()
    nodes.create("own", "a", "a")
    nodes["a"].ask(1, Publish("own", [NewRecord(None, b"")] * 2))
    assert [to.number for to, _ in nodes["a"].taken] == [1]
    nodes["a"].ask(2, Publish("orders", []))
    assert nodes["a"].answers[2] == PublishReply([])


def test_a_message_keeps_its_partition_when_it_is_sent_again() -> None:
    nodes = cluster()
    nodes.lead("orders", 1, "", only="b")
    nodes["a"].ask(1, publish(None, None, None))
    nodes.run()
    assert not nodes["a"].answers
    nodes.lead("orders", 1, "c")
    nodes.wait(1)
    assert nodes["a"].answers == {1: PublishReply([Published(0, 0), Published(1, 0), Published(2, 0)])}
    assert [record.partition for _, request in nodes["c"].taken for record in request.records] == [2, 1]


def test_only_what_was_refused_is_sent_again() -> None:
    nodes = cluster()
    nodes.lead("orders", 2, "b", only="c")
    nodes["a"].ask(1, publish(0, 1, 2))
    nodes.run()
    nodes.lead("orders", 2, "b")
    nodes.wait(1)
    assert nodes["a"].answers == {1: PublishReply([Published(0, 0), Published(1, 0), Published(2, 0)])}
    assert nodes.ends == {0: 1, 1: 1, 2: 1}


def test_messages_of_a_leader_that_dies_may_have_been_stored_and_the_others_are() -> None:
    nodes = cluster()
    nodes["b"].parks = (Publish,)
    nodes["a"].ask(1, publish(0, 1, 2))
    nodes.run()
    nodes.die("b")
    reply = nodes["a"].answers[1]
    assert isinstance(reply, PublishReply)
    assert [reply.results[0], reply.results[2]] == [Published(0, 0), Published(2, 0)]
    assert isinstance(reply.results[1], Refusal)
    assert "may have been carried out" in reply.results[1].message


def test_messages_for_nobody_are_refused_in_the_end_and_the_others_are_stored() -> None:
    nodes = cluster()
    nodes.lead("orders", 1, "")
    nodes["a"].ask(1, publish(0, 1, 2))
    nodes.wait(33)
    reply = nodes["a"].answers[1]
    assert isinstance(reply, PublishReply)
    assert [reply.results[0], reply.results[2]] == [Published(0, 0), Published(2, 0)]
    assert isinstance(reply.results[1], Refusal)
    assert reply.results[1].code is Code.NOT_LEADER


def test_a_refusal_of_the_whole_is_one_of_each_message() -> None:
    nodes = cluster()
    nodes["b"].parks = (Publish,)
    nodes["a"].ask(1, publish(1, 0, 1))
    nodes.run()
    refusal = Refusal(Code.UNAVAILABLE, "not now")
    nodes["b"].tell(nodes["b"].taken[0][0], refusal)
    nodes.run()
    assert nodes["a"].answers == {1: PublishReply([refusal, Published(0, 0), refusal])}


def test_an_answer_of_another_length_is_none() -> None:
    nodes = cluster()
    nodes["b"].parks = (Publish,)
    nodes["a"].ask(1, publish(1, 1))
    nodes.run()
    nodes["b"].tell(nodes["b"].taken[0][0], PublishReply([Published(1, 0)]))
    nodes.run()
    reply = nodes["a"].answers[1]
    assert isinstance(reply, PublishReply)
    assert [type(result) for result in reply.results] == [Refusal, Refusal]


def test_a_topic_that_is_deleted_meanwhile_is_refused() -> None:
    nodes = cluster()
    nodes.lead("orders", 1, "")
    nodes["a"].ask(1, publish(0, 1))
    nodes.agree(TopicDeleted("orders", 1))
    nodes.run()
    reply = nodes["a"].answers[1]
    assert isinstance(reply, PublishReply)
    assert reply.results[0] == Published(0, 0)
    assert isinstance(reply.results[1], Refusal)
    assert reply.results[1].code is Code.TOPIC_NOT_FOUND


def test_a_topic_that_is_gone_is_refused_here_while_a_publish_to_it_is_held() -> None:
    nodes = cluster()
    nodes.lead("orders", 1, "")
    nodes["a"].ask(1, publish(1))
    nodes["a"].state.apply(TopicDeleted("orders", 1))
    nodes["a"].ask(2, publish(1))
    reply = nodes["a"].answers[2]
    assert isinstance(reply, PublishReply)
    assert isinstance(reply.results[0], Refusal)
    assert reply.results[0].code is Code.TOPIC_NOT_FOUND


def test_publishes_are_not_overtaken_while_one_of_them_is_held() -> None:
    nodes = cluster()
    nodes.lead("orders", 1, "")
    nodes["a"].ask(1, publish(1))
    nodes["a"].ask(2, publish(1))
    nodes.lead("orders", 1, "a")
    nodes["a"].ask(3, publish(1))
    nodes.wait(1)
    assert [nodes["a"].answers[to] for to in (1, 2, 3)] == [PublishReply([Published(1, at)]) for at in range(3)]


def test_a_room_publishes_as_the_broker() -> None:
    nodes = cluster()
    nodes["a"].ask(-9, publish(0, 1))
    nodes.run()
    assert nodes["a"].answers == {-9: PublishReply([Published(0, 0), Published(1, 0)])}
    assert nodes["a"].taken[0][0].is_own
    assert nodes["b"].taken[0][0].is_own


def test_parts_that_nobody_waits_for_are_forgotten_everywhere() -> None:
    nodes = cluster()
    nodes["a"].parks = nodes["b"].parks = (Publish,)
    nodes["a"].ask(1, publish(0, 1))
    nodes.run()
    nodes["a"].forget(1)
    nodes.run()
    for name in "ab":
        assert nodes[name].forgotten == [to for to, _ in nodes[name].taken]
