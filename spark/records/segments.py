"""The bytes of one segment file as runs of sound batches, and what to do where it is not sound.

A run is a stretch of batches in one buffer, large enough that what follows can work on all of its records at once, and
the buffer is used again for the next one: whoever keeps a run's bytes copies them. Compressed records are laid out side
by side in a buffer of their own (`unpacked`), after which it makes no difference how they were stored.

Nothing here looks into records. There are two ways to read. `read_segment` stops where the file stops being sound, and
the plan decides whether that is its end or damage. `salvage_segment` goes on behind damage with the slower search that
repair uses. Either way a batch is sound when structure, CRC and the order of offsets are.
"""

import logging
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TypeAlias

from attrs import define

from goqueue.core.errors import BatchError
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.records.batch import CODEC_MASK, HEADER_BYTES, Header, read_header, validate
from goqueue.core.records.compression import decompress
from goqueue.spark.records.disks import disk_at
from goqueue.spark.records.planning import SegmentPlan
from goqueue.storage.disk import File
from goqueue.storage.errors import DamageError
from goqueue.storage.inspection import sound_batches

OnDamage: TypeAlias = Callable[[int, str], None]

RUN_BYTES = 4 << 20

_GONE = "the file is gone; if a broker is running, retention or compaction removed it meanwhile, so read again"

_logger = logging.getLogger("goqueue.spark")


@define
class Section:
    """One batch, at `position` of its file, with its records in bytes [begin, end) of the run's buffer."""

    header: Header
    position: int
    batch: memoryview
    begin: int
    end: int


@define
class Run:
    """Batches in the order of their offsets, and the buffer that holds their records."""

    buffer: bytearray | bytes
    sections: list[Section]


def damaged(plan: SegmentPlan, position: int, why: str) -> DamageError:
    """The error that fails a task: it names file and byte, and the way to read on all the same."""
    advice = "the option damaged=skip reads on with every batch that is sound"
    return DamageError(f"{plan.folder}/{plan.file}", position, f"{why}; {advice}")


def read_segment(plan: SegmentPlan, run_bytes: int = RUN_BYTES) -> Iterator[Run]:
    """All batches of a segment as they are stored. Raises DamageError where it is not sound, OSError."""
    segment = plan.segment
    try:
        file = disk_at(plan.folder).open(plan.file, read_only=True)
    except FileNotFoundError as error:
        raise damaged(plan, 0, _GONE) from error
    found = Segment(segment.base, segment.generation, plan.begin_bytes, plan.begin_offset, NO_TIMESTAMP, 0)
    with closing(file):
        flaw = yield from _sound_runs(file, plan, found, run_bytes)
    # Where nothing more is wanted, nobody asks how it goes on.
    objection = plan.objection(found, flaw) if found.next_offset < plan.wanted.end_offset else None
    if objection is not None:
        raise damaged(plan, found.size, objection)


def salvage_segment(plan: SegmentPlan, run_bytes: int = RUN_BYTES) -> Iterator[Run]:
    """The batches of a segment that are sound, wherever they are. Raises OSError."""
    gathered: list[tuple[int, memoryview]] = []
    size = end = 0
    disk = disk_at(plan.folder)
    if not disk.exists(plan.file):
        note_left_out(plan, 0, _GONE)
        return
    for position, batch in sound_batches(disk, plan.stream, plan.segment):
        if position > end:
            note_left_out(plan, end, f"there is no sound batch up to byte {position}")
        end = position + len(batch)
        gathered.append((position, batch))
        size += len(batch)
        if size >= run_bytes:
            yield _side_by_side(gathered)
            gathered, size = [], 0
    if gathered:
        yield _side_by_side(gathered)
    if end < plan.certain_bytes:
        note_left_out(plan, end, "there is no sound batch from here on")


def note_left_out(plan: SegmentPlan, position: int, why: str) -> None:
    """Say in the log of the executor what was stepped over."""
    _logger.warning("%s/%s: left out what is at byte %d: %s", plan.folder, plan.file, position, why)


def unpacked(run: Run, on_damage: OnDamage, run_bytes: int = RUN_BYTES) -> Iterator[Run]:
    """The same batches with their records decompressed, in runs that memory can hold whatever is in them.

    `on_damage` is told of batches whose records do not decompress; unless it raises, they are left out.
    """
    if not any(section.header.attributes & CODEC_MASK for section in run.sections):
        yield run
        return
    records: list[bytearray | memoryview] = []
    sections: list[Section] = []
    size = 0
    for section in run.sections:
        try:
            records.append(_records(section))
        except BatchError as error:
            on_damage(section.position, str(error))
            continue
        begin, size = size, size + len(records[-1])
        sections.append(Section(section.header, section.position, section.batch, begin, size))
        if size >= run_bytes:
            yield Run(bytearray().join(records), sections)
            records, sections, size = [], [], 0
    if sections:
        yield Run(bytearray().join(records), sections)


def _records(section: Section) -> bytearray | memoryview:
    stored = section.batch[HEADER_BYTES:]
    codec = section.header.codec
    return decompress(codec, stored) if codec else stored


def _side_by_side(gathered: list[tuple[int, memoryview]]) -> Run:
    run = Run(bytearray().join([batch for _, batch in gathered]), [])
    at = 0
    for position, batch in gathered:
        run.sections.append(Section(read_header(batch), position, batch, at + HEADER_BYTES, at + len(batch)))
        at += len(batch)
    return run


def _sound_runs(file: File, plan: SegmentPlan, found: Segment, run_bytes: int) -> Generator[Run, None, str | None]:
    """Runs as long as a file is sound and wanted, noting in `found` how far that is; the answer is the flaw.

    Zeros are none: room that is reserved and not yet written reads so.
    """
    buffer = bytearray(run_bytes)
    size, limit_offset = plan.segment.size, plan.limit_offset
    while found.size < size and found.next_offset < plan.wanted.end_offset:
        view = memoryview(buffer)[: size - found.size]
        view = view[: file.read_into(view, found.size)]
        if not view:
            return None
        sections, error = _sections(view, found, limit_offset)
        if sections:
            yield Run(buffer, sections)
        if error is None:
            continue
        rest = view[error.position :]
        if error.reason == "truncated" and sections:
            continue
        wanted = read_header(rest).size if len(rest) >= HEADER_BYTES else HEADER_BYTES
        if error.reason != "truncated" or found.size + wanted > size or len(view) < min(len(buffer), size - found.size):
            return str(error) if any(rest[:HEADER_BYTES]) else None
        buffer = bytearray(wanted)
    return None


def _sections(view: memoryview, found: Segment, limit_offset: int) -> tuple[list[Section], BatchError | None]:
    """The sound batches with which a view begins, and why there are no more; its position is where they stop."""
    sections: list[Section] = []
    at = 0
    try:
        while at < len(view):
            header = validate(view, at, compacted=True)
            _check_order(header, found.next_offset, limit_offset)
            end = at + header.size
            sections.append(Section(header, found.size, view[at:end], at + HEADER_BYTES, end))
            found.next_offset = header.next_offset
            found.size += header.size
            at = end
    except BatchError as error:
        error.position = at
        return sections, error
    return sections, None


def _check_order(header: Header, expected: int, limit: int) -> None:
    """The CRC does not cover the offset, which therefore can only be held against what comes before and after."""
    if header.base_offset < expected or header.next_offset > limit:
        said = f"expected offsets from {expected} on and below {limit}"
        raise BatchError("offset", f"{said}, found {header.base_offset} to {header.last_offset}")
