"""Lanes and times to live on a whole broker: what members of shared groups are given, also after a crash."""

from random import Random

import pytest

from goqueue.core.capture.snapshot import restored, snapshot
from goqueue.core.queues.shares import PRECEDENCE
from goqueue.core.records.batch import Lane
from goqueue.core.requests.messages import NewRecord, Publish, PublishReply
from goqueue.storage.simulated import SimulatedDisk
from tests.core.capture.traffic import VOCABULARY
from tests.storage.driven_broker import DrivenBroker
from tests.storage.worked_broker import ack, begun, join, messages, nack, offsets, poll, receipts, with_messages

LANES = [Lane(lane) for lane in PRECEDENCE]


def publish_in(broker: DrivenBroker, lane: Lane, count: int, ttl_ms: int = 0) -> list[int]:
    """A batch in a lane; the offsets of its messages, whose values name the lane."""
    record = NewRecord(None, lane.name.encode(), partition=0, lane=lane, ttl_ms=ttl_ms)
    reply = broker.answer(Publish("orders", [record] * count))
    assert isinstance(reply, PublishReply), reply
    return [result.offset for result in reply.results if hasattr(result, "offset")]


def served(broker: DrivenBroker, member: str, count: int) -> list[str]:
    """The lanes of what a member is given and acknowledges at once."""
    parts = poll(broker, member, count)
    ack(broker, receipts(parts))
    return [value.decode() for _, value, _ in messages(parts)]


def drained(broker: DrivenBroker, member: str, count: int) -> list[int]:
    """All that there is to be given, acknowledged as it comes."""
    found: list[int] = []
    for _ in range(1_000):
        parts = poll(broker, member, count)
        if not parts:
            break
        found += offsets(parts)
        ack(broker, receipts(parts))
    return found


def test_what_is_critical_is_given_before_what_came_before_it() -> None:
    broker = with_messages(SimulatedDisk(), 0)
    member = join(broker)
    for lane in reversed(LANES):
        publish_in(broker, lane, 3)
    # A poll is answered with what was at hand first.
    given = [lane for _ in LANES for lane in served(broker, member, 100)]
    assert given == [lane.name for lane in LANES for _ in range(3)]


def test_lanes_that_are_full_have_their_shares() -> None:
    broker = with_messages(SimulatedDisk(), 0)
    member = join(broker)
    for lane in reversed(LANES):
        publish_in(broker, lane, 400)
    given: list[str] = []
    while len(given) < 600:
        given += served(broker, member, 70)
    for weight, lane in zip((50, 25, 15, 7, 3), LANES, strict=True):
        assert abs(given.count(lane.name) - len(given) * weight / 100) <= weight


@pytest.mark.parametrize("is_torn", [False, True])
def test_lanes_outlive_a_crash_in_order_and_without_loss(is_torn: bool) -> None:
    disk, random = SimulatedDisk(7), Random(7)
    broker = with_messages(disk, 0)
    member = join(broker)
    by_lane: dict[Lane, list[int]] = {lane: [] for lane in LANES}
    for _ in range(60):
        lane = random.choice(LANES)
        by_lane[lane] += publish_in(broker, lane, random.randrange(1, 6))
    first = offsets(parts := poll(broker, member, 40))
    ack(broker, receipts(parts))
    if is_torn:
        disk.crash(0.5)
    else:
        broker.close()
    again = begun(disk)
    for lane in LANES:
        by_lane[lane] += publish_in(again, lane, 2)
    rest = drained(again, member, 17)
    everything = [offset for some in by_lane.values() for offset in some]
    assert sorted(first + rest) == sorted(everything)
    for some in by_lane.values():
        assert [offset for offset in first + rest if offset in some] == some


def test_a_group_that_comes_later_finds_every_lane_in_order() -> None:
    broker = with_messages(SimulatedDisk(), 0)
    member = join(broker)
    older = publish_in(broker, Lane.CRITICAL, 3) + publish_in(broker, Lane.LOW, 3)
    drained(broker, member, 10)
    newer = publish_in(broker, Lane.CRITICAL, 3)
    other = join(broker, "shipping", start="earliest")
    found = [offset for _ in range(20) for offset in offsets(poll(broker, other, 4, "shipping"))]
    assert sorted(found) == older + newer
    critical = older[:3] + newer
    assert [offset for offset in found if offset in critical] == critical


def test_a_retry_keeps_its_lane() -> None:
    broker = with_messages(SimulatedDisk(), 0)
    member = join(broker)
    [urgent] = publish_in(broker, Lane.CRITICAL, 1)
    given = poll(broker, member)
    publish_in(broker, Lane.LOW, 5)
    nack(broker, receipts(given), 1_000)
    broker.later(1.1)
    assert offsets(poll(broker, member, 3))[0] == urgent


def test_a_lane_that_starved_goes_first_once() -> None:
    broker = with_messages(SimulatedDisk(), 0, lane_weights="1000/1/1/1/1", starvation_after="10s")
    member = join(broker)
    publish_in(broker, Lane.BACKGROUND, 2)
    publish_in(broker, Lane.CRITICAL, 100)
    for _ in range(3):
        assert served(broker, member, 2) == ["CRITICAL"] * 2
        broker.later(3.4)
    assert served(broker, member, 1) == ["BACKGROUND"]
    assert served(broker, member, 1) == ["CRITICAL"]


def test_what_is_past_its_time_is_given_to_nobody_and_becomes_a_dead_letter() -> None:
    broker = with_messages(SimulatedDisk(), 0)
    member = join(broker)
    publish_in(broker, Lane.NORMAL, 2, ttl_ms=5_000)
    kept = publish_in(broker, Lane.NORMAL, 1)
    broker.later(6)
    assert offsets(poll(broker, member)) == kept
    broker.later(1)
    letters = [dict(record.headers) for record in broker.records("orders.dlq")]
    assert [letter["goqueue.dlq.reason"] for letter in letters] == [b"expired"] * 2


def test_what_is_past_the_time_of_its_topic_is_dropped_where_there_are_no_dead_letters() -> None:
    broker = with_messages(SimulatedDisk(), 0, message_ttl="5s", dlq=False)
    member = join(broker)
    publish_in(broker, Lane.NORMAL, 2)
    aged = publish_in(broker, Lane.NORMAL, 2, ttl_ms=60_000)
    broker.later(6)
    young = publish_in(broker, Lane.NORMAL, 1)
    assert drained(broker, member, 10) == aged + young
    broker.later(60)
    assert poll(broker, member) == []


def test_a_broker_with_leases_and_lanes_is_captured_and_comes_back() -> None:
    broker = with_messages(SimulatedDisk(), 0)
    member = join(broker)
    for lane in LANES:
        publish_in(broker, lane, 300)
    given = poll(broker, member, 40)
    ack(broker, receipts(given, *offsets(given)[::2]))
    broker.node.forget_recent(broker.now)
    content = snapshot(VOCABULARY, broker.node)
    again = restored(VOCABULARY, content)
    again.check()
    assert snapshot(VOCABULARY, again) == content
