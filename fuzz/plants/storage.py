"""Bugs of `storage`: what is synced, what a start believes of a disk, and what is read and removed there."""

from goqueue.core.log.effects import Read, ReadResult
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants import clusters, lone
from goqueue.fuzz.plants.plant import Plant, Replace
from goqueue.storage.jobs import StreamJob
from goqueue.storage.node_disk import Removal
from goqueue.storage.recovery import _Attempt, _Scanned
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.store import Store
from goqueue.storage.synced_mark import SyncedMark


def _nothing_is_synced(replace: Replace) -> None:
    replace(StreamJob, "_sync", lambda job: None)


def _no_folder_is_synced(replace: Replace) -> None:
    replace(SimulatedDisk, "sync_folder", lambda disk, path: None)


def _a_checkpoint_before_its_sync(replace: Replace) -> None:
    """A job says what is on the disk before it is there."""
    real_sync = StreamJob._sync

    def sync(job: StreamJob) -> None:
        if job.commit is not None:
            job._replace_checkpoint(job.commit.checkpoint, job.commit.removed)
        real_sync(job)

    replace(StreamJob, "_sync", sync)


def _a_page_cache_that_is_believed(replace: Replace) -> None:
    """Only the process that saw a sync fail reads back from the disk what it was to cover."""

    def doubts(store: Store, stream: str) -> bool:
        known = store._streams.get(stream)
        return known is not None and known.failed is not None

    replace(Store, "doubts", doubts)


def _lost_on_reopening(replace: Replace) -> None:
    """Recovery finds a flaw in the last segment where there is none."""
    real_verdict = _Attempt._verdict

    def verdict(attempt: _Attempt, scanned: list[_Scanned], mark: SyncedMark, *, trusted: bool) -> list[_Scanned]:
        kept = real_verdict(attempt, scanned, mark, trusted=trusted)
        return kept[:-1] if attempt._folder.startswith("logs/") else kept

    replace(_Attempt, "_verdict", verdict)


def _segment_lost_on_reopening(replace: Replace) -> None:
    """Recovery finds a flaw in the last segment of messages where there is none."""
    real = _Attempt._verdict

    def verdict(attempt: _Attempt, scanned: list[_Scanned], mark: SyncedMark, *, trusted: bool) -> list[_Scanned]:
        kept = real(attempt, scanned, mark, trusted=trusted)
        return kept[:-1] if attempt._folder.startswith("logs/t") else kept

    replace(_Attempt, "_verdict", verdict)


def _another_partitions_batches(replace: Replace) -> None:
    """A read that goes to another stream whenever there is one with a segment of that name."""
    real_read = Store.read

    def read(store: Store, wanted: Read) -> ReadResult:
        folder, _, number = wanted.stream.rpartition("/")
        other = f"{folder}/{int(number) ^ 1}"
        if other in store._streams:
            wanted.stream = other
        return real_read(store, wanted)

    replace(Store, "read", read)


def _a_folder_that_stays(replace: Replace) -> None:
    replace(Removal, "run", lambda removal: None)


PLANTS = (
    Plant(
        "nothing-is-synced",
        "What is acknowledged under `fsync: every` survives a power cut.",
        _nothing_is_synced,
        worlds=lone.crashing,
    ),
    Plant(
        "no-folder-is-synced",
        "The files that a topic's messages are in are there after a power cut.",
        _no_folder_is_synced,
        worlds=lone.crashing,
    ),
    Plant(
        "a-checkpoint-before-its-sync",
        "A checkpoint names what is durable, and nothing else.",
        _a_checkpoint_before_its_sync,
        worlds=lone.dying_amid_work,
        said="damaged at",
    ),
    Plant(
        "a-page-cache-that-is-believed",
        "What a failed sync was to cover counts as durable only when it was synced again, by whichever process.",
        _a_page_cache_that_is_believed,
        worlds=lambda: Options(p_sync_error=0.05, p_kill=0.05, p_crash=0.05, p_topic_change=0.0, value_bytes_max=50),
    ),
    Plant(
        "lost-on-reopening",
        "A start takes nothing away from a log that is sound.",
        _lost_on_reopening,
        worlds=lambda: Options(p_kill=0.03, p_topic_change=0.0),
        said="below the",
    ),
    Plant(
        "segment-lost-on-reopening",
        "A replica that was in sync has all that is acknowledged when it is started again.",
        _segment_lost_on_reopening,
        nodes=3,
        worlds=clusters.reopening,
        within=10,
        finder="InSyncReplicas",
    ),
    Plant(
        "another-partitions-batches",
        "A reader is given the messages of the partition that it reads.",
        _another_partitions_batches,
        worlds=lambda: Options(partitions_max=3, consumers=2),
    ),
    Plant(
        "a-folder-that-stays",
        "The folders of a topic that is deleted are removed.",
        _a_folder_that_stays,
        worlds=lambda: Options(p_topic_change=0.1),
    ),
)
"""All bugs of the storage."""
