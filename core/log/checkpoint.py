"""The checkpoint: the truth about a stream's segments, in one small file that is replaced atomically.

It names the sealed segments with their sizes, how far the active one had certainly reached the disk, where readers may
begin, what compaction has covered, the leader epochs, and what is known of producers. Recovery trusts it, reads only
what was appended after it, and removes segment files that it does not name and that lie below its end: leftovers of a
deletion or a compaction that had been committed, or was never to be.

The file is one line with a CRC-32C, then JSON, so that an operator can read it. The `incarnation` rises whenever
offsets that were once given out are taken back; an answer from the disk that speaks of an older one is out of date.
"""

import json
from binascii import Error, a2b_base64, b2a_base64
from itertools import pairwise
from operator import attrgetter

from attrs import define, field, fields
from crc32c import crc32c

from goqueue.core.errors import GoQueueError
from goqueue.core.log.segment import Segment
from goqueue.core.records.varint import INT64_MAX

VERSION = 2

_SEGMENT_NUMBERS = tuple(attribute.name for attribute in fields(Segment))
_numbers_of = attrgetter(*_SEGMENT_NUMBERS)


class CheckpointError(GoQueueError):
    """Bytes that are not a checkpoint this version can read; `newer` when a later version wrote them."""

    def __init__(self, message: str, *, newer: bool = False) -> None:
        super().__init__(message)
        self.newer = newer


@define
class Checkpoint:
    """What is certain about a stream; the last of `segments` is the active one, as far as it is certain.

    `producers` is the table of `goqueue.core.log.producers` at the end of the last segment as bytes, None where nothing
    but the batches themselves can tell.
    """

    incarnation: int = 0
    start_offset: int = 0
    cleaned_offset: int = 0
    segments: list[Segment] = field(factory=list)
    epochs: list[tuple[int, int]] = field(factory=list)
    producers: bytes | None = b""

    @property
    def next_offset(self) -> int:
        """The first offset of which the checkpoint says nothing."""
        return self.segments[-1].next_offset if self.segments else self.start_offset


def encode_checkpoint(checkpoint: Checkpoint) -> bytes:
    """The file's content; a log without producers is written as an older release reads it."""
    table = checkpoint.producers
    # A long log has thousands of segments, and attrs' own `asdict` takes longer for each than all the rest together.
    named = {
        "version": VERSION if table != b"" else 1,
        "incarnation": checkpoint.incarnation,
        "start_offset": checkpoint.start_offset,
        "cleaned_offset": checkpoint.cleaned_offset,
        "segments": [dict(zip(_SEGMENT_NUMBERS, _numbers_of(one), strict=True)) for one in checkpoint.segments],
        "epochs": checkpoint.epochs,
    }
    body = json.dumps(named, separators=(",", ":")).encode()
    if table != b"":
        # The table may be far larger than all the rest; it is put in as it is, which the JSON writer could not do.
        text = b'"%b"' % b2a_base64(table, newline=False) if table is not None else b"null"
        body = b'%b,"producers":%b}' % (body[:-1], text)
    body += b"\n"
    return b"goqueue-checkpoint %08x\n" % crc32c(body) + body


def decode_checkpoint(content: bytes) -> Checkpoint:
    """The checkpoint in a file's content, or CheckpointError saying what was expected instead."""
    head, _, body = content.partition(b"\n")
    if not head.startswith(b"goqueue-checkpoint "):
        raise CheckpointError("expected a first line 'goqueue-checkpoint <crc>'")
    if head != b"goqueue-checkpoint %08x" % crc32c(body):
        raise CheckpointError(f"expected the CRC-32C {crc32c(body):08x} in the first line")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"expected JSON from the second line on: {error}") from None
    version = found.pop("version", None) if isinstance(found, dict) else None
    if type(version) is not int:
        raise CheckpointError("expected an object with a version")
    if not 1 <= version <= VERSION:
        said = f"it has version {version}, this release reads versions up to {VERSION}"
        raise CheckpointError(said, newer=version > VERSION)
    producers = _table(found.pop("producers", False)) if version > 1 else b""
    return _from_json(found, producers)


_NUMBERS = ("incarnation", "start_offset", "cleaned_offset")


def _table(found: object) -> bytes | None:
    if found is not None and not isinstance(found, str):
        raise CheckpointError("expected a table of producers, in base64 or null")
    try:
        return None if found is None else a2b_base64(found, strict_mode=True)
    except (Error, ValueError) as error:
        raise CheckpointError(f"expected a table of producers in base64: {error}") from None


def _from_json(found: dict[str, object], producers: bytes | None) -> Checkpoint:
    segments = [Segment(*_named(one, _SEGMENT_NUMBERS)) for one in _list(found.pop("segments", None))]
    epochs = [_pair(one) for one in _list(found.pop("epochs", None))]
    incarnation, start_offset, cleaned_offset = _named(found, _NUMBERS)
    checkpoint = Checkpoint(incarnation, start_offset, cleaned_offset, segments, epochs, producers)
    _refuse_nonsense(checkpoint)
    return checkpoint


def _refuse_nonsense(checkpoint: Checkpoint) -> None:
    """A right CRC says that the bytes are as written, not that the writer knew what it wrote."""
    segments, epochs = checkpoint.segments, checkpoint.epochs
    numbers = [checkpoint.incarnation, checkpoint.start_offset, checkpoint.cleaned_offset]
    numbers += [number for one in segments for number in (one.base, one.generation, one.size)]
    numbers += [number for entry in epochs for number in entry]
    if any(number < 0 for number in numbers):
        raise CheckpointError("expected no number below zero")
    if any(one.next_offset < one.base or (not one.size and one.next_offset > one.base) for one in segments):
        raise CheckpointError("expected no segment that ends before it begins, or holds offsets without bytes")
    if any(one.next_offset > follower.base for one, follower in pairwise(segments)):
        raise CheckpointError("expected segments that follow each other")
    if any(one[0] >= later[0] or one[1] >= later[1] for one, later in pairwise(epochs)):
        raise CheckpointError("expected leader epochs that rise")


def _named(found: object, names: tuple[str, ...]) -> list[int]:
    if not isinstance(found, dict) or found.keys() != set(names):
        raise CheckpointError(f"expected {', '.join(names)} and nothing else")
    return _integers([found[name] for name in names])


def _pair(found: object) -> tuple[int, int]:
    numbers = _integers(_list(found))
    if len(numbers) != 2:
        raise CheckpointError(f"expected an epoch and its first offset, found {len(numbers)} numbers")
    return numbers[0], numbers[1]


def _list(found: object) -> list[object]:
    if not isinstance(found, list):
        raise CheckpointError("expected lists of segments and of epochs")
    return found


def _integers(values: list[object]) -> list[int]:
    integers = [value for value in values if type(value) is int and -1 - INT64_MAX <= value <= INT64_MAX]
    if len(integers) != len(values):
        raise CheckpointError("expected integers of 64 bits")
    return integers
