"""Checksums and lengths put right after a mutation, so that it reaches what they protect.

Written from the formats' descriptions and not with the product's own encoders: those refuse to write nonsense, and
nonsense under a right checksum is what is wanted. Bytes that have no place for a checksum are left as they are.
"""

import struct

from crc32c import crc32c

_BATCH_HEADER_BYTES = 61
_BATCH_LENGTH = struct.Struct(">i")
_BATCH_LENGTH_POSITION = 8
_BATCH_LENGTH_COVERS_FROM = 12
_BATCH_MAGIC_POSITION = 16
_BATCH_CRC_POSITION = 17
_BATCH_CRC_COVERS_FROM = 21
_PAGE_BYTES = 4096
_PAGE_CRC_POSITION = 8


def seal_batch(batch: bytes) -> bytes:
    """The bytes as one batch: magic, length and CRC as they must be."""
    if len(batch) < _BATCH_HEADER_BYTES:
        return batch
    sealed = bytearray(batch)
    sealed[_BATCH_MAGIC_POSITION] = 2
    _BATCH_LENGTH.pack_into(sealed, _BATCH_LENGTH_POSITION, len(sealed) - _BATCH_LENGTH_COVERS_FROM)
    _sum_batch(sealed, 0, len(sealed))
    return bytes(sealed)


def seal_batches(segment: bytes) -> bytes:
    """The bytes with a right CRC in every batch that the lengths lead to."""
    sealed = bytearray(segment)
    for start, end in frames(segment):
        _sum_batch(sealed, start, end)
    return bytes(sealed)


def frames(segment: bytes) -> list[tuple[int, int]]:
    """Where batches start and end, as far as the lengths can be followed."""
    found = []
    at = 0
    while at + _BATCH_HEADER_BYTES <= len(segment):
        (length,) = _BATCH_LENGTH.unpack_from(segment, at + _BATCH_LENGTH_POSITION)
        end = at + _BATCH_LENGTH_COVERS_FROM + length
        if not at + _BATCH_HEADER_BYTES <= end <= len(segment):
            break
        found.append((at, end))
        at = end
    return found


def seal_pages(index: bytes) -> bytes:
    """The bytes with a right CRC in every whole page."""
    sealed = bytearray(index)
    for at in range(0, len(sealed) - _PAGE_BYTES + 1, _PAGE_BYTES):
        page = memoryview(sealed)[at : at + _PAGE_BYTES]
        crc = crc32c(page[_PAGE_CRC_POSITION + 4 :], crc32c(page[:_PAGE_CRC_POSITION]))
        struct.pack_into("<I", page, _PAGE_CRC_POSITION, crc)
    return bytes(sealed)


def seal_checkpoint(content: bytes) -> bytes:
    """The bytes after the first line, behind a first line that fits them."""
    _, _, body = content.partition(b"\n")
    return b"goqueue-checkpoint %08x\n" % crc32c(body) + body


def seal_mark(content: bytes) -> bytes:
    """The bytes with a right CRC in the last four, where a synced mark has it."""
    body = content[:-4]
    return body + struct.pack("<I", crc32c(body))


def _sum_batch(sealed: bytearray, start: int, end: int) -> None:
    crc = crc32c(memoryview(sealed)[start + _BATCH_CRC_COVERS_FROM : end])
    struct.pack_into(">I", sealed, start + _BATCH_CRC_POSITION, crc)
