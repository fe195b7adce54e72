"""What a consumer hands out: every record that is wanted once, in order, however the batches come."""

from collections import defaultdict
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.client.fetching import Cursor, Fetching, Origin, UnreadableBatch
from goqueue.core.errors import BatchError
from goqueue.core.records.batch import stamp
from goqueue.core.records.build import encode
from goqueue.core.records.headers import Headers
from goqueue.fuzz.bytes.sealing import seal_batch


class Taken(NamedTuple):
    """What is made of a record."""

    origin: Origin
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


def batch(base: int, count: int, *, control: bool = False) -> bytes:
    """Records of offsets from `base` on, each of the time that is its offset."""
    made = encode([(base + place, None, b"%d" % (base + place), ()) for place in range(count)], control=control)
    stamp(made, base, 0)
    return bytes(made)


def drained(fetching: Fetching[Taken]) -> list[int]:
    """Everything that can be handed out, handed out."""
    offsets = []
    while (found := fetching.next()) is not None:
        cursor, records, _ = found
        for record in records:
            offsets.append(record.offset)
            fetching.handed(cursor, record.offset + 1)
    return offsets


def fetching_from(start: int, stop: int | None = None, stop_ms: int | None = None) -> tuple[Fetching[Taken], Cursor]:
    """A consumer of one partition."""
    cursor = Cursor("orders", 0, start, start, stop, stop_ms)
    return Fetching([cursor], Taken), cursor


def test_what_comes_before_the_start_is_left_out() -> None:
    fetching, cursor = fetching_from(3)
    fetching.received(cursor, batch(0, 5) + batch(5, 2), 7)
    assert drained(fetching) == [3, 4, 5, 6]
    assert cursor.position == cursor.fetched == 7


def test_it_ends_before_the_stop_in_the_middle_of_a_batch() -> None:
    fetching, cursor = fetching_from(0, stop=3)
    fetching.received(cursor, batch(0, 2) + batch(2, 5), 7)
    assert drained(fetching) == [0, 1, 2]
    assert fetching.is_done
    assert cursor.position == 3


def test_a_stop_that_is_behind_us_is_the_end() -> None:
    assert fetching_from(5, stop=5)[0].is_done
    assert fetching_from(0, stop=0)[0].is_done


def test_a_stop_in_a_gap_ends_it() -> None:
    fetching, cursor = fetching_from(0, stop=5)
    fetching.received(cursor, batch(0, 2), 8)
    assert drained(fetching) == [0, 1]
    assert fetching.is_done


def test_it_ends_at_the_first_record_of_a_time() -> None:
    fetching, cursor = fetching_from(0, stop_ms=4)
    fetching.received(cursor, batch(0, 3) + batch(3, 4), 7)
    assert drained(fetching) == [0, 1, 2, 3]
    assert fetching.is_done
    assert cursor.position == 4


def test_a_time_that_begins_a_batch_ends_it_there() -> None:
    fetching, cursor = fetching_from(0, stop_ms=3)
    fetching.received(cursor, batch(0, 3) + batch(3, 4), 7)
    assert drained(fetching) == [0, 1, 2]
    assert (fetching.is_done, cursor.position) == (True, 3)


def test_control_batches_are_passed_over() -> None:
    fetching, cursor = fetching_from(0)
    fetching.received(cursor, batch(0, 1, control=True) + batch(1, 1), 2)
    assert drained(fetching) == [1]


def test_only_what_has_not_come_to_its_stop_is_asked_for() -> None:
    cursors = [Cursor("orders", 0, 0, 0, 2), Cursor("orders", 1, 0, 0, 2), Cursor("orders", 2, 4, 4)]
    fetching = Fetching(cursors, Taken)
    fetching.received(cursors[0], batch(0, 2), 2)
    assert fetching.wanted() == cursors[1:]
    assert not fetching.is_done


def test_a_seek_forgets_what_came_and_undoes_the_end() -> None:
    fetching, cursor = fetching_from(0, stop=4)
    fetching.received(cursor, batch(0, 4), 4)
    assert drained(fetching) == [0, 1, 2, 3]
    fetching.seek(cursor, 2)
    assert not fetching.is_done
    assert (cursor.fetched, cursor.position) == (2, 2)
    fetching.received(cursor, batch(0, 4), 4)
    assert drained(fetching) == [2, 3]


def test_damaged_bytes_are_noticed() -> None:
    fetching, cursor = fetching_from(0)
    damaged = bytearray(batch(0, 2))
    damaged[-1] ^= 1
    fetching.received(cursor, bytes(damaged), 2)
    with pytest.raises(BatchError, match="CRC"):
        fetching.next()


def spoilt(base: int, count: int) -> bytes:
    """A batch with a right CRC whose last record cannot be read."""
    return seal_batch(batch(base, count)[:-1] + b"\x7f")


def test_whoever_comes_upon_what_cannot_be_read_is_told_where_to_go_on() -> None:
    fetching, cursor = fetching_from(0)
    run = batch(0, 2) + spoilt(2, 3) + batch(5, 1)
    fetching.received(cursor, run, 6)
    found = fetching.next()
    assert found is not None
    fetching.handed(cursor, 2)
    for _ in range(2):
        with pytest.raises(UnreadableBatch) as caught:
            fetching.next()
        assert (caught.value.offset, caught.value.next_offset) == (2, 5)
        assert cursor.position == 2
    fetching.seek(cursor, caught.value.next_offset)
    fetching.received(cursor, run, 6)
    assert drained(fetching) == [5]


def test_a_header_that_is_damaged_does_not_say_where_to_go_on() -> None:
    damaged = bytearray(batch(0, 2))
    damaged[23] = 0x7F
    fetching, cursor = fetching_from(0)
    fetching.received(cursor, bytes(damaged) + batch(2, 1), 3)
    with pytest.raises(UnreadableBatch, match="CRC") as caught:
        fetching.next()
    assert (caught.value.offset, caught.value.next_offset) == (0, 3)


@given(st.data())
def test_reconnecting_at_any_time_loses_and_repeats_nothing(data: st.DataObject) -> None:
    """The broker answers from a list; connections end between any two answers, while some are not read."""
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=12))
    bases = [sum(sizes[:place]) for place in range(len(sizes))]
    end = sum(sizes)
    cursors = [
        Cursor(
            "orders", partition, (start := data.draw(st.integers(0, end))), start, data.draw(st.integers(start, end))
        )
        for partition in range(2)
    ]
    wanted = {cursor.partition: list(range(cursor.fetched, cursor.stop or 0)) for cursor in cursors}
    fetching = Fetching(cursors, Taken)
    found: dict[int, list[int]] = defaultdict(list)
    while not fetching.is_done:
        subscribed = [(cursor, cursor.fetched) for cursor in fetching.wanted()]
        for cursor, offset in subscribed:
            last = max(place for place, base in enumerate(bases) if base <= offset)
            count = data.draw(st.integers(1, 3))
            run = [batch(base, size) for base, size in zip(bases, sizes, strict=True)][last : last + count]
            after = last + count
            fetching.received(cursor, b"".join(run), bases[after] if after < len(bases) else end)
        for _ in range(data.draw(st.integers(0 if subscribed else 1, 4))):
            got = fetching.next()
            if got is not None:
                cursor, records, _ = got
                found[cursor.partition] += [record.offset for record in records]
                fetching.handed(cursor, records[-1].offset + 1)
    assert {partition: found[partition] for partition in wanted} == wanted
