"""The codecs of a batch's records: gzip, snappy, LZ4 frames and zstd, with a bound on what may come out.

The work is done by cramjam, whose decompressors write into a buffer of ours and stop when it is full: that is the
bound. gzip members, LZ4 frames and zstd frames may follow one another, and need not say how large their content is; so
the buffer starts small and grows towards the bound, and a bomb costs no more memory than the bound allows. zstd also
wants a window, up to the 128 MiB at which its decoder refuses, and touches no more of it than it has decompressed.

Snappy says the size of each block at its front. Java's library, and Kafka with it, puts blocks of 32 KiB behind a
header of its own ("xerial"): `82 SNAPPY 00`, a version and the oldest compatible one, then every block with its length
in front. Some clients send one raw block instead, so both are read, and the first is written. The two versions are not
looked at, since some clients write them little-endian. LZ4 is written in independent blocks, the only ones that Kafka
reads.

Invariants: the size of what comes out is at most `max_bytes`; whatever goes in, BatchError is all that is raised.
"""

import struct
from collections.abc import Callable
from typing import TypeAlias

import cramjam

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import Codec
from goqueue.core.records.varint import INT32_MAX, Readable

# What a batch may decompress to where nobody says otherwise.
DECOMPRESSED_BYTES_MAX = 64 << 20

_Inflate: TypeAlias = Callable[[Readable, bytearray], int]

# Past these, 100 KB of JSON takes one and a half to three times the work to save a tenth, or nothing.
_QUICK_LEVELS = {Codec.GZIP: 4, Codec.LZ4: 1, Codec.ZSTD: 3}

_ROOM_BYTES_MIN = 64 << 10
_ROOM_PER_BYTE = 8
_ROOM_GROWTH = 4

_XERIAL_MAGIC = b"\x82SNAPPY\x00"
_XERIAL_HEADER = _XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_HEADER_BYTES = len(_XERIAL_HEADER)
_XERIAL_BLOCK_BYTES = 32 << 10
_BLOCK_SIZE = struct.Struct(">i")

# A copy of 64 bytes takes three in snappy, and nothing in it is denser; a block that claims more is lying.
_SNAPPY_RATIO_MAX = 22


def _words_when_full(squeezed: Readable, decompress_into: _Inflate) -> str:
    """What the decompressor says when the buffer is too small.

    It raises the same class for damage, and its words are no promise of its authors; so it is asked for them.
    """
    try:
        decompress_into(squeezed, bytearray(1))
    except cramjam.DecompressionError as error:
        return str(error)
    raise AssertionError("two bytes fitted into a buffer of one")


_WORDS_WHEN_FULL = {
    Codec.GZIP: _words_when_full(bytes(cramjam.gzip.compress(b"ab")), cramjam.gzip.decompress_into),
    Codec.LZ4: _words_when_full(bytes(cramjam.lz4.compress(b"ab")), cramjam.lz4.decompress_into),
    Codec.ZSTD: _words_when_full(bytes(cramjam.zstd.compress(b"ab")), cramjam.zstd.decompress_into),
}


def compress(codec: Codec, content: Readable, level: int | None = None) -> bytes:
    """`content` under `codec`, at its `level` or at one that is quick for what it saves."""
    if level is None:
        level = _QUICK_LEVELS.get(codec)
    match codec:
        case Codec.NONE:
            return bytes(content)
        case Codec.GZIP:
            return bytes(cramjam.gzip.compress(content, level))
        case Codec.SNAPPY:
            return _compress_xerial(content)
        case Codec.LZ4:
            compressor = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
            compressor.compress(content)
            return bytes(compressor.finish())
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(content, level))


def decompress(codec: Codec, content: Readable, max_bytes: int = DECOMPRESSED_BYTES_MAX) -> bytearray:
    """What `content` is under `codec`, or BatchError if it is nothing or is larger than `max_bytes`."""
    if not content:
        raise _corrupt(codec, "there is nothing to decompress")
    match codec:
        case Codec.NONE:
            if len(content) > max_bytes:
                raise _too_large(codec, max_bytes)
            return bytearray(content)
        case Codec.GZIP:
            return _inflate(codec, cramjam.gzip.decompress_into, content, max_bytes)
        case Codec.SNAPPY:
            return _decompress_snappy(content, max_bytes)
        case Codec.LZ4:
            return _inflate(codec, cramjam.lz4.decompress_into, content, max_bytes)
        case Codec.ZSTD:
            return _inflate(codec, cramjam.zstd.decompress_into, content, max_bytes)


def _inflate(codec: Codec, decompress_into: _Inflate, content: Readable, max_bytes: int) -> bytearray:
    """Decompress into a buffer of our own, a larger one as long as it was full and may be larger."""
    room = min(max_bytes, max(_ROOM_BYTES_MIN, _ROOM_PER_BYTE * len(content)))
    while True:
        output = bytearray(room)
        try:
            size = decompress_into(content, output)
        except cramjam.DecompressionError as error:
            if str(error) != _WORDS_WHEN_FULL[codec]:
                raise _corrupt(codec, error) from None
        else:
            del output[size:]
            return output
        if room == max_bytes:
            raise _too_large(codec, max_bytes)
        # Before the next one is allocated, so that there are never two.
        del output
        room = min(max_bytes, room * _ROOM_GROWTH)


def _compress_xerial(content: Readable) -> bytes:
    view = memoryview(content)
    parts: list[Readable] = [_XERIAL_HEADER]
    for start in range(0, len(view), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _XERIAL_BLOCK_BYTES]))
        parts += (_BLOCK_SIZE.pack(len(block)), block)
    return b"".join(parts)


def snappy_size(content: Readable) -> int:
    """How large snappy's blocks say that their content is. Raises BatchError."""
    try:
        return sum(_claimed_size(block) for block in _snappy_blocks(content))
    except cramjam.DecompressionError as error:
        raise _corrupt(Codec.SNAPPY, error) from None


def _snappy_blocks(content: Readable) -> list[memoryview]:
    view = memoryview(content)
    return _xerial_blocks(view) if view[:8] == _XERIAL_MAGIC else [view]


def _decompress_snappy(content: Readable, max_bytes: int) -> bytearray:
    """Add up what the blocks claim, refuse or allocate that, and only then decompress."""
    try:
        blocks = _snappy_blocks(content)
        sizes = [_claimed_size(block) for block in blocks]
        total = sum(sizes)
        if total > max_bytes:
            raise _too_large(Codec.SNAPPY, max_bytes)
        output, at = bytearray(total), 0
        with memoryview(output) as room:
            for block, size in zip(blocks, sizes, strict=True):
                cramjam.snappy.decompress_raw_into(block, room[at : at + size])
                at += size
    except cramjam.DecompressionError as error:
        raise _corrupt(Codec.SNAPPY, error) from None
    return output


def _xerial_blocks(view: memoryview) -> list[memoryview]:
    blocks: list[memoryview] = []
    at, end = _XERIAL_HEADER_BYTES, len(view)
    while at < end:
        # Streams that were concatenated bring their header along.
        if view[at : at + 8] == _XERIAL_MAGIC:
            at += _XERIAL_HEADER_BYTES
            continue
        start = at + _BLOCK_SIZE.size
        size = _BLOCK_SIZE.unpack_from(view, at)[0] if start <= end else -1
        if not 0 < size <= end - start:
            raise _corrupt(Codec.SNAPPY, "a block's length is wrong")
        at = start + size
        blocks.append(view[start:at])
    if at != end:
        raise _corrupt(Codec.SNAPPY, "it ends inside a header")
    return blocks


def _claimed_size(block: memoryview) -> int:
    size = cramjam.snappy.decompress_raw_len(block)
    if size > len(block) * _SNAPPY_RATIO_MAX or size > INT32_MAX:
        raise _corrupt(Codec.SNAPPY, f"{len(block)} bytes claim to hold {size}")
    return size


def _corrupt(codec: Codec, why: object) -> BatchError:
    return BatchError("compression", f"The records are not valid {codec.name.lower()}: {why}.")


def _too_large(codec: Codec, max_bytes: int) -> BatchError:
    said = f"The records decompress to more than {max_bytes} bytes from {codec.name.lower()}."
    return BatchError("oversize", said, status_hint=413)
