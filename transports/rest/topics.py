"""The endpoints of topics and their partitions."""

from typing import TypeVar

from goqueue.core.verbs import (
    AlterTopic,
    CreateTopic,
    DeleteTopic,
    DescribePartitions,
    DescribeTopic,
    ListTopics,
    TopicReply,
)
from goqueue.transports.rest.bodies import (
    ConfigDraft,
    PartitionsView,
    PartitionView,
    Reach,
    TopicDraft,
    TopicGone,
    TopicMade,
    TopicsView,
    TopicView,
)
from goqueue.transports.rest.call import Call, answer
from goqueue.transports.rest.errors import RestError, invalid
from goqueue.transports.rest.exchange import Answer

T = TypeVar("T")
SHORTHANDS = ("retention_hours", "retention_bytes")


async def create_topic(call: Call) -> Answer:
    """POST /topics."""
    draft = call.body(TopicDraft)
    if draft.num_partitions == 0:
        raise invalid("num_partitions must be at least 1", "num_partitions")
    config: dict[str, object] = {key: value for key, value in draft.config.items() if value is not None}
    given = {key: getattr(draft, key) for key in SHORTHANDS if getattr(draft, key) is not None}
    if draft.replication_factor == 0:
        raise invalid("replication_factor must be at least 1", "replication_factor")
    request = CreateTopic(draft.name, draft.num_partitions or 0, draft.replication_factor or 0, {**config, **given})
    try:
        made = await call.ask(request, TopicReply)
    except RestError as error:
        # A shorthand stands at the top of the body, and that is where its user looks for it.
        if error.field.removeprefix("config.") in given:
            error.field = error.field.removeprefix("config.")
        raise
    return answer(TopicMade(made.name, made.partitions), 201)


async def list_topics(call: Call) -> Answer:
    """GET /topics."""
    topics: list[TopicReply] = await call.ask(ListTopics(), list)
    return answer(TopicsView([topic_view(topic) for topic in topics]))


async def describe_topic(call: Call) -> Answer:
    """GET /topics/{topic}."""
    return answer(topic_view(await call.ask(DescribeTopic(call.topic), TopicReply)))


async def alter_topic(call: Call) -> Answer:
    """PATCH /topics/{topic}."""
    config: dict[str, object] = dict(call.body(ConfigDraft).config)
    return answer(topic_view(await _ask_by_path(call, AlterTopic(call.topic, config), TopicReply)))


async def delete_topic(call: Call) -> Answer:
    """DELETE /topics/{topic}."""
    await _ask_by_path(call, DeleteTopic(call.topic), type(None))
    return answer(TopicGone(call.topic))


async def _ask_by_path(call: Call, request: AlterTopic | DeleteTopic, kind: type[T]) -> T:
    """Ask about the topic in the path, where it is no field called `name`."""
    try:
        return await call.ask(request, kind)
    except RestError as error:
        error.field = "topic" if error.field == "name" else error.field
        raise


async def list_partitions(call: Call) -> Answer:
    """GET /topics/{topic}/partitions."""
    partitions = await call.ask(DescribePartitions(call.topic), list)
    views = [
        PartitionView(
            reply.partition, reply.leader, reply.replicas, reply.isr,
            reply.start_offset, reply.end_offset, reply.high_watermark, reply.size_bytes,
        )
        for reply in partitions
    ]  # fmt: skip
    return answer(PartitionsView(views))


def topic_view(topic: TopicReply) -> TopicView:
    """A topic as JSON says it."""
    offsets = {str(partition): Reach(first, end) for partition, (first, end) in topic.offsets.items()}
    return TopicView(topic.name, topic.partitions, message_count(topic), topic.size_bytes, offsets, topic.config)


def message_count(topic: TopicReply) -> int:
    """How many offsets a topic holds; after a compaction there may be fewer messages."""
    return sum(end - first for first, end in topic.offsets.values())
