"""Bugs that somebody might really write, each planted into the product, and the worlds in which they show.

Every promise of the checkers has at least one bug here that breaks it and nothing else.
"""

from collections import deque
from collections.abc import Callable, Iterable, Sequence

import pytest
from attrs import define

from goqueue.core.agreement import Agreement
from goqueue.core.calls import Reply
from goqueue.core.log import log as log_module
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import Buffer, Read, ReadResult
from goqueue.core.log.log import Log, LogState
from goqueue.core.log.producers import Produced, Producers
from goqueue.core.node import Node
from goqueue.core.partition import admission as admission_module
from goqueue.core.partition import partition as partition_module
from goqueue.core.partition import producers as producers_module
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.producers import Repeated
from goqueue.core.partition.publishing import Publishing
from goqueue.core.partition.recent import RecentBatches, _Kept
from goqueue.core.quorum.entries import Entry
from goqueue.core.reads import Reads
from goqueue.core.ready import SaveVote, Send
from goqueue.core.records.batch import Header, read_header
from goqueue.core.records.record import RecordCheck
from goqueue.core.verbs import Code, Fetch, NewRecord, PublishReply, Refusal
from goqueue.fuzz.options import Options
from goqueue.storage.jobs import StreamJob
from goqueue.storage.recovery import _Attempt, _Scanned
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.store import Store
from goqueue.storage.synced_mark import SyncedMark

Plant = Callable[[pytest.MonkeyPatch], None]


@define
class Bug:
    """A bug, the worlds that show it, and what a checker says of it."""

    name: str
    plant: Plant
    worlds: Callable[[], Options]
    said: str


def crashing() -> Options:
    """Worlds in which machines crash and no more."""
    return Options(p_crash=0.03, p_topic_change=0.0, value_bytes_max=50)


def dying_amid_work() -> Options:
    """Worlds in which machines crash amid operations and between them."""
    return Options(
        p_split=1.0, p_crash=0.03, p_cut_inside=0.05, p_topic_change=0.0, value_bytes_max=20_000, in_flight_max=10,
        small_segments=True, topics=1, partitions_max=1,
    )  # fmt: skip


def quiet() -> Options:
    """Worlds in which nothing fails."""
    return Options(p_topic_change=0.0, consumers=2, think_ns=0)


def numbered() -> Options:
    """Worlds of producers that number their records, on bad links to a process that dies."""
    return Options(
        producers=0, sequenced=2, consumers=0, topics=1, partitions_max=1, p_topic_change=0.0,
        p_cut=0.04, p_hang_up=0.04, p_kill=0.03, p_sync_error=0.02,
    )  # fmt: skip


def refusing() -> Options:
    """The same on long links, to a process that takes one batch and refuses the one before."""
    options = numbered()
    options.delay_ns_max, options.p_sync_error, options.p_write_error = 5_000_000, 0.05, 0.05
    return options


# --- durability


def acknowledged_before_the_sync(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Log, "acknowledged_offset", property(lambda log: log.next_offset))


def acknowledged_before_the_write(patch: pytest.MonkeyPatch) -> None:
    real_take = Partition.take

    def take(partition: Partition, now: int) -> object:
        effects = real_take(partition, now)
        partition.written()
        return effects

    patch.setattr(Partition, "take", take)


def nothing_is_synced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(StreamJob, "_sync", lambda job: None)


def no_folder_is_synced(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SimulatedDisk, "sync_folder", lambda disk, path: None)


def a_checkpoint_before_its_sync(patch: pytest.MonkeyPatch) -> None:
    """A job says what is on the disk before it is there."""
    real_sync = StreamJob._sync

    def sync(job: StreamJob) -> None:
        if job.commit is not None:
            job._replace_checkpoint(job.commit.checkpoint, job.commit.removed)
        real_sync(job)

    patch.setattr(StreamJob, "_sync", sync)


def a_page_cache_that_is_believed(patch: pytest.MonkeyPatch) -> None:
    """Only the process that saw a sync fail reads back from the disk what it was to cover."""

    def doubts(store: Store, stream: str) -> bool:
        known = store._streams.get(stream)
        return known is not None and known.failed is not None

    patch.setattr(Store, "doubts", doubts)


def lost_on_reopening(patch: pytest.MonkeyPatch) -> None:
    """Recovery finds a flaw in the last segment where there is none."""
    real_verdict = _Attempt._verdict

    def verdict(attempt: _Attempt, scanned: list[_Scanned], mark: SyncedMark, *, trusted: bool) -> list[_Scanned]:
        kept = real_verdict(attempt, scanned, mark, trusted=trusted)
        return kept[:-1] if attempt._folder.startswith("logs/") else kept

    patch.setattr(_Attempt, "_verdict", verdict)


def settings_that_change_nothing(patch: pytest.MonkeyPatch) -> None:
    """A topic that is to be synced from here on goes on without."""
    real_configure = Log.configure

    def configure(log: Log, config: LogConfig) -> None:
        config.fsync = log.config.fsync
        real_configure(log, config)

    patch.setattr(Log, "configure", configure)


# --- answers


def a_reply_dropped_on_a_failed_disk(patch: pytest.MonkeyPatch) -> None:
    real_disk_failed = Partition.disk_failed

    def disk_failed(partition: Partition, now: int, why: str) -> None:
        partition._unacknowledged.clear()
        real_disk_failed(partition, now, why)

    patch.setattr(Partition, "disk_failed", disk_failed)


def refused_as_not_stored(patch: pytest.MonkeyPatch) -> None:
    """A disk that failed is said to have kept nothing of what waited for it."""
    real_refuse = Partition._refuse_waiting

    def refuse(partition: Partition, refusal: Refusal) -> None:
        real_refuse(partition, Refusal(Code.UNAVAILABLE, refusal.message))

    patch.setattr(Partition, "_refuse_waiting", refuse)


def a_second_answer(patch: pytest.MonkeyPatch) -> None:
    real_send = Node._answer

    def send(node: Node, to: int | None, reply: Reply) -> None:
        real_send(node, to, reply)
        if isinstance(reply, PublishReply) and to is not None and to % 20 == 0:
            node._ready.sends.append(Send(to, reply))

    patch.setattr(Node, "_answer", send)


# --- what readers see


def batches_in_memory_that_a_failed_disk_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in memory stays when the disk has failed, and so does what it may have lost."""

    def add(self: RecentBatches, stream: str, offset: int, next_offset: int, batch: Buffer) -> None:
        tail = self._by_stream.setdefault(stream, deque())
        if not tail or tail[-1].next_offset <= offset:
            tail.append(_Kept(stream, offset, next_offset, batch))

    monkeypatch.setattr(RecentBatches, "forget", lambda self, stream: None)
    monkeypatch.setattr(RecentBatches, "add", add)


def served_above_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    def read(partition: Partition, fetch: Fetch) -> Read | Refusal | None:
        if fetch.offset > partition.log.next_offset:
            return None
        return partition.log.read(max(fetch.offset, partition.log.start_offset), fetch.max_bytes)

    patch.setattr(Partition, "read", read)


def a_watermark_that_goes_back(patch: pytest.MonkeyPatch) -> None:
    real_reopened = Partition.reopened

    def reopened(partition: Partition, now: int, state: LogState) -> None:
        real_reopened(partition, now, state)
        partition.high_watermark = max(partition.high_watermark - 1, 0)

    patch.setattr(Partition, "reopened", reopened)


def another_partitions_batches(patch: pytest.MonkeyPatch) -> None:
    """A read that goes to another stream whenever there is one with a segment of that name."""
    real_read = Store.read

    def read(store: Store, wanted: Read) -> ReadResult:
        folder, _, number = wanted.stream.rpartition("/")
        other = f"{folder}/{int(number) ^ 1}"
        if other in store._streams:
            wanted.stream = other
        return real_read(store, wanted)

    patch.setattr(Store, "read", read)


def written_twice(patch: pytest.MonkeyPatch) -> None:
    real_append = Log.append

    def append(log: Log, now: int, batch: bytearray, leader_epoch: int = 0) -> int:
        if log.stream.startswith("logs/") and not read_header(batch).has_producer and log.next_offset % 7 == 3:
            real_append(log, now, bytearray(batch), leader_epoch)
        return real_append(log, now, batch, leader_epoch)

    patch.setattr(Log, "append", append)


def out_of_the_order_of_sending(patch: pytest.MonkeyPatch) -> None:
    """Every other message waits for the end of the turn."""
    real_gather, real_take = Partition.gather, Partition.take
    late: list[tuple[Partition, int, Publishing, Sequence[NewRecord], list[int]]] = []

    def gather(
        partition: Partition,
        now: int,
        wall_ms: int,
        publishing: Publishing,
        records: Sequence[NewRecord],
        places: list[int],
    ) -> None:
        if odd := [at for at in places if at % 2]:
            real_gather(partition, now, wall_ms, publishing, records, odd)
        if even := [at for at in places if not at % 2]:
            late.append((partition, wall_ms, publishing, records, even))

    def take(partition: Partition, now: int) -> object:
        for one in [one for one in late if one[0] is partition]:
            real_gather(partition, now, *one[1:])
            late.remove(one)
        return real_take(partition, now)

    patch.setattr(Partition, "gather", gather)
    patch.setattr(Partition, "take", take)


# --- time


def reads_whose_time_does_not_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Reads, "wake", lambda reads, now: None)


# --- producers that number their records


def duplicates_that_are_not_recognised(patch: pytest.MonkeyPatch) -> None:
    real_judge = producers_module.judge

    def judge(producers: Producers, header: Header, wall_ms: int | None = None) -> Refusal | None:
        verdict = real_judge(producers, header, wall_ms)
        return None if isinstance(verdict, Produced | Repeated) else verdict

    patch.setattr(partition_module, "judge", judge)


def gaps_that_are_let_pass(patch: pytest.MonkeyPatch) -> None:
    real_judge = producers_module.judge

    def judge(producers: Producers, header: Header, wall_ms: int | None = None) -> Produced | Repeated | Refusal | None:
        verdict = real_judge(producers, header, wall_ms)
        known = producers.last(header.producer_id)
        is_ahead = known is None or header.base_sequence > known[1]
        return None if isinstance(verdict, Refusal) and is_ahead else verdict

    patch.setattr(partition_module, "judge", judge)


def producers_that_a_restart_forgets(patch: pytest.MonkeyPatch) -> None:
    real_adopt = Log._adopt

    def adopt(log: Log, state: LogState) -> None:
        state.producers = Producers()
        real_adopt(log, state)

    patch.setattr(Log, "_adopt", adopt)


# --- metadata, and batches of others


def metadata_that_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """What was agreed on last is gone when the disk has failed and is back."""
    real_opened = Agreement.opened

    def opened(
        agreement: Agreement, now: int, state: LogState, entries: Iterable[Entry], vote: SaveVote | None
    ) -> None:
        is_again = agreement.log is not None
        real_opened(agreement, now, state, entries, vote)
        if is_again and agreement.state.topics:
            agreement.state.topics.popitem()
            agreement._applied._changed.everything = True

    patch.setattr(Agreement, "opened", opened)


def a_failed_disk_that_passes_for_an_empty_one(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Partition, "withheld", lambda partition, offset: None)


def records_unchecked(patch: pytest.MonkeyPatch) -> None:
    """A batch is taken for what it says that it is."""
    patch.setattr(log_module, "check_claims", lambda *_: None)
    patch.setattr(RecordCheck, "advance", lambda *_: True)
    patch.setattr(admission_module, "check_claims", lambda *_: None)


BUGS = (
    Bug("records are not checked", records_unchecked, lambda: Options(hostiles=1, p_topic_change=0.0), "wrong for"),
    Bug("acknowledged before the sync", acknowledged_before_the_sync, crashing, "durable"),
    Bug(
        "acknowledged before the write",
        acknowledged_before_the_write,
        lambda: Options(fsyncs=("none",), p_write_error=0.05, p_cold=0.3),
        "",
    ),
    Bug("nothing is synced", nothing_is_synced, crashing, ""),
    Bug("no folder is synced", no_folder_is_synced, crashing, ""),
    Bug("a checkpoint before its sync", a_checkpoint_before_its_sync, dying_amid_work, "damaged at"),
    Bug(
        "a page cache that is believed",
        a_page_cache_that_is_believed,
        lambda: Options(p_sync_error=0.05, p_kill=0.05, p_crash=0.05, p_topic_change=0.0, value_bytes_max=50),
        "",
    ),
    Bug("lost on reopening", lost_on_reopening, lambda: Options(p_kill=0.03, p_topic_change=0.0), "below the"),
    Bug(
        "settings that change nothing",
        settings_that_change_nothing,
        lambda: Options(
            fsyncs=("none",), alters_fsync=True, p_topic_change=0.1, p_crash=0.02, think_ns=3_000_000, steps=300
        ),
        "",
    ),
    Bug(
        "a reply dropped on a failed disk",
        a_reply_dropped_on_a_failed_disk,
        lambda: Options(p_sync_error=0.05, p_write_error=0.05),
        "never answered",
    ),
    Bug(
        "refused as not stored",
        refused_as_not_stored,
        lambda: Options(p_sync_error=0.05, p_write_error=0.05, consumers=2, topics=1, p_topic_change=0.0),
        "was not stored",
    ),
    Bug("a second answer", a_second_answer, Options, "answered twice"),
    Bug("served above the high watermark", served_above_the_high_watermark, quiet, "got"),
    Bug("a watermark that goes back", a_watermark_that_goes_back, lambda: Options(p_sync_error=0.05), "back to"),
    Bug("another partition's batches", another_partitions_batches, lambda: Options(partitions_max=3, consumers=2), ""),
    Bug(
        "batches in memory that a failed disk lost",
        batches_in_memory_that_a_failed_disk_lost,
        lambda: Options(p_sync_error=0.05, p_crash=0.02, recent_bytes=1 << 20, consumers=2),
        "",
    ),
    Bug("written twice", written_twice, quiet, "as well"),
    Bug("out of the order of sending", out_of_the_order_of_sending, quiet, "not sent"),
    Bug("reads whose time does not end", reads_whose_time_does_not_end, quiet, "wants to be woken at once"),
    Bug("duplicates that are not recognised", duplicates_that_are_not_recognised, numbered, ""),
    Bug("gaps that are let pass", gaps_that_are_let_pass, refusing, "not at"),
    Bug("producers that a restart forgets", producers_that_a_restart_forgets, numbered, ""),
    Bug(
        "metadata that is forgotten",
        metadata_that_is_forgotten,
        lambda: Options(p_sync_error=0.1, p_topic_change=0.1),
        "",
    ),
    Bug(
        "a failed disk that passes for an empty one",
        a_failed_disk_that_passes_for_an_empty_one,
        lambda: Options(
            p_rot=0.05, p_full=0.02, fsyncs=("interval", "none"), small_segments=True, value_bytes_max=20_000, topics=1
        ),
        "gives Fetched(batches=b''",
    ),
)
