"""Delayed messages between the messages of `v1` and the core's requests, both ways, named as in `work.py`.

A place in a list travels as the numbers that the core made of it, and nobody else takes them apart.
"""

from typing import Any

from goqueue.core.requests.delays import (
    CancelDelayed,
    DelayedMessage,
    DelayedMessages,
    GetDelayed,
    ListDelayed,
    RescheduleDelayed,
)
from goqueue.core.requests.refusals import Refusal
from goqueue.proto import v1
from goqueue.proto.fields import contents, made
from goqueue.proto.messages import flaw_of_times, headers_of, lane_of, named_headers, priority_of
from goqueue.proto.refusals import invalid, missing, negative

LIMIT = 100
_PLACE_NUMBERS = 3


def list_delayed_request(message: v1.ListDelayedRequest) -> ListDelayed | Refusal:
    """Delayed messages of a topic are asked for."""
    fields = contents(message)
    if not fields["topic"]:
        return missing("topic")
    after = fields["after"]
    if after and len(after) != _PLACE_NUMBERS:
        return invalid(f"after is empty, or what a page before said; it cannot have {len(after)} numbers", "after")
    return ListDelayed(fields["topic"], fields["limit"] or LIMIT, tuple(after) or None)


def list_delayed_message(request: ListDelayed) -> v1.ListDelayedRequest:
    """Delayed messages of a topic are asked for."""
    return made(v1.ListDelayedRequest, topic=request.topic, limit=request.limit, after=[*(request.after or ())])


def get_delayed_request(message: v1.GetDelayedRequest) -> GetDelayed | Refusal:
    """One delayed message is asked for."""
    fields = contents(message)
    return _flaw(fields) or GetDelayed(fields["topic"], fields["partition"], fields["offset"])


def get_delayed_message(request: GetDelayed) -> v1.GetDelayedRequest:
    """One delayed message is asked for."""
    return made(v1.GetDelayedRequest, topic=request.topic, partition=request.partition, offset=request.offset)


def cancel_delayed_request(message: v1.CancelDelayedRequest) -> CancelDelayed | Refusal:
    """One is never to be delivered."""
    fields = contents(message)
    return _flaw(fields) or CancelDelayed(fields["topic"], fields["partition"], fields["offset"])


def cancel_delayed_message(request: CancelDelayed) -> v1.CancelDelayedRequest:
    """One is never to be delivered."""
    return made(v1.CancelDelayedRequest, topic=request.topic, partition=request.partition, offset=request.offset)


def reschedule_delayed_request(message: v1.RescheduleDelayedRequest) -> RescheduleDelayed | Refusal:
    """One is to be delivered at another time."""
    fields = contents(message)
    delay_ms, due_ms = fields["delay_ms"], fields["deliver_at_ms"]
    if delay_ms is None and due_ms is None:
        return invalid("delay_ms or deliver_at_ms is required", "delay_ms")
    flaw = _flaw(fields) or flaw_of_times(delay_ms, due_ms)
    if flaw is not None:
        return flaw
    return RescheduleDelayed(fields["topic"], fields["partition"], fields["offset"], delay_ms or 0, due_ms)


def reschedule_delayed_message(request: RescheduleDelayed) -> v1.RescheduleDelayedRequest:
    """One is to be delivered at another time."""
    return made(
        v1.RescheduleDelayedRequest,
        topic=request.topic,
        partition=request.partition,
        offset=request.offset,
        delay_ms=request.delay_ms if request.due_ms is None else None,
        deliver_at_ms=request.due_ms,
    )


def _flaw(fields: dict[str, Any]) -> Refusal | None:
    if not fields["topic"]:
        return missing("topic")
    return negative("offset", fields["offset"]) if fields["offset"] < 0 else None


def delayed_list_reply(reply: DelayedMessages) -> v1.ListDelayedReply:
    """A page of delayed messages."""
    found = [delayed_reply(each) for each in reply.messages]
    return made(v1.ListDelayedReply, messages=found, count=reply.count, after=[*(reply.after or ())])


def read_delayed_list(message: v1.ListDelayedReply) -> DelayedMessages:
    """A page of delayed messages."""
    fields = contents(message)
    found = [read_delayed(each) for each in fields["messages"]]
    return DelayedMessages(found, fields["count"], tuple(fields["after"]) or None)


def delayed_reply(reply: DelayedMessage) -> v1.DelayedMessage:
    """One delayed message."""
    return made(
        v1.DelayedMessage,
        topic=reply.topic,
        partition=reply.partition,
        offset=reply.offset,
        deliver_at_ms=reply.due_ms,
        priority=priority_of(reply.lane),
        key=reply.key,
        value=reply.value,
        headers=headers_of(reply.headers),
    )


def read_delayed(message: v1.DelayedMessage) -> DelayedMessage:
    """One delayed message."""
    fields = contents(message)
    return DelayedMessage(
        fields["topic"],
        fields["partition"],
        fields["offset"],
        fields["deliver_at_ms"],
        lane_of(fields["priority"]),
        fields["key"],
        fields["value"],
        named_headers(fields["headers"]),
    )


def cancelled_reply(reply: None) -> v1.CancelDelayedReply:  # noqa: ARG001 - it says nothing
    """One will not be delivered."""
    return made(v1.CancelDelayedReply)
