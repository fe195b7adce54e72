"""The checkpoint as a file: what is written is read back, and whatever else is there is refused with a sentence."""

import json

import pytest
from attrs import asdict, evolve
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.core.log.checkpoint import VERSION, Checkpoint, CheckpointError, decode_checkpoint, encode_checkpoint
from goqueue.core.log.segment import Segment

MOST = (1 << 63) - 1
numbers = st.integers(0, MOST)
times = st.integers(-1, MOST)


@st.composite
def segment_lists(draw: st.DrawFn) -> list[Segment]:
    """Segments in order: each begins where the one before ends, or later."""
    ends = sorted(draw(st.lists(numbers, max_size=10)))
    return [
        Segment(base, draw(numbers), draw(st.integers(base < end, MOST)), end, draw(times), draw(times))
        for base, end in zip(ends[::2], ends[1::2], strict=False)
    ]


@st.composite
def epoch_lists(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Epochs and their first offsets, both rising."""
    epochs = sorted(draw(st.sets(numbers, max_size=5)))
    starts = sorted(draw(st.sets(numbers, min_size=len(epochs), max_size=len(epochs))))
    return list(zip(epochs, starts, strict=True))


tables = st.none() | st.binary(max_size=40)
checkpoints = st.builds(Checkpoint, numbers, numbers, numbers, segment_lists(), epoch_lists(), tables)

SEGMENT_FIELDS = ("base", "generation", "size", "next_offset", "max_timestamp", "created_ms")
SEGMENT = Segment(10, 2, 4_096, 90, 1_700_000_000_000, 1_700_000_000_005)
SEGMENT_ITEMS = asdict(SEGMENT)
SAMPLE = Checkpoint(3, 12, 40, [SEGMENT, Segment(90, 0, 0, 90, -1, 1_700_000_000_009)], [(1, 12), (4, 60)], b"table")


def signed(body: bytes) -> bytes:
    """A file whose first line vouches for `body`, as somebody with an editor and patience might make."""
    return b"goqueue-checkpoint %08x\n" % crc32c(body) + body


def with_change(change: dict[str, object], *, without: str = "") -> bytes:
    """The sample with fields replaced, and one left out."""
    fields = json.loads(encode_checkpoint(SAMPLE).split(b"\n")[1]) | change
    fields.pop(without, None)
    return signed(json.dumps(fields).encode())


@given(checkpoints)
def test_what_is_written_is_read_back(checkpoint: Checkpoint) -> None:
    assert decode_checkpoint(encode_checkpoint(checkpoint)) == checkpoint


@pytest.mark.parametrize(
    "change",
    [
        {"incarnation": -1},
        {"start_offset": -5},
        {"segments": [{**SEGMENT_ITEMS, "size": -1}]},
        {"segments": [{**SEGMENT_ITEMS, "next_offset": 9}]},
        {"segments": [{**SEGMENT_ITEMS, "size": 0}]},
        {"segments": [SEGMENT_ITEMS, {**SEGMENT_ITEMS, "base": 89}]},
        {"epochs": [[3, 0], [2, 5]]},
        {"epochs": [[2, 5], [3, 5]]},
        {"epochs": [[-1, 5]]},
    ],
)
def test_what_no_log_could_have_written_is_refused_though_its_sum_is_right(change: dict[str, object]) -> None:
    with pytest.raises(CheckpointError, match="expected"):
        decode_checkpoint(with_change(change))


def test_an_operator_can_read_it() -> None:
    first, second, rest = encode_checkpoint(SAMPLE).split(b"\n")
    assert first.startswith(b"goqueue-checkpoint ")
    assert rest == b""
    fields = json.loads(second)
    assert fields["version"] == VERSION
    assert fields["segments"][0] == {
        "base": 10,
        "generation": 2,
        "size": 4_096,
        "next_offset": 90,
        "max_timestamp": 1_700_000_000_000,
        "created_ms": 1_700_000_000_005,
    }
    assert fields["epochs"] == [[1, 12], [4, 60]]
    assert fields["producers"] == "dGFibGU="


def test_one_without_producers_is_what_the_first_version_wrote() -> None:
    without = evolve(SAMPLE, producers=b"")
    fields = json.loads(encode_checkpoint(without).split(b"\n")[1])
    assert fields["version"] == 1
    assert "producers" not in fields
    assert decode_checkpoint(encode_checkpoint(without)) == without


@pytest.mark.parametrize("table", ["dGFibGU", "dGFi bGU=", "d", "dGFibGU=\n", "\xe4", 1, [], False])
def test_a_table_of_producers_that_is_no_base64_is_refused(table: object) -> None:
    with pytest.raises(CheckpointError, match="expected a table of producers") as caught:
        decode_checkpoint(with_change({"producers": table}))
    assert not caught.value.newer


def test_the_first_version_knows_of_no_table() -> None:
    with pytest.raises(CheckpointError, match="and nothing else"):
        decode_checkpoint(with_change({"version": 1}))


def test_it_ends_where_its_last_segment_does() -> None:
    assert SAMPLE.next_offset == 90
    assert Checkpoint(start_offset=7).next_offset == 7


def test_every_bit_flipped_is_noticed() -> None:
    content = bytearray(encode_checkpoint(SAMPLE))
    for bit in range(8 * len(content)):
        content[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CheckpointError) as caught:
            decode_checkpoint(bytes(content))
        assert not caught.value.newer, f"bit {bit} passes for a newer version"
        content[bit // 8] ^= 1 << bit % 8
    assert decode_checkpoint(bytes(content)) == SAMPLE


def test_a_file_cut_anywhere_is_noticed() -> None:
    content = encode_checkpoint(SAMPLE)
    for size in range(len(content)):
        with pytest.raises(CheckpointError):
            decode_checkpoint(content[:size])


@given(st.binary(max_size=100) | st.binary(max_size=100).map(lambda tail: encode_checkpoint(SAMPLE) + tail))
def test_garbage_is_refused_and_nothing_else_happens(garbage: bytes) -> None:
    if garbage != encode_checkpoint(SAMPLE):
        with pytest.raises(CheckpointError):
            decode_checkpoint(garbage)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(["version", "incarnation", "segments", "epochs", "cleaned_offset", "more"]), anything)
def test_a_field_of_any_other_kind_is_refused_though_the_crc_fits(name: str, value: object) -> None:
    content = with_change({name: value})
    if name in ("segments", "epochs"):
        acceptable = value == []
    elif name == "version":
        acceptable = value is not True and value == VERSION and type(value) is int
    else:
        acceptable = name != "more" and type(value) is int and 0 <= value <= MOST
    if acceptable:
        read = decode_checkpoint(content)
        assert read == SAMPLE if name == "version" else getattr(read, name) == value
        return
    with pytest.raises(CheckpointError) as caught:
        decode_checkpoint(content)
    assert caught.value.newer == (name == "version" and type(value) is int and value > VERSION)


NAMES = ("version", "incarnation", "start_offset", "cleaned_offset", "segments", "epochs", "producers")


@pytest.mark.parametrize("name", NAMES)
def test_a_field_that_is_missing_is_missed(name: str) -> None:
    with pytest.raises(CheckpointError):
        decode_checkpoint(with_change({}, without=name))


@pytest.mark.parametrize(
    "change",
    [
        {"segments": [{"base": 0}]},
        {"segments": [[10, 2, 4_096, 90, 0, 0]]},
        {"segments": [dict.fromkeys(SEGMENT_FIELDS, "0")]},
        {"epochs": [[1]]},
        {"epochs": [[1, 2, 3]]},
        {"epochs": [["1", 2]]},
        {"epochs": [{"1": 2}]},
        {"start_offset": True},
        {"start_offset": 1.0},
        {"start_offset": 1 << 63},
    ],
    ids=str,
)
def test_a_field_of_nearly_the_right_kind_is_refused_too(change: dict[str, object]) -> None:
    with pytest.raises(CheckpointError) as caught:
        decode_checkpoint(with_change(change))
    assert not caught.value.newer


BODIES = (b"", b"\n", b"null", b"[]", b'"text"', b"\xff\xfe", b"{", b"NaN", b'{"version":1e999}')


@pytest.mark.parametrize("body", [*BODIES, b"[" * 100_000, b"1" * 5_000], ids=lambda body: repr(body[:12]))
def test_a_body_that_is_no_object_is_refused_though_the_crc_fits(body: bytes) -> None:
    with pytest.raises(CheckpointError):
        decode_checkpoint(signed(body))


@pytest.mark.parametrize("change", [{"version": 3}, {"version": 3, "segments": "in some other form", "more": 1}])
def test_a_newer_version_is_refused_by_its_number(change: dict[str, object]) -> None:
    with pytest.raises(CheckpointError, match="has version 3, this release reads versions up to 2") as caught:
        decode_checkpoint(with_change(change))
    assert caught.value.newer


def test_an_older_version_is_not_taken_for_a_newer_one() -> None:
    with pytest.raises(CheckpointError, match="has version 0") as caught:
        decode_checkpoint(with_change({"version": 0}))
    assert not caught.value.newer


@settings(max_examples=20)
@given(checkpoints)
def test_the_same_checkpoint_is_the_same_bytes(checkpoint: Checkpoint) -> None:
    assert encode_checkpoint(checkpoint) == encode_checkpoint(decode_checkpoint(encode_checkpoint(checkpoint)))
