"""What an operator chooses stands in where a request says nothing, and only there."""

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.requests.groups import DescribeGroup, GroupReply, JoinGroup
from goqueue.core.requests.topics import CreateTopic, DescribeTopic, TopicReply
from tests.core.driven_node import DrivenNode


def test_a_topic_gets_what_its_maker_did_not_say() -> None:
    driven = DrivenNode(options=NodeOptions(topic_config={"retention_hours": 24, "fsync": "none"}))
    driven.ask(CreateTopic("plain"))
    driven.ask(CreateTopic("own", config={"retention_hours": 168}))
    driven.settle()
    asked = [driven.ask(DescribeTopic(name)) for name in ("plain", "own")]
    answers = driven.settle()
    found = [answers[to] for to in asked]
    assert [each.config["retention_hours"] for each in found if isinstance(each, TopicReply)] == [24, 168]
    assert [each.config["fsync"] for each in found if isinstance(each, TopicReply)] == ["none", "none"]
    assert [each.config["segment_age"] for each in found if isinstance(each, TopicReply)] == ["7d", "7d"]


def test_a_member_that_names_no_session_timeout_gets_the_operators() -> None:
    driven = DrivenNode(options=NodeOptions(session_timeout_ms=12_000))
    driven.ask(CreateTopic("orders"))
    driven.settle()
    driven.ask(JoinGroup("billing", ["orders"], client_id="a"))
    driven.ask(JoinGroup("billing", ["orders"], client_id="b", session_timeout_ms=5_000))
    driven.settle()
    to = driven.ask(DescribeGroup("billing"))
    described = driven.settle()[to]
    assert isinstance(described, GroupReply)
    assert [member.session_timeout_ms for member in described.members] == [12_000, 5_000]
