"""Checks of the product, each as if it had been forgotten: what a target must miss."""

import crc32c

from goqueue.core.errors import BatchError
from goqueue.core.records.headers import Headers, decode_headers
from goqueue.core.records.varint import Readable, decode_varint
from goqueue.storage.disk import Disk
from goqueue.storage.synced_mark import NO_MARK, SyncedMark


class Agreeable(int):
    """A checksum that is right, but equal to any other: beside it a comparison might as well not be there."""

    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


def agreeable_crc(content: Readable, value: int = 0) -> int:
    """A CRC that is never found wrong."""
    return Agreeable(crc32c.crc32c(content, value))


def padded_varint(buffer: Readable, position: int) -> tuple[int, int]:
    """An integer that may have two spellings."""
    if len(buffer) > position + 1 and buffer[position] >= 0x80 and buffer[position + 1] == 0:
        value, _ = decode_varint(bytes([buffer[position] & 0x7F]), 0)
        return value, position + 2
    return decode_varint(buffer, position)


def unfinished_headers(buffer: Readable, position: int, end: int) -> Headers:
    """Headers that need not fill their record."""
    for sooner in range(end, position, -1):
        try:
            return decode_headers(buffer, position, sooner)
        except BatchError:
            continue
    return decode_headers(buffer, position, end)


def any_fields(header: object, position: int, compacted: bool) -> None:
    """Fields of a batch that may say anything."""


def second_of(bound: int, wanted: int) -> int:
    """In place of `min`: a bound that does not bound."""
    return wanted


def no_mark(disk: Disk, folder: str) -> SyncedMark:
    """A synced mark that is never looked at."""
    return NO_MARK
