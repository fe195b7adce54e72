"""Messages as they come: the same endpoint with `follow=true`, as lines of JSON or as server-sent events.

The stream ends after `limit` messages, when the topic goes, or when the client or the server does. Why it ended early
is the last thing sent: a line with `error`, `code`, `field` and `next_offset`, or an event named `error`, or `leaving`
if the server goes. A browser that reconnects sends the offset of the last event it saw, and goes on behind it.
"""

from collections.abc import Iterator

from goqueue.core.records.batch import Lane
from goqueue.core.records.record import Record
from goqueue.core.requests.messages import Fetched
from goqueue.core.requests.refusals import Code
from goqueue.transports.rest.bodies import MessageView, StreamEnd
from goqueue.transports.rest.call import Call, encoded
from goqueue.transports.rest.contents import PRIORITIES, Timestamps, message_view
from goqueue.transports.rest.decoding import whole_number
from goqueue.transports.rest.errors import RestError, invalid
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.reading import Range, asked_range, content_bytes, fetch, read_messages, records

EVENTS = "text/event-stream"
LINES = "application/x-ndjson"
# How long a stream may be silent: proxies cut what says nothing for a minute.
SILENCE_NS = 15 * 1_000_000_000
# A part of the stream is sent when it has this many bytes, so that a slow client holds back the reading.
PART_BYTES = 64 << 10


async def read_or_follow(call: Call) -> Answer:
    """GET /topics/{topic}/partitions/{partition}/messages, with or without `follow`."""
    if not call.query.get("follow"):
        return await read_messages(call)
    if "to_time" in call.query:
        raise invalid("to_time cannot be combined with follow", "to_time")
    last_event = call.question.header(b"last-event-id")
    if last_event:
        # A browser that connects again names the last event that it saw; the stream goes on after that one.
        call.query["offset"] = whole_number(last_event, "Last-Event-ID") + 1
        call.query.pop("from_time", None)
    wanted = await asked_range(call)
    # What is wrong with the request is found by the first fetch, while it can still be said with a status.
    first = await fetch(call, wanted, wanted.offset, 0)
    as_events = EVENTS in call.question.header(b"accept")
    parts = Following(call, wanted, first, as_events=as_events)
    return Answer(
        200, content_type=EVENTS if as_events else LINES, headers=(("Cache-Control", "no-store"),), parts=parts
    )


class Following:
    """The messages of a range as parts of a body, see `Parts`; `offset` is where it stands."""

    def __init__(self, call: Call, wanted: Range, first: Fetched, *, as_events: bool) -> None:
        self.offset = wanted.offset
        self._call = call
        self._wanted = wanted
        self._left = wanted.limit
        self._as_events = as_events
        self._fetched: Fetched | None = first
        self._records: Iterator[tuple[Record, Lane]] = records(first, wanted.offset)
        self._timestamps = Timestamps()
        self._ended = False

    async def next(self) -> bytes:
        """See Parts."""
        part = b""
        try:
            while not part and not self._ended:
                if self._fetched is None:
                    self._fetched = await fetch(self._call, self._wanted, self.offset, SILENCE_NS)
                    self._records = records(self._fetched, self.offset)
                part = self._written(self._fetched)
        except RestError as error:
            self._ended = True
            place = self.offset if error.next_offset is None else error.next_offset
            part = self._end("error", StreamEnd(error.message, error.code, error.field, place))
        return part

    def farewell(self) -> bytes:
        """See Parts."""
        self._ended = True
        said = f"the broker goes away; go on at offset {self.offset}, here in a while or at another node"
        return self._end("leaving", StreamEnd(said, Code.SHUTTING_DOWN, "", self.offset))

    def _written(self, fetched: Fetched) -> bytes:
        """A part's worth of what was fetched; at its end the next call fetches more."""
        part, count, size = bytearray(), 0, 0
        try:
            for record, lane in self._records:
                part += self._one(message_view(record, PRIORITIES[lane], self._timestamps.written(record.timestamp)))
                self.offset = record.offset + 1
                count += 1
                size += content_bytes(record)
                if count == self._left or len(part) >= PART_BYTES:
                    break
            else:
                self.offset = max(self.offset, fetched.next_offset)
                self._fetched = None
        except RestError:
            # What can be read goes first; the next call comes upon the error again.
            if not count:
                raise
            self._fetched = None
        self._count(count, size)
        return bytes(part) or (b":\n\n" if self._as_events else b"")

    def _count(self, count: int, size: int) -> None:
        if count:
            self._call.metrics.broker.count_consumed(self._wanted.topic, count, size)
        if self._left is not None:
            self._left -= count
            self._ended = self._left == 0

    def _one(self, view: MessageView) -> bytes:
        line = encoded(view)
        return b"id: %d\ndata: %b\n\n" % (view.offset, line) if self._as_events else line + b"\n"

    def _end(self, event: str, end: StreamEnd) -> bytes:
        line = encoded(end)
        return b"event: %b\ndata: %b\n\n" % (event.encode(), line) if self._as_events else line + b"\n"
