"""The framing of what peers say: a length, a kind, a codec, a checksum, and the bytes.

    0   4  length of the body
    4   1  kind
    5   1  codec of the body, as in record batches
    6   2  the lower half of the CRC-32C of the six bytes before
    8   4  CRC-32C of the eight bytes before and of the body as it travels
    12     the body

A body of kind LETTERS is any number of letters, each behind its length in four bytes. All that one turn has for a peer
is one frame. TCP's own checksum lets one damaged segment in some tens of thousands pass, hence the frames' own. A
length is believed only by its own check: else a wrong one would have its reader take all that follows, signs of life
too, for a body of megabytes.

Invariants: whatever comes in, ProtocolError is all that is raised, and no more is allocated than `frame_bytes_max`; a
body that was handed out is nobody else's memory and is never written to again.
"""

import struct
from collections.abc import Sequence
from enum import IntEnum

from attrs import define
from crc32c import crc32c

from goqueue.core.errors import BatchError, ProtocolError
from goqueue.core.records.batch import Codec
from goqueue.core.records.compression import compress, decompress
from goqueue.core.records.varint import Readable

HEADER = struct.Struct(">IBBHI")
_CHECKED = 8
# What the check of a header covers: the check itself is behind it.
_HEAD = struct.Struct(">IBB")
_CHECK = struct.Struct(">H")
_SIZE = struct.Struct(">I")
# What a frame may hold, and what may come out of it.
FRAME_BYTES_MAX = 64 << 20
# Smaller bodies gain less than the work costs.
COMPRESSED_BYTES_MIN = 1024
# What shrinks to a smaller part of itself is sent as it is, and refused where it comes: it is a bomb.
RATIO_MAX = 256
CHUNK_BYTES = 128 << 10
_CODECS = (Codec.LZ4, Codec.ZSTD)


class Kind(IntEnum):
    """What a frame is for."""

    HELLO = 1
    # The other side's hello was judged: no body, or the sentence against it.
    WELCOME = 2
    REFUSED = 3
    LETTERS = 4
    # Nothing but a sign of life.
    PING = 5
    # That the cluster's secret is known: see `secret.py`.
    PROOF = 6


@define
class Frame:
    """One frame that came in."""

    kind: Kind
    codec: int
    body: memoryview


def framed(kind: Kind, body: Sequence[Readable] = (), codec: Codec = Codec.NONE) -> list[Readable]:
    """The pieces of a frame around a body that is in pieces; none of them is copied."""
    length = sum(map(len, body))
    head = _HEAD.pack(length, kind, codec)
    head += _CHECK.pack(_check(head))
    checksum = crc32c(head)
    for piece in body:
        checksum = crc32c(piece, checksum)
    return [head + _SIZE.pack(checksum), *body]


def letters_framed(
    letters: Sequence[Sequence[Readable]], codec: Codec = Codec.NONE, bytes_max: int = FRAME_BYTES_MAX
) -> list[Readable]:
    """A frame of letters that are in pieces, compressed where that makes it smaller and its reader takes it."""
    body: list[Readable] = []
    for letter in letters:
        body.append(_SIZE.pack(sum(map(len, letter))))
        body += letter
    if codec is Codec.NONE:
        return framed(Kind.LETTERS, body)
    whole = b"".join(body)
    if COMPRESSED_BYTES_MIN <= len(whole) <= bytes_max:
        squeezed = compress(codec, whole)
        if len(squeezed) < len(whole) <= len(squeezed) * RATIO_MAX:
            return framed(Kind.LETTERS, [squeezed], codec)
    return framed(Kind.LETTERS, [whole])


def letters_of(frame: Frame, bytes_max: int) -> list[memoryview]:
    """The letters in a frame; ProtocolError when it holds none that end where it does."""
    body = frame.body
    if frame.codec:
        try:
            codec = Codec(frame.codec)
        except ValueError:
            raise ProtocolError(f"a frame has the codec {frame.codec}, which is unknown to this release") from None
        body = memoryview(_decompressed(codec, body, bytes_max)).toreadonly()
    letters: list[memoryview] = []
    at, end = 0, len(body)
    while at < end:
        start = at + _SIZE.size
        at = start + _SIZE.unpack_from(body, at)[0] if start <= end else end + 1
        if at > end:
            raise ProtocolError("a letter is longer than the frame that it came in")
        letters.append(body[start:at])
    return letters


def _decompressed(codec: Codec, body: memoryview, bytes_max: int) -> bytearray:
    """The decompressor writes into memory of this size at most, and stops there."""
    if codec not in _CODECS:
        raise ProtocolError(f"a frame has the codec {codec.name.lower()}, in which peers do not write")
    most = min(bytes_max, len(body) * RATIO_MAX)
    try:
        return decompress(codec, body, most)
    except BatchError as error:
        if error.reason == "oversize":
            raise ProtocolError(f"a frame of {len(body)} bytes decompresses to more than {most}") from None
        raise


class FrameReader:
    """Makes frames of bytes as they come in.

    Bytes are read straight into `room`. Small frames are cut out of a chunk that stays; a large one gets memory of its
    own as soon as its header is known, so that its body is read into place and not copied again.
    """

    def __init__(self, frame_bytes_max: int, chunk_bytes: int = CHUNK_BYTES) -> None:
        self.frame_bytes_max = frame_bytes_max
        self._chunk = memoryview(bytearray(chunk_bytes))
        self._start = 0
        self._end = 0
        # The body that is being read into place, the bytes of it that are there, and its header.
        self._large: bytearray | None = None
        self._filled = 0
        self._head = b""

    def room(self) -> memoryview:
        """Where the next bytes go; at least one fits."""
        if self._large is not None:
            return memoryview(self._large)[self._filled :]
        return self._chunk[self._end :]

    def received(self, size: int) -> list[Frame]:
        """Take in so many bytes, which are in `room`, and answer with the frames that they complete."""
        if self._large is not None:
            self._filled += size
            if self._filled < len(self._large):
                return []
            body, self._large = self._large, None
            return [_checked(self._head, memoryview(body).toreadonly())]
        self._end += size
        frames: list[Frame] = []
        while (frame := self._next()) is not None:
            frames.append(frame)
        self._make_room()
        return frames

    def opening(self, size: int) -> bytes:
        """Take in so many bytes that frames do not begin with; all that is there and makes no frame yet."""
        self._end += size
        return bytes(self._chunk[: self._end])

    def skip(self, size: int) -> None:
        """Leave out so many bytes of the opening: frames begin behind it."""
        assert self._start + size <= self._end, "only what is there is left out"
        self._start += size

    def _next(self) -> Frame | None:
        start = self._start + HEADER.size
        if start > self._end:
            return None
        length = self._length()
        if start + length <= self._end:
            head, self._start = bytes(self._chunk[self._start : start]), start + length
            return _checked(head, memoryview(bytes(self._chunk[start : self._start])))
        if HEADER.size + length > len(self._chunk):
            self._begin_large(start, length)
        return None

    def _length(self) -> int:
        length: int
        length, kind, _, check, _ = HEADER.unpack_from(self._chunk, self._start)
        if check != _check(self._chunk[self._start : self._start + _HEAD.size]):
            raise ProtocolError("what came is no frame of a peer, or its header was damaged on its way")
        if not Kind.HELLO <= kind <= Kind.PROOF:
            raise ProtocolError(f"a frame is of the kind {kind}, which is unknown to this release")
        if length > self.frame_bytes_max:
            raise ProtocolError(f"a frame of {length} bytes is longer than {self.frame_bytes_max}")
        return length

    def _begin_large(self, start: int, length: int) -> None:
        self._head = bytes(self._chunk[self._start : start])
        self._large = bytearray(length)
        self._filled = self._end - start
        self._large[: self._filled] = self._chunk[start : self._end]
        self._start = self._end = 0

    def _make_room(self) -> None:
        """Move what is left to the front, where a whole small frame fits behind it."""
        left = self._end - self._start
        if self._start:
            self._chunk[:left] = bytes(self._chunk[self._start : self._end])
            self._start, self._end = 0, left
        assert self._end < len(self._chunk), "a frame that fills the chunk is complete, or is a large one"


def _check(head: Readable) -> int:
    """The check of the beginning of a header."""
    return crc32c(head) & 0xFFFF


def _checked(head: bytes, body: memoryview) -> Frame:
    _, kind, codec, _, checksum = HEADER.unpack(head)
    if crc32c(body, crc32c(head[:_CHECKED])) != checksum:
        raise ProtocolError("a frame was damaged on its way: its checksum is wrong")
    return Frame(Kind(kind), codec, body)
