"""Groups of a node live in a log: through crashes, failing disks and damage, nothing is told that is not kept."""

import errno

from goqueue.core.groups.journal import JOURNAL_STREAM, JOURNAL_TOPIC
from goqueue.core.records.build import encode
from goqueue.core.requests.groups import (
    CommitOffsets,
    CommittedOffsets,
    DescribeGroup,
    FetchOffsets,
    GroupHeartbeat,
    GroupOffset,
    GroupReply,
    Joined,
    JoinGroup,
    ListGroups,
    OffsetChange,
    PartitionOffset,
    ResetOffsets,
    ResetTo,
    WatchGroup,
)
from goqueue.core.requests.messages import Acks, NewRecord, Publish, PublishBatch, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import AlterTopic, CreateTopic, DeleteTopic, DescribeTopic, ListTopics, TopicReply
from goqueue.storage.jobs import StreamJob
from goqueue.storage.node_disk import Work
from goqueue.storage.simulated import SimulatedDisk
from tests.core.calls import own_call
from tests.storage.driven_broker import WALL_MS, DrivenBroker


def begun(disk: SimulatedDisk) -> DrivenBroker:
    broker = DrivenBroker(disk)
    broker.settle()
    return broker


def with_messages(disk: SimulatedDisk, count: int = 3) -> DrivenBroker:
    broker = begun(disk)
    broker.create("orders")
    broker.publish("orders", *[(b"k", b"%d" % number) for number in range(count)])
    return broker


def join(broker: DrivenBroker, group: str = "billing") -> Joined:
    reply = broker.answer(JoinGroup(group, ["orders"], client_id="one"))
    assert isinstance(reply, Joined), reply
    return reply


def commit(broker: DrivenBroker, offset: int, joined: Joined | None = None, group: str = "billing") -> object:
    who = (joined.member_id, joined.generation) if joined else ("", 0)
    return broker.answer(CommitOffsets(group, *who, [PartitionOffset("orders", 0, offset)]))


def offsets(broker: DrivenBroker, group: str = "billing") -> object:
    return broker.answer(FetchOffsets(group))


def is_journal_sync(work: Work) -> bool:
    return isinstance(work, StreamJob) and work.folder == JOURNAL_STREAM


def test_members_and_offsets_outlive_a_crash() -> None:
    disk = SimulatedDisk(1)
    broker = with_messages(disk)
    joined = join(broker)
    assert joined.assigned == {"orders": [0]}
    assert commit(broker, 2, joined) == CommittedOffsets([])
    disk.crash(0.5)
    again = begun(disk)
    assert offsets(again) == [GroupOffset("orders", 0, 2, 1)]
    beat = again.answer(GroupHeartbeat("billing", joined.member_id, joined.generation))
    assert not isinstance(beat, Refusal), beat


def test_nothing_is_told_before_it_is_durable() -> None:
    broker = with_messages(SimulatedDisk())
    joined = join(broker)
    to = broker.ask(CommitOffsets("billing", joined.member_id, 1, [PartitionOffset("orders", 0, 1)]))
    reading = broker.ask(FetchOffsets("billing"))
    broker.settle(is_journal_sync)
    assert broker.answered() == []
    broker.release()
    broker.settle()
    assert broker.answered() == [to, reading]


def test_a_commit_whose_sync_fails_is_refused_and_the_group_is_read_again() -> None:
    disk = SimulatedDisk()
    broker = with_messages(disk)
    joined = join(broker)
    watch = broker.ask(WatchGroup("billing", joined.member_id, joined.seen, 10_000_000_000))
    to = broker.ask(CommitOffsets("billing", joined.member_id, 1, [PartitionOffset("orders", 0, 3)]))
    disk.fail_next("sync", errno.EIO, JOURNAL_STREAM)
    broker.settle()
    # The journal may have the commit; a watch does nothing.
    for each, code in ((to, Code.OUTCOME_UNKNOWN), (watch, Code.UNAVAILABLE)):
        refusal = broker.taken(each)
        assert isinstance(refusal, Refusal)
        assert refusal.code is code
    assert isinstance(commit(broker, 1, joined), Refusal)
    broker.later(60)
    # It may have come to be or not; what is said from here on holds.
    before = offsets(broker)
    assert before in ([GroupOffset("orders", 0, 3, 0)], [GroupOffset("orders", 0, -1, 3)])
    disk.crash(0.5)
    assert offsets(begun(disk)) == before


def test_requests_before_the_journal_is_there_wait_for_it_and_end_when_forgotten() -> None:
    broker = with_messages(SimulatedDisk())
    listing = broker.ask(ListGroups())
    forgotten = broker.ask(JoinGroup("billing", ["orders"]))
    broker.node.forget(forgotten)
    broker.settle()
    assert broker.taken(listing) == []
    assert broker.answer(ListGroups()) == []


def test_a_metadata_log_that_fails_refuses_whoever_wanted_a_group() -> None:
    disk = SimulatedDisk()
    broker = with_messages(disk)
    disk.fail_next("sync", errno.EIO, "meta/cluster")
    refusal = broker.answer(JoinGroup("billing", ["orders"]))
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.UNAVAILABLE
    broker.later(60)
    assert join(broker).generation == 1


def test_a_journal_that_is_damaged_is_refused_by_name_and_all_else_goes_on() -> None:
    disk = SimulatedDisk()
    broker = with_messages(disk)
    commit(broker, 2)
    broker.close()
    path = f"{JOURNAL_STREAM}/00000000000000000000.log"
    disk.rot(path, 70, 3)
    again = begun(disk)
    refusal = offsets(again)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.UNAVAILABLE
    assert "the groups cannot be read" in refusal.message
    assert len(again.records("orders")) == 3


def test_a_record_that_is_none_of_a_group_is_refused_by_name() -> None:
    disk = SimulatedDisk()
    broker = with_messages(disk)
    commit(broker, 2)
    # As a release would leave it that knows other records.
    broker.node._perform(broker.now, own_call(1), Publish(JOURNAL_TOPIC, [NewRecord(b"else", b"what")]))
    broker.settle()
    broker.close()
    refusal = offsets(begun(disk))
    assert isinstance(refusal, Refusal)
    assert "else" in refusal.message


def test_the_journal_is_read_by_all_and_changed_by_none() -> None:
    broker = with_messages(SimulatedDisk())
    commit(broker, 2)
    for request in (
        Publish(JOURNAL_TOPIC, [NewRecord(b"k", b"v")]),
        PublishBatch(JOURNAL_TOPIC, 0, encode([(0, b"k", b"v", ())]), Acks.ALL),
        AlterTopic(JOURNAL_TOPIC, {"cleanup": "delete"}),
        DeleteTopic(JOURNAL_TOPIC),
        CreateTopic("__mine"),
    ):
        refusal = broker.answer(request)
        assert isinstance(refusal, Refusal), request
        assert refusal.code is Code.INVALID
    assert [record.key for record in broker.records(JOURNAL_TOPIC)][-1] == b"offset/billing/orders/0"
    described = broker.answer(DescribeTopic(JOURNAL_TOPIC))
    assert isinstance(described, TopicReply)
    listed = broker.answer(ListTopics())
    assert isinstance(listed, list)
    assert [topic.name for topic in listed if isinstance(topic, TopicReply)] == ["orders"]


def test_a_reset_to_a_moment_looks_the_moment_up() -> None:
    broker = begun(SimulatedDisk())
    broker.create("orders")
    records = [NewRecord(None, b"v", partition=0, timestamp=WALL_MS + 1_000 * number) for number in range(5)]
    assert isinstance(broker.answer(Publish("orders", records)), PublishReply)
    commit(broker, 1)
    back = ResetOffsets("billing", "orders", ResetTo.TIME, at_ms=WALL_MS + 2_500)
    assert broker.answer(back) == [OffsetChange(0, 1, 3)]
    assert offsets(broker) == [GroupOffset("orders", 0, 3, 2)]
    late = ResetOffsets("billing", "orders", ResetTo.TIME, at_ms=WALL_MS + 100_000, dry_run=True)
    assert broker.answer(late) == [OffsetChange(0, 3, 5)]
    nowhere = broker.answer(ResetOffsets("billing", "nothing", ResetTo.TIME, at_ms=WALL_MS))
    assert isinstance(nowhere, Refusal)
    forgotten = broker.ask(ResetOffsets("billing", "orders", ResetTo.TIME, at_ms=WALL_MS))
    broker.node.forget(forgotten)
    broker.settle()
    assert offsets(broker) == [GroupOffset("orders", 0, 3, 2)]


def test_a_commit_of_which_nothing_is_taken_makes_no_group() -> None:
    broker = with_messages(SimulatedDisk())
    reply = commit(broker, 99)
    assert isinstance(reply, CommittedOffsets)
    assert [each.refusal.code for each in reply.refusals] == [Code.OFFSET_OUT_OF_RANGE]
    assert broker.answer(ListGroups()) == []
    assert commit(broker, 0) == CommittedOffsets([])
    assert offsets(broker) == [GroupOffset("orders", 0, 0, 3)]


def test_offsets_go_with_their_topic_and_a_new_one_of_that_name_begins_anew() -> None:
    disk = SimulatedDisk()
    broker = with_messages(disk)
    commit(broker, 2)
    assert not isinstance(broker.answer(DeleteTopic("orders")), Refusal)
    broker.create("orders")
    assert offsets(broker) == []
    disk.crash(0.5)
    assert offsets(begun(disk)) == []


def test_a_member_of_a_topic_that_is_yet_to_come_gets_it_when_it_appears() -> None:
    broker = begun(SimulatedDisk())
    joined = join(broker)
    assert joined.assigned == {}
    broker.create("orders")
    broker.later(2)
    described = broker.answer(DescribeGroup("billing"))
    assert isinstance(described, GroupReply)
    assert described.members[0].assigned == {"orders": [0]}


def test_the_journal_is_compacted_and_read_from_what_is_left() -> None:
    disk = SimulatedDisk()
    broker = with_messages(disk, 12_000)
    groups = ["g" * (190 + number) for number in range(5)]
    for offset in range(1, 12_001):
        for group in groups:
            broker.ask(CommitOffsets(group, "", 0, [PartitionOffset("orders", 0, offset)]))
        if offset % 100 == 0:
            broker.turn()
    broker.settle()
    assert stored_bytes(disk) > 13_000_000
    broker.later(20)
    broker.later(20)
    assert stored_bytes(disk) < 9_000_000
    broker.close()
    again = begun(disk)
    for group in groups:
        assert offsets(again, group) == [GroupOffset("orders", 0, 12_000, 0)]


def stored_bytes(disk: SimulatedDisk) -> int:
    logs = [path for path in disk.paths() if path.startswith(JOURNAL_STREAM) and path.endswith(".log")]
    return sum(len(disk.durable_bytes(path)) for path in logs)
