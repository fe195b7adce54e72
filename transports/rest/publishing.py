"""The endpoints that publish."""

from goqueue.core.requests.messages import Acks, NewRecord, Publish, Published, PublishReply
from goqueue.core.requests.refusals import Refusal
from goqueue.transports.rest.bodies import (
    MessageDraft,
    MessagesDraft,
    OneMessageDraft,
    Priority,
    PublishedView,
    PublishedViews,
)
from goqueue.transports.rest.call import Call, answer
from goqueue.transports.rest.contents import new_record, new_records
from goqueue.transports.rest.errors import refused, respelled
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.times import written_time

NOWHERE = -1
# What a refused message's field is called by whom it comes from: of batches only brokers speak.
FIELDS = {"batch": "value", "delay_ms": "delay", "due_ms": "deliverAt", "ttl_ms": "ttl"}


async def publish_messages(call: Call) -> Answer:
    """POST /topics/{topic}/messages: each message has a result of its own."""
    draft = call.body(MessagesDraft)
    results = await _publish(call, new_records(draft.messages), draft.acks)
    views = [
        _published_view(result, message.priority)
        if isinstance(result, Published)
        else _refused_view(at, message, result)
        for at, (message, result) in enumerate(zip(draft.messages, results, strict=True))
    ]
    return answer(PublishedViews(views))


async def publish_message(call: Call) -> Answer:
    """POST /topics/{topic}/publish: one message, one result, and a refusal is the status of the whole."""
    draft = call.body(OneMessageDraft)
    (result,) = await _publish(call, [new_record(draft)], draft.acks)
    if isinstance(result, Refusal):
        raise respelled(refused(result), FIELDS)
    return answer(_published_view(result, draft.priority))


async def _publish(call: Call, records: list[NewRecord], acks: str) -> list[Published | Refusal]:
    reply = await call.ask(Publish(call.topic, records, Acks(acks)), PublishReply)
    assert len(reply.results) == len(records)
    return reply.results


def _published_view(result: Published, priority: Priority) -> PublishedView:
    view = PublishedView(result.partition, result.offset, priority)
    if result.due_ms >= 0:
        view.delayed, view.deliverAt = True, written_time(result.due_ms) or ""
    return view


def _refused_view(at: int, draft: MessageDraft, result: Refusal) -> PublishedView:
    error = respelled(refused(result), FIELDS)
    field = f"messages[{at}].{error.field}" if error.field else f"messages[{at}]"
    partition = NOWHERE if draft.partition is None else draft.partition
    return PublishedView(
        partition, NOWHERE, draft.priority, error=error.message, code=error.code, field=field, outcome=result.outcome
    )
