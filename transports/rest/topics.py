"""The endpoints of topics and their partitions."""

from typing import TypeVar

from goqueue.core.requests.refusals import Code
from goqueue.core.requests.topics import (
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
    config: dict[str, object] = {key: value for key, value in draft.config.items() if value is not None}
    given = {key: getattr(draft, key) for key in SHORTHANDS if getattr(draft, key) is not None}
    request = CreateTopic(draft.name, _partitions(draft), draft.replication_factor or 0, {**config, **given})
    try:
        made = await call.ask(request, TopicReply)
    except RestError as error:
        if error.code == Code.TOPIC_EXISTS and draft.if_not_exists:
            return await _as_it_is(call, draft.name)
        # A shorthand stands at the top of the body, and that is where its user looks for it.
        if error.field.removeprefix("config.") in given:
            error.field = error.field.removeprefix("config.")
        raise
    return answer(TopicMade(made.name, made.partitions), 201)


def _partitions(draft: TopicDraft) -> int:
    """How many partitions are asked for, by either name; 0 where nothing is."""
    both = {draft.num_partitions, draft.partitions} - {None}
    if len(both) > 1:
        raise invalid("partitions is another name of num_partitions, and they differ; give one", "partitions")
    return draft.num_partitions or draft.partitions or 0


async def _as_it_is(call: Call, name: str) -> Answer:
    """What is there already; whoever manages the topics may have told another node first."""
    try:
        found = await call.ask(DescribeTopic(name), TopicReply)
    except RestError as error:
        if error.code != Code.TOPIC_NOT_FOUND:
            raise
        said = f"topic {name} was made a moment ago, and this node does not know it yet"
        raise RestError(503, Code.UNAVAILABLE, said, "name") from None
    return answer(TopicMade(found.name, found.partitions, created=False))


async def list_topics(call: Call) -> Answer:
    """GET /topics: names, or all of each."""
    topics: list[TopicReply] = await call.ask(ListTopics(), list)
    if call.query.get("details"):
        return answer(TopicsView([topic_view(topic) for topic in topics]))
    return answer(TopicsView([topic.name for topic in topics]))


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
            reply.start_offset, reply.end_offset, reply.high_watermark, reply.size_bytes, reply.elr, reply.why_offline,
        )
        for reply in partitions
    ]  # fmt: skip
    return answer(PartitionsView(views))


def topic_view(topic: TopicReply) -> TopicView:
    """A topic as JSON says it."""
    offsets = {str(partition): Reach(first, end) for partition, (first, end) in topic.offsets.items()}
    return TopicView(
        topic.name, topic.identity, topic.partitions, message_count(topic), topic.size_bytes, offsets, topic.config
    )


def message_count(topic: TopicReply) -> int:
    """How many offsets a topic holds; after a compaction there may be fewer messages."""
    return sum(end - first for first, end in topic.offsets.values())
