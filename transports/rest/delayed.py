"""The endpoints of messages that are kept back: look at them, deliver them at another time, or never.

A delayed message is known by its partition and its offset in the schedule, which publishing it was answered with.
"""

from goqueue.core.records.record import Record
from goqueue.core.requests.delays import (
    CancelDelayed,
    DelayedMessage,
    DelayedMessages,
    GetDelayed,
    ListDelayed,
    RescheduleDelayed,
)
from goqueue.core.requests.topics import DescribeTopic, TopicReply
from goqueue.transports.rest.call import Call, answer
from goqueue.transports.rest.contents import PRIORITIES, due, message_view
from goqueue.transports.rest.decoding import whole_number
from goqueue.transports.rest.delay_bodies import CancelledView, DelayDraft, DelayedView, DelayedViews
from goqueue.transports.rest.errors import RestError, invalid, respelled
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.times import written_time

LIMIT_DEFAULT = 100
LIMIT_MAX = 1_000
PAGE_END = r"|[0-9]{1,19}\.[0-9]{1,19}\.[0-9]{1,19}"
FIELDS = {"delay_ms": "delay", "due_ms": "deliverAt"}


async def list_delayed(call: Call) -> Answer:
    """GET /topics/{topic}/delayed."""
    request = ListDelayed(call.topic, call.query.get("limit", LIMIT_DEFAULT))
    if call.query.get("after"):
        request.after = _read_token(call.query["after"])
    found = await call.ask(request, DelayedMessages)
    view = DelayedViews([_line(message) for message in found.messages], found.count)
    if found.after is not None:
        view.next = ".".join(map(str, found.after))
    return answer(view)


def _read_token(token: str) -> tuple[int, int, int]:
    due_ms, partition, offset = (whole_number(part, "after") for part in token.split("."))
    return due_ms, partition, offset


async def get_delayed(call: Call) -> Answer:
    """GET /topics/{topic}/delayed/{offset}, and the same with the partition in the path."""
    partition = call.partition if "partition" in call.names else await _asked_partition(call)
    found = await call.ask(GetDelayed(call.topic, partition, _offset(call)), DelayedMessage)
    return answer(_whole(found))


async def _asked_partition(call: Call) -> int:
    """The partition in the query; a topic of one needs none."""
    asked: int | None = call.query.get("partition")
    if asked is not None:
        return asked
    topic = await call.ask(DescribeTopic(call.topic), TopicReply)
    if topic.partitions != 1:
        raise invalid(f"partition is required: {call.topic} has {topic.partitions}", "partition")
    return 0


async def cancel_delayed(call: Call) -> Answer:
    """DELETE /topics/{topic}/delayed/{partition}/{offset}."""
    partition, offset = call.partition, _offset(call)
    await call.ask(CancelDelayed(call.topic, partition, offset), type(None))
    return answer(CancelledView(call.topic, partition, offset))


async def reschedule_delayed(call: Call) -> Answer:
    """PATCH and POST /topics/{topic}/delayed/{partition}/{offset}."""
    draft = call.body(DelayDraft)
    if draft.delay is None and draft.deliverAt is None:
        raise invalid("delay or deliverAt is required: when to deliver", "delay")
    delay_ms, due_ms = due(draft.delay, draft.deliverAt)
    request = RescheduleDelayed(call.topic, call.partition, _offset(call), delay_ms, due_ms)
    try:
        found = await call.ask(request, DelayedMessage)
    except RestError as error:
        raise respelled(error, FIELDS) from None
    return answer(_line(found))


def _offset(call: Call) -> int:
    return whole_number(call.names["offset"], "offset")


def _line(message: DelayedMessage) -> DelayedView:
    """A message as one of many."""
    deliver_at = written_time(message.due_ms) or ""
    return DelayedView(message.topic, message.partition, message.offset, deliver_at, PRIORITIES[message.lane])


def _whole(message: DelayedMessage) -> DelayedView:
    """A message with what is in it."""
    view = _line(message)
    record = Record(message.offset, message.due_ms, message.key, message.value, message.headers)
    content = message_view(record, view.priority, None)
    view.key, view.value, view.headers = content.key, content.value, content.headers
    view.encoding, view.headers_encoding = content.encoding, content.headers_encoding
    return view
