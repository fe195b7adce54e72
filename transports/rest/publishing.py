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
from goqueue.transports.rest.contents import new_record
from goqueue.transports.rest.errors import invalid, refused
from goqueue.transports.rest.exchange import Answer

MESSAGES_MAX = 100_000
NOWHERE = -1


async def publish_messages(call: Call) -> Answer:
    """POST /topics/{topic}/messages: each message has a result of its own."""
    draft = call.body(MessagesDraft)
    if not 1 <= len(draft.messages) <= MESSAGES_MAX:
        raise invalid(f"messages must hold from 1 to {MESSAGES_MAX} messages", "messages")
    records = [new_record(message, f"messages[{at}].") for at, message in enumerate(draft.messages)]
    results = await _publish(call, records, draft.acks)
    return answer(PublishedViews([_view(*pair) for pair in zip(draft.messages, results, strict=True)]))


async def publish_message(call: Call) -> Answer:
    """POST /topics/{topic}/publish: one message, one result, and a refusal is the status of the whole."""
    draft = call.body(OneMessageDraft)
    (result,) = await _publish(call, [new_record(draft)], draft.acks)
    if isinstance(result, Refusal):
        raise refused(result)
    return answer(PublishedView(result.partition, result.offset, draft.priority))


async def _publish(call: Call, records: list[NewRecord], acks: str) -> list[Published | Refusal]:
    reply = await call.ask(Publish(call.topic, records, Acks(acks)), PublishReply)
    assert len(reply.results) == len(records)
    return reply.results


def _view(draft: MessageDraft, result: Published | Refusal) -> PublishedView:
    if isinstance(result, Published):
        return PublishedView(result.partition, result.offset, draft.priority)
    partition = NOWHERE if draft.partition is None else draft.partition
    return PublishedView(partition, NOWHERE, draft.priority, error=result.message, code=result.code)
