r"""The file of a capture: one line that says what it is, then blocks, each behind a frame that proves it.

    line    goqueue-capture <format version>\\n
    frame   kind 1 | codec 1 | zero 2 | stored bytes 4 | bytes 4 | CRC-32C of the stored bytes 4 | of the frame 4
    block   a heading (JSON: whose capture, which part of it), a snapshot, or events

All numbers are little-endian and unsigned. The frame has a CRC of its own, so a length that was damaged is not taken
for the end of the file: a file that ends within a block was truncated, anything else that does not fit is damage. Both
end the file for a reader, since the events after a gap cannot be understood.

Invariants: every file begins with a heading and a snapshot; the codec of a block is one that batches have.
"""

import json
import struct
from collections.abc import Callable, Iterator
from enum import IntEnum

from attrs import asdict, define, fields
from crc32c import crc32c

from goqueue.core.capture.errors import CaptureError, DamagedCapture, OtherRelease, TruncatedCapture
from goqueue.core.errors import BatchError
from goqueue.core.records.batch import Codec
from goqueue.core.records.compression import compress, decompress

FORMAT_VERSION = 1
_WORD = b"goqueue-capture "
_LINE = b"%s%d\n" % (_WORD, FORMAT_VERSION)
_FRAME = struct.Struct("<BBHIII")
_CRC = struct.Struct("<I")
FRAME_BYTES = _FRAME.size + _CRC.size
BLOCK_BYTES_MAX = 1 << 30
_SNAPSHOT_LEVEL = 1


class BlockKind(IntEnum):
    """What a block holds; the value stands in its frame."""

    HEADING = 1
    SNAPSHOT = 2
    EVENTS = 3


@define
class Heading:
    """Whose capture a file is part of: `sequence` counts the files of a `run`, `first_event` what came before it.

    `forms` says what its events leave unnamed; only a release in which that is the same can read them.
    """

    run: int
    sequence: int
    first_event: int
    node_id: str
    version: str
    python: str
    wall_ms: int
    now: int
    keeps_records: bool
    forms: str


def encode_beginning(heading: Heading, snapshot: bytes) -> bytes:
    """The line, the heading and the snapshot with which a file begins."""
    said = json.dumps(asdict(heading), sort_keys=True).encode()
    squeezed = compress(Codec.ZSTD, snapshot, _SNAPSHOT_LEVEL)
    packed = _frame(BlockKind.SNAPSHOT, Codec.ZSTD, squeezed, len(snapshot)) + squeezed
    return _LINE + encode_frame(BlockKind.HEADING, said) + said + packed


def encode_frame(kind: BlockKind, block: bytes) -> bytes:
    """The frame that stands before a block which is stored as it is."""
    return _frame(kind, Codec.NONE, block, len(block))


def _frame(kind: BlockKind, codec: Codec, stored: bytes, size: int) -> bytes:
    assert size <= BLOCK_BYTES_MAX
    frame = _FRAME.pack(kind, codec, 0, len(stored), size, crc32c(stored))
    return frame + _CRC.pack(crc32c(frame))


def read_blocks(read: Callable[[int], bytes]) -> Iterator[tuple[BlockKind, bytes]]:
    """The blocks of a file, of which `read` gives the next bytes, fewer only at its end.

    Raises CaptureError for what is no capture, TruncatedCapture and DamagedCapture where one ends before its end.
    """
    position = _check_line(read)
    while frame := read(FRAME_BYTES):
        if len(frame) < FRAME_BYTES:
            raise TruncatedCapture(f"it ends within the frame at byte {position}", position)
        kind, codec, stored_bytes, size, crc = _open_frame(frame, position)
        stored = read(stored_bytes)
        if len(stored) < stored_bytes:
            raise TruncatedCapture(f"it ends within the block at byte {position}", position)
        if crc32c(stored) != crc:
            raise DamagedCapture(f"the block at byte {position} is not as it was written: wrong CRC", position)
        yield kind, _unpacked(codec, stored, size, position)
        position += FRAME_BYTES + stored_bytes


def _check_line(read: Callable[[int], bytes]) -> int:
    line = read(len(_LINE))
    if line == _LINE:
        return len(_LINE)
    if _LINE.startswith(line):
        # A process may be killed before it has written anything.
        raise TruncatedCapture("it ends within its first line", 0)
    version = line.removeprefix(_WORD).rstrip(b"\n")
    if line.startswith(_WORD) and version.isdigit():
        raise OtherRelease(f"it has format version {int(version)}, this release reads version {FORMAT_VERSION}")
    raise CaptureError(f"it is no capture: a first line {_LINE.decode()!r} was expected")


def _open_frame(frame: bytes, position: int) -> tuple[BlockKind, Codec, int, int, int]:
    if _CRC.unpack_from(frame, _FRAME.size)[0] != crc32c(frame[: _FRAME.size]):
        if not any(frame):
            # A machine that lost its power leaves room that nothing was written to.
            raise TruncatedCapture(f"it ends at byte {position}, with zeros after it", position)
        raise DamagedCapture(f"the frame at byte {position} is not as it was written: wrong CRC", position)
    kind, codec, _, stored_bytes, size, crc = _FRAME.unpack_from(frame)
    if kind not in set(BlockKind) or codec not in set(Codec) or max(stored_bytes, size) > BLOCK_BYTES_MAX:
        raise OtherRelease(f"the block at byte {position} is of a kind that this release does not know")
    return BlockKind(kind), Codec(codec), stored_bytes, size, crc


def _unpacked(codec: Codec, stored: bytes, size: int, position: int) -> bytes:
    if codec is Codec.NONE:
        return stored
    try:
        block = bytes(decompress(codec, stored, size))
    except BatchError as error:
        raise DamagedCapture(f"the block at byte {position} cannot be unpacked: {error}", position) from error
    if len(block) != size:
        raise DamagedCapture(f"the block at byte {position} has {len(block)} bytes, not {size}", position)
    return block


def decode_heading(block: bytes) -> Heading:
    """The heading in a block. Raises CaptureError."""
    try:
        said = json.loads(block)
        heading = Heading(**{field.name: said[field.name] for field in fields(Heading)})
    except (ValueError, KeyError, TypeError) as error:
        raise CaptureError(f"its heading cannot be read: {error}") from error
    if any(type(getattr(heading, field.name)) is not field.type for field in fields(Heading)):
        raise CaptureError("its heading says a thing of the wrong kind")
    return heading
