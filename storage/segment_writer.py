"""Writing a whole segment anew, as compaction and repair do.

The segment is one of the next generation and nothing refers to it until a checkpoint names it, so a crash while it is
being written leaves only files that recovery removes. It has its name when it is whole and on the disk: even where the
checkpoint is lost, half a segment is not taken for the whole.
"""

from collections.abc import Sequence

from goqueue.core.log.config import LogConfig
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.log.tail import SegmentTail
from goqueue.core.records.batch import validate
from goqueue.storage.disk import Disk
from goqueue.storage.layout import UNFINISHED_ENDING, segment_files
from goqueue.storage.recovery import remove_segment, store_index
from goqueue.storage.segment_files import SegmentFiles


class SegmentWriter:
    """A segment under construction that takes the place of `inputs`."""

    def __init__(self, disk: Disk, stream: str, inputs: Sequence[Segment], config: LogConfig) -> None:
        first = inputs[0]
        generation = 1 + max(segment.generation for segment in inputs)
        segment = Segment(first.base, generation, 0, first.base, NO_TIMESTAMP, first.created_ms)
        self._disk = disk
        self._stream = stream
        self._end_offset = inputs[-1].next_offset
        self._tail = SegmentTail(segment, config.index_interval_bytes)
        remove_segment(disk, stream, segment.name)
        self._files = SegmentFiles(disk, stream, segment.name, create=True, ending=UNFINISHED_ENDING)

    @property
    def segment(self) -> Segment:
        """What has been written so far."""
        return self._tail.segment

    def write(self, batches: Sequence[memoryview | bytearray]) -> None:
        """Append batches that keep their offsets; BatchError when one is not sound."""
        position = self.segment.size
        for batch in batches:
            header = validate(batch, compacted=True)
            self._tail.add(header.base_offset, header.next_offset, header.max_timestamp, header.size)
        if batches:
            self._files.write(batches, position)

    def finish(self) -> Segment | None:
        """Force everything to the disk; None when nothing was written and the files are gone again."""
        segment = self.segment
        if segment.size == 0:
            remove_segment(self._disk, self._stream, segment.name)
            return None
        segment.next_offset = max(segment.next_offset, self._end_offset)
        store_index(self._files, self._tail)
        self._files.log.sync()
        self._files.sync_indexes()
        # The log comes last: where it has its name, the segment is whole.
        for file_name in reversed(segment_files(segment.name)):
            path = f"{self._stream}/{file_name}"
            if self._disk.exists(path + UNFINISHED_ENDING):
                self._disk.rename(path + UNFINISHED_ENDING, path)
        return segment
