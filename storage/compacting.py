"""Carrying out a compaction: sealed segments are read twice and written anew under the next generation.

It runs beside the live log, in a thread or in slices between other work: every step of `compaction_steps` handles one
block. Its files are complete and on the disk before the log is told, and nothing refers to them until the checkpoint
that the log then commits. A crash before that leaves files that recovery removes.
"""

from collections.abc import Generator, Iterator

from attrs import define

from goqueue.core.errors import BatchError
from goqueue.core.log.compaction import CompactionOutput, CompactionPlan, Compactor
from goqueue.core.log.config import LogConfig
from goqueue.core.log.segment import Segment
from goqueue.core.records.batch import validate
from goqueue.storage.buffers import BufferPool
from goqueue.storage.disk import Disk
from goqueue.storage.reading import damage, load
from goqueue.storage.recovery import remove_segment
from goqueue.storage.segment_files import SegmentFiles
from goqueue.storage.segment_writer import SegmentWriter

_BLOCK_BYTES = 1 << 20


@define
class Compacted:
    """The segments that a compaction wrote, and up to where it judged keys."""

    outputs: list[CompactionOutput]
    end_offset: int


def compact(disk: Disk, plan: CompactionPlan, config: LogConfig) -> Compacted:
    """Carry out a plan in one go. Raises DamageError, OSError."""
    steps = compaction_steps(disk, plan, config)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value  # type: ignore[no-any-return]


def compaction_steps(disk: Disk, plan: CompactionPlan, config: LogConfig) -> Generator[None, None, Compacted]:
    """Carry out a plan a block at a time."""
    compactor = Compactor(plan)
    for segment in plan.inputs:
        for block in _blocks(SegmentFiles(disk, plan.stream, segment.name), segment):
            for batch in block:
                compactor.survey(batch)
            yield
    outputs: list[CompactionOutput] = []
    try:
        for group in plan.groups:
            writer = SegmentWriter(disk, plan.stream, group, config)
            outputs.append(CompactionOutput(group, writer.segment))
            for segment in group:
                for block in _blocks(SegmentFiles(disk, plan.stream, segment.name), segment):
                    writer.write([kept for kept in map(compactor.rewrite, block) if kept is not None])
                    yield
            outputs[-1].segment = writer.finish()
        disk.sync_folder(plan.stream)
    except BaseException:
        discard(disk, plan.stream, outputs)
        raise
    return Compacted(outputs, compactor.end_offset)


def discard(disk: Disk, stream: str, outputs: list[CompactionOutput]) -> None:
    """Remove what a compaction wrote that did not come to be."""
    for output in outputs:
        if output.segment is not None:
            remove_segment(disk, stream, output.segment.name)


def _blocks(files: SegmentFiles, segment: Segment) -> Iterator[list[memoryview]]:
    """The batches of a segment, verified, in lists that share one block of memory."""
    buffers = BufferPool(buffer_bytes=_BLOCK_BYTES, count_max=2)
    position, wanted, size = 0, _BLOCK_BYTES, segment.size
    offset, epoch = segment.base, -1
    while position < size:
        block = load(files, position, min(wanted, size - position), buffers, cached=False)
        batches, at, wanted = [], 0, _BLOCK_BYTES
        while at < len(block):
            try:
                header = validate(block, at, compacted=True)
            except BatchError as error:
                if error.reason == "truncated" and at and position + at < size:
                    break
                if error.reason == "truncated" and len(block) < size - position:
                    wanted = 2 * len(block)
                    break
                raise damage(files, position + at, str(error)) from error
            # No checksum covers these two: a leader gives them to a batch that its producer has sealed.
            if header.base_offset < offset or header.next_offset > segment.next_offset:
                wrong = f"expected a batch within offsets {offset} to {segment.next_offset}, found {header.base_offset}"
                raise damage(files, position + at, wrong)
            if header.leader_epoch < epoch:
                wrong = f"expected leader epoch {epoch} or later, found {header.leader_epoch}"
                raise damage(files, position + at, wrong)
            offset, epoch = header.next_offset, header.leader_epoch
            batches.append(block[at : at + header.size])
            at += header.size
        position += at
        yield batches
