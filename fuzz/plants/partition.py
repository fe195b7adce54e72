"""Bugs of `core/partition`: answers to publishes, what readers are shown, and numbered records."""

from collections import deque
from collections.abc import Sequence

from goqueue.core.log.effects import Buffer, Read
from goqueue.core.log.log import LogState
from goqueue.core.log.producers import Produced, Producers
from goqueue.core.partition import partition as partition_module
from goqueue.core.partition import producers as producers_module
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.producers import Repeated, Verdict
from goqueue.core.partition.publishing import Publishing
from goqueue.core.partition.recent import RecentBatches, _Kept
from goqueue.core.records.batch import Header
from goqueue.core.requests.messages import Fetch, NewRecord
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants import clusters, lone
from goqueue.fuzz.plants.plant import Plant, Replace


def _acknowledged_before_the_write(replace: Replace) -> None:
    real_take = Partition.take

    def take(partition: Partition, now: int) -> object:
        effects = real_take(partition, now)
        partition.written()
        return effects

    replace(Partition, "take", take)


def _a_reply_dropped_on_a_failed_disk(replace: Replace) -> None:
    real_disk_failed = Partition.disk_failed

    def disk_failed(partition: Partition, now: int, why: str) -> None:
        partition._unacknowledged.clear()
        real_disk_failed(partition, now, why)

    replace(Partition, "disk_failed", disk_failed)


def _refused_as_not_stored(replace: Replace) -> None:
    """A disk that failed is said to have kept nothing of what waited for it."""
    real_refuse = Partition._refuse_waiting

    def refuse(partition: Partition, refusal: Refusal) -> None:
        real_refuse(partition, Refusal(Code.UNAVAILABLE, refusal.message))

    replace(Partition, "_refuse_waiting", refuse)


def _refused_as_undone(replace: Replace) -> None:
    """A leader that is replaced says of all that waits that it was not stored."""

    def abandon(partition: Partition, refusal: Refusal) -> list[Publishing]:
        gathered = [share for gathering in partition._gathering.values() for share in gathering.shares]
        partition._gathering.clear()
        partition._recent.forget(partition.log.stream)
        partition._refuse(gathered, refusal)
        partition._refuse_waiting(refusal)
        done, partition.done = partition.done, []
        return done

    replace(Partition, "abandon", abandon)


def _batches_in_memory_that_a_failed_disk_lost(replace: Replace) -> None:
    """What is in memory stays when the disk has failed, and so does what it may have lost."""

    def add(self: RecentBatches, stream: str, offset: int, next_offset: int, batch: Buffer) -> None:
        tail = self._by_stream.setdefault(stream, deque())
        if not tail or tail[-1].next_offset <= offset:
            tail.append(_Kept(stream, offset, next_offset, batch))

    replace(RecentBatches, "forget", lambda self, stream: None)
    replace(RecentBatches, "add", add)


def _served_above_the_high_watermark(replace: Replace) -> None:
    def read(partition: Partition, fetch: Fetch) -> Read | Refusal | None:
        if fetch.offset > partition.log.next_offset:
            return None
        return partition.log.read(max(fetch.offset, partition.log.start_offset), fetch.max_bytes)

    replace(Partition, "read", read)


def _a_watermark_that_goes_back(replace: Replace) -> None:
    real_reopened = Partition.reopened

    def reopened(partition: Partition, now: int, state: LogState) -> None:
        real_reopened(partition, now, state)
        partition.high_watermark = max(partition.high_watermark - 1, 0)

    replace(Partition, "reopened", reopened)


def _a_failed_disk_that_passes_for_an_empty_one(replace: Replace) -> None:
    replace(Partition, "withheld", lambda partition, offset: None)


def _out_of_the_order_of_sending(replace: Replace) -> None:
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

    replace(Partition, "gather", gather)
    replace(Partition, "take", take)


def _duplicates_that_are_not_recognised(replace: Replace) -> None:
    real_judge = producers_module.judge

    def judge(producers: Producers, header: Header, wall_ms: int | None = None) -> Refusal | None:
        verdict = real_judge(producers, header, wall_ms)
        return None if isinstance(verdict, Produced | Repeated) else verdict

    replace(partition_module, "judge", judge)


def _gaps_that_are_let_pass(replace: Replace) -> None:
    real_judge = producers_module.judge

    def judge(producers: Producers, header: Header, wall_ms: int | None = None) -> Produced | Repeated | Refusal | None:
        verdict = real_judge(producers, header, wall_ms)
        known = producers.last(header.producer_id)
        is_ahead = known is None or header.base_sequence > known[1]
        return None if isinstance(verdict, Refusal) and is_ahead else verdict

    replace(partition_module, "judge", judge)


def _repetitions_answered_by_the_leader_alone(replace: Replace) -> None:
    """What was taken before is in the log, and so it is answered when the leader has it."""
    real = Partition._judge

    def judge(partition: Partition, now: int, header: Header, publishing: Publishing, is_client: bool) -> Verdict:
        verdict = real(partition, now, header, publishing, is_client)
        if isinstance(verdict, Produced):
            publishing.needs_all = False
        return verdict

    replace(Partition, "_judge", judge)


PLANTS = (
    Plant(
        "acknowledged-before-the-write",
        "What is acknowledged has been written.",
        _acknowledged_before_the_write,
        worlds=lambda: Options(fsyncs=("none",), p_write_error=0.05, p_cold=0.3),
    ),
    Plant(
        "a-reply-dropped-on-a-failed-disk",
        "Every publish is answered, also where the disk fails.",
        _a_reply_dropped_on_a_failed_disk,
        worlds=lambda: Options(p_sync_error=0.05, p_write_error=0.05),
        said="never answered",
    ),
    Plant(
        "refused-as-not-stored",
        "A publish is refused as not stored only if nobody will ever read it.",
        _refused_as_not_stored,
        worlds=lambda: Options(p_sync_error=0.05, p_write_error=0.05, consumers=2, topics=1, p_topic_change=0.0),
        said="was not stored",
    ),
    Plant(
        "refused-as-undone",
        "A leader that is replaced says of what waited that its fate is not known.",
        _refused_as_undone,
        nodes=3,
        worlds=clusters.replacing_leaders,
        within=15,
    ),
    Plant(
        "batches-in-memory-that-a-failed-disk-lost",
        "What is read from memory is in the log.",
        _batches_in_memory_that_a_failed_disk_lost,
        worlds=lambda: Options(p_sync_error=0.05, p_crash=0.02, recent_bytes=1 << 20, consumers=2),
    ),
    Plant(
        "served-above-the-high-watermark",
        "Nobody reads what is not acknowledged.",
        _served_above_the_high_watermark,
        worlds=lone.quiet,
        said="got",
    ),
    Plant(
        "a-watermark-that-goes-back",
        "The high watermark never goes back.",
        _a_watermark_that_goes_back,
        worlds=lambda: Options(p_sync_error=0.05),
        said="back to",
    ),
    Plant(
        "a-failed-disk-that-passes-for-an-empty-one",
        "Who reads what a failed disk has is refused, and is not told that there is nothing.",
        _a_failed_disk_that_passes_for_an_empty_one,
        worlds=lambda: Options(
            p_rot=0.05, p_full=0.02, fsyncs=("interval", "none"), small_segments=True, value_bytes_max=20_000, topics=1
        ),
        said="gives Fetched(batches=b''",
    ),
    Plant(
        "out-of-the-order-of-sending",
        "Messages of one producer keep their order.",
        _out_of_the_order_of_sending,
        worlds=lone.quiet,
        said="not sent",
    ),
    Plant(
        "duplicates-that-are-not-recognised",
        "A numbered record that is sent again is stored once.",
        _duplicates_that_are_not_recognised,
        worlds=lone.numbered,
        tags=("lost_answer",),
    ),
    Plant(
        "gaps-that-are-let-pass",
        "A numbered record is stored behind the one before it, or refused.",
        _gaps_that_are_let_pass,
        worlds=lone.refusing,
        said="not at",
    ),
    Plant(
        "repetitions-answered-by-the-leader-alone",
        "A batch that is sent again is acknowledged no earlier than the first one was.",
        _repetitions_answered_by_the_leader_alone,
        nodes=3,
        worlds=clusters.numbering,
        within=10,
        tags=("lost_answer",),
    ),
    Plant(
        "numbered-records-stored-twice",
        "A numbered record that is sent again is stored once, whichever node is asked.",
        _duplicates_that_are_not_recognised,
        nodes=3,
        worlds=clusters.numbering,
        within=5,
        tags=("lost_answer",),
    ),
)
"""All bugs of partitions."""
