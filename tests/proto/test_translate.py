"""Messages become the core's requests, or refusals that name the field; the core's replies become messages."""

from collections.abc import Callable
from typing import Any

import betterproto
import pytest

from goqueue.core.records.batch import Lane
from goqueue.core.requests import messages, nodes, topics
from goqueue.core.requests.messages import Acks, NewRecord, Published
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.proto import translate, v1
from goqueue.proto.codec import StrictCodec
from goqueue.proto.fields import made

CODEC = StrictCodec()


def arrived(message: betterproto.Message) -> Any:  # noqa: ANN401 - of the same class
    """A message as it is when it has travelled."""
    return CODEC.decode(type(message), CODEC.encode(message))


def both_ways(request: Callable[[Any], object], message: betterproto.Message) -> object:
    """What a request means, which is the same before and after it travelled."""
    meant = request(arrived(message))
    assert request(message) == meant
    return meant


def test_a_publish_request_is_records_in_its_order() -> None:
    message = v1.PublishRequest(
        topic="orders",
        acks=v1.Acks(v1.Acks.LEADER),
        messages=[
            v1.NewMessage(key=b"k", value=b"", headers=[v1.Header("a", b"1"), v1.Header("a"), v1.Header("", b"")]),
            v1.NewMessage(partition=0, timestamp_ms=0, priority=v1.Priority(v1.Priority.BACKGROUND)),
        ],
    )
    assert both_ways(translate.publish_request, message) == messages.Publish(
        "orders",
        [
            NewRecord(b"k", b"", (("a", b"1"), ("a", None), ("", b""))),
            NewRecord(None, None, (), 0, 0, Lane.BACKGROUND),
        ],
        Acks.LEADER,
    )


@pytest.mark.parametrize("lane", Lane)
def test_priorities_are_lanes(lane: Lane) -> None:
    record = translate.new_record(v1.NewMessage(priority=v1.Priority.from_string(lane.name)))
    assert isinstance(record, NewRecord)
    assert record.lane is lane


@pytest.mark.parametrize(("number", "acks"), [(0, Acks.ALL), (1, Acks.LEADER), (2, Acks.NONE)])
def test_acks_are_acks(number: int, acks: Acks) -> None:
    request = both_ways(translate.publish_batch_request, v1.PublishBatchRequest("t", 3, b"batch", v1.Acks(number)))
    assert request == messages.PublishBatch("t", 3, bytearray(b"batch"), acks)


def test_a_batch_is_the_nodes_own_to_stamp() -> None:
    message = StrictCodec(views=True).decode(v1.PublishBatchRequest, CODEC.encode(v1.PublishBatchRequest("t", 0, b"b")))
    request = translate.publish_batch_request(message)
    assert isinstance(request, messages.PublishBatch)
    request.batch[0:1] = b"c"
    assert bytes(message.batch) == b"b"


@pytest.mark.parametrize(
    ("request_of", "message", "meant"),
    [
        (translate.fetch_request, v1.FetchRequest("t", 2, 7, 500, 250), messages.Fetch("t", 2, 7, 500, 250_000_000)),
        (translate.fetch_request, v1.FetchRequest("t"), messages.Fetch("t", 0, 0, 1 << 20, 0)),
        (translate.fetch_request, v1.FetchRequest("t", topic_id="1a-2"), messages.Fetch("t", 0, 0, identity="1a-2")),
        (translate.find_offset_request, v1.FindOffsetRequest("t", 1, 9), messages.FindOffset("t", 1, 9)),
        (translate.describe_topic_request, v1.DescribeTopicRequest("t"), topics.DescribeTopic("t")),
        (translate.delete_topic_request, v1.DeleteTopicRequest("t"), topics.DeleteTopic("t")),
        (translate.describe_partitions_request, v1.DescribePartitionsRequest("t"), topics.DescribePartitions("t")),
        (translate.list_topics_request, v1.ListTopicsRequest(), topics.ListTopics()),
        (translate.describe_node_request, v1.DescribeNodeRequest(), nodes.DescribeNode()),
        (translate.init_producer_request, v1.InitProducerRequest(), messages.InitProducer()),
        (translate.create_topic_request, v1.CreateTopicRequest("t"), topics.CreateTopic("t", 0, 0, {})),
        (
            translate.create_topic_request,
            v1.CreateTopicRequest(
                "t", 3, 2,
                {
                    "fsync": v1.Setting(text="none"), "retention_hours": v1.Setting(number=-1),
                    "dirty_ratio": v1.Setting(fraction=0.0), "on": v1.Setting(flag=False),
                },
            ),
            topics.CreateTopic("t", 3, 2, {"dirty_ratio": 0.0, "fsync": "none", "on": False, "retention_hours": -1}),
        ),
        (
            translate.alter_topic_request,
            v1.AlterTopicRequest("t", {"fsync": v1.Setting(reset=True), "segment_bytes": v1.Setting(number=1 << 20)}),
            topics.AlterTopic("t", {"fsync": None, "segment_bytes": 1 << 20}),
        ),
        (
            translate.subscribe_request,
            v1.SubscribeRequest(
                [
                    v1.Position("t", 0, offset=0), v1.Position("t", 1, timestamp_ms=5), v1.Position("u"),
                    v1.Position("u", 1, earliest=True), v1.Position("u", 2, latest=True),
                ],
            ),
            translate.Subscription(
                [
                    translate.Start("t", 0, offset=0), translate.Start("t", 1, timestamp=5), translate.Start("u", 0),
                    translate.Start("u", 1), translate.Start("u", 2, latest=True),
                ],
                1 << 20,
            ),
        ),
    ],
)  # fmt: skip
def test_a_request_means_a_verb(
    request_of: Callable[[Any], object], message: betterproto.Message, meant: object
) -> None:
    assert both_ways(request_of, message) == meant


def published(**fields: Any) -> v1.PublishRequest:  # noqa: ANN401 - of a message
    return v1.PublishRequest(topic="t", messages=[v1.NewMessage(value=b"v"), v1.NewMessage(**fields)])


@pytest.mark.parametrize(
    ("request_of", "message", "field", "said"),
    [
        (translate.publish_request, v1.PublishRequest(messages=[v1.NewMessage()]), "topic", "topic is required"),
        (translate.publish_request, v1.PublishRequest("t"), "messages", "from 1 to 100000 messages, not 0"),
        (translate.publish_request, v1.PublishRequest("t", [v1.NewMessage()], v1.Acks.try_value(9)), "acks", "not 9"),
        (translate.publish_request, published(timestamp_ms=-1), "messages[1].timestamp_ms", "not be negative"),
        (translate.publish_request, published(priority=5), "messages[1].priority", "cannot be 5"),
        (translate.publish_request, published(priority=-1), "messages[1].priority", "cannot be -1"),
        (translate.publish_batch_request, v1.PublishBatchRequest(batch=b"b"), "topic", "topic is required"),
        (translate.publish_batch_request, v1.PublishBatchRequest("t"), "batch", "batch is required"),
        (
            translate.publish_batch_request, v1.PublishBatchRequest("t", 0, b"b", v1.Acks.try_value(-1)), "acks",
            "acks must be one of 0 (ALL), 1 (LEADER), 2 (NONE), not -1",
        ),
        (translate.fetch_request, v1.FetchRequest(), "topic", "topic is required"),
        (translate.fetch_request, v1.FetchRequest("t", offset=-1), "offset", "not be negative, and is -1"),
        (translate.find_offset_request, v1.FindOffsetRequest(), "topic", "topic is required"),
        (translate.find_offset_request, v1.FindOffsetRequest("t", timestamp_ms=-2), "timestamp_ms", "is -2"),
        (translate.create_topic_request, v1.CreateTopicRequest(), "name", "name is required"),
        (
            translate.create_topic_request, v1.CreateTopicRequest("t", config={"a": v1.Setting()}),
            "config.a", "config.a has no value",
        ),
        (
            translate.create_topic_request, v1.CreateTopicRequest("t", config={"a": v1.Setting(reset=True)}),
            "config.a", "by AlterTopic alone",
        ),
        (
            translate.alter_topic_request, v1.AlterTopicRequest("t", {"a": v1.Setting(reset=False)}),
            "config.a", "not be not reset",
        ),
        (translate.alter_topic_request, v1.AlterTopicRequest(), "name", "name is required"),
        (translate.describe_topic_request, v1.DescribeTopicRequest(), "name", "name is required"),
        (translate.delete_topic_request, v1.DeleteTopicRequest(), "name", "name is required"),
        (translate.describe_partitions_request, v1.DescribePartitionsRequest(), "name", "name is required"),
        (translate.subscribe_request, v1.SubscribeRequest(), "positions", "from 1 to 10000 positions, not 0"),
        (translate.subscribe_request, v1.SubscribeRequest([v1.Position()]), "positions[0].topic", "is required"),
        (
            translate.subscribe_request, v1.SubscribeRequest([v1.Position("t", offset=-1)]),
            "positions[0].offset", "not be negative",
        ),
        (
            translate.subscribe_request, v1.SubscribeRequest([v1.Position("t", latest=False)]),
            "positions[0].latest", "can only be true",
        ),
    ],
)  # fmt: skip
def test_a_request_that_cannot_be_meant_is_refused_with_its_field(
    request_of: Callable[[Any], object], message: betterproto.Message, field: str, said: str
) -> None:
    refused = both_ways(request_of, message)
    assert isinstance(refused, Refusal)
    assert (refused.code, refused.field) == (Code.INVALID, field)
    assert said in refused.message


REFUSED = Refusal(Code.UNAVAILABLE, "no", "f", 1 << 40)
REFUSAL = v1.Refusal("unavailable", "no", "f", (1 << 32) - 1, outcome=v1.Outcome["NONE"])
BATCH_REFUSED = v1.PublishBatchReply(7, -1, -1, REFUSAL)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (translate.refusal(REFUSED), REFUSAL),
        (
            translate.publish_reply(messages.PublishReply([Published(1, 2, 3), REFUSED])),
            v1.PublishReply([v1.PublishResult(1, 2, 3), v1.PublishResult(0, -1, -1, REFUSAL)]),
        ),
        (
            translate.publish_batch_reply(messages.PublishReply([Published(1, 2, 3)]), 7),
            v1.PublishBatchReply(7, 2, 3),
        ),
        (translate.publish_batch_reply(REFUSED, 7), BATCH_REFUSED),
        (translate.publish_batch_reply(messages.PublishReply([REFUSED]), 7), BATCH_REFUSED),
        (translate.init_producer_reply(messages.ProducerReply(5, 0)), v1.InitProducerReply(5, 0)),
        (translate.fetch_reply(messages.Fetched(memoryview(b"b"), 2, 3, 1)), v1.FetchReply(b"b", 2, 3, 1)),
        (translate.find_offset_reply(messages.FoundOffset(2, -1)), v1.FindOffsetReply(2, -1)),
        (translate.subscribe_reply(4, messages.Fetched(b"b", 2, 3, 1)), v1.SubscribeReply(4, b"b", 2, 3, 1)),
        (translate.subscribe_reply(4, REFUSED), v1.SubscribeReply(4, refusal=REFUSAL)),
        (translate.leaving(4, 9), v1.SubscribeReply(4, next_offset=9, leaving=True)),
        (translate.delete_topic_reply(None), v1.DeleteTopicReply()),
        (
            translate.describe_partitions_reply([topics.PartitionReply(1, "n", ["n"], ["n"], 2, 3, 4, 5)]),
            v1.DescribePartitionsReply([v1.Partition(1, "n", "", ["n"], ["n"], 2, 3, 4, 5)]),
        ),
        (
            translate.node(nodes.NodeReply("n", "1.0", 5_999_999, 2, 6, [])),
            v1.Node("n", "1.0", 5, 2, 6),
        ),
        (
            translate.list_topics_reply([topics.TopicReply("t", 1, {"a": "x", "b": 1, "c": 0.5}, 8, {0: (2, 5)}, 9)]),
            v1.ListTopicsReply(
                [
                    v1.Topic(
                        "t", 1, 8,
                        {"a": v1.Setting(text="x"), "b": v1.Setting(number=1), "c": v1.Setting(fraction=0.5)},
                        9, [v1.PartitionOffsets(0, 2, 5)],
                    ),
                ],
            ),
        ),
    ],
)  # fmt: skip
def test_a_reply_becomes_a_message_that_travels(reply: betterproto.Message, message: betterproto.Message) -> None:
    assert reply == message
    assert arrived(reply) == message
    assert CODEC.encode(reply) == CODEC.encode(message)


@pytest.mark.parametrize("value", ["text", "", 5, -5, 0, 0.25, True, False, None])
def test_a_setting_comes_back_as_what_it_was(value: object) -> None:
    which, again = betterproto.which_one_of(arrived(translate.setting(value)), "value")
    assert (again, type(again)) == ((True, bool) if value is None else (value, type(value)))
    assert (which == "reset") == (value is None)


@pytest.mark.parametrize("attempt", ["first", "second"])
def test_a_oneof_is_not_made_the_short_way(attempt: str) -> None:
    with pytest.raises(AssertionError, match="betterproto's to make"):
        made(v1.Setting, flag=True)


def test_a_message_that_came_without_its_defaults_is_left_as_it_is() -> None:
    message = v1.FetchRequest("t")
    translate.fetch_request(message)
    assert message == v1.FetchRequest("t")
