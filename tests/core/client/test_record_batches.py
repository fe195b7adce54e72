"""A parcel: what is added travels, under the numbers it was last given, and is settled once."""

from random import Random

import pytest

from goqueue.core.client.failure import Failure
from goqueue.core.client.record_batch import RECORD_BYTES_MAX, RecordBatch, headers_bytes_max
from goqueue.core.client.routing import Layout, Route
from goqueue.core.records.batch import Codec, Lane, validate_exact
from goqueue.core.records.build import Entry
from goqueue.core.records.record import iterate
from goqueue.core.timers.backoff import Backoff

ENTRIES: list[Entry] = [(1000, b"k", b"v" * 10, ()), (1001, None, None, (("a", b"1"), ("ü", None)))]


def parcel(entries: list[Entry], lane: Lane = Lane.NORMAL) -> RecordBatch:
    """A parcel with these records."""
    pipeline = Route(Layout("orders", [""], "murmur3", 1 << 20), Random(1), 5).pipelines[0]
    made = RecordBatch(None, pipeline, lane, 0, 1 << 20)
    made.entries.extend(entries)
    return made


@pytest.mark.parametrize("codec", list(Codec))
def test_what_was_added_travels(codec: Codec) -> None:
    content = parcel(ENTRIES, Lane.HIGH).seal(codec, 7, 2, 30)
    header = validate_exact(content)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 30)
    assert (header.codec, header.lane) == (codec, Lane.HIGH)
    found = [(each.timestamp, each.key, each.value, each.headers) for each in iterate(content)]
    assert found == ENTRIES


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_other_numbers_give_the_batch_that_would_have_been_made_with_them(codec: Codec) -> None:
    changed = parcel(ENTRIES)
    changed.seal(codec, 7, 2, 30)
    changed.renumber(9, 0, 5)
    assert changed.content == parcel(ENTRIES).seal(codec, 9, 0, 5)
    assert changed.sequence == 5


@pytest.mark.parametrize("count", [1, 2, 300])
@pytest.mark.parametrize("entry", ENTRIES)
def test_the_size_that_is_reckoned_with_is_never_too_small(entry: Entry, count: int) -> None:
    entries = [(1 << 60, *entry[1:])] + [entry] * (count - 1)
    made = parcel(entries)
    each = RECORD_BYTES_MAX + len(entry[1] or b"") + len(entry[2] or b"") + headers_bytes_max(entry[3])
    assert len(made.seal(Codec.NONE, 1, 0, 0)) <= made.size + each * count


def test_one_outcome_serves_all_and_holds_no_records() -> None:
    made = parcel(ENTRIES)
    made.seal(Codec.NONE, 1, 0, 0)
    made.settle(100, None)
    assert made.look(0) is None
    assert (made.offset, made.content, made.entries, made.unseen) == (100, None, [], 0)


def test_failures_that_nobody_looked_at_are_counted_by_record() -> None:
    made = parcel(ENTRIES)
    made.settle(-1, Failure("too_large", "too large"))
    assert made.unseen == 2
    made.look(1)
    made.look(1)
    assert made.unseen == 1


def test_waits_grow_to_a_bound_and_differ() -> None:
    backoff = Backoff(Random(3), 100, 1000)
    for attempts, span in ((1, 100), (2, 200), (3, 400), (5, 1000), (500, 1000)):
        waits = [backoff.delay_ns(attempts) for _ in range(50)]
        assert span // 2 <= min(waits) < max(waits) <= span
