"""Mutations that know what a batch and a segment are made of, so that a change reaches one place and no other.

A batch changes in a field of its header, in one record behind a right length, or in all its records under the codec
that they come in; a segment in one batch, or in which batches it has. What a change made wrong around it is put right
most of the time: a count of records, the latest timestamp, lengths and checksums.
"""

import struct
from collections.abc import Iterator
from random import Random

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import CODEC_MASK, HEADER_BYTES, Codec, read_header
from goqueue.core.records.compression import compress, decompress
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import encode_varint
from goqueue.fuzz.bytes.mutation import edge_number
from goqueue.fuzz.bytes.reference import split_records
from goqueue.fuzz.bytes.sealing import frames, seal_batch
from goqueue.fuzz.bytes.shrinking import without_runs
from goqueue.fuzz.bytes.target import Havoc

_RECORDS_BYTES_MAX = 1 << 16
_ATTRIBUTES = (21, 2)
_LAST_DELTA = (23, 4)
_COUNT = (57, 4)
_MAX_TIMESTAMP = struct.Struct(">q")
_MAX_TIMESTAMP_POSITION = 35
# Position and size of every field that the seal does not write.
_FIELDS = (
    (0, 8), (12, 4), _ATTRIBUTES, _ATTRIBUTES, _LAST_DELTA, (27, 8), (_MAX_TIMESTAMP_POSITION, 8), (43, 8), (51, 2),
    (53, 4), _COUNT,
)  # fmt: skip


def change_batch(content: bytes, size_max: int, random: Random, havoc: Havoc) -> bytes:
    """Change one batch, most often so that its frame and CRC are right afterwards."""
    if len(content) <= HEADER_BYTES or random.random() < 0.1:
        return havoc(content, size_max, random)
    change = random.random()
    if change < 0.3:
        changed = _with_field_changed(content, random)
    else:
        changed = _with_records_changed(content, random, havoc)
        if random.random() < 0.7:
            changed = _with_latest_timestamp(changed)
    sealed = seal_batch(changed)
    return sealed if len(sealed) <= size_max else havoc(content, size_max, random)


def change_segment(content: bytes, size_max: int, random: Random, havoc: Havoc) -> bytes:
    """Change one batch of a segment, or which batches it has, or any of its bytes."""
    batches = [content[start:end] for start, end in frames(content)]
    draw = random.random()
    if not batches or draw < 0.2:
        changed = havoc(content, size_max, random)
    elif draw < 0.3:
        changed = content + bytes(random.choice((1, 60, 61, 512, 4096)))
    elif draw < 0.65:
        changed = b"".join(_moved(batches, random))
    else:
        at = random.randrange(len(batches))
        batches[at] = change_batch(batches[at], size_max, random, havoc)
        changed = b"".join(batches)
    return changed[:size_max]


def smaller_batch(content: bytes) -> Iterator[bytes]:
    """The batch without a run of its bytes, sealed and not."""
    for shorter in without_runs(content):
        yield seal_batch(shorter)
        yield shorter


def smaller_segment(content: bytes) -> Iterator[bytes]:
    """The segment without a run of its batches, or of what follows them."""
    places = frames(content)
    end = places[-1][1] if places else 0
    size = len(places)
    while size:
        for at in range(0, len(places), size):
            last = places[min(at + size, len(places)) - 1]
            yield content[: places[at][0]] + content[last[1] :]
        size //= 2
    for rest in without_runs(content[end:]):
        yield content[:end] + rest


def _moved(batches: list[bytes], random: Random) -> list[bytes]:
    """The batches with one of them twice, gone, elsewhere or torn."""
    at, to = random.randrange(len(batches)), random.randrange(len(batches))
    match random.randrange(4):
        case 0:
            batches.insert(to, batches[at])
        case 1:
            del batches[at]
        case 2:
            batches[at], batches[to] = batches[to], batches[at]
        case _:
            batches[at] = batches[at][: random.randrange(len(batches[at]))]
    return batches


def _with_field_changed(batch: bytes, random: Random) -> bytes:
    at, size = random.choice(_FIELDS)
    number = int.from_bytes(batch[at : at + size], "big")
    changed = random.choice(
        (
            edge_number(random, size),
            random.randbytes(size),
            ((number + random.choice((-1, 1))) % (1 << 8 * size)).to_bytes(size, "big"),
            (number ^ 1 << random.randrange(8 * size)).to_bytes(size, "big"),
        )
    )
    return batch[:at] + changed + batch[at + size :]


def _with_records_changed(batch: bytes, random: Random, havoc: Havoc) -> bytes:
    head, content = batch[:HEADER_BYTES], batch[HEADER_BYTES:]
    codec = read_header(batch).attributes & CODEC_MASK
    try:
        known = Codec(codec)
        records = bytes(decompress(known, content, _RECORDS_BYTES_MAX))
    except (ValueError, BatchError):
        return head + havoc(content, _RECORDS_BYTES_MAX, random)
    if known is not Codec.NONE and random.random() < 0.2:
        return head + havoc(content, _RECORDS_BYTES_MAX, random)
    if random.random() < 0.4:
        return head + compress(known, havoc(records, _RECORDS_BYTES_MAX, random))
    bodies = _with_body_changed(split_records(records), random, havoc)
    joined = b"".join(encode_varint(len(body)) + body for body in bodies)
    counted = _with_count(head, len(bodies)) if random.random() < 0.7 else head
    return counted + compress(known, joined)


def _with_body_changed(bodies: list[bytes], random: Random, havoc: Havoc) -> list[bytes]:
    if not bodies:
        return bodies
    at = random.randrange(len(bodies))
    match random.randrange(6):
        case 0:
            del bodies[at]
        case 1:
            bodies.insert(at, bodies[at])
        case 2:
            bodies[at] = _with_padding(bodies[at], random)
        case _:
            bodies[at] = havoc(bodies[at], _RECORDS_BYTES_MAX, random)
    return bodies


def _with_padding(body: bytes, random: Random) -> bytes:
    """The record with one byte spelled as a varint of two, of which the second is zero."""
    at = random.randrange(len(body)) if body else 0
    return body[:at] + bytes(byte | 0x80 for byte in body[at : at + 1]) + b"\x00" + body[at + 1 :]


def _with_count(head: bytes, count: int) -> bytes:
    at, size = _COUNT
    return head[:at] + count.to_bytes(size, "big") + head[at + size :]


def _with_latest_timestamp(batch: bytes) -> bytes:
    sealed = bytearray(seal_batch(batch))
    try:
        latest = max((record.timestamp for record in iterate(sealed, max_bytes=_RECORDS_BYTES_MAX)), default=-1)
        _MAX_TIMESTAMP.pack_into(sealed, _MAX_TIMESTAMP_POSITION, latest)
    except (BatchError, struct.error):
        return batch
    return bytes(sealed)
