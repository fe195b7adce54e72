"""A batch without its records: the header stays, and with it the right to stand for the whole.

A node judges a producer's batch by its header and by its CRC, and passes the rest on unseen. So a capture may leave the
records out: told again, they are zeros, of which four bytes are chosen so that the CRC in the header is right. What is
compressed also begins like its codec, and says nothing of its size. Only a batch that would pass so far may be treated
so; one that is to be refused must be kept as it came. Where the node checks records as well, that was done when it was
captured, and is taken as done when it is told again (`Recordless`). A batch that is to be delivered later is kept whole
by whoever notes it: the node reads its records, and builds the batch of the schedule from them.
"""

import struct

from crc32c import crc32c

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import (
    CODEC_MASK,
    CRC,
    CRC_COVERS_FROM,
    CRC_POSITION,
    HEADER_BYTES,
    Codec,
    read_header,
    validate_exact,
)
from goqueue.core.records.chosen_crc import CHOSEN_BYTES, chosen
from goqueue.core.records.claims import check_claims
from goqueue.core.records.record import Recordless, validate_records
from goqueue.core.records.varint import Readable

# How compressed records begin that are bytes to be skipped. Those of gzip
# end with their size.
_SKIPPED = struct.pack("<I", 0x184D2A50)
_BEGINNINGS: dict[int, bytes] = {Codec.GZIP: b"\x1f\x8b", Codec.LZ4: _SKIPPED, Codec.ZSTD: _SKIPPED}
_SIZE_BYTES = 4
# Below this there is nothing to gain.
WORTH_BYTES = 128


def can_stand_for(batch: Readable, *, checks_records: bool = False) -> bool:
    """Whether the header is enough to make a batch that a node takes as it takes this one."""
    if len(batch) < WORTH_BYTES:
        return False
    try:
        header = validate_exact(batch, compacted=True)
        if header.record_count == header.last_offset_delta + 1:
            check_claims(batch, header)
        if checks_records:
            validate_records(batch, decompress=True)
    except BatchError:
        return False
    return True


def stand_in(header: bytes, size: int) -> Recordless:
    """A batch of `size` bytes under this header, with a right CRC and nothing in it."""
    assert len(header) == HEADER_BYTES
    assert size >= WORTH_BYTES
    batch = Recordless(size)
    batch[:HEADER_BYTES] = header
    codec = read_header(header).attributes & CODEC_MASK
    beginning = _BEGINNINGS.get(codec, b"")
    batch[HEADER_BYTES : HEADER_BYTES + len(beginning)] = beginning
    left = _SIZE_BYTES if codec == Codec.GZIP else 0
    wanted: int = CRC.unpack_from(header, CRC_POSITION)[0]
    at = size - left - CHOSEN_BYTES
    begun = crc32c(memoryview(batch)[CRC_COVERS_FROM:at])
    batch[at : at + CHOSEN_BYTES] = chosen(begun, wanted, zeros=left)
    assert crc32c(memoryview(batch)[CRC_COVERS_FROM:]) == wanted
    return batch
