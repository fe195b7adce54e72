"""Between JSON and records: nothing is lost on the way there and back."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.records.batch import Lane
from goqueue.core.records.build import encode
from goqueue.core.records.record import iterate
from goqueue.core.requests.messages import NewRecord
from goqueue.core.requests.refusals import Code
from goqueue.transports.rest.bodies import MessageDraft, MessagesDraft
from goqueue.transports.rest.contents import LANES, PRIORITIES, message_view, new_record, new_records
from goqueue.transports.rest.decoding import decode_body, flag, span_ns, whole_number
from goqueue.transports.rest.errors import STATUS, RestError
from goqueue.transports.rest.times import read_time, written_span, written_time

CONTENT = st.none() | st.binary(max_size=30) | st.text(max_size=20).map(str.encode)
HEADERS = st.dictionaries(st.text(max_size=8), CONTENT, max_size=3).map(lambda headers: tuple(headers.items()))


@given(CONTENT, CONTENT, HEADERS, st.sampled_from(Lane))
def test_what_was_read_can_be_published_again_but_for_offset_and_timestamp(
    key: bytes | None, value: bytes | None, headers: tuple[tuple[str, bytes | None], ...], lane: Lane
) -> None:
    (record,) = iterate(encode([(1, key, value, headers)], lane=lane))
    view = msgspec.json.encode(message_view(record, PRIORITIES[lane], None))
    expected = NewRecord(key, value, headers, None, None, lane)
    assert new_record(decode_body(view, MessageDraft, is_lenient=True)) == expected
    read = msgspec.json.decode(view)
    del read["offset"], read["timestamp"]
    assert new_record(decode_body(msgspec.json.encode(read), MessageDraft)) == expected


DAY_MS = 24 * 3_600_000


@pytest.mark.parametrize(
    ("said", "delay_ms", "due_ms", "ttl_ms"),
    [
        ({"delay": "1h30m"}, 5_400_000, None, 0),
        ({"delay": "0s"}, 0, None, 0),
        ({"delay": "2900000d"}, 2_900_000 * DAY_MS, None, 0),
        ({"deliverAt": "1970-01-01T00:00:02.5Z"}, 0, 2_500, 0),
        ({"deliverAt": "1960-01-01T00:00:00Z"}, 0, 0, 0),
        ({"deliverAt": "9999-12-31T23:59:59.999Z"}, 0, 253_402_300_799_999, 0),
        ({"ttl": "250ms", "delay": "1s"}, 1_000, None, 250),
    ],
)
def test_when_a_message_is_due_and_when_it_is_over_is_kept(
    said: dict[str, str], delay_ms: int, due_ms: int | None, ttl_ms: int
) -> None:
    drafts = decode_body(msgspec.json.encode({"messages": [{"value": "a", **said}]}), MessagesDraft).messages
    assert new_records(drafts) == [NewRecord(None, b"a", (), None, None, Lane.NORMAL, delay_ms, due_ms, ttl_ms)]


@contextmanager
def accepted_or_refused() -> Iterator[None]:
    """Whatever comes in, a refusal that names a field is the only thing that may come out by raising."""
    refused: RestError | None = None
    try:
        yield
    except RestError as error:
        refused = error
    assert refused is None or (refused.status == 400 and refused.field)


@given(st.binary(max_size=60))
def test_any_body_is_read_or_refused(body: bytes) -> None:
    with accepted_or_refused():
        assert isinstance(decode_body(body, MessagesDraft), MessagesDraft)


def test_every_lane_has_its_word() -> None:
    assert set(PRIORITIES) == set(LANES.values()) == set(Lane)


def test_every_code_of_a_refusal_has_a_status() -> None:
    assert set(STATUS) == set(Code)


@given(st.integers(0, 1 << 62))
def test_a_time_is_written_so_that_it_can_be_read(timestamp_ms: int) -> None:
    written = written_time(timestamp_ms)
    assert written is not None
    assert read_time(written, "time") == min(timestamp_ms, 253_402_300_799_999)


def test_no_time_is_null() -> None:
    assert written_time(-1) is None


@pytest.mark.parametrize(
    ("text", "timestamp_ms"),
    [
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01T00:00:01.5z", 1500),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T01:00:00 01:00", 0),
        ("1969-01-01T00:00:00Z", 0),
        ("0001-01-01T00:00:00+23:59", 0),
    ],
)
def test_times_are_read_in_any_zone(text: str, timestamp_ms: int) -> None:
    assert read_time(text, "time") == timestamp_ms


@pytest.mark.parametrize(
    "text", ["", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z", "\u0662026-01-01T00:00:00Z", "1"]
)
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(RestError, match="must be a time"):
        read_time(text, "time")


@pytest.mark.parametrize(("span_ns", "text"), [(0, "0s"), (59_900_000_000, "59s"), (3_600_000_000_000, "1h0m0s")])
def test_a_span_is_written_to_the_second(span_ns: int, text: str) -> None:
    assert written_span(span_ns) == text


@given(st.text(max_size=30))
def test_any_text_is_a_number_a_flag_a_span_or_refused(text: str) -> None:
    for read in (whole_number, flag, lambda text, field: span_ns(text, field, 10**12)):
        with accepted_or_refused():
            assert read(text, "field") >= 0
