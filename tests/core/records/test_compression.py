"""Codecs: what was compressed here or elsewhere comes out, never more than the bound, and damage has one name."""

import gzip
import struct
import tracemalloc
from collections.abc import Callable
from functools import partial

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import Codec
from goqueue.core.records.compression import DECOMPRESSED_BYTES_MAX, compress, decompress
from tests.core.records.samples import refusal, refused

CODECS = [codec for codec in Codec if codec != Codec.NONE]
TEXT = b"".join(b"line %d of some text; " % (i * i) for i in range(5_000))
XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)

each_codec = pytest.mark.parametrize("codec", CODECS)


def snappy_block(content: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(content))


def xerial(*blocks: bytes, versions: bytes = struct.pack(">ii", 1, 1)) -> bytes:
    return b"\x82SNAPPY\x00" + versions + b"".join(struct.pack(">i", len(block)) + block for block in blocks)


@given(st.sampled_from(Codec), st.binary(min_size=1, max_size=2_000) | st.integers(1, 200_000).map(bytes))
def test_what_was_compressed_comes_out(codec: Codec, content: bytes) -> None:
    squeezed = compress(codec, content)
    assert decompress(codec, squeezed) == content
    assert decompress(codec, memoryview(b"before" + squeezed)[6:], len(content)) == content


@pytest.mark.parametrize("codec", Codec)
def test_the_bound_is_exact(codec: Codec) -> None:
    squeezed = compress(codec, TEXT)
    assert decompress(codec, squeezed, len(TEXT)) == TEXT
    for bound in (len(TEXT) - 1, 70_000, 1, 0):
        with refused("oversize"):
            decompress(codec, squeezed, bound)


def test_too_large_is_said_in_the_words_of_http() -> None:
    with pytest.raises(BatchError) as caught:
        decompress(Codec.GZIP, compress(Codec.GZIP, TEXT), 100)
    assert caught.value.status_hint == 413


def peak_bytes(call: Callable[[], object], reason: str) -> int:
    """The most memory that `call` takes, in Python's own count, until it refuses for `reason`."""
    tracemalloc.start()
    try:
        with refused(reason):
            call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def zstd_stream(content: bytes, repeat: int) -> bytes:
    stream = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters.from_level(3, window_log=27, write_content_size=False)
    ).compressobj()
    return b"".join(stream.compress(content) for _ in range(repeat)) + stream.flush()


ZEROS = bytes(1 << 20)
BOMBS: dict[str, tuple[Codec, Callable[[], bytes]]] = {
    "gzip": (Codec.GZIP, lambda: gzip.compress(ZEROS * 64)),
    "gzip in members": (Codec.GZIP, lambda: gzip.compress(ZEROS) * 64),
    "lz4": (Codec.LZ4, lambda: lz4.frame.compress(ZEROS * 64)),
    "lz4 in frames": (Codec.LZ4, lambda: lz4.frame.compress(ZEROS) * 64),
    "zstd": (Codec.ZSTD, lambda: zstandard.compress(ZEROS * 64)),
    "zstd in frames": (Codec.ZSTD, lambda: zstandard.compress(ZEROS) * 64),
    "zstd of unknown size and the largest window": (Codec.ZSTD, lambda: zstd_stream(ZEROS, 64)),
    "snappy": (Codec.SNAPPY, lambda: snappy_block(ZEROS * 64)),
    "snappy in blocks": (Codec.SNAPPY, lambda: xerial(*[snappy_block(ZEROS)] * 64)),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_no_more_memory_than_the_bound(name: str) -> None:
    codec, make = BOMBS[name]
    bomb, bound = make(), 2 << 20
    assert peak_bytes(partial(decompress, codec, bomb, bound), "oversize") < bound + (64 << 10)
    assert len(decompress(codec, bomb)) == 64 << 20 == DECOMPRESSED_BYTES_MAX


@pytest.mark.parametrize("claimed", [1 << 30, (1 << 32) - 1])
def test_a_snappy_block_that_claims_more_than_snappy_can_hold_is_refused_unallocated(claimed: int) -> None:
    spelled = bytearray()
    rest = claimed
    while rest >= 0x80:
        spelled.append(rest & 0x7F | 0x80)
        rest >>= 7
    spelled.append(rest)
    lie = bytes(spelled) + bytes(100)
    assert peak_bytes(partial(decompress, Codec.SNAPPY, lie, 1 << 40), "compression") < 64 << 10


@pytest.mark.parametrize(
    ("codec", "squeezed"),
    [
        (Codec.GZIP, gzip.compress(TEXT[:7_000], mtime=0) + gzip.compress(TEXT[7_000:], mtime=0)),
        (Codec.LZ4, lz4.frame.compress(TEXT[:7_000]) + lz4.frame.compress(TEXT[7_000:])),
        (Codec.ZSTD, zstandard.compress(TEXT[:7_000]) + zstandard.compress(TEXT[7_000:])),
        (Codec.SNAPPY, xerial(snappy_block(TEXT[:7_000])) + xerial(snappy_block(TEXT[7_000:]))),
    ],
)
def test_frames_that_follow_one_another_are_one_content(codec: Codec, squeezed: bytes) -> None:
    assert decompress(codec, squeezed) == TEXT


def test_zstd_needs_no_content_size_and_skips_what_is_skippable() -> None:
    assert decompress(Codec.ZSTD, zstd_stream(TEXT, 1)) == TEXT
    skippable = struct.pack("<II", 0x184D2A50, 3) + b"abc"
    assert decompress(Codec.ZSTD, skippable + zstandard.compress(TEXT)) == TEXT


@pytest.mark.parametrize("block_linked", [True, False])
@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("store_size", [True, False])
def test_lz4_frames_of_every_kind_are_read(block_linked: bool, checked: bool, store_size: bool) -> None:
    squeezed = lz4.frame.compress(
        TEXT * 3,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=block_linked,
        content_checksum=checked,
        block_checksum=checked,
        store_size=store_size,
    )
    assert decompress(Codec.LZ4, squeezed) == TEXT * 3


def test_lz4_is_written_in_independent_blocks() -> None:
    squeezed = compress(Codec.LZ4, TEXT * 3)
    assert squeezed[:4] == bytes.fromhex("04224d18")
    assert squeezed[4] & 0x20


def test_snappy_is_written_in_blocks_of_32_kib_behind_javas_header() -> None:
    content = TEXT[:70_000]
    blocks = [snappy_block(content[start : start + 32_768]) for start in range(0, 70_000, 32_768)]
    assert compress(Codec.SNAPPY, content) == xerial(*blocks)
    assert len(blocks) == 3


def test_snappy_is_read_raw_and_with_little_endian_versions_too() -> None:
    assert decompress(Codec.SNAPPY, snappy_block(TEXT)) == TEXT
    assert decompress(Codec.SNAPPY, xerial(snappy_block(TEXT), versions=struct.pack("<ii", 1, 1))) == TEXT


@pytest.mark.parametrize(
    "squeezed",
    [
        XERIAL[:15],
        XERIAL + b"\x00\x00\x00",
        XERIAL + struct.pack(">i", 0),
        XERIAL + struct.pack(">i", -1) + b"abc",
        XERIAL + struct.pack(">i", 4) + b"abc",
        XERIAL + struct.pack(">i", 3) + b"\xff\xff\xff",
        xerial(snappy_block(TEXT)) + XERIAL[:12],
        snappy_block(TEXT) + b"\x00",
    ],
)
def test_damaged_snappy_is_refused(squeezed: bytes) -> None:
    with refused("compression"):
        decompress(Codec.SNAPPY, squeezed)


@each_codec
def test_every_prefix_is_refused(codec: Codec) -> None:
    squeezed = compress(codec, TEXT[:300])
    for size in range(len(squeezed)):
        if codec == Codec.SNAPPY and size == len(XERIAL):
            continue  # A stream without a block: nothing was cut that it promised.
        with refused("compression"):
            decompress(codec, squeezed[:size])


def test_a_snappy_stream_without_blocks_is_empty() -> None:
    assert decompress(Codec.SNAPPY, XERIAL) == b""


@each_codec
def test_what_follows_the_last_frame_is_refused(codec: Codec) -> None:
    with refused("compression"):
        decompress(codec, compress(codec, TEXT) + b"something else")


@pytest.mark.parametrize("codec", Codec)
def test_nothing_is_nothing_under_any_codec(codec: Codec) -> None:
    with refused("compression"):
        decompress(codec, b"")


@each_codec
@given(content=st.binary(max_size=200))
def test_garbage_is_refused_or_is_within_the_bound(codec: Codec, content: bytes) -> None:
    output = bytearray()
    reason = refusal(lambda: output.extend(decompress(codec, content, 10_000)))
    assert reason in {None, "compression", "oversize"}
    assert len(output) <= 10_000


@each_codec
@given(
    changes=st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), min_size=1, max_size=6),
    cut=st.integers(0, 1 << 16),
)
def test_damage_is_refused_or_is_within_the_bound(codec: Codec, changes: list[tuple[int, int]], cut: int) -> None:
    squeezed = bytearray(compress(codec, TEXT[:3_000]))
    for at, byte in changes:
        squeezed[at % len(squeezed)] = byte
    damaged = squeezed[: cut % len(squeezed) + 1]
    output = bytearray()
    reason = refusal(lambda: output.extend(decompress(codec, damaged, 10_000)))
    assert reason in {None, "compression", "oversize"}
    assert len(output) <= 10_000
