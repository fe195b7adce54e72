"""No client has others forgotten by asking for producer ids in a loop, or by making them up."""

import pytest

from goqueue.core.gate.producer_pace import A_SECOND, AT_ONCE, ProducerPace
from goqueue.core.log.producers import EXPIRY_MS, HELD_MS, MOVER_ID, Producers
from goqueue.core.partition.producers import judge
from goqueue.core.records.batch import Header, read_header
from goqueue.core.records.build import encode
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import InitProducer, ProducerReply
from goqueue.core.requests.refusals import Code, Refusal
from tests.core.driven_node import DrivenNode

S = 1_000_000_000


def header(producer_id: int, first: int = 0, epoch: int = 0) -> Header:
    entries = [(0, None, b"v", ())]
    return read_header(encode(entries, producer_id=producer_id, producer_epoch=epoch, base_sequence=first))


def publish(producers: Producers, producer_id: int, first: int, wall_ms: int) -> Refusal | None:
    """Publish one message by a producer, as a leader does."""
    verdict = judge(producers, header(producer_id, first), wall_ms)
    if isinstance(verdict, Refusal):
        return verdict
    assert verdict is None
    producers.enter(header(producer_id, first), 0, wall_ms)
    producers.check()
    return None


def test_ids_that_somebody_makes_up_have_nobody_forgotten_who_publishes() -> None:
    producers = Producers(most=10)
    for at in range(10):
        assert publish(producers, 5_000 + at, 0, at) is None
    for made_up in range(1 << 62, (1 << 62) + 1_000):
        refusal = publish(producers, made_up, 0, 100)
        assert refusal is not None
        assert (refusal.code, refusal.retry_after_ms > 0) == (Code.UNAVAILABLE, True)
    for at in range(10):
        assert publish(producers, 5_000 + at, 1, 200 + at) is None
    assert len(producers) == 10


def test_who_was_idle_for_long_makes_room_the_one_that_was_for_longest_first() -> None:
    producers = Producers(most=3)
    for at in range(3):
        publish(producers, 5_000 + at, 0, at)
    publish(producers, 5_000, 1, 10)
    assert publish(producers, 6_000, 0, HELD_MS) is not None
    assert publish(producers, 6_000, 0, HELD_MS + 1) is None
    assert producers.last(5_001) is None
    assert producers.last(5_000) == (0, 1)
    assert publish(producers, 6_001, 0, HELD_MS + 1) is not None
    assert publish(producers, 6_001, 0, HELD_MS + 2) is None
    assert producers.last(5_002) is None


def test_a_table_that_filled_long_ago_takes_others_and_so_does_one_whose_clock_was_set_back() -> None:
    for later_ms in (EXPIRY_MS + 10, -1_000):
        producers = Producers(most=2)
        for at in range(2):
            publish(producers, 5_000 + at, 0, 5)
        assert publish(producers, 6_000, 0, 5 + later_ms) is None


def test_a_known_producer_begins_another_epoch_where_there_is_no_room_for_others() -> None:
    producers = Producers(most=2)
    for at in range(2):
        publish(producers, 5_000 + at, 0, 5)
    assert judge(producers, header(5_000, 0, 1), 6) is None


def test_the_brokers_own_producers_neither_keep_others_out_nor_go() -> None:
    producers = Producers(most=2)
    publish(producers, MOVER_ID, 0, 0)
    publish(producers, 5_000, 0, HELD_MS)
    assert publish(producers, 5_001, 0, HELD_MS + 1) is not None
    assert publish(producers, 5_001, 0, 2 * HELD_MS) is None
    assert producers.last(MOVER_ID) == (0, 0)


# --- the pace


def caller(address: str, name: str = "") -> Caller:
    return Caller(name or address, "grpc", address=address)


def test_an_address_is_given_so_many_ids_at_once_and_then_at_a_pace_whatever_it_calls_itself() -> None:
    pace = ProducerPace()
    for port in range(AT_ONCE):
        assert pace.refusal(0, caller(f"10.0.0.1:{port}", f"client-{port}")) is None
    refusal = pace.refusal(0, caller("10.0.0.1:7", "another"))
    assert refusal is not None
    assert refusal.code is Code.UNAVAILABLE
    assert refusal.retry_after_ms == 1_000 // A_SECOND
    assert "10.0.0.1" in refusal.message
    assert pace.refusal(0, caller("10.0.0.2:7")) is None
    assert pace.refusal(0, caller("[::1]:7")) is None
    given = sum(pace.refusal(at * S // 100, caller("10.0.0.1:9")) is None for at in range(1_001))
    assert given == 10 * A_SECOND
    assert pace.refusal(200 * S, caller("10.0.0.1:9")) is None


def test_so_many_addresses_are_remembered_at_most() -> None:
    pace = ProducerPace()
    for number in range(20_000):
        pace.refusal(number, caller(f"host-{number}:1"))
    assert len(pace._spent) == 10_000


def test_a_node_that_is_asked_for_ids_in_a_loop_says_when_to_ask_again() -> None:
    driven = DrivenNode()
    replies = [driven.answer(InitProducer()) for _ in range(AT_ONCE + 5)]
    assert all(isinstance(reply, ProducerReply) for reply in replies[:AT_ONCE])
    refused = replies[AT_ONCE:]
    assert all(isinstance(reply, Refusal) and reply.retry_after_ms > 0 for reply in refused)


@pytest.mark.parametrize("address", ["", "unix", "10.0.0.1", "::1"])
def test_an_address_of_any_form_has_a_pace(address: str) -> None:
    pace = ProducerPace()
    assert pace.refusal(0, Caller("name", address=address)) is None
