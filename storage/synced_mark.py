"""The synced mark: how far a stream certainly was on the disk, noted after every sync and without a sync of its own.

A checkpoint is too dear to be written after every sync, yet recovery must tell a torn tail, which was never
acknowledged, from damage to what was. The mark is one small write after a sync that succeeded, so it never claims too
much; a crash of the machine may lose the newest marks and leave an older one, which only claims less. It fits a
disk's sector, so it is never torn; if it is damaged all the same, there is no mark.
"""

import struct

from attrs import define
from crc32c import crc32c

from goqueue.core.log.effects import SyncToken
from goqueue.core.log.segment import Segment, parse_segment_name
from goqueue.core.records.varint import INT64_MAX
from goqueue.storage.disk import Disk, File
from goqueue.storage.layout import SYNCED_FILE, read_file

_MARK = struct.Struct("<4sIQQIQQ")
_MAGIC = b"GQSY"


@define
class SyncedMark:
    """The stream was synced up to byte `position` of segment (base, generation), with all segments before it.

    There the next offset is `next_offset`. A batch's CRC does not cover its offset, so this is what the last one is
    held against; every other batch is held against the one that follows it.
    """

    incarnation: int
    base: int
    generation: int
    position: int
    next_offset: int

    def bytes_of(self, segment: Segment) -> int:
        """How many bytes of `segment` the mark vouches for; one at least when it vouches for a later segment."""
        if segment.base == self.base:
            return self.position if segment.generation == self.generation else 0
        return 1 if segment.base < self.base else 0

    def contradicts(self, found: Segment) -> bool:
        """Whether a segment ends where the mark was made, but with another offset."""
        is_its_own = (found.base, found.generation) == (self.base, self.generation)
        return is_its_own and found.size == self.position and found.next_offset != self.next_offset


NO_MARK = SyncedMark(0, -1, 0, 0, 0)


def encode_mark(token: SyncToken) -> bytes:
    """The file's content for what a sync has just promised."""
    name = parse_segment_name(token.segment)
    assert name is not None
    body = _MARK.pack(_MAGIC, 1, token.incarnation, name[0], name[1], token.position, token.next_offset)
    return body + struct.pack("<I", crc32c(body))


class MarkFile:
    """A stream's mark, kept open, since it is written after every sync."""

    __slots__ = ("_disk", "_file", "_path")

    def __init__(self, disk: Disk, folder: str) -> None:
        self._disk = disk
        self._path = f"{folder}/{SYNCED_FILE}"
        self._file: File | None = None

    def __del__(self) -> None:
        self._close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def remove(self) -> None:
        """Take back what was noted, where a log gives up its end."""
        self._close()
        if self._disk.exists(self._path):
            self._disk.remove(self._path)

    def write(self, token: SyncToken) -> None:
        """Note what a sync has just promised."""
        if self._file is None:
            self._file = self._disk.open(self._path, create=True)
        self._file.write([encode_mark(token)], 0)


def read_mark(disk: Disk, folder: str) -> SyncedMark:
    """The mark of a stream, NO_MARK when there is none that can be believed."""
    path = f"{folder}/{SYNCED_FILE}"
    content = read_file(disk, path) if disk.exists(path) else b""
    if len(content) != _MARK.size + 4:
        return NO_MARK
    magic, version, incarnation, base, generation, position, next_offset = _MARK.unpack_from(content)
    (crc,) = struct.unpack_from("<I", content, _MARK.size)
    if magic != _MAGIC or version != 1 or crc != crc32c(content[: _MARK.size]):
        return NO_MARK
    if max(incarnation, base, position, next_offset) > INT64_MAX:
        return NO_MARK
    return SyncedMark(incarnation, base, generation, position, next_offset)
