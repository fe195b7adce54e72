"""Rows as batches: the same ones in every attempt, in order, where every client sends them, and named when wrong."""

from datetime import UTC, datetime
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.client.routing import Layout
from goqueue.core.log.producers import DERIVED_IDS
from goqueue.core.partition.partitioners import Partitioner, murmur2
from goqueue.core.records.batch import Codec, Lane, read_header
from goqueue.core.records.record import iterate
from goqueue.spark.sinking import partitions
from goqueue.spark.sinking.errors import UnwritableError
from goqueue.spark.sinking.identity import Work, producer_of
from goqueue.spark.sinking.packing import Packed, Packer
from goqueue.spark.sinking.partitions import Chooser

NOW_MS = 1_700_000_000_000
PAIRS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


def layout(count: int = 4, partitioner: str = "murmur2", bytes_max: int = 1 << 20, keyed: int = 0) -> Layout:
    """What is known of a topic."""
    return Layout("orders", ["b:1"] * count, partitioner, bytes_max, keyed)


def packer(found: Layout, *, work: Work | None = None, batch_bytes: int = 1 << 16, codec: Codec = Codec.NONE) -> Packer:
    """A task's packer."""
    return Packer(
        work or Work("nightly"), 3, lambda _topic: found, topic="orders", batch_bytes=batch_bytes,
        buffer_bytes=1 << 26, codec=codec,
    )  # fmt: skip


def packed(one: Packer, *pieces: pa.RecordBatch) -> list[Packed]:
    """All batches of these pieces."""
    return [made for piece in pieces for made in one.pack(piece, NOW_MS)] + [*one.finish()]


def rows(**columns: pa.Array) -> pa.RecordBatch:
    """A piece of a frame."""
    return pa.RecordBatch.from_pydict(columns)


keys = st.lists(st.one_of(st.none(), st.binary(max_size=20)), min_size=1, max_size=50)


@given(keys, st.sampled_from(["murmur2", "murmur3", "crc32"]), st.integers(1, 7), st.integers(0, 3))
def test_a_key_goes_where_every_client_sends_it(
    given_keys: list[bytes | None], partitioner: str, count: int, keyed: int
) -> None:
    expected = Partitioner(partitioner, count, keyed)
    chooser = Chooser(layout(count, partitioner, keyed=keyed), 0, 1 << 20)
    chosen = chooser.choose(pa.array(given_keys, pa.binary()), np.full(len(given_keys), 10))
    for key, partition in zip(given_keys, chosen.tolist(), strict=True):
        assert partition == (0 if key is None else expected.choose(key))


@given(st.lists(st.binary(max_size=70), max_size=30), st.integers(0, 5))
def test_many_keys_are_hashed_as_each_is(some: list[bytes], skipped: int) -> None:
    array = pa.array(some, pa.binary())[skipped:]
    assert partitions.murmur2(array).tolist() == [murmur2(key) for key in some[skipped:]]
    assert partitions.murmur2(array.cast(pa.large_binary())).tolist() == [murmur2(key) for key in some[skipped:]]


def test_rows_without_a_key_fill_one_partition_after_another_from_the_tasks_own_on() -> None:
    chooser = Chooser(layout(3), 2, 100)
    chosen = [*chooser.choose(None, np.full(3, 60)).tolist(), *chooser.choose(None, np.full(3, 60)).tolist()]
    assert chosen == [2, 2, 0, 0, 1, 2]


def test_round_robin_goes_on_from_piece_to_piece_and_looks_at_no_keys() -> None:
    chooser = Chooser(layout(3, "round_robin"), 1, 100)
    some = pa.array([b"k"] * 4, pa.binary())
    assert chooser.choose(some, np.full(4, 10)).tolist() == [1, 2, 0, 1]
    assert chooser.choose(some, np.full(4, 10)).tolist() == [2, 0, 1, 2]


values = st.lists(
    st.tuples(
        st.one_of(st.none(), st.binary(max_size=5)), st.one_of(st.none(), st.binary(max_size=200)), st.integers(0, 4)
    ),
    min_size=1,
    max_size=80,
)


@given(
    values, st.lists(st.integers(0, 80), max_size=6), st.integers(100, 600), st.sampled_from([Codec.NONE, Codec.ZSTD])
)
def test_how_rows_were_cut_into_pieces_changes_no_byte(
    some: list[tuple[bytes | None, bytes | None, int]], cuts: list[int], batch_bytes: int, codec: Codec
) -> None:
    given_keys, given_values, lanes = zip(*some, strict=True)
    whole = rows(
        key=pa.array(given_keys, pa.binary()),
        value=pa.array(given_values, pa.binary()),
        lane=pa.array(lanes, pa.int32()),
    )
    borders = sorted({0, len(some), *(min(cut, len(some)) for cut in cuts)})
    pieces = [whole.slice(begin, end - begin) for begin, end in pairwise(borders)]

    def batches(*given_pieces: pa.RecordBatch) -> dict[tuple[int, int], list[bytes]]:
        found: dict[tuple[int, int], list[bytes]] = {}
        for one in packed(packer(layout(), batch_bytes=batch_bytes, codec=codec), *given_pieces):
            found.setdefault((one.partition, read_header(one.content).lane), []).append(bytes(one.content))
        return found

    assert batches(whole) == batches(*pieces)
    for (_, lane), contents in batches(whole).items():
        headers = [read_header(content) for content in contents]
        assert [header.base_sequence for header in headers] == [
            sum(header.record_count for header in headers[:at]) for at in range(len(headers))
        ]
        assert {(header.producer_id, header.producer_epoch) for header in headers} == {
            producer_of(Work("nightly"), 3, Lane(lane))
        }


def test_a_row_keeps_everything_it_says() -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)
    [one] = packed(
        packer(layout()),
        rows(
            key=pa.array(["k", "k"]),
            value=pa.array(["v", None]),
            headers=pa.array([[{"key": "a", "value": b"1"}, {"key": "a", "value": None}], None], PAIRS),
            timestamp=pa.array([moment, None], pa.timestamp("us", "UTC")),
            lane=pa.array(["high", "HIGH"]),
            partition=pa.array([2, 2], pa.int32()),
            offset=pa.array([7, 8]),
        ),
    )
    assert (one.topic, one.partition, one.count, one.first_row) == ("orders", 2, 2, 0)
    assert read_header(one.content).lane is Lane.HIGH
    full, bare = iterate(one.content)
    assert (full.timestamp, full.key, full.value) == (int(moment.timestamp() * 1000), b"k", b"v")
    assert full.headers == (("a", b"1"), ("a", None))
    assert (bare.timestamp, bare.key, bare.value, bare.headers) == (NOW_MS, b"k", None, ())


def test_headers_may_come_as_a_map_and_in_pieces() -> None:
    kind = pa.map_(pa.string(), pa.string())
    whole = rows(
        value=pa.array([b"1", b"2", b"3", b"4"]),
        headers=pa.array([[("a", "1")], None, [], [("b", "2"), ("c", None)]], kind),
        partition=pa.array([0] * 4, pa.int32()),
    )
    [one] = packed(packer(layout()), whole.slice(0, 2), whole.slice(2, 1), whole.slice(3))
    assert [record.headers for record in iterate(one.content)] == [
        (("a", b"1"),), (), (), (("b", b"2"), ("c", None)),
    ]  # fmt: skip


def test_rows_of_several_topics_have_batches_and_sequences_of_their_own() -> None:
    found = {name: Layout(name, ["b:1"], "murmur2", 1 << 20) for name in ("orders", "audit")}
    made = Packer(Work("w"), 0, found.__getitem__, topic="orders", batch_bytes=1 << 16, buffer_bytes=1 << 26)
    batches = packed(made, rows(value=pa.array([b"1", b"2", b"3"]), topic=pa.array(["audit", None, "audit"])))
    told = {one.topic: [bytes(record.value or b"") for record in iterate(one.content)] for one in batches}
    assert told == {"audit": [b"1", b"3"], "orders": [b"2"]}
    assert {read_header(one.content).base_sequence for one in batches} == {0}


def test_a_row_that_is_larger_than_a_batch_has_one_of_its_own() -> None:
    batches = packed(packer(layout(1), batch_bytes=300), rows(value=pa.array([b"1", b"2" * 500, b"3"])))
    assert [one.count for one in batches] == [1, 1, 1]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"value": pa.array([b"", b"x" * 900])},
            "row 6 of task 3: orders takes messages of up to 500 bytes, and this one has",
        ),
        (
            {"value": pa.array([b"", b""]), "partition": pa.array([0, 4])},
            "row 6 of task 3: orders has partitions 0 to 3, not 4",
        ),
        (
            {"value": pa.array([b"", b""]), "lane": pa.array([1, 9])},
            "row 6 of the task: the lane is 9; it may be 0 to 4",
        ),
        ({"value": pa.array([b"", b""]), "lane": pa.array(["low", "fast"])}, "row 6 of the task: the lane is 'fast'"),
        (
            {"value": pa.array([b"", b""]), "timestamp": pa.array([0, -1], pa.timestamp("us", "UTC"))},
            "row 6 of the task: a message is of 1970 or later",
        ),
        (
            {"value": pa.array([b"", b""]), "headers": pa.array([[], [{"key": None, "value": b""}]], PAIRS)},
            "row 6 of the task has a header without a name",
        ),
        ({"value": pa.array([b"", b""]), "topic": pa.array(["orders", ""])}, "row 6 of the task names no topic"),
    ],
)
def test_a_row_that_can_be_no_message_is_named(columns: dict[str, pa.Array], said: str) -> None:
    one = packer(layout(bytes_max=500))
    assert [*one.pack(rows(value=pa.array([b"v"] * 5)), NOW_MS)] == []
    with pytest.raises(UnwritableError, match=said):
        [*one.pack(rows(**columns), NOW_MS)]


def test_a_task_is_known_by_its_work_its_number_its_batch_and_its_lane() -> None:
    one = producer_of(Work("w", 5), 1, Lane.NORMAL)
    assert one == producer_of(Work("w", 5), 1, Lane.NORMAL)
    assert producer_of(Work("w", 6), 1, Lane.NORMAL) == (one[0], 6)
    others = [
        producer_of(Work("w", 5), 2, Lane.NORMAL),
        producer_of(Work("v", 5), 1, Lane.NORMAL),
        producer_of(Work("w", 5), 1, Lane.LOW),
        producer_of(Work("w", 5 + (1 << 15)), 1, Lane.NORMAL),
        producer_of(Work("w1", 5), "", Lane.NORMAL),
    ]
    assert len({one[0], *(other[0] for other in others)}) == 6
    assert others[3][1] == one[1] == 5
    assert all(number in DERIVED_IDS for number, _ in [one, *others])


def test_where_the_order_across_lanes_is_kept_batches_end_with_their_lane() -> None:
    made = Packer(
        Work("w"), 0, lambda _: layout(2), topic="orders", batch_bytes=1 << 16, buffer_bytes=1 << 26, keeps_order=True
    )
    lanes = [0, 0, 2, 0, 2, 2]
    given = rows(
        value=pa.array([b"%d" % at for at in range(12)]),
        lane=pa.array([lane for lane in lanes for _ in range(2)]),
        partition=pa.array([0, 1] * 6),
    )
    batches = packed(made, given.slice(0, 5), given.slice(5))
    for partition in range(2):
        found = [one for one in batches if one.partition == partition]
        values = [int(record.value or b"") for one in found for record in iterate(one.content)]
        assert values == [*range(partition, 12, 2)]
        assert [int(read_header(one.content).lane) for one in found] == [0, 2, 0, 2]
        assert [read_header(one.content).base_sequence for one in found] == [0, 0, 2, 1]
