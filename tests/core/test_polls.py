"""Polls of a node: what it holds, what is published while they wait, and what becomes of them with the journal."""

from goqueue.core.log.effects import Read, ReadResult
from goqueue.core.requests.groups import (
    CommitOffsets,
    Joined,
    JoinGroup,
    LeaveGroup,
    PartitionOffset,
    Polled,
    PollGroup,
)
from goqueue.core.requests.messages import NewRecord, Publish
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import AlterTopic, DeleteTopic
from tests.core.driven_node import DrivenNode, stored
from tests.core.groups.polled_groups import S, offsets, spans
from tests.core.log.batches import WALL_MS

MIB = 1 << 20


def joined(driven: DrivenNode, group: str = "g", *topics: str) -> str:
    """A new member's id."""
    answer = driven.answer(JoinGroup(group, [*(topics or ("orders",))]))
    assert isinstance(answer, Joined)
    return answer.member_id


def publish(driven: DrivenNode, partition: int, count: int, topic: str = "orders") -> int:
    """Hand over so many messages for a partition."""
    return driven.ask(Publish(topic, [NewRecord(None, b"%d" % at, partition=partition) for at in range(count)]))


def polled(driven: DrivenNode, request: PollGroup) -> Polled:
    answer = driven.answer(request)
    assert isinstance(answer, Polled), answer
    return answer


def test_members_are_given_what_was_published_and_what_is_published_while_they_wait() -> None:
    driven = DrivenNode(recent_bytes=MIB).with_topic(partitions=2)
    member = joined(driven)
    publish(driven, 0, 3)
    publish(driven, 1, 2)
    driven.settle()
    assert spans(polled(driven, PollGroup("g", member)).parts) == [("orders", 0, 0, 3), ("orders", 1, 0, 2)]
    waiting = driven.ask(PollGroup("g", member, wait_ns=5 * S))
    assert waiting not in driven.settle()
    publish(driven, 0, 1)
    publish(driven, 1, 1)
    answer = driven.settle()[waiting]
    assert isinstance(answer, Polled)
    assert spans(answer.parts) == [("orders", 0, 3, 4), ("orders", 1, 2, 3)]
    assert offsets(answer.parts) == [3, 2]


def test_a_poll_that_waits_in_vain_is_answered_by_the_clock() -> None:
    driven = DrivenNode().with_topic()
    waiting = driven.ask(PollGroup("g", joined(driven), wait_ns=5 * S))
    driven.settle()
    assert driven.node.deadline() == driven.now + 5 * S
    driven.now += 5 * S
    driven.node.wake(driven.now)
    assert driven.settle()[waiting] == Polled([])


def test_what_is_not_acknowledged_yet_is_not_polled() -> None:
    driven = DrivenNode(recent_bytes=MIB).with_topic()
    waiting = driven.ask(PollGroup("g", joined(driven), wait_ns=5 * S))
    driven.settle()
    publish(driven, 0, 1)
    ready = driven.write()
    assert waiting not in [send.to for send in driven.write().sends]
    driven.sync(ready.writes)
    assert waiting in driven.settle()


def test_what_is_not_in_memory_is_read_from_the_disk() -> None:
    driven = DrivenNode().with_topic()
    member = joined(driven)
    publish(driven, 0, 3)
    driven.settle()
    waiting = driven.ask(PollGroup("g", member))
    [fetching] = driven.reads()
    assert isinstance(fetching.request, Read)
    batch = stored(0, *[(WALL_MS, None, b"%d" % at, ()) for at in range(3)])
    driven.node.read_done(driven.now, fetching.token, ReadResult(memoryview(batch), 3, len(batch)))
    answer = driven.settle()[waiting]
    assert isinstance(answer, Polled)
    assert offsets(answer.parts) == [0, 1, 2]


def test_a_damaged_partition_is_named() -> None:
    driven = DrivenNode().with_topic()
    member = joined(driven)
    publish(driven, 0, 3)
    driven.settle()
    waiting = driven.ask(PollGroup("g", member))
    [fetching] = driven.reads()
    driven.node.read_failed(driven.now, fetching.token, "the file is torn", damaged=True)
    assert driven.settle()[waiting] == Refusal(Code.DAMAGED, "orders-0 cannot be read: the file is torn")


def test_a_poll_that_is_forgotten_skips_nothing() -> None:
    driven = DrivenNode(recent_bytes=MIB).with_topic()
    member = joined(driven)
    waiting = driven.ask(PollGroup("g", member, wait_ns=5 * S))
    driven.settle()
    driven.node.forget(waiting)
    publish(driven, 0, 2)
    assert waiting not in driven.settle()
    assert offsets(polled(driven, PollGroup("g", member)).parts) == [0, 1]


def test_the_next_member_goes_on_at_what_was_committed() -> None:
    driven = DrivenNode(recent_bytes=MIB).with_topic()
    publish(driven, 0, 10)
    driven.settle()
    member = joined(driven)
    assert offsets(polled(driven, PollGroup("g", member, 6)).parts) == [*range(6)]
    driven.answer(CommitOffsets("g", member, 1, [PartitionOffset("orders", 0, 4)]))
    driven.answer(LeaveGroup("g", member))
    assert offsets(polled(driven, PollGroup("g", joined(driven))).parts) == [*range(4, 10)]


def test_groups_are_given_the_same_messages_each_for_itself() -> None:
    driven = DrivenNode(recent_bytes=MIB).with_topic()
    first, second = joined(driven, "one"), joined(driven, "two")
    waiting = [
        driven.ask(PollGroup("one", first, wait_ns=5 * S)),
        driven.ask(PollGroup("two", second, 2, wait_ns=5 * S)),
    ]
    driven.settle()
    publish(driven, 0, 3)
    answers = driven.settle()
    given = [answers[to] for to in waiting]
    assert [spans(one.parts) for one in given if isinstance(one, Polled)] == [
        [("orders", 0, 0, 3)],
        [("orders", 0, 0, 2)],
    ]


def test_a_deleted_topic_leaves_a_poll_waiting_for_the_others() -> None:
    driven = DrivenNode(recent_bytes=MIB).with_topic().with_topic("events")
    waiting = driven.ask(PollGroup("g", joined(driven, "g", "orders", "events"), wait_ns=5 * S))
    driven.settle()
    driven.answer(DeleteTopic("orders"))
    publish(driven, 0, 1, "events")
    answer = driven.settle()[waiting]
    assert isinstance(answer, Polled)
    assert spans(answer.parts) == [("events", 0, 0, 1)]


def test_a_journal_that_loses_its_disk_ends_polls_and_they_begin_again_at_what_was_committed() -> None:
    driven = DrivenNode(recent_bytes=MIB).with_topic()
    member = joined(driven)
    publish(driven, 0, 3)
    driven.settle()
    assert len(offsets(polled(driven, PollGroup("g", member)).parts)) == 3
    waiting = driven.ask(PollGroup("g", member, wait_ns=5 * S))
    driven.settle()
    driven.node.disk_failed(driven.now, "logs/__groups/0", "the disk is gone")
    refusal = driven.settle()[waiting]
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.UNAVAILABLE
    refusal = driven.answer(PollGroup("g", member))
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.UNAVAILABLE


def test_memory_that_is_wanted_back_leaves_polls_as_they_were() -> None:
    driven = DrivenNode(recent_bytes=MIB).with_topic(partitions=2)
    member = joined(driven)
    publish(driven, 0, 1)
    publish(driven, 1, 1)
    driven.settle()
    driven.node.forget_recent(driven.now)
    waiting = driven.ask(PollGroup("g", member))
    [first] = driven.reads()
    batch = stored(0, (WALL_MS, None, b"0", ()))
    driven.node.read_done(driven.now, first.token, ReadResult(memoryview(batch), 1, len(batch)))
    [second] = driven.reads()
    driven.node.forget_recent(driven.now)
    driven.node.read_done(driven.now, second.token, ReadResult(memoryview(batch), 1, len(batch)))
    [again] = driven.reads()
    driven.node.read_done(driven.now, again.token, ReadResult(memoryview(batch), 1, len(batch)))
    answers = driven.settle()
    answer = answers[waiting]
    assert isinstance(answer, Polled)
    assert sorted(spans(answer.parts)) == [("orders", 0, 0, 1), ("orders", 1, 0, 1)]


def test_an_altered_topic_is_read_on() -> None:
    driven = DrivenNode(recent_bytes=MIB).with_topic()
    member = joined(driven)
    publish(driven, 0, 1)
    driven.settle()
    assert len(polled(driven, PollGroup("g", member)).parts) == 1
    driven.answer(AlterTopic("orders", {"retention_hours": 1}))
    publish(driven, 0, 1)
    driven.settle()
    assert offsets(polled(driven, PollGroup("g", member)).parts) == [1]
