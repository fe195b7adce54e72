"""Reading back which producers wrote a segment: the headers of its batches and nothing else.

It runs over what has been verified, or is believed, after recovery has decided what stays of a log. A large batch is
stepped over, so that the cost follows the number of batches more than their bytes.
"""

from collections.abc import Iterator

from goqueue.core.log.producers import Producers
from goqueue.core.records.batch import HEADER_BYTES, MAGIC, Header, read_header
from goqueue.storage.errors import DamageError
from goqueue.storage.layout import LOG_ENDING
from goqueue.storage.segment_files import SegmentFiles

_BLOCK_BYTES = 64 << 10


def recall(producers: Producers, files: SegmentFiles, begin: int, end: int, wall_ms: int) -> None:
    """Enter the batches between two positions of a segment as if they came at this time. Raises DamageError."""
    for header in _headers(files, begin, end):
        producers.enter(header, header.base_offset, wall_ms)


def _headers(files: SegmentFiles, begin: int, end: int) -> Iterator[Header]:
    buffer = bytearray(_BLOCK_BYTES)
    position = begin
    while position < end:
        block = memoryview(buffer)[: min(_BLOCK_BYTES, end - position)]
        block = block[: files.log.read_into(block, position)]
        at = 0
        while at + HEADER_BYTES <= len(block):
            header = read_header(block, at)
            is_batch = header.magic == MAGIC and header.size >= HEADER_BYTES
            if not is_batch or header.base_offset < 0 or header.last_offset_delta < 0:
                raise _no_batch(files, position + at)
            yield header
            at += header.size
        if at == 0:
            raise _no_batch(files, position)
        position += at


def _no_batch(files: SegmentFiles, position: int) -> DamageError:
    return DamageError(f"{files.folder}/{files.name}{LOG_ENDING}", position, "expected the header of a batch")
