"""The gate admits requests, and counts those of clients and what they were refused for."""

from goqueue.core.gate.gate import Gate
from goqueue.core.gate.producer_pace import AT_ONCE
from goqueue.core.requests.call import Call, Caller, Origin
from goqueue.core.requests.messages import Fetch, InitProducer, PublishBatch
from goqueue.core.requests.nodes import DescribeNode, NodeReply
from goqueue.core.requests.refusals import Code, Refusal
from tests.core.driven_node import DrivenNode


def test_requests_of_clients_are_counted_by_name() -> None:
    gate = Gate()
    for number in range(3):
        assert gate.admit(0, Call(number), PublishBatch("t", 0, bytearray())) is None
    assert gate.admit(0, Call(3), Fetch("t", 0, 0)) is None
    assert gate.counted() == ({"publish_batch": 3, "fetch": 1}, {})


def test_what_services_and_other_nodes_ask_is_admitted_and_no_client_s() -> None:
    gate = Gate()
    for origin in (Origin.NODE, Origin.SERVICE):
        for number in range(2 * AT_ONCE):
            assert gate.admit(0, Call(number, origin=origin), InitProducer()) is None
    assert gate.counted() == ({}, {})


def test_producer_ids_are_given_out_at_a_pace_to_each_address() -> None:
    gate = Gate()
    caller = Caller("c", address="1.2.3.4:5")
    refusals = [gate.admit(0, Call(number, caller), InitProducer()) for number in range(AT_ONCE + 1)]
    assert refusals[:-1] == [None] * AT_ONCE
    assert refusals[-1] is not None
    assert refusals[-1].code is Code.UNAVAILABLE


def test_a_node_says_how_many_requests_it_had_and_why_it_refused_some() -> None:
    driven = DrivenNode()
    for _ in range(2):
        refused = driven.answer(Fetch("nothing", 0, 0))
        assert isinstance(refused, Refusal)
    described = driven.answer(DescribeNode())
    assert isinstance(described, NodeReply)
    assert described.requests == {"fetch": 2, "describe_node": 1}
    assert described.refusals == {"topic_not_found": 2}
