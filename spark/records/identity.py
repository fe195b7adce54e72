"""Which topic of a name a data folder holds: the id that its broker gives it, out of the metadata beside the topics.

A topic that was deleted and made again has other messages at the same offsets. Nothing in its segments says so; what
the nodes agreed on does, of which each has a copy. A copy of a folder may have been made without it.
"""

from collections.abc import Iterator

from goqueue.core.cluster.agreement import METADATA_STREAM
from goqueue.core.cluster.applied import records_in
from goqueue.core.cluster.apply import identity
from goqueue.core.cluster.records import METADATA_CODEC, MetadataSnapshot, TopicCreated, TopicDeleted
from goqueue.core.quorum.entries import Entry
from goqueue.core.records.batch import read_header
from goqueue.core.records.record import iterate
from goqueue.spark.records.disks import disk_at
from goqueue.storage.disk import Disk
from goqueue.storage.inspection import list_segments, sound_batches


def identity_of(folder: str, topic: str) -> str:
    """The id of a topic in a data folder; empty where the folder does not say. Raises DamageError, OSError."""
    found = ""
    disk = disk_at(folder)
    for entry in _entries(disk) if disk.exists(METADATA_STREAM) else ():
        for record in records_in(entry):
            if isinstance(record, MetadataSnapshot):
                created = map(METADATA_CODEC.decode, record.topics)
                found = next((_identity(each) for each in created if each.name == topic), "")
            elif isinstance(record, TopicCreated) and record.name == topic:
                found = _identity(record)
            elif isinstance(record, TopicDeleted) and record.name == topic:
                found = ""
    return found


def _identity(created: TopicCreated) -> str:
    return identity(created.topic_id, created.created_ms)


def _entries(disk: Disk) -> Iterator[Entry]:
    """Read all entries of the metadata log, those included that are not committed yet."""
    for segment in list_segments(disk, METADATA_STREAM)[1]:
        for _, batch in sound_batches(disk, METADATA_STREAM, segment):
            term = max(0, read_header(batch).leader_epoch)
            for record in iterate(batch):
                kind = None if record.key is None else bytes(record.key)
                yield Entry(record.offset, term, kind, bytes(record.value or b""))
