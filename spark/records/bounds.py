"""How far a topic in a data folder reaches, for jobs that go on where they stopped.

The end is where reading would end: what is sealed or vouched for counts as it was noted, and only what comes behind is
looked at. Offsets below the end need not all be there, since compaction and control batches leave gaps.
"""

from goqueue.spark.records.disks import disk_at
from goqueue.spark.records.planning import partitions_of, plan_partition, stream_of
from goqueue.spark.records.segments import read_segment
from goqueue.spark.records.wanted import Wanted
from goqueue.storage.inspection import list_segments


def bounds(folder: str, topic: str) -> dict[int, tuple[int, int]]:
    """The first offset that is still there, and the end, by partition. Raises as `plan` does, DamageError."""
    return {partition: _bounds(folder, topic, partition) for _, partition in partitions_of(folder, (topic,))}


def noted(folder: str, topic: str, partition: int) -> tuple[int, int]:
    """The first offset that is still there, and the end as far as it was noted. Raises DamageError, OSError."""
    checkpoint, segments = list_segments(disk_at(folder), stream_of(topic, partition))
    if checkpoint is not None:
        return checkpoint.start_offset, max(checkpoint.start_offset, checkpoint.next_offset)
    first = segments[0].base if segments else 0
    return first, first


def end_of(folder: str, topic: str, partition: int, end: int) -> int:
    """Where a partition ends that certainly reaches up to `end`. Raises as `plan` does, DamageError."""
    for planned in plan_partition(folder, topic, partition, Wanted(first_offset=end)):
        for run in read_segment(planned):
            end = max(end, run.sections[-1].header.next_offset)
    return end


def _bounds(folder: str, topic: str, partition: int) -> tuple[int, int]:
    first, end = noted(folder, topic, partition)
    return first, end_of(folder, topic, partition, end)
