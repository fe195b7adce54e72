"""Compressed records: the four codecs, and the bound on what comes out of them.

The first byte chooses the codec, the rest is what is decompressed. Invariants, for any bytes:
- the answer is bytes within the bound, or BatchError;
- the bound decides only whether: with just enough room the answer is the same, with a byte less there is none;
- what is compressed comes back.
"""

from random import Random

import cramjam

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import Codec
from goqueue.core.records.compression import compress, decompress
from goqueue.fuzz.bytes.target import Havoc, Target, attempt

_BYTES_MAX = 1 << 20
_CODECS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)


def check(content: bytes) -> None:
    """All invariants, for `content` as a codec and something compressed."""
    if not content:
        return
    codec, packed = _CODECS[content[0] % len(_CODECS)], content[1:]
    assert decompress(codec, compress(codec, packed), len(packed)) == packed
    whole = attempt(BatchError, lambda: decompress(codec, packed, _BYTES_MAX))
    if isinstance(whole, BatchError):
        assert isinstance(attempt(BatchError, lambda: decompress(codec, packed, 1000)), BatchError)
        return
    assert len(whole) <= _BYTES_MAX
    assert decompress(codec, packed, len(whole)) == whole
    if whole:
        short = attempt(BatchError, lambda: decompress(codec, packed, len(whole) - 1))
        assert isinstance(short, BatchError)


def seeds() -> list[bytes]:
    """Contents of several kinds under each codec, and bombs."""
    contents = (b"", b"a", b"text, text, text " * 20, bytes(range(256)) * 2, bytes(100_000))
    found = [bytes([at]) + compress(codec, content) for at, codec in enumerate(_CODECS) for content in contents]
    bomb = bytes(4 << 20)
    found += [b"\x00" + compress(Codec.GZIP, bomb), b"\x03" + compress(Codec.ZSTD, bomb)]
    found.append(b"\x01" + bytes(cramjam.snappy.compress_raw(contents[2])))
    found.append(b"\x01" + compress(Codec.SNAPPY, contents[2]) * 2)
    found.append(b"\x03" + compress(Codec.ZSTD, contents[2]) * 2)
    return found


def mutate(content: bytes, size_max: int, random: Random, havoc: Havoc) -> bytes:
    """Change what is compressed, or rather what it is compressed from, or try it under another codec."""
    draw = random.random()
    if not content or draw < 0.6:
        return havoc(content, size_max, random)
    at = content[0] % len(_CODECS)
    if draw < 0.7:
        return bytes([random.randrange(len(_CODECS))]) + content[1:]
    try:
        whole = decompress(_CODECS[at], content[1:], _BYTES_MAX)
    except BatchError:
        return havoc(content, size_max, random)
    packed = bytes([at]) + compress(_CODECS[at], havoc(bytes(whole), _BYTES_MAX, random), random.choice((None, 1, 9)))
    return packed if len(packed) <= size_max else havoc(content, size_max, random)


TARGET = Target("compression", check, seeds, mutate, size_max=8192)
