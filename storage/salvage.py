"""Telling sound batches from the bytes between them, in a log file that may be damaged anywhere.

Recovery stops at the first flaw; this goes on behind it. A batch is believed when its frame and CRC are right and its
offset can stand there. The CRC covers neither offset nor leader epoch. So an offset that leaves a gap is believed only
if no sound batch follows that it would run into; an epoch that its neighbours contradict is put right, since nothing
but the order of epochs depends on it.
"""

from collections.abc import Iterator

from attrs import define

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import HEADER_BYTES, MAGIC, read_header, stamp, validate
from goqueue.storage.disk import File

_BLOCK_BYTES = 1 << 20
_MAGIC_POSITION = 16


@define
class Hole:
    """Bytes [begin, end) in which there is no sound batch; `blank` when they are only reserved room."""

    begin: int
    end: int
    blank: bool


@define
class Sound:
    """A sound batch, and whether its leader epoch had to be put right."""

    position: int
    batch: memoryview
    restamped: bool = False


@define
class Salvage:
    """A log file up to `end`, of which batches with offsets in [expected, limit) are wanted, from an epoch on."""

    file: File
    end: int
    expected: int
    limit: int
    epoch: int = -1

    def runs(self) -> Iterator[Sound | Hole]:
        """The sound batches and the holes between them, in order."""
        position, expected, epoch = 0, self.expected, self.epoch
        while position < self.end:
            batch = self._placed_batch(position, expected)
            if batch is None:
                begin, position = position, self._next_batch(position + 1, expected)
                yield Hole(begin, position, self._is_blank(begin, position))
            else:
                sound = self._in_epoch(Sound(position, batch), epoch)
                yield sound
                header = read_header(sound.batch)
                expected, epoch = header.next_offset, header.leader_epoch
                position += len(batch)

    def batches(self) -> Iterator[Sound]:
        """The sound batches alone."""
        for run in self.runs():
            if isinstance(run, Sound):
                yield run

    def faults(self) -> list[Sound | Hole]:
        """What keeps the file from being whole: holes that are not blank, and batches put right."""
        return [run for run in self.runs() if (run.restamped if isinstance(run, Sound) else not run.blank)]

    def _in_epoch(self, sound: Sound, epoch: int) -> Sound:
        header = read_header(sound.batch)
        right = header.leader_epoch
        if right < epoch:
            right = epoch
        elif right > epoch:
            follower = self._batch(sound.position + header.size, header.next_offset)
            right = min(right, max(read_header(follower).leader_epoch, epoch)) if follower is not None else right
        if right == header.leader_epoch:
            return sound
        batch = bytearray(sound.batch)
        stamp(batch, header.base_offset, right)
        return Sound(sound.position, memoryview(batch), restamped=True)

    def _placed_batch(self, position: int, expected: int) -> memoryview | None:
        batch = self._batch(position, expected)
        if batch is None or read_header(batch).base_offset == expected:
            return batch
        follower = self._batch(position + len(batch), expected)
        runs_into = follower is not None and read_header(follower).base_offset < read_header(batch).next_offset
        return None if runs_into else batch

    def _batch(self, position: int, expected: int) -> memoryview | None:
        left = self.end - position
        if left < HEADER_BYTES:
            return None
        header = read_header(self.file.read(HEADER_BYTES, position))
        if header.magic != MAGIC or not HEADER_BYTES <= header.size <= left:
            return None
        if header.base_offset < expected or header.next_offset > self.limit:
            return None
        batch = memoryview(self.file.read(header.size, position))
        try:
            validate(batch, compacted=True)
        except BatchError:
            return None
        return batch

    def _next_batch(self, begin: int, expected: int) -> int:
        """Where the next sound batch begins at or after `begin`; the end when there is none."""
        position = begin + _MAGIC_POSITION
        while position < self.end:
            block = self.file.read(min(_BLOCK_BYTES, self.end - position), position)
            at = block.find(MAGIC)
            while at >= 0:
                candidate = position + at - _MAGIC_POSITION
                if self._placed_batch(candidate, expected) is not None:
                    return candidate
                at = block.find(MAGIC, at + 1)
            position += len(block)
        return self.end

    def _is_blank(self, begin: int, end: int) -> bool:
        for position in range(begin, end, _BLOCK_BYTES):
            block = self.file.read(min(_BLOCK_BYTES, end - position), position)
            if block.count(0) != len(block):
                return False
        return True
