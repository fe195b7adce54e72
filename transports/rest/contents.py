"""Keys, values and headers between JSON, which holds text, and records, which hold bytes.

Where key or value is no UTF-8, both travel as base64 and the message says so; likewise the values of its headers. So
what was read can be published again as it is.
"""

import binascii
from typing import get_args

from goqueue.core.records.batch import Lane
from goqueue.core.records.headers import Headers
from goqueue.core.records.record import Record
from goqueue.core.records.varint import Readable
from goqueue.core.requests.messages import NewRecord
from goqueue.transports.rest.bodies import Encoding, MessageDraft, MessageView, Priority
from goqueue.transports.rest.decoding import span_ms
from goqueue.transports.rest.errors import invalid
from goqueue.transports.rest.times import read_time, written_time

LANES: dict[str, Lane] = {word: Lane[word.upper()] for word in get_args(Priority)}
PRIORITIES: dict[Lane, Priority] = {Lane[word.upper()]: word for word in get_args(Priority)}
# Nobody means more, and the calendar of RFC 3339 has not many more days.
SPAN_MS_MAX = 2_900_000 * 24 * 3_600_000


def new_records(drafts: list[MessageDraft]) -> list[NewRecord]:
    """The records that the messages of one body ask for; the usual message costs no further call."""
    records: list[NewRecord] = []
    for at, draft in enumerate(drafts):
        later = draft.delay is not None or draft.deliverAt is not None or draft.ttl is not None
        if later or draft.headers or draft.encoding != "utf-8":
            records.append(new_record(draft, f"messages[{at}]."))
            continue
        key, value = draft.key, draft.value
        try:
            record = NewRecord(
                None if key is None else key.encode(), None if value is None else value.encode(),
                (), draft.partition, None, LANES[draft.priority],
            )  # fmt: skip
        except UnicodeEncodeError:
            record = new_record(draft, f"messages[{at}].")
        records.append(record)
    return records


def new_record(draft: MessageDraft, place: str = "") -> NewRecord:
    """The record that a draft asks for; `place` is where in the body the draft stood, as `messages[3].`."""
    if draft.encoding == "utf-8":
        key = None if draft.key is None else _encoded(draft.key, f"{place}key")
        value = None if draft.value is None else _encoded(draft.value, f"{place}value")
    else:
        key = None if draft.key is None else _unpacked(draft.key, f"{place}key")
        value = None if draft.value is None else _unpacked(draft.value, f"{place}value")
    headers = _headers(draft, place) if draft.headers else ()
    delay_ms, due_ms = due(draft.delay, draft.deliverAt, place)
    ttl_ms = 0 if draft.ttl is None else span_ms(draft.ttl, f"{place}ttl", SPAN_MS_MAX, 1)
    return NewRecord(key, value, headers, draft.partition, None, LANES[draft.priority], delay_ms, due_ms, ttl_ms)


def due(delay: str | None, deliver_at: str | None, place: str = "") -> tuple[int, int | None]:
    """When a message is to be delivered: after so many milliseconds, or at a time in milliseconds since 1970."""
    if delay is not None and deliver_at is not None:
        raise invalid("delay and deliverAt both say when to deliver; give one", f"{place}deliverAt")
    delay_ms = 0 if delay is None else span_ms(delay, f"{place}delay", SPAN_MS_MAX)
    return delay_ms, None if deliver_at is None else read_time(deliver_at, f"{place}deliverAt")


def content_of(text: str, encoding: Encoding, field: str) -> bytes:
    """What a text stands for."""
    return _encoded(text, field) if encoding == "utf-8" else _unpacked(text, field)


def _headers(draft: MessageDraft, place: str) -> Headers:
    translate = _encoded if draft.headers_encoding == "utf-8" else _unpacked
    headers = []
    for name, text in draft.headers.items():
        field = f"{place}headers.{name}"
        _encoded(name, f"{place}headers")
        headers.append((name, None if text is None else translate(text, field)))
    return tuple(headers)


def _encoded(text: str, field: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise invalid(f"{field} holds half of a surrogate pair, which is no text", field) from None


def _unpacked(text: str, field: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        raise invalid(f"{field} is no base64, which its encoding says it is", field) from None


def message_view(record: Record, priority: Priority, timestamp: str | None) -> MessageView:
    """A record as JSON says it; `timestamp` is the record's, already written."""
    key, value = record.key, record.value
    try:
        view = MessageView(
            record.offset, timestamp,
            None if key is None else str(key, "utf-8"),
            None if value is None else str(value, "utf-8"),
            {}, priority,
        )  # fmt: skip
    except UnicodeDecodeError:
        view = MessageView(record.offset, timestamp, _packed(key), _packed(value), {}, priority, "base64")
    if record.headers:
        _add_headers(view, record.headers)
    return view


def _add_headers(view: MessageView, headers: Headers) -> None:
    try:
        view.headers = {name: None if text is None else text.decode() for name, text in headers}
    except UnicodeDecodeError:
        view.headers = {name: _packed(text) for name, text in headers}
        view.headers_encoding = "base64"


def _packed(content: Readable | None) -> str | None:
    return None if content is None else binascii.b2a_base64(content, newline=False).decode()


class Timestamps:
    """Writes the times of records; those of one batch are often the same, and the last one is remembered."""

    __slots__ = ("_timestamp", "_written")

    def __init__(self) -> None:
        self._timestamp = -1
        self._written: str | None = None

    def written(self, timestamp_ms: int) -> str | None:
        """A record's time."""
        if timestamp_ms != self._timestamp:
            self._timestamp = timestamp_ms
            self._written = written_time(timestamp_ms)
        return self._written
