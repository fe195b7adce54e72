"""From batches to messages: what is skipped, and what cannot be read."""

import json

import pytest

from goqueue.core.records.batch import Codec, Lane, stamp
from goqueue.core.records.build import encode
from goqueue.core.requests.messages import Fetched
from goqueue.transports.rest.errors import RestError, error_body
from goqueue.transports.rest.reading import records
from goqueue.transports.rest.times import written_time


def batch(base_offset: int, *values: bytes, lane: Lane = Lane.NORMAL, control: bool = False) -> bytearray:
    written = encode([(1, None, value, ()) for value in values], lane=lane, control=control, codec=Codec.ZSTD)
    stamp(written, base_offset, 0)
    return written


def read(fetched: Fetched, offset: int) -> list[tuple[int, bytes, Lane]]:
    return [(record.offset, bytes(record.value or b""), lane) for record, lane in records(fetched, offset)]


RUN = batch(0, b"a", b"b", b"c") + batch(3, b"marker", control=True) + batch(4, b"d", lane=Lane.HIGH)


@pytest.mark.parametrize("offset", range(6))
def test_messages_below_the_offset_and_markers_are_skipped(offset: int) -> None:
    everything = [(0, b"a", Lane.NORMAL), (1, b"b", Lane.NORMAL), (2, b"c", Lane.NORMAL), (4, b"d", Lane.HIGH)]
    assert read(Fetched(RUN, 5, 5, 0), offset) == everything[min(offset, 3 if offset < 5 else 4) :]


def test_a_batch_that_was_published_unreadable_is_no_defect_and_says_where_to_go_on() -> None:
    spoilt = batch(7, b"a", b"b")
    spoilt[61:] = b"\xff" * (len(spoilt) - 61)
    with pytest.raises(RestError, match="Go on at 9") as caught:
        read(Fetched(spoilt, 9, 9, 0), 8)
    assert (caught.value.status, caught.value.code) == (422, "corrupt_batch")
    assert caught.value.next_offset == 9


def test_where_to_go_on_is_in_the_answer_and_else_nothing_of_it() -> None:
    said = error_body("corrupt_batch", "it is unreadable", "offset", 9)
    assert json.loads(said) == {
        "error": "it is unreadable", "code": "corrupt_batch", "outcome": "none", "field": "offset", "next_offset": 9,
    }  # fmt: skip
    assert b"next_offset" not in error_body("invalid_request", "it makes no sense")


@pytest.mark.parametrize("timestamp", [-(1 << 70), -2, -1, 0, (1 << 63) - 1, 1 << 70])
def test_any_time_can_be_written(timestamp: int) -> None:
    written = written_time(timestamp)
    assert written is None if timestamp < 0 else written is not None
