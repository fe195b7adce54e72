"""Work queues in numbers: totals never fall, whoever goes, and what there is is told by group, topic and lane."""

from goqueue.core.records.batch import Lane
from goqueue.core.requests.groups import DeleteGroup
from goqueue.core.requests.messages import NewRecord, Publish
from goqueue.core.requests.queues import (
    ExtendWork,
    LaneMeasure,
    LanesMeasured,
    MeasureLanes,
    MeasureWork,
    QueueMeasure,
    RejectWork,
    WorkDone,
    WorkMeasured,
)
from goqueue.core.requests.refusals import Code
from goqueue.core.requests.topics import DeleteTopic
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.driven_broker import DrivenBroker
from tests.storage.worked_broker import ack, begun, join, leases, leave, nack, poll, receipts, refused, with_messages


def measured(broker: DrivenBroker, pairs_max: int = 1000) -> WorkMeasured:
    """All queues in numbers."""
    reply = broker.answer(MeasureWork(pairs_max))
    assert isinstance(reply, WorkMeasured), reply
    return reply


def lanes(broker: DrivenBroker, topic: str = "", partitions_max: int = 1000) -> dict[str, dict[int, list[LaneMeasure]]]:
    """All lanes in numbers."""
    reply = broker.answer(MeasureLanes(topic, partitions_max))
    assert isinstance(reply, LanesMeasured), reply
    return reply.topics


def totals(work: WorkMeasured) -> tuple[int, ...]:
    """What was counted since the start."""
    return work.delivered, work.acked, work.nacked, work.rejected, work.extended, work.timed_out, work.expired


def worked() -> tuple[DrivenBroker, str]:
    """A broker on which a member was given ten messages of twenty and said something of five."""
    broker = with_messages(SimulatedDisk(), 20, dlq="false")
    member = join(broker)
    given = poll(broker, member, 10)
    broker.later(2)
    ack(broker, receipts(given, 0, 1))
    nack(broker, receipts(given, 2), 3_600_000)
    for request in (RejectWork(receipts(given, 3)), ExtendWork(receipts(given, 4), 3_600_000)):
        assert isinstance(broker.answer(request), WorkDone)
    return broker, member


def test_what_members_say_is_counted_and_what_is_left_is_told() -> None:
    broker, _ = worked()
    work = measured(broker)
    assert work.queues == [QueueMeasure("billing", "orders", in_flight=6, ready=10, waiting=1, held=0, dead=0)]
    assert totals(work) == (10, 2, 1, 1, 1, 0, 0)
    assert (work.acked_by, work.timed_out_by, work.buried_by) == ({"orders": 2}, {"billing": 0}, {})
    assert (work.polls, work.polls_empty) == (1, 0)
    assert (sum(work.ack_latency.counts), work.ack_latency.sum_ns) == (2, 4_000_000_000)


def test_leases_that_end_without_a_word_are_counted_by_group() -> None:
    broker, _ = worked()
    broker.later(40)
    work = measured(broker)
    assert (work.timed_out, work.timed_out_by) == (5, {"billing": 5})


def test_dead_letters_are_counted_by_group() -> None:
    broker = with_messages(SimulatedDisk(), 3)
    given = poll(broker, join(broker))
    broker.answer(RejectWork(receipts(given, 0, 2)))
    broker.later(1)
    work = measured(broker)
    assert (work.buried, work.buried_by, work.rejected) == (2, {"billing": 2}, 2)
    assert [queue.dead for queue in work.queues] == [0]


def test_totals_outlive_the_group_and_the_topic() -> None:
    broker, member = worked()
    before = totals(measured(broker))
    leave(broker, member)
    assert broker.answer(DeleteGroup("billing")) is None
    work = measured(broker)
    assert (work.queues, totals(work), work.acked_by, work.timed_out_by) == ([], before, {"orders": 2}, {})
    ack(broker, receipts(poll(broker, join(broker, "audit"), 3, "audit")))
    assert measured(broker).acked_by == {"orders": 2 + 3}
    assert broker.answer(DeleteTopic("orders")) is None
    work = measured(broker)
    assert (work.queues, work.acked, work.acked_by) == ([], before[1] + 3, {})
    assert sum(work.ack_latency.counts) == work.acked


def test_totals_outlive_the_loss_of_a_ledger() -> None:
    disk = SimulatedDisk()
    broker = with_messages(disk, 20)
    member = join(broker)
    ack(broker, receipts(poll(broker, member, 4)))
    given = poll(broker, member, 4)
    disk.conditions.capacity_bytes = disk.used_bytes
    assert refused(broker.answer(RejectWork(receipts(given), "x" * 1000))).code is Code.OUTCOME_UNKNOWN
    disk.conditions.capacity_bytes = None
    broker.later(60)
    assert measured(broker).acked == 4
    broker.later(60)
    ack(broker, receipts(poll(broker, member, 4)))
    assert measured(broker).acked == 8


def test_asking_makes_nothing_and_is_bounded() -> None:
    broker = begun(SimulatedDisk())
    assert measured(broker) == WorkMeasured([])
    assert lanes(broker) == {}
    for topic in ("one", "two", "three"):
        broker.create(topic)
        broker.publish(topic, (b"k", b"v"))
    poll(broker, join(broker, topics=("one", "two", "three")))
    assert [queue.topic for queue in measured(broker, 2).queues] == ["one", "three"]
    assert len(lanes(broker, partitions_max=2)) == 2
    assert len(lanes(broker)) == 3


def test_lanes_are_told_by_precedence_all_groups_added_up() -> None:
    broker = with_messages(SimulatedDisk(), 0)
    for group in ("billing", "audit"):
        assert poll(broker, join(broker, group), group=group) == []
    for lane in (Lane.NORMAL, Lane.CRITICAL, Lane.LOW):
        broker.answer(Publish("orders", [NewRecord(None, b"v", lane=lane) for _ in range(3)]))
    broker.later(2)
    given = poll(broker, join(broker), 4)
    count = sum(run.count for run in leases(given))
    ack(broker, receipts(given, leases(given)[0].first_offset))
    (measures,) = lanes(broker, "orders").values()
    found = measures[0]
    assert [each.lane for each in found] == [Lane.CRITICAL, Lane.HIGH, Lane.NORMAL, Lane.LOW, Lane.BACKGROUND]
    assert sum(each.in_flight for each in found) == count - 1
    assert sum(each.ready for each in found) == (9 - count) + 9
    assert [each.enqueue_rate > 0 for each in found] == [True, False, True, True, False]
    assert found[0].dequeue_rate > 0
    assert found[0].waited_ms == 2_000
    assert lanes(broker) == {"orders": measures}


def test_the_lanes_of_a_topic_that_is_not_there_are_refused() -> None:
    broker = with_messages(SimulatedDisk(), 0)
    assert lanes(broker, "orders") == {}
    assert refused(broker.answer(MeasureLanes("none"))).code is Code.TOPIC_NOT_FOUND
