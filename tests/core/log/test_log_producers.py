"""The table of producers: what is remembered of each, for how long, and that it comes back from its bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.log.checkpoint import CheckpointError, decode_checkpoint
from goqueue.core.log.effects import Commit, Cut, Effect
from goqueue.core.log.producers import EXPIRY_MS, REMEMBERED, Produced, Producers, advance
from goqueue.core.records.batch import Header, read_header, stamp
from goqueue.core.records.build import encode
from goqueue.core.records.control import ControlMarker, encode_marker
from goqueue.core.records.varint import INT32_MAX
from tests.core.log.batches import WALL_MS, empty_log, ms, settings_of


def header_of(producer_id: int, first: int, count: int = 1, epoch: int = 0, timestamp: int = WALL_MS) -> Header:
    """The header of a producer's batch."""
    return read_header(sequenced(producer_id, first, count, epoch, timestamp))


def sequenced(producer_id: int, first: int, count: int = 1, epoch: int = 0, timestamp: int = WALL_MS) -> bytearray:
    """A producer's batch."""
    entries = [(timestamp, None, b"v", ())] * count
    return encode(entries, producer_id=producer_id, producer_epoch=epoch, base_sequence=first)


def table(*headers: Header) -> Producers:
    """What is left of these batches, entered one after another at offsets that rise by a hundred."""
    producers = Producers()
    for at, header in enumerate(headers):
        producers.enter(header, 100 * at, WALL_MS + at)
        producers.check()
    return producers


def test_the_last_five_batches_of_a_producer_are_remembered() -> None:
    producers = table(*[header_of(7, 2 * number, 2) for number in range(8)])
    assert producers.last(7) == (0, 15)
    assert producers.batches(7) == [Produced(2 * at, 2 * at + 1, 100 * at, WALL_MS) for at in range(3, 8)]
    assert [one.next_offset for one in producers.batches(7)] == [302, 402, 502, 602, 702]
    assert len(producers.batches(7)) == REMEMBERED


def test_a_producer_that_wrote_nothing_is_not_known() -> None:
    producers = table(header_of(7, 0))
    assert producers.last(8) is None
    assert producers.batches(8) == []


def test_another_epoch_begins_anew() -> None:
    producers = table(header_of(7, 0), header_of(7, 1), header_of(7, 0, epoch=3))
    assert producers.last(7) == (3, 0)
    assert producers.batches(7) == [Produced(0, 0, 200, WALL_MS)]


def test_sequences_go_on_from_zero_behind_the_largest() -> None:
    assert advance(INT32_MAX, 1) == 0
    assert advance(INT32_MAX - 1, 3) == 1
    producers = table(header_of(7, INT32_MAX - 1, 4))
    assert producers.last(7) == (0, 1)
    assert producers.batches(7)[0].next_offset == 4


def test_batches_without_epoch_and_sequence_leave_no_trace() -> None:
    producers = table(read_header(encode([(1, None, b"v", ())])))
    producers.enter(header_of(7, 0)._replace(producer_epoch=-2), 0, WALL_MS)
    producers.enter(read_header(encode_marker(ControlMarker(True, 0), WALL_MS, 7, 0)), 0, WALL_MS)
    assert (len(producers), producers.encode()) == (0, b"")


def test_a_producer_idle_for_a_day_is_forgotten_when_another_comes() -> None:
    producers = Producers()
    producers.enter(header_of(1, 0), 0, WALL_MS)
    producers.enter(header_of(2, 0), 1, WALL_MS + 1)
    producers.enter(header_of(3, 0), 2, WALL_MS + EXPIRY_MS - 1)
    assert producers.last(1) == (0, 0)
    producers.enter(header_of(4, 0), 3, WALL_MS + EXPIRY_MS)
    assert [producers.last(number) for number in (1, 2, 3, 4)] == [None, (0, 0), (0, 0), (0, 0)]


def test_of_too_many_the_one_unused_for_longest_leaves() -> None:
    producers = Producers(most=3)
    for producer_id, sequence in ((1, 0), (2, 0), (3, 0), (1, 1), (4, 0)):
        producers.enter(header_of(producer_id, sequence), 0, WALL_MS)
        producers.check()
    assert [producers.last(number) for number in (1, 2, 3, 4)] == [(0, 1), None, (0, 0), (0, 0)]


entries = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, INT32_MAX), st.integers(1, 3), st.integers(0, 2)), max_size=40
)


@given(entries)
def test_a_table_comes_back_from_its_bytes_in_the_same_order(given_entries: list[tuple[int, int, int, int]]) -> None:
    producers = table(*[header_of(*entry) for entry in given_entries])
    content = producers.encode()
    again = Producers.decode(content)
    again.check()
    assert again.encode() == content
    for producer_id in range(6):
        assert again.last(producer_id) == producers.last(producer_id)
        assert again.batches(producer_id) == producers.batches(producer_id)


def test_bytes_cut_anywhere_are_refused() -> None:
    content = table(header_of(1, 0), header_of(2, 0), header_of(2, 1)).encode()
    whole = len(table(header_of(1, 0)).encode())
    for size in range(2, len(content)):
        if size != whole:
            with pytest.raises(CheckpointError):
                Producers.decode(content[:size])


@given(st.binary(max_size=150).map(lambda content: b"\x01" + content))
def test_garbage_is_a_table_or_refused(content: bytes) -> None:
    try:
        producers = Producers.decode(content)
    except CheckpointError:
        return
    producers.check()
    assert producers.encode() == (content if len(producers) else b"")


def test_a_producer_twice_is_refused() -> None:
    row = table(header_of(1, 0)).encode()[1:]
    with pytest.raises(CheckpointError, match="found two of 1"):
        Producers.decode(b"\x01" + row + row)


def test_a_newer_table_is_refused_by_its_version() -> None:
    with pytest.raises(CheckpointError, match="has version 2, this release reads version 1") as caught:
        Producers.decode(b"\x02anything")
    assert caught.value.newer


def checkpoint_in(effects: list[Effect]) -> bytes | None:
    """The table in the one checkpoint among some effects."""
    [content] = [effect.checkpoint for effect in effects if isinstance(effect, Commit | Cut)]
    return decode_checkpoint(content).producers


def test_a_log_enters_what_is_appended_and_what_is_replicated() -> None:
    log = empty_log()
    log.append(ms(5), sequenced(7, 0, 3))
    replicated = sequenced(7, 3, 2)
    stamp(replicated, 9, 0)
    log.replicate(ms(6), replicated)
    assert log.producers.batches(7) == [Produced(0, 2, 0, WALL_MS), Produced(3, 4, 9, WALL_MS)]


def test_a_checkpoint_holds_the_table_as_it_is_where_it_ends() -> None:
    log = empty_log(settings_of(segment_bytes=150))
    for sequence in range(3):
        log.append(0, sequenced(7, sequence))
    content = checkpoint_in(log.take(0))
    assert content == log.producers.encode()
    assert Producers.decode(content).last(7) == (0, 2)


def test_a_log_without_producers_writes_no_table() -> None:
    log = empty_log()
    log.append(0, encode([(1, None, b"v", ())]))
    log.close(0)
    assert checkpoint_in(log.take(0)) == b""


def test_after_a_cut_only_the_batches_can_tell() -> None:
    log = empty_log()
    log.append(0, sequenced(7, 0))
    log.append(0, sequenced(7, 1))
    log.truncate(0, 1)
    assert checkpoint_in(log.take(0)) is None


def test_a_cut_of_a_log_without_producers_leaves_nothing_to_be_told() -> None:
    log = empty_log()
    log.append(0, encode([(1, None, b"v", ())]))
    log.truncate(0, 0)
    assert checkpoint_in(log.take(0)) == b""
