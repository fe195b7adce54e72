"""Requests of workloads as calls of gRPC, and what comes back as the core's replies.

Where the product has a client's side of a message (`proto/groups.py`, `proto/work.py` and their like), it is used; what
the client library codes by itself, or does not ask for, is written here.
"""

from collections.abc import Callable
from typing import Any

import betterproto
from attrs import define
from grpclib.exceptions import GRPCError

from goqueue.core.requests import deadletters as dead_requests
from goqueue.core.requests import delays as delay_requests
from goqueue.core.requests import groups as group_requests
from goqueue.core.requests import queues as work_requests
from goqueue.core.requests.messages import (
    Fetch,
    Fetched,
    FindOffset,
    FoundOffset,
    InitProducer,
    NewRecord,
    ProducerReply,
    Publish,
    PublishBatch,
    Published,
    PublishReply,
)
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
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
from goqueue.proto import dead, delays, groups, v1, work
from goqueue.proto.codec import StrictCodec
from goqueue.proto.messages import headers_of, priority_of
from goqueue.proto.refusals import read_refusal
from goqueue.proto.topics import setting

CODEC = StrictCodec()
PUBLISH_STREAM = "/goqueue.v1.Messages/PublishStream"
_REFUSAL = "goqueue.v1.Refusal"
_NS_PER_MS = 1_000_000
_ACKS = {"all": v1.Acks(0), "leader": v1.Acks(1), "none": v1.Acks(2)}
_DUES = {"now": v1.Due(0), "at": v1.Due(1), "after": v1.Due(2)}


@define(frozen=True)
class Form:
    """How one kind of request travels."""

    path: str
    write: Callable[[Any], Any]
    reply: Any
    read: Callable[[Any, Any], Reply]


def form_of(request: Request) -> Form | None:
    """How a request travels; None for one that has no call."""
    form = FORMS.get(type(request))
    if isinstance(request, Fetch) and (request.looks or request.from_disk or request.side != "data"):
        return None
    return form


def refusal_of(error: GRPCError) -> Refusal | None:
    """What the broker refused with; None where the call came to no end that says so."""
    for detail in error.details or ():
        if getattr(detail, "type_name", "") == _REFUSAL:
            return read_refusal(CODEC.decode(v1.Refusal, detail.message))
    return None


# --- topics


def _create(request: CreateTopic) -> v1.CreateTopicRequest:
    config = {key: setting(value) for key, value in request.config.items()}
    return v1.CreateTopicRequest(request.name, request.partitions, request.replication_factor, config)


def _alter(request: AlterTopic) -> v1.AlterTopicRequest:
    return v1.AlterTopicRequest(request.name, {key: setting(value) for key, value in request.config.items()})


def _read_topic(message: v1.Topic) -> TopicReply:
    config = {key: betterproto.which_one_of(value, "value")[1] for key, value in message.config.items()}
    offsets = {each.partition: (each.start_offset, each.end_offset) for each in message.offsets}
    return TopicReply(
        message.name, message.partitions, config, message.created_ms, offsets, message.size_bytes, 0, message.id
    )


def _read_partition(message: v1.Partition) -> PartitionReply:
    return PartitionReply(
        message.partition, message.leader, [*message.replicas], [*message.isr], message.start_offset,
        message.end_offset, message.high_watermark, message.size_bytes, message.leader_address, [*message.elr],
        message.why_offline,
    )  # fmt: skip


# --- messages


def _new_message(record: NewRecord) -> v1.NewMessage:
    message = v1.NewMessage(
        key=None if record.key is None else bytes(record.key),
        value=None if record.value is None else bytes(record.value),
        headers=headers_of(record.headers),
        partition=record.partition,
        timestamp_ms=record.timestamp,
        priority=priority_of(record.lane),
    )
    if record.delay_ms:
        message.delay_ms = record.delay_ms
    if record.due_ms is not None:
        message.deliver_at_ms = record.due_ms
    if record.ttl_ms:
        message.ttl_ms = record.ttl_ms
    return message


def _publish(request: Publish) -> v1.PublishRequest:
    return v1.PublishRequest(request.topic, [_new_message(each) for each in request.records], _ACKS[request.acks])


def batch_message(request: PublishBatch, request_id: int = 0) -> v1.PublishBatchRequest:
    """A batch to be published; on a stream under a number."""
    return v1.PublishBatchRequest(
        request.topic, request.partition, bytes(request.batch), _ACKS[request.acks], request_id, _DUES[request.due]
    )


def _read_results(message: v1.PublishReply) -> PublishReply:
    return PublishReply([_read_result(each) for each in message.results])


def _read_result(message: v1.PublishResult) -> Published | Refusal:
    if message.refusal.code:
        return read_refusal(message.refusal)
    due_ms = -1 if message.deliver_at_ms is None else message.deliver_at_ms
    return Published(message.partition, message.offset, message.timestamp_ms, due_ms)


def read_batch(message: v1.PublishBatchReply, request: PublishBatch) -> PublishReply:
    """What became of a batch."""
    if message.refusal.code:
        return PublishReply([read_refusal(message.refusal)])
    due_ms = message.timestamp_ms if request.due != "now" else -1
    return PublishReply([Published(request.partition, message.offset, message.timestamp_ms, due_ms)])


def _fetch(request: Fetch) -> v1.FetchRequest:
    return v1.FetchRequest(
        topic=request.topic, partition=request.partition, offset=request.offset, bytes_max=request.max_bytes,
        wait_ms=request.wait_ns // _NS_PER_MS, topic_id=request.identity,
    )  # fmt: skip


def _read_fetched(message: v1.FetchReply) -> Fetched:
    return Fetched(message.batches, message.next_offset, message.high_watermark, message.start_offset)


def _ignoring(read: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda message, _: read(message)


def _topic(method: str, write: Callable[[Any], Any], reply: Any, read: Callable[[Any], Any]) -> Form:  # noqa: ANN401
    return Form(f"/goqueue.v1.Topics/{method}", write, reply, _ignoring(read))


def _message(method: str, write: Callable[[Any], Any], reply: Any, read: Callable[[Any], Any]) -> Form:  # noqa: ANN401
    return Form(f"/goqueue.v1.Messages/{method}", write, reply, _ignoring(read))


def _group(method: str, write: Callable[[Any], Any], reply: Any, read: Callable[[Any], Any]) -> Form:  # noqa: ANN401
    return Form(f"/goqueue.v1.Groups/{method}", write, reply, _ignoring(read))


def _delay(method: str, write: Callable[[Any], Any], reply: Any, read: Callable[[Any], Any]) -> Form:  # noqa: ANN401
    return Form(f"/goqueue.v1.Delays/{method}", write, reply, _ignoring(read))


def _dead(method: str, write: Callable[[Any], Any], reply: Any, read: Callable[[Any], Any]) -> Form:  # noqa: ANN401
    return Form(f"/goqueue.v1.DeadLetters/{method}", write, reply, _ignoring(read))


def _none(_: object) -> None:
    return None


FORMS: dict[type, Form] = {
    CreateTopic: _topic("CreateTopic", _create, v1.Topic, _read_topic),
    AlterTopic: _topic("AlterTopic", _alter, v1.Topic, _read_topic),
    DeleteTopic: _topic("DeleteTopic", lambda one: v1.DeleteTopicRequest(one.name), v1.DeleteTopicReply, _none),
    DescribeTopic: _topic("DescribeTopic", lambda one: v1.DescribeTopicRequest(one.name), v1.Topic, _read_topic),
    ListTopics: _topic(
        "ListTopics", lambda _: v1.ListTopicsRequest(), v1.ListTopicsReply,
        lambda said: [_read_topic(each) for each in said.topics],
    ),
    DescribePartitions: _topic(
        "DescribePartitions", lambda one: v1.DescribePartitionsRequest(one.name), v1.DescribePartitionsReply,
        lambda said: [_read_partition(each) for each in said.partitions],
    ),
    Publish: _message("Publish", _publish, v1.PublishReply, _read_results),
    PublishBatch: Form("/goqueue.v1.Messages/PublishBatch", batch_message, v1.PublishBatchReply, read_batch),
    InitProducer: _message(
        "InitProducer", lambda _: v1.InitProducerRequest(), v1.InitProducerReply,
        lambda said: ProducerReply(said.producer_id, said.producer_epoch),
    ),
    Fetch: _message("Fetch", _fetch, v1.FetchReply, _read_fetched),
    FindOffset: _message(
        "FindOffset",
        lambda one: v1.FindOffsetRequest(topic=one.topic, partition=one.partition, timestamp_ms=one.timestamp),
        v1.FindOffsetReply, lambda said: FoundOffset(said.offset, said.timestamp_ms),
    ),
    group_requests.JoinGroup: _group("Join", groups.join_group_message, v1.JoinReply, groups.read_joined),
    group_requests.GroupHeartbeat: _group(
        "Heartbeat", groups.group_heartbeat_message, v1.HeartbeatReply, groups.read_group_beat
    ),
    group_requests.WatchGroup: _group("Watch", groups.watch_group_message, v1.HeartbeatReply, groups.read_group_beat),
    group_requests.LeaveGroup: _group("Leave", groups.leave_group_message, v1.LeaveReply, _none),
    group_requests.RevokePartitions: _group(
        "Revoke", groups.revoke_partitions_message, v1.RevokeReply, groups.read_revoked_partitions
    ),
    group_requests.CommitOffsets: _group(
        "Commit", groups.commit_offsets_message, v1.CommitReply, groups.read_committed_offsets
    ),
    group_requests.FetchOffsets: _group(
        "FetchOffsets", groups.fetch_offsets_message, v1.FetchOffsetsReply, groups.read_group_offsets
    ),
    group_requests.ResetOffsets: _group(
        "ResetOffsets", groups.reset_offsets_message, v1.ResetOffsetsReply, groups.read_offset_changes
    ),
    group_requests.ListGroups: _group("ListGroups", groups.list_groups_message, v1.ListGroupsReply, groups.read_groups),
    group_requests.DescribeGroup: _group("DescribeGroup", groups.describe_group_message, v1.Group, groups.read_group),
    group_requests.AlterGroup: _group("AlterGroup", groups.alter_group_message, v1.Group, groups.read_group),
    group_requests.DeleteGroup: _group("DeleteGroup", groups.delete_group_message, v1.DeleteGroupReply, _none),
    group_requests.DescribeRebalances: _group(
        "DescribeRebalances", groups.describe_rebalances_message, v1.Rebalances, groups.read_rebalances
    ),
    work_requests.PollWork: _group("Poll", work.poll_message, v1.PollReply, work.read_polled),
    work_requests.AckWork: _group("Ack", work.ack_message, v1.AckReply, work.read_acked),
    work_requests.NackWork: _group("Nack", work.nack_message, v1.NackReply, work.read_nacked),
    work_requests.RejectWork: _group("Reject", work.reject_message, v1.RejectReply, work.read_rejected),
    work_requests.ExtendWork: _group("Extend", work.extend_message, v1.ExtendReply, work.read_extended),
    work_requests.ReleaseWork: _group("Release", work.release_message, v1.ReleaseReply, work.read_released),
    delay_requests.ListDelayed: _delay(
        "List", delays.list_delayed_message, v1.ListDelayedReply, delays.read_delayed_list
    ),
    delay_requests.GetDelayed: _delay("Get", delays.get_delayed_message, v1.DelayedMessage, delays.read_delayed),
    delay_requests.CancelDelayed: _delay("Cancel", delays.cancel_delayed_message, v1.CancelDelayedReply, _none),
    delay_requests.RescheduleDelayed: _delay(
        "Reschedule", delays.reschedule_delayed_message, v1.DelayedMessage, delays.read_delayed
    ),
    dead_requests.ListDeadTopics: _dead(
        "List", dead.list_dead_topics_message, v1.ListDeadTopicsReply, dead.read_dead_topics
    ),
    dead_requests.BrowseDead: _dead("Browse", dead.browse_message, v1.BrowseReply, dead.read_dead_letters),
    dead_requests.StartRedrive: _dead("Redrive", dead.redrive_message, v1.RedriveReply, dead.read_redrive),
    dead_requests.PurgeDead: _dead("Purge", dead.purge_message, v1.RedriveReply, dead.read_redrive),
    dead_requests.DescribeRedrive: _dead(
        "DescribeRedrive", dead.describe_redrive_message, v1.RedriveReply, dead.read_redrive
    ),
    dead_requests.ListRedrives: _dead(
        "ListRedrives", dead.list_redrives_message, v1.ListRedrivesReply, dead.read_redrives
    ),
    dead_requests.CancelRedrive: _dead(
        "CancelRedrive", dead.cancel_redrive_message, v1.RedriveReply, dead.read_redrive
    ),
}  # fmt: skip
