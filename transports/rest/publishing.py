"""The endpoints that publish."""

from goqueue.core.verbs import Acks, NewRecord, Publish, Published, PublishReply, Refusal
from goqueue.transports.rest.bodies import (
    MessageDraft,
    MessagesDraft,
    OneMessageDraft,
    PublishedView,
    PublishedViews,
)
from goqueue.transports.rest.call import Call, answer
from goqueue.transports.rest.contents import new_record, new_records
from goqueue.transports.rest.errors import invalid, refused
from goqueue.transports.rest.exchange import Answer

MESSAGES_MAX = 100_000
NOWHERE = -1


async def publish_messages(call: Call) -> Answer:
    """POST /topics/{topic}/messages: each message has a result of its own."""
    draft = call.body(MessagesDraft)
    if not 1 <= len(draft.messages) <= MESSAGES_MAX:
        raise invalid(f"messages must hold from 1 to {MESSAGES_MAX} messages", "messages")
    results = await _publish(call, new_records(draft.messages), draft.acks)
    views = [
        PublishedView(result.partition, result.offset, message.priority)
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
        error = refused(result)
        error.field = _field(result)
        raise error
    return answer(PublishedView(result.partition, result.offset, draft.priority))


async def _publish(call: Call, records: list[NewRecord], acks: str) -> list[Published | Refusal]:
    reply = await call.ask(Publish(call.topic, records, Acks(acks)), PublishReply)
    assert len(reply.results) == len(records)
    return reply.results


def _field(refusal: Refusal) -> str:
    """A refused message's field as its sender knows it: of batches only brokers speak."""
    return "value" if refusal.field == "batch" else refusal.field


def _refused_view(at: int, draft: MessageDraft, result: Refusal) -> PublishedView:
    name = _field(result)
    field = f"messages[{at}].{name}" if name else f"messages[{at}]"
    partition = NOWHERE if draft.partition is None else draft.partition
    return PublishedView(partition, NOWHERE, draft.priority, error=result.message, code=result.code, field=field)
