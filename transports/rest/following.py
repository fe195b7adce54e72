"""Messages as they come: the same endpoint with `follow=true`, as lines of JSON or as server-sent events.

The stream ends after `limit` messages, when the topic goes, or when the client does. What goes wrong on the way is the
last thing sent: a line with `error`, `code` and `field`, or an event named `error`. A browser that reconnects sends the
offset of the last event it saw, and goes on behind it.
"""

from collections.abc import AsyncGenerator

from goqueue.core.verbs import Fetched
from goqueue.transports.rest.bodies import MessageView
from goqueue.transports.rest.call import Call, encoded
from goqueue.transports.rest.contents import PRIORITIES, Timestamps, message_view
from goqueue.transports.rest.decoding import whole_number
from goqueue.transports.rest.errors import RestError, error_body, invalid
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.reading import Range, asked_range, fetch, follows, read_messages, records

EVENTS = "text/event-stream"
LINES = "application/x-ndjson"
# How long a stream may be silent: proxies cut what says nothing for a minute.
SILENCE_NS = 15 * 1_000_000_000
# A part of the stream is sent when it has this many bytes, so that a slow client holds back the reading.
PART_BYTES = 64 << 10


async def read_or_follow(call: Call) -> Answer:
    """GET /topics/{topic}/partitions/{partition}/messages, with or without `follow`."""
    parameters = call.question.parameters()
    if not follows(parameters):
        return await read_messages(call)
    if "to_time" in parameters:
        raise invalid("to_time cannot be combined with follow", "to_time")
    if call.question.last_event:
        parameters["offset"] = str(whole_number(call.question.last_event, "Last-Event-ID") + 1)
        parameters.pop("from_time", None)
    wanted = await asked_range(call, parameters)
    # What is wrong with the request is found by the first fetch, while it can still be said with a status.
    first = await fetch(call, wanted, wanted.offset, 0)
    as_events = EVENTS in call.question.accept
    parts = _parts(call, wanted, first, as_events)
    return Answer(
        200, content_type=EVENTS if as_events else LINES, headers=(("Cache-Control", "no-store"),), parts=parts
    )


async def _parts(call: Call, wanted: Range, fetched: Fetched, as_events: bool) -> AsyncGenerator[bytes, None]:
    written = _event if as_events else _line
    offset, left = wanted.offset, wanted.limit
    timestamps = Timestamps()
    try:
        while True:
            part = bytearray()
            for record, lane in records(fetched, offset):
                view = message_view(record, PRIORITIES[lane], timestamps.written(record.timestamp))
                part += written(view)
                offset = record.offset + 1
                left = None if left is None else left - 1
                if left == 0:
                    break
                if len(part) >= PART_BYTES:
                    yield bytes(part)
                    part.clear()
            if part or as_events:
                yield bytes(part) or b":\n\n"
            if left == 0:
                return
            offset = max(offset, fetched.next_offset)
            fetched = await fetch(call, wanted, offset, SILENCE_NS)
    except RestError as error:
        body = error_body(error.code, error.message, error.field)
        yield b"event: error\ndata: " + body + b"\n\n" if as_events else body + b"\n"


def _line(view: MessageView) -> bytes:
    return encoded(view) + b"\n"


def _event(view: MessageView) -> bytes:
    return b"id: %d\ndata: %b\n\n" % (view.offset, encoded(view))
