"""A batch without its records: the header stays, and with it the right to stand for the whole.

A node judges a producer's batch by its header and by its CRC, and passes the rest on unseen. So a capture may leave the
records out: told again, they are zeros, of which the last four bytes are chosen so that the CRC in the header is right.
Only a batch whose CRC was right before may be treated so; one that is to be refused must be kept as it came.
"""

import struct

from crc32c import crc32c

from goqueue.core.records.batch import (
    CRC,
    CRC_COVERS_FROM,
    CRC_POSITION,
    HEADER_BYTES,
    LENGTH_COVERS_FROM,
    LENGTH_POSITION,
)
from goqueue.core.records.varint import Readable

_MASK = 0xFFFFFFFF
_POLYNOMIAL = 0x82F63B78
_CHOSEN_BYTES = 4
# The length of a batch and its CRC, with what stands between them.
_LENGTH_AND_CRC = struct.Struct(">i5xI")
# Below this there is nothing to gain.
WORTH_BYTES = 128


def _forward_table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [entry >> 1 ^ (_POLYNOMIAL if entry & 1 else 0) for entry in table]
    return table


# What a byte adds to the register, and which byte it was, told by the register's top byte after it.
_FORWARD = _forward_table()
_BACKWARD = {entry >> 24: byte for byte, entry in enumerate(_FORWARD)}


def can_stand_for(batch: Readable) -> bool:
    """Whether the header is enough to make a batch that a node takes as it takes this one."""
    size = len(batch)
    if size < WORTH_BYTES:
        return False
    length, crc = _LENGTH_AND_CRC.unpack_from(batch, LENGTH_POSITION)
    return bool(length == size - LENGTH_COVERS_FROM and crc32c(memoryview(batch)[CRC_COVERS_FROM:]) == crc)


def stand_in(header: bytes, size: int) -> bytearray:
    """A batch of `size` bytes under this header, with a right CRC and nothing in it."""
    assert len(header) == HEADER_BYTES
    assert size >= HEADER_BYTES + _CHOSEN_BYTES
    batch = bytearray(size)
    batch[:HEADER_BYTES] = header
    wanted: int = CRC.unpack_from(header, CRC_POSITION)[0]
    register = wanted ^ _MASK
    for _ in range(_CHOSEN_BYTES):
        byte = _BACKWARD[register >> 24]
        register = (register ^ _FORWARD[byte]) << 8 & _MASK | byte
    begun = crc32c(memoryview(batch)[CRC_COVERS_FROM : size - _CHOSEN_BYTES]) ^ _MASK
    batch[size - _CHOSEN_BYTES :] = (register ^ begun).to_bytes(_CHOSEN_BYTES, "little")
    assert crc32c(memoryview(batch)[CRC_COVERS_FROM:]) == wanted
    return batch
