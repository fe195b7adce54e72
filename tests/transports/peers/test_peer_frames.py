"""Frames between nodes: whatever way their bytes come in, what was sent comes out, or one clear error."""

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.errors import ProtocolError
from goqueue.core.records.batch import Codec
from goqueue.core.records.compression import compress
from goqueue.core.records.varint import Readable
from goqueue.transports.peers.frames import (
    HEADER,
    RATIO_MAX,
    Frame,
    FrameReader,
    Kind,
    framed,
    letters_framed,
    letters_of,
)

BYTES_MAX = 1 << 20
CHUNK = 256


def joined(pieces: list[Readable]) -> bytes:
    return b"".join(pieces)


def fed(reader: FrameReader, content: bytes, steps: list[int]) -> list[Frame]:
    """The frames in `content`, which comes in steps of these sizes, over and over."""
    frames: list[Frame] = []
    at = turn = 0
    while at < len(content):
        room = reader.room()
        size = min(len(room), len(content) - at, steps[turn % len(steps)])
        room[:size] = content[at : at + size]
        frames += reader.received(size)
        at += size
        turn += 1
    return frames


@given(
    st.lists(st.lists(st.binary(max_size=700), min_size=1, max_size=4), max_size=5),
    st.lists(st.integers(1, 400), min_size=1, max_size=5),
    st.sampled_from([Codec.NONE, Codec.LZ4, Codec.ZSTD]),
)
def test_letters_come_out_as_they_went_in_however_they_are_cut(
    turns: list[list[bytes]], steps: list[int], codec: Codec
) -> None:
    content = b"".join(joined(letters_framed([[letter] for letter in letters], codec)) for letters in turns)
    frames = fed(FrameReader(BYTES_MAX, CHUNK), content, steps)
    assert [[bytes(letter) for letter in letters_of(frame, BYTES_MAX)] for frame in frames] == turns


def test_a_letter_in_pieces_is_one_letter_and_its_pieces_are_not_copied() -> None:
    long = bytes(5000)
    pieces = letters_framed([[b"a", long], [b"b"]])
    assert any(piece is long for piece in pieces)
    [frame] = fed(FrameReader(BYTES_MAX, CHUNK), joined(pieces), [64])
    assert [bytes(letter) for letter in letters_of(frame, BYTES_MAX)] == [b"a" + long, b"b"]


def test_letters_that_shrink_travel_compressed_and_others_as_they_are() -> None:
    assert len(joined(letters_framed([[bytes(10_000)]], Codec.LZ4))) < 1000
    short = joined(letters_framed([[b"short"]], Codec.ZSTD))
    assert b"short" in short


def test_a_body_that_was_handed_out_does_not_change_when_more_comes_in() -> None:
    reader = FrameReader(BYTES_MAX, CHUNK)
    [first] = fed(reader, joined(framed(Kind.LETTERS, [b"one"])), [CHUNK])
    fed(reader, joined(framed(Kind.LETTERS, [b"two"])), [CHUNK])
    assert bytes(first.body) == b"one"
    assert first.body.readonly


@pytest.mark.parametrize("at", [0, 3, 4, 5, 6, 8, 11, 12, 15])
def test_a_changed_byte_is_noticed(at: int) -> None:
    content = bytearray(joined(framed(Kind.LETTERS, [b"four"])))
    content[at] ^= 1
    reader = FrameReader(BYTES_MAX, CHUNK)
    with pytest.raises(ProtocolError):
        fed(reader, bytes(content) + bytes(CHUNK), [len(content)])


@pytest.mark.parametrize("bit", range(64))
def test_a_changed_bit_of_a_header_is_noticed_before_anything_is_taken_for_its_body(bit: int) -> None:
    """A reader that believed a wrong length would take signs of life for parts of a body that never ends."""
    head = bytearray(joined(framed(Kind.LETTERS, [b"four"])[:1]))
    head[bit // 8] ^= 1 << bit % 8
    with pytest.raises(ProtocolError, match="header was damaged"):
        fed(FrameReader(BYTES_MAX, CHUNK), bytes(head), [HEADER.size])


def test_a_kind_that_is_not_known_is_refused() -> None:
    unknown: Any = 99
    with pytest.raises(ProtocolError, match="of the kind 99"):
        fed(FrameReader(BYTES_MAX, CHUNK), joined(framed(unknown)), [HEADER.size])


def test_a_frame_that_claims_too_much_is_refused_before_memory_is_taken() -> None:
    head = joined(framed(Kind.LETTERS, [bytes(BYTES_MAX + 1)])[:1])
    with pytest.raises(ProtocolError, match="longer than 1048576"):
        fed(FrameReader(BYTES_MAX, CHUNK), head, [20])


def test_letters_that_decompress_to_too_much_are_refused() -> None:
    squeezed = compress(Codec.ZSTD, _letter(bytes(range(256)) * 2000))
    [frame] = fed(FrameReader(BYTES_MAX, CHUNK), joined(framed(Kind.LETTERS, [squeezed], Codec.ZSTD)), [CHUNK])
    with pytest.raises(ProtocolError, match="decompresses to more than 20000"):
        letters_of(frame, 20_000)


def _letter(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


def test_a_bomb_is_given_up_where_it_is_larger_than_its_bytes_allow() -> None:
    squeezed = compress(Codec.ZSTD, _letter(bytes(32 << 20)))
    most = len(squeezed) * RATIO_MAX
    assert most < 32 << 20
    with pytest.raises(ProtocolError, match=f"a frame of {len(squeezed)} bytes decompresses to more than {most}"):
        letters_of(Frame(Kind.LETTERS, Codec.ZSTD, memoryview(squeezed)), 64 << 20)


@pytest.mark.parametrize("codec", [Codec.LZ4, Codec.ZSTD])
def test_what_honest_nodes_compress_is_no_bomb_however_empty_it_is(codec: Codec) -> None:
    content = bytes(BYTES_MAX // 2)
    [frame] = fed(FrameReader(BYTES_MAX, CHUNK), joined(letters_framed([[content]], codec)), [CHUNK])
    assert [bytes(letter) for letter in letters_of(frame, BYTES_MAX)] == [content]


def test_what_is_too_large_for_its_reader_is_not_made_small_for_the_way() -> None:
    pieces = letters_framed([[b"ab" * 10_000]], Codec.LZ4, 10_000)
    assert sum(map(len, pieces)) > 20_000


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY])
def test_a_codec_in_which_peers_do_not_write_is_refused(codec: Codec) -> None:
    squeezed = compress(codec, _letter(b"abc" * 100))
    with pytest.raises(ProtocolError, match="in which peers do not write"):
        letters_of(Frame(Kind.LETTERS, codec, memoryview(squeezed)), BYTES_MAX)


@given(st.binary(max_size=600), st.integers(1, 300))
def test_garbage_is_refused_or_waits_for_more(content: bytes, step: int) -> None:
    try:
        frames = fed(FrameReader(1000, CHUNK), content, [step])
        for frame in frames:
            letters_of(frame, 1000)
    except ProtocolError:
        return
    assert all(len(frame.body) <= 1000 for frame in frames)


@given(st.binary(max_size=100), st.integers(0, 255))
def test_bodies_that_hold_no_letters_are_refused_or_read(body: bytes, codec: int) -> None:
    frame = Frame(Kind.LETTERS, codec, memoryview(body))
    try:
        letters = letters_of(frame, 1000)
    except ProtocolError:
        return
    assert sum(len(letter) + struct.calcsize(">I") for letter in letters) == len(body) or codec
