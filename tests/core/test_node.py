"""A node as its driver sees it: requests in, exact lanes out, and every answer once, whatever the disk does."""

import pytest
from attrs import evolve

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.clock import Clock
from goqueue.core.cluster.agreement import METADATA_CONFIG, METADATA_STREAM
from goqueue.core.cluster.apply import identity
from goqueue.core.cluster.records import (
    METADATA_CODEC,
    MetadataRecord,
    TopicAltered,
    TopicCreated,
    TopicDeleted,
    TopicRemoved,
)
from goqueue.core.cluster.topic_settings import full_config
from goqueue.core.log.config import HOUR_MS, Fsync, LogConfig
from goqueue.core.log.effects import Append, FindTime, Read, ReadResult, Sync, SyncToken, TimeResult
from goqueue.core.node import Node
from goqueue.core.quorum.entries import Entry
from goqueue.core.ready import Fetching, Open, Ready, Remove, Send
from goqueue.core.records.build import encode
from goqueue.core.requests.messages import (
    Fetch,
    Fetched,
    FindOffset,
    FoundOffset,
    NewRecord,
    Publish,
    PublishBatch,
    Published,
    PublishReply,
)
from goqueue.core.requests.nodes import Check, DescribeNode, NodeReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import (
    AlterTopic,
    CreateTopic,
    DeleteTopic,
    DescribePartitions,
    DescribeTopic,
    ListTopics,
    PartitionReply,
    TopicReply,
)
from tests.core.driven_node import CALLER, DrivenNode, opened_empty, stored, token_of, values
from tests.core.log.batches import FIRST, WALL_MS, beginning

DEFAULTS = LogConfig(batch_bytes_max=16 << 20, segment_age_ms=168 * HOUR_MS)
STREAM = "logs/orders/0"
STARTING = Refusal(Code.UNAVAILABLE, "the node is starting", retry_after_ms=200)
NOTHING = memoryview(b"")


def refused(reply: object) -> tuple[Code, str]:
    """Code and field of a refusal."""
    assert isinstance(reply, Refusal), reply
    assert reply.message
    return reply.code, reply.field


def one(value: bytes = b"v", topic: str = "orders", **settings: object) -> Publish:
    """A publish of one message."""
    return Publish(topic, [NewRecord(None, value, **settings)])  # type: ignore[arg-type]


def topic_reply(name: str = "orders", partitions: int = 1, **config: object) -> TopicReply:
    """The description of a topic without messages."""
    full = full_config(config)  # type: ignore[arg-type]
    offsets = dict.fromkeys(range(partitions), (0, 0))
    return TopicReply(name, partitions, full, WALL_MS, offsets, 0, partitions, identity(1, WALL_MS))


def published(driven: DrivenNode, count: int) -> int:
    """Publish and acknowledge some messages, and answer the size of the log."""
    driven.answer(Publish("orders", [NewRecord(None, b"v") for _ in range(count)]))
    reply = driven.answer(DescribeTopic("orders"))
    assert isinstance(reply, TopicReply)
    return reply.size_bytes


def entries_of(records: list[MetadataRecord]) -> list[Entry]:
    """Records as a log holds them that no other node has seen."""
    return [Entry(at, 0, None, METADATA_CODEC.encode(record)) for at, record in enumerate(records)]


# --- beginning


def test_a_node_begins_by_opening_its_metadata_and_refuses_until_it_has() -> None:
    node = Node(NodeOptions(), Clock(0, WALL_MS), 0)
    assert node.take(0) == Ready(opens=[Open(METADATA_STREAM, METADATA_CONFIG)])
    node.ask(0, 1, CALLER, ListTopics())
    assert node.take(0) == Ready(sends=[Send(1, STARTING)])
    assert node.deadline() is None
    node.check()


def test_a_restart_opens_what_the_metadata_says_and_goes_on_removing() -> None:
    records: list[MetadataRecord] = [
        TopicCreated("orders", 1, 2, '{"fsync": "none"}', WALL_MS),
        TopicCreated("gone", 2, 1, "{}", WALL_MS),
        TopicCreated("removed", 3, 1, "{}", WALL_MS),
        TopicAltered("orders", '{"retention_hours": 1}'),
        TopicDeleted("removed", 3),
        TopicRemoved("removed", 3),
        TopicDeleted("gone", 2),
    ]
    driven = DrivenNode([METADATA_CODEC.encode(record) for record in records])
    config = LogConfig(batch_bytes_max=16 << 20, segment_age_ms=168 * HOUR_MS, retention_ms=HOUR_MS)
    opens = [Open("logs/orders/0", config), Open("logs/orders/1", config)]
    assert driven.take() == Ready(opens=opens, removes=[Remove("logs/gone", [])])
    assert driven.answer(ListTopics()) == [
        TopicReply("orders", 2, full_config({"retention_hours": 1}), WALL_MS, {}, 0, identity=identity(1, WALL_MS)),
    ]


# --- topics


def test_a_topic_is_answered_when_it_is_agreed_on_and_its_partitions_are_open() -> None:
    driven = DrivenNode()
    to = driven.ask(CreateTopic("orders", 2, 1, {"fsync": "none"}))
    record = METADATA_CODEC.encode(TopicCreated("orders", 1, 2, '{"fsync": "none"}', WALL_MS))
    batch = stored(0, (WALL_MS, None, record, ()))
    token = SyncToken(0, 1, FIRST, len(batch))
    append = Append(METADATA_STREAM, FIRST, 0, [batch])
    assert driven.take() == Ready(writes=[append, Sync(METADATA_STREAM, token)])
    assert driven.take() == Ready()
    driven.node.synced(0, METADATA_STREAM, token)
    config = LogConfig(batch_bytes_max=16 << 20, segment_age_ms=168 * HOUR_MS, fsync=Fsync.NONE)
    assert driven.take() == Ready(opens=[Open("logs/orders/0", config), Open("logs/orders/1", config)])
    driven.node.opened(0, "logs/orders/1", opened_empty())
    assert driven.take() == Ready()
    driven.node.opened(0, "logs/orders/0", opened_empty())
    assert driven.take() == Ready(sends=[Send(to, topic_reply(partitions=2, fsync="none"))])


def test_a_partition_that_cannot_be_opened_does_not_keep_the_others_from_working() -> None:
    driven = DrivenNode()
    to = driven.ask(CreateTopic("orders", 2))
    driven.sync(driven.write().writes)
    driven.write()
    driven.node.open_failed(0, "logs/orders/0", "damaged at byte 5")
    driven.node.opened(0, "logs/orders/1", opened_empty())
    assert [send.to for send in driven.take().sends] == [to]
    reply = driven.answer(Publish("orders", [NewRecord(None, b"a", partition=0), NewRecord(None, b"b", partition=1)]))
    assert isinstance(reply, PublishReply)
    assert refused(reply.results[0]) == (Code.UNAVAILABLE, "partition")
    assert "damaged at byte 5" in reply.results[0].message  # type: ignore[union-attr]
    assert reply.results[1] == Published(1, 0, WALL_MS)
    driven.node.opened(0, "logs/orders/0", opened_empty())
    assert driven.answer(one(partition=0)) == PublishReply([Published(0, 0, WALL_MS)])


def test_topics_are_listed_and_described() -> None:
    driven = DrivenNode().with_topic("orders").with_topic("events", 2, fsync="none")
    size_bytes = published(driven, 3)
    orders = TopicReply("orders", 1, full_config({}), WALL_MS, {0: (0, 3)}, size_bytes, 1, identity(1, WALL_MS))
    events = evolve(topic_reply("events", 2, fsync="none"), identity=identity(2, WALL_MS))
    assert driven.answer(ListTopics()) == [events, orders]
    assert driven.answer(DescribeTopic("orders")) == orders
    nodes = ["node-1"]
    assert driven.answer(DescribePartitions("orders")) == [
        PartitionReply(0, "node-1", nodes, nodes, 0, 3, 3, size_bytes)
    ]
    driven.now = 5
    checks = [Check("disk"), Check("logs")]
    described = driven.answer(DescribeNode())
    assert isinstance(described, NodeReply)
    assert (described.requests["list_topics"], described.requests["describe_node"]) == (1, 1)
    described.requests = {}
    assert described == NodeReply("node-1", "1.0", 5, 2, size_bytes, [events, orders], checks)


def test_a_full_disk_refuses_messages_of_clients_at_once_until_there_is_room() -> None:
    driven = DrivenNode().with_topic("orders")
    published(driven, 1)
    driven.node.disk_room(driven.now, True)
    later = one()
    later.records[0].delay_ms = 1000
    batch = bytearray(encode([(WALL_MS, None, b"v", ())]))
    for request in (one(), later):
        reply = driven.answer(request)
        assert isinstance(reply, PublishReply)
        assert refused(reply.results[0]) == (Code.DISK_FULL, "")
    assert refused(driven.answer(PublishBatch("orders", 0, batch))) == (Code.DISK_FULL, "")
    described = driven.answer(DescribeNode())
    assert isinstance(described, NodeReply)
    assert [check.name for check in described.checks if check.problem] == ["disk"]
    driven.node.disk_room(driven.now, False)
    assert driven.answer(one()) == PublishReply([Published(0, 1, WALL_MS)])


def test_a_numbered_batch_that_is_stored_is_acknowledged_again_however_full_the_disk_is() -> None:
    driven = DrivenNode().with_topic("orders")
    first = encode([(WALL_MS, None, b"v", ())], producer_id=1000, producer_epoch=0, base_sequence=0)
    again = bytearray(first)
    second = encode([(WALL_MS, None, b"w", ())], producer_id=1000, producer_epoch=0, base_sequence=1)
    stored_at = driven.answer(PublishBatch("orders", 0, bytearray(first)))
    driven.node.disk_room(driven.now, True)
    assert driven.answer(PublishBatch("orders", 0, again)) == stored_at
    assert refused(driven.answer(PublishBatch("orders", 0, second))) == (Code.DISK_FULL, "")


def test_an_altered_topic_works_under_its_new_settings() -> None:
    driven = DrivenNode().with_topic()
    assert driven.answer(AlterTopic("orders", {"fsync": "none"})) == topic_reply(fsync="none")
    driven.ask(one())
    ready = driven.write()
    assert [type(effect) for effect in ready.writes] == [Append]
    assert driven.take() == Ready(sends=[Send(3, PublishReply([Published(0, 0, WALL_MS)]))])


def test_a_shorter_retention_counts_at_once() -> None:
    driven = DrivenNode().with_topic(retention_hours=-1)
    published(driven, 1)
    assert driven.node.deadline() is None
    driven.answer(AlterTopic("orders", {"retention_hours": 1}))
    assert driven.node.deadline() == HOUR_MS * 1_000_000


def test_a_topic_over_its_size_loses_its_oldest_segments_without_waiting_for_their_age() -> None:
    driven = DrivenNode().with_topic(segment_bytes=1 << 16, retention_bytes=100_000, retention_hours=-1)
    for _ in range(5):
        driven.answer(one(bytes(50_000)))
        due = driven.node.deadline()
        if due is not None:
            driven.node.wake(max(due, 0))
        driven.settle()
    reply = driven.answer(DescribePartitions("orders"))
    assert isinstance(reply, list)
    [partition] = reply
    assert isinstance(partition, PartitionReply)
    assert partition.size_bytes < 150_000
    assert (partition.start_offset, partition.end_offset) == (3, 5)


@pytest.mark.parametrize(
    ("request_", "code", "field"),
    [
        (CreateTopic(""), Code.INVALID, "name"),
        (CreateTopic("a", -1), Code.INVALID, "num_partitions"),
        (CreateTopic("a", 1, 3), Code.INVALID, "replication_factor"),
        (CreateTopic("a", 1, 1, {"colour": 1}), Code.INVALID, "config.colour"),
        (CreateTopic("orders"), Code.TOPIC_EXISTS, "name"),
        (AlterTopic("nowhere", {}), Code.TOPIC_NOT_FOUND, "name"),
        (AlterTopic("orders", {"fsync": 5}), Code.INVALID, "config.fsync"),
        (DeleteTopic("nowhere"), Code.TOPIC_NOT_FOUND, "name"),
        (DescribeTopic("nowhere"), Code.TOPIC_NOT_FOUND, "topic"),
        (DescribePartitions("nowhere"), Code.TOPIC_NOT_FOUND, "topic"),
        (one(topic="nowhere"), Code.TOPIC_NOT_FOUND, "topic"),
        (PublishBatch("nowhere", 0, bytearray()), Code.TOPIC_NOT_FOUND, "topic"),
        (PublishBatch("orders", 1, bytearray()), Code.PARTITION_NOT_FOUND, "partition"),
        (PublishBatch("orders", -1, bytearray()), Code.PARTITION_NOT_FOUND, "partition"),
        (Fetch("nowhere", 0, 0), Code.TOPIC_NOT_FOUND, "topic"),
        (Fetch("orders", 7, 0), Code.PARTITION_NOT_FOUND, "partition"),
        (Fetch("orders", 0, -1), Code.OFFSET_OUT_OF_RANGE, "offset"),
        (Fetch("orders", 0, 1), Code.OFFSET_OUT_OF_RANGE, "offset"),
        (FindOffset("nowhere", 0, 0), Code.TOPIC_NOT_FOUND, "topic"),
        (FindOffset("orders", 7, 0), Code.PARTITION_NOT_FOUND, "partition"),
    ],
)
def test_what_cannot_be_done_is_refused_with_code_and_field(request_: Request, code: Code, field: str) -> None:
    driven = DrivenNode().with_topic()
    to = driven.ask(request_)
    ready = driven.take()
    [send] = ready.sends
    assert ready == Ready(sends=[Send(to, send.reply)])
    assert refused(send.reply) == (code, field)


# --- publishing


def test_many_single_messages_of_a_turn_are_one_batch_and_one_append() -> None:
    driven = DrivenNode().with_topic()
    asked = [driven.ask(one(b"%d" % number)) for number in range(50)]
    batch = stored(0, *[(WALL_MS, None, b"%d" % number, ()) for number in range(50)])
    token = SyncToken(0, 50, FIRST, len(batch))
    assert driven.take() == Ready(writes=[Append(STREAM, FIRST, 0, [batch]), Sync(STREAM, token)])
    driven.node.written(0)
    assert driven.take() == Ready()
    driven.node.synced(0, STREAM, token)
    sends = [Send(to, PublishReply([Published(0, number, WALL_MS)])) for number, to in enumerate(asked)]
    assert driven.take() == Ready(sends=sends)


@pytest.mark.parametrize("fsync", ["interval", "none"])
def test_under_a_weaker_mode_an_answer_follows_the_write(fsync: str) -> None:
    driven = DrivenNode().with_topic(fsync=fsync, retention_hours=-1)
    to = driven.ask(one())
    [append] = driven.take().writes
    assert isinstance(append, Append)
    assert driven.take() == Ready()
    driven.node.written(0)
    assert driven.take() == Ready(sends=[Send(to, PublishReply([Published(0, 0, WALL_MS)]))])
    assert driven.node.deadline() == (1_000_000_000 if fsync == "interval" else None)


def test_the_interval_syncs_once_for_all_that_came_in_it() -> None:
    driven = DrivenNode().with_topic(fsync="interval", retention_hours=-1, fsync_interval="10ms")
    for driven.now in (0, 1_000_000):
        driven.ask(one())
        driven.write()
    assert driven.node.deadline() == 10_000_000
    driven.now = 10_000_000
    driven.node.wake(driven.now)
    assert token_of(driven.write().writes).next_offset == 2
    assert driven.node.deadline() is None


def test_a_publish_is_answered_when_its_last_message_is() -> None:
    driven = DrivenNode().with_topic(partitions=2)
    records = [
        NewRecord(None, b"a", partition=0),
        NewRecord(None, b"b", partition=1),
        NewRecord(None, b"c", partition=9),
    ]
    to = driven.ask(Publish("orders", records))
    writes = driven.write().writes
    assert values(writes) == [[b"a"], [b"b"]]
    tokens = {effect.stream: effect.token for effect in writes if isinstance(effect, Sync)}
    driven.node.synced(0, "logs/orders/1", tokens["logs/orders/1"])
    assert driven.take() == Ready()
    driven.node.synced(0, "logs/orders/0", tokens["logs/orders/0"])
    [send] = driven.take().sends
    assert isinstance(send.reply, PublishReply)
    assert (send.to, send.reply.results[:2]) == (to, [Published(0, 0, WALL_MS), Published(1, 0, WALL_MS)])
    assert refused(send.reply.results[2]) == (Code.PARTITION_NOT_FOUND, "partition")


def test_a_publish_of_nothing_is_answered_with_nothing() -> None:
    assert DrivenNode().with_topic().answer(Publish("orders", [])) == PublishReply([])


def test_messages_without_a_key_go_to_one_partition_a_turn_and_to_all_in_turn() -> None:
    driven = DrivenNode().with_topic(partitions=3)
    seen = []
    for _ in range(4):
        reply = driven.answer(Publish("orders", [NewRecord(None, b"a"), NewRecord(None, b"b")]))
        assert isinstance(reply, PublishReply)
        seen.append([result.partition for result in reply.results if isinstance(result, Published)])
    assert seen == [[0, 0], [1, 1], [2, 2], [0, 0]]


def test_a_batch_is_one_answer() -> None:
    driven = DrivenNode().with_topic()
    batch = encode([(WALL_MS + 5, b"k", b"a", ()), (WALL_MS + 7, None, b"b", ())])
    assert driven.answer(PublishBatch("orders", 0, batch)) == PublishReply([Published(0, 0, WALL_MS + 7)])


# --- fetching


def test_a_fetch_reads_up_to_the_high_watermark_and_answers_with_what_was_read() -> None:
    driven = DrivenNode().with_topic()
    size_bytes = published(driven, 3)
    driven.ask(one())
    driven.write()
    to = driven.ask(Fetch("orders", 0, 1, 1_000))
    read = Read(STREAM, FIRST, 1, 0, size_bytes + 71, 4, 3, 1_000)
    [fetching] = driven.reads()
    assert isinstance(fetching.request, Read)
    read.end_position = fetching.request.end_position
    assert fetching == Fetching(1, read)
    batches = memoryview(b"batches")
    driven.node.read_done(0, 1, ReadResult(batches, 3, size_bytes))
    assert driven.take() == Ready(sends=[Send(to, Fetched(batches, 3, 3, 0))])


def test_a_fetch_that_may_wait_is_answered_by_news() -> None:
    driven = DrivenNode().with_topic(fsync="none", retention_hours=-1)
    to = driven.ask(Fetch("orders", 0, 0, wait_ns=1_000))
    assert driven.take() == Ready()
    assert driven.node.deadline() == 1_000
    publish = driven.ask(one())
    driven.write()
    ready = driven.take()
    assert [send.to for send in ready.sends] == [publish]
    [fetching] = ready.reads
    driven.node.read_done(0, fetching.token, ReadResult(memoryview(b"b"), 1, 72))
    assert driven.take() == Ready(sends=[Send(to, Fetched(memoryview(b"b"), 1, 1, 0))])
    assert driven.node.deadline() is None


def test_a_fetch_that_has_waited_long_enough_is_answered_with_nothing() -> None:
    driven = DrivenNode().with_topic()
    to = driven.ask(Fetch("orders", 0, 0, wait_ns=1_000))
    driven.node.wake(999)
    assert driven.take() == Ready()
    driven.node.wake(1_000)
    assert driven.take() == Ready(sends=[Send(to, Fetched(b"", 0, 0, 0))])


def test_a_fetch_that_may_not_wait_is_answered_with_nothing() -> None:
    driven = DrivenNode().with_topic()
    assert driven.answer(Fetch("orders", 0, 0)) == Fetched(b"", 0, 0, 0)
    assert driven.answer(Fetch("orders", 0, 0, wait_ns=-5)) == Fetched(b"", 0, 0, 0)


def test_nobody_waits_for_ever() -> None:
    driven = DrivenNode().with_topic()
    driven.ask(Fetch("orders", 0, 0, wait_ns=1 << 62))
    assert driven.node.deadline() == 300_000_000_000


def test_a_forgotten_fetch_is_not_answered() -> None:
    driven = DrivenNode().with_topic()
    to = driven.ask(Fetch("orders", 0, 0, wait_ns=1_000))
    driven.node.forget(to)
    driven.node.wake(1_000)
    assert (driven.take(), driven.node.deadline()) == (Ready(), None)


def test_a_fetch_goes_on_behind_what_compaction_took_out() -> None:
    driven = DrivenNode().with_topic()
    size_bytes = published(driven, 3)
    to = driven.ask(Fetch("orders", 0, 0, 1_000))
    [first] = driven.reads()
    driven.node.read_done(0, first.token, ReadResult(NOTHING, 2, 50))
    [second] = driven.reads()
    assert second.request == Read(STREAM, FIRST, 2, 50, size_bytes, 3, 3, 1_000)
    driven.node.read_done(0, second.token, ReadResult(NOTHING, 3, size_bytes))
    assert driven.take() == Ready(sends=[Send(to, Fetched(b"", 3, 3, 0))])


@pytest.mark.parametrize(("damaged", "code"), [(True, Code.DAMAGED), (False, Code.UNAVAILABLE)])
def test_a_read_that_fails_says_whether_it_is_worth_another_try(damaged: bool, code: Code) -> None:
    driven = DrivenNode().with_topic()
    published(driven, 1)
    to = driven.ask(Fetch("orders", 0, 0))
    [fetching] = driven.reads()
    driven.node.read_failed(0, fetching.token, "EIO", damaged=damaged)
    [send] = driven.take().sends
    assert (send.to, refused(send.reply)) == (to, (code, ""))


def test_an_offset_is_found_by_time() -> None:
    driven = DrivenNode().with_topic()
    assert driven.answer(FindOffset("orders", 0, 5)) == FoundOffset(0, -1)
    size_bytes = published(driven, 2)
    assert driven.answer(FindOffset("orders", 0, WALL_MS + 1)) == FoundOffset(2, -1)
    to = driven.ask(FindOffset("orders", 0, WALL_MS))
    [fetching] = driven.reads()
    assert fetching.request == FindTime(STREAM, WALL_MS, 0, [(FIRST, size_bytes)], 0, WALL_MS + 3_600_000)
    driven.node.read_done(0, fetching.token, TimeResult(1, WALL_MS))
    assert driven.take() == Ready(sends=[Send(to, FoundOffset(1, WALL_MS))])


def test_a_record_that_is_not_acknowledged_is_not_found() -> None:
    driven = DrivenNode().with_topic()
    driven.ask(one())
    driven.write()
    to = driven.ask(FindOffset("orders", 0, 0))
    [fetching] = driven.reads()
    driven.node.read_done(0, fetching.token, TimeResult(0, WALL_MS))
    assert driven.take() == Ready(sends=[Send(to, FoundOffset(0, -1))])


# --- failures


def test_a_failed_disk_answers_everybody_once_and_recovery_goes_on() -> None:
    driven = DrivenNode().with_topic()
    first = driven.ask(one(b"a"))
    writes = driven.write().writes
    second = driven.ask(one(b"b"))
    driven.node.disk_failed(0, STREAM, "EIO")
    third = driven.ask(one(b"c"))
    ready = driven.write()
    assert (ready.writes, [send.to for send in ready.sends]) == ([], [first, second, third])
    codes = []
    for send in ready.sends:
        assert isinstance(send.reply, PublishReply)
        codes.append(refused(send.reply.results[0])[0])
    assert codes == [Code.OUTCOME_UNKNOWN, Code.UNAVAILABLE, Code.UNAVAILABLE], "only the first was appended"
    driven.sync(writes)
    assert driven.take() == Ready()
    driven.node.opened(0, STREAM, beginning(DEFAULTS, 1))
    assert driven.answer(one(b"d")) == PublishReply([Published(0, 1, WALL_MS)])


def test_a_fetch_waits_through_a_failure() -> None:
    driven = DrivenNode().with_topic()
    to = driven.ask(Fetch("orders", 0, 0, wait_ns=1_000))
    driven.node.disk_failed(0, STREAM, "EIO")
    assert driven.take() == Ready()
    driven.node.opened(0, STREAM, beginning(DEFAULTS, 0))
    publish = driven.ask(one())
    driven.sync(driven.write().writes)
    ready = driven.take()
    assert [send.to for send in ready.sends] == [publish]
    [fetching] = ready.reads
    driven.node.read_done(0, fetching.token, ReadResult(memoryview(b"b"), 1, 72))
    assert [send.to for send in driven.take().sends] == [to]


def test_a_read_that_a_failure_has_overtaken_is_made_again() -> None:
    """1. A read begins. 2. The disk fails, and other batches take the place of the tail. 3. The answer comes."""
    driven = DrivenNode().with_topic(fsync="none", retention_hours=-1)
    published(driven, 3)
    to = driven.ask(Fetch("orders", 0, 0, wait_ns=1_000))
    [fetching] = driven.reads()
    driven.node.disk_failed(0, STREAM, "EIO")
    driven.node.opened(0, STREAM, beginning(DEFAULTS, 0))
    driven.write()
    driven.node.read_done(0, fetching.token, ReadResult(memoryview(b"old"), 3, 99))
    assert driven.take() == Ready()
    driven.node.wake(1_000)
    assert driven.take() == Ready(sends=[Send(to, Fetched(b"", 0, 0, 0))])


def test_failed_metadata_refuses_changes_and_leaves_messages_alone() -> None:
    driven = DrivenNode().with_topic()
    create = driven.ask(CreateTopic("events"))
    driven.write()
    driven.node.disk_failed(0, METADATA_STREAM, "EIO")
    late = driven.ask(DeleteTopic("orders"))
    answers = driven.settle()
    assert [refused(answers[to])[0] for to in (create, late)] == [Code.OUTCOME_UNKNOWN, Code.UNAVAILABLE]
    assert driven.answer(one()) == PublishReply([Published(0, 0, WALL_MS)])


def test_metadata_that_comes_back_changes_what_is_led_and_keeps_what_is_open() -> None:
    """A change that was refused because the disk failed may be on the disk all the same."""
    driven = DrivenNode().with_topic("orders").with_topic("old")
    published(driven, 2)
    waiting = driven.ask(Fetch("old", 0, 0, wait_ns=1_000))
    driven.node.disk_failed(0, METADATA_STREAM, "EIO")
    driven.write()
    records: list[MetadataRecord] = [
        TopicCreated("orders", 1, 1, "{}", WALL_MS),
        TopicCreated("old", 2, 1, "{}", WALL_MS),
        TopicDeleted("old", 2),
        TopicAltered("orders", '{"fsync": "none"}'),
        TopicCreated("late", 3, 1, "{}", WALL_MS),
    ]
    driven.node.opened(0, METADATA_STREAM, beginning(LogConfig(), 5), entries_of(records))
    ready = driven.take()
    assert ready.opens == [Open("logs/late/0", DEFAULTS)]
    assert ready.removes == [Remove("logs/old", ["logs/old/0"])]
    assert [(send.to, refused(send.reply)[0]) for send in ready.sends] == [(waiting, Code.TOPIC_NOT_FOUND)]
    driven.node.opened(0, "logs/late/0", opened_empty())
    driven.node.removed(0, "logs/old")
    driven.settle()
    reply = driven.answer(ListTopics())
    assert isinstance(reply, list)
    assert [(topic.name, topic.offsets) for topic in reply if isinstance(topic, TopicReply)] == [
        ("late", {0: (0, 0)}),
        ("orders", {0: (0, 2)}),
    ]


# --- deleting


def test_a_deletion_is_answered_when_the_folder_is_gone_and_that_is_agreed_on() -> None:
    driven = DrivenNode().with_topic(partitions=2)
    to = driven.ask(DeleteTopic("orders"))
    driven.sync(driven.write().writes)
    assert driven.take() == Ready(removes=[Remove("logs/orders", ["logs/orders/0", "logs/orders/1"])])
    assert refused(driven.answer(DescribeTopic("orders"))) == (Code.TOPIC_NOT_FOUND, "topic")
    assert refused(driven.answer(CreateTopic("orders"))) == (Code.UNAVAILABLE, "name")
    driven.node.removed(0, "logs/orders")
    ready = driven.write()
    assert ready.sends == []
    driven.sync(ready.writes)
    assert driven.take() == Ready(sends=[Send(to, None)])


def test_whoever_waits_for_a_topic_that_is_deleted_is_told_once() -> None:
    driven = DrivenNode().with_topic()
    published(driven, 1)
    reading = driven.ask(Fetch("orders", 0, 0))
    [fetching] = driven.reads()
    waiting = driven.ask(Fetch("orders", 0, 1, wait_ns=1_000))
    unsynced = driven.ask(one())
    writes = driven.write().writes
    driven.ask(DeleteTopic("orders"))
    deletion = driven.write()
    gathered = driven.ask(one())
    driven.sync(deletion.writes)
    ready = driven.take()
    assert sorted(send.to for send in ready.sends) == sorted([waiting, unsynced, gathered])
    driven.sync(writes)
    driven.node.read_done(0, fetching.token, ReadResult(memoryview(b"b"), 1, 72))
    [send] = driven.take().sends
    assert (send.to, refused(send.reply)) == (reading, (Code.TOPIC_NOT_FOUND, "topic"))
    assert driven.node.deadline() is None


def test_a_topic_that_is_deleted_while_it_opens_answers_its_creator() -> None:
    driven = DrivenNode()
    create = driven.ask(CreateTopic("orders", 1))
    delete = driven.ask(DeleteTopic("orders"))
    driven.sync(driven.write().writes)
    ready = driven.write()
    assert [one.stream for one in ready.opens] == [STREAM]
    driven.sync(ready.writes)
    ready = driven.take()
    assert ready.removes == [Remove("logs/orders", [STREAM])]
    [send] = ready.sends
    assert (send.to, refused(send.reply)) == (create, (Code.TOPIC_NOT_FOUND, "topic"))
    driven.node.opened(0, STREAM, opened_empty())
    driven.node.open_failed(0, STREAM, "gone")
    driven.node.removed(0, "logs/orders")
    assert driven.settle() == {delete: None}


def test_the_same_name_made_again_is_another_topic() -> None:
    driven = DrivenNode().with_topic()
    published(driven, 5)
    fetch = driven.ask(Fetch("orders", 0, 0))
    [fetching] = driven.reads()
    assert driven.answer(DeleteTopic("orders")) is None
    driven.with_topic()
    driven.node.read_done(0, fetching.token, ReadResult(memoryview(b"old"), 5, 400))
    [send] = driven.take().sends
    assert (send.to, refused(send.reply)[0]) == (fetch, Code.TOPIC_NOT_FOUND)
    assert driven.answer(one()) == PublishReply([Published(0, 0, WALL_MS)])
    driven.ask(Fetch("orders", 0, 0))
    [again] = driven.reads()
    assert isinstance(again.request, Read)
    assert again.request.position == 0, "where the old topic's read ended means nothing here"


def test_a_failure_of_a_stream_that_is_gone_is_nobodys_business() -> None:
    driven = DrivenNode().with_topic()
    driven.answer(DeleteTopic("orders"))
    driven.node.disk_failed(0, STREAM, "EIO")
    driven.node.synced(0, STREAM, SyncToken(0, 1, FIRST, 1))
    assert driven.take() == Ready()


# --- the end


def test_a_node_that_closes_trims_every_log_and_takes_nothing_more() -> None:
    driven = DrivenNode().with_topic()
    published(driven, 1)
    change = driven.ask(CreateTopic("first"))
    waiting = driven.ask(CreateTopic("second"))
    writes = driven.write().writes
    driven.node.close(0)
    ready = driven.write()
    assert [(effect.stream, type(effect).__name__) for effect in ready.writes] == [
        (METADATA_STREAM, "Trim"),
        (METADATA_STREAM, "Commit"),
        (STREAM, "Trim"),
        (STREAM, "Commit"),
    ]
    assert [(send.to, refused(send.reply)[0]) for send in ready.sends] == [(waiting, Code.UNAVAILABLE)]
    driven.sync(writes)
    answers = driven.settle()
    assert isinstance(answers[change], TopicReply)
    publish = driven.answer(one())
    assert isinstance(publish, PublishReply)
    assert refused(publish.results[0])[0] is Code.UNAVAILABLE
