"""The service Topics: its requests as the core's requests, the core's replies as its messages.

A setting travels as text, number, fraction or flag, whichever it is; what may be set to what is for the core to say.
"""

from typing import Any

import betterproto

from goqueue.core.requests.nodes import DescribeNode, NodeReply
from goqueue.core.requests.refusals import Refusal
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
from goqueue.proto import v1
from goqueue.proto.fields import contents, made
from goqueue.proto.refusals import invalid, missing

_NS_PER_MS = 1_000_000
_INT64_MAX = (1 << 63) - 1


def create_topic_request(message: v1.CreateTopicRequest) -> CreateTopic | Refusal:
    """A topic to be made; a replication factor of 0 is the default of the cluster."""
    fields = contents(message)
    if not fields["name"]:
        return missing("name")
    config = config_of(fields["config"])
    if isinstance(config, Refusal):
        return config
    return CreateTopic(fields["name"], fields["partitions"], fields["replication_factor"], config)


def alter_topic_request(message: v1.AlterTopicRequest) -> AlterTopic | Refusal:
    """Settings to be changed, or taken back to their defaults."""
    fields = contents(message)
    if not fields["name"]:
        return missing("name")
    config = config_of(fields["config"], resets=True)
    return config if isinstance(config, Refusal) else AlterTopic(fields["name"], config)


def describe_topic_request(message: v1.DescribeTopicRequest) -> DescribeTopic | Refusal:
    """A topic to be described."""
    return DescribeTopic(message.name) if message.name else missing("name")


def delete_topic_request(message: v1.DeleteTopicRequest) -> DeleteTopic | Refusal:
    """A topic to be removed."""
    return DeleteTopic(message.name) if message.name else missing("name")


def describe_partitions_request(message: v1.DescribePartitionsRequest) -> DescribePartitions | Refusal:
    """A topic whose partitions are to be described."""
    return DescribePartitions(message.name) if message.name else missing("name")


def list_topics_request(message: v1.ListTopicsRequest) -> ListTopics:  # noqa: ARG001 - it says nothing
    """All topics are asked for."""
    return ListTopics()


def describe_node_request(message: v1.DescribeNodeRequest) -> DescribeNode:  # noqa: ARG001 - it says nothing
    """The node is asked how it is."""
    return DescribeNode()


def topic(reply: TopicReply) -> v1.Topic:
    """One topic."""
    return made(
        v1.Topic,
        name=reply.name,
        partitions=reply.partitions,
        created_ms=reply.created_ms,
        config={key: setting(value) for key, value in reply.config.items()},
        size_bytes=reply.size_bytes,
        offsets=[
            made(v1.PartitionOffsets, partition=partition, start_offset=start, end_offset=end)
            for partition, (start, end) in reply.offsets.items()
        ],
        id=reply.identity,
    )


def list_topics_reply(reply: list[TopicReply]) -> v1.ListTopicsReply:
    """All topics."""
    return made(v1.ListTopicsReply, topics=[topic(each) for each in reply])


def delete_topic_reply(reply: None) -> v1.DeleteTopicReply:  # noqa: ARG001 - it says nothing
    """A topic is gone."""
    return made(v1.DeleteTopicReply)


def describe_partitions_reply(reply: list[PartitionReply]) -> v1.DescribePartitionsReply:
    """The partitions of a topic."""
    return made(v1.DescribePartitionsReply, partitions=[_partition(each) for each in reply])


def _partition(reply: PartitionReply) -> v1.Partition:
    return made(
        v1.Partition,
        partition=reply.partition,
        leader=reply.leader,
        leader_address=reply.leader_address,
        replicas=reply.replicas,
        isr=reply.isr,
        start_offset=reply.start_offset,
        end_offset=reply.end_offset,
        high_watermark=reply.high_watermark,
        size_bytes=max(reply.size_bytes, 0),
        elr=reply.elr,
        why_offline=reply.why_offline,
    )


def node(reply: NodeReply) -> v1.Node:
    """The node at a glance."""
    return made(
        v1.Node,
        node_id=reply.node_id,
        version=reply.version,
        uptime_ms=reply.uptime_ns // _NS_PER_MS,
        topics=reply.topics,
        size_bytes=reply.size_bytes,
    )


def setting(value: object) -> v1.Setting:
    """The value of a setting; None is its default."""
    if value is None:
        return v1.Setting(reset=True)
    if isinstance(value, bool):
        return v1.Setting(flag=value)
    if isinstance(value, int) and -_INT64_MAX <= value <= _INT64_MAX:
        return v1.Setting(number=value)
    if isinstance(value, float):
        return v1.Setting(fraction=value)
    return v1.Setting(text=str(value))


def config_of(
    settings: dict[str, v1.Setting], *, resets: bool = False, alters: str = "AlterTopic"
) -> dict[str, object] | Refusal:
    """Settings as the core has them; None for one to be reset, which is only what `alters` is for."""
    config: dict[str, object] = {}
    for key in sorted(settings):
        which, value = betterproto.which_one_of(settings[key], "value")
        problem = _problem(which, value, "" if resets else alters)
        if problem:
            return invalid(f"config.{key} {problem}", f"config.{key}")
        config[key] = None if which == "reset" else value
    return config


def _problem(which: str, value: Any, alters: str) -> str:  # noqa: ANN401 - of whichever type was chosen
    if not which:
        return "has no value"
    if which != "reset":
        return ""
    if alters:
        return f"can be reset by {alters} alone"
    return "" if value else "can be reset, and not be not reset"
