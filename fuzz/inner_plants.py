"""Bugs of a cluster that break a promise long before anything is lost by it: an invariant finds each of them first.

Most of them show only after a second failover, behind a snapshot of the metadata, or in a log that was cut or is opened
again. Who looks from outside would need another fault at the right moment to miss anything.
"""

from goqueue.core import leading
from goqueue.core.cluster import apply
from goqueue.core.cluster.apply import ClusterState, Placement
from goqueue.core.cluster.records import MetadataRecord, NodeStanding, PartitionPlaced
from goqueue.core.delay.calendar import Calendar
from goqueue.core.log.effects import Buffer
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.log import Log, LogState
from goqueue.core.partition.leadership import FollowerEnd, Leadership
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.publishing import Share
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.quorum.leader import Leader
from goqueue.core.replication import serving
from goqueue.core.replication.messages import PulledPart
from goqueue.core.replication.replica import Replica
from goqueue.core.replication.serving import Served, Serving
from goqueue.core.work.book import Book
from goqueue.fuzz.options import Options
from goqueue.fuzz.plant import Plant, Replace, short_worlds
from goqueue.storage.recovery import _Attempt, _Scanned
from goqueue.storage.synced_mark import SyncedMark

# --- who is in sync


def _joins_before_the_end(replace: Replace) -> None:
    """Who has what is acknowledged in this term may join, whatever the leader found when the term began."""

    def is_caught_up(partition: Partition, follower: str) -> bool:
        end = partition.ends.get(follower)
        return end is not None and end.kept >= partition.high_watermark

    replace(Partition, "is_caught_up", is_caught_up)


def _slowest_not_awaited(replace: Replace) -> None:
    """A message is acknowledged when all but one of those in sync have it."""

    def held(leadership: Leadership, ends: dict[str, FollowerEnd], kept: int) -> int:
        known = sorted((ends[one].kept if one in ends else -1 for one in leadership.counted), reverse=True)
        return min([kept, *(known[:-1] if len(known) > 1 else known)])

    replace(Leadership, "held", held)


def _confirmed_before_sync(replace: Replace) -> None:
    """A follower says that it has what its disk has not."""
    replace(Replica, "kept_offset", property(lambda replica: replica.log.next_offset))


def _new_leader_trusts_its_end(replace: Replace) -> None:
    """Whoever begins to lead shows all that it has."""
    promoted = vars(leading)["promoted"]

    def trusting(replica: Replica, recent: RecentBatches) -> Partition:
        partition: Partition = promoted(replica, recent)
        partition.high_watermark = replica.log.next_offset
        return partition

    replace(leading, "promoted", trusting)


def _answered_by_the_leader_alone(replace: Replace) -> None:
    """Every publish is answered when the leader has it."""
    wait = Partition._await_acknowledgement

    def hasty(partition: Partition, now: int, offset: int, end: int, timestamp: int, shares: list[Share]) -> None:
        for share in shares:
            share.publishing.needs_all = False
        wait(partition, now, offset, end, timestamp, shares)

    replace(Partition, "_await_acknowledgement", hasty)


def _failing_over() -> Options:
    """Worlds in which leaders are replaced again and again, and followers are behind for long."""
    return short_worlds(
        "isolate", "rift", "pause", "deafen", "kill", producers=4, consumers=0, seconds=60,
        replica_lag_ns=1_000_000_000,
        calamity_lasts_s=(1.0, 3.0), letter_ns_max=300_000_000, think_ns=20_000_000, letters_overtake=True,
    )  # fmt: skip


def _crashing() -> Options:
    """Worlds in which leaders lose their power and what their slow disks have not synced, and are back at once."""
    return short_worlds(
        "crash", producers=4, consumers=0, seconds=20, calamity_ns=1_000_000_000, calamity_lasts_s=(0.1,), p_slow=0.7,
        letter_ns_max=100_000_000, think_ns=20_000_000,
    )  # fmt: skip


# --- logs


def _logs_compared_by_length(replace: Replace) -> None:
    """A log that is no longer than its leader's is taken for a beginning of it."""
    compare = vars(serving)["_compare"]

    def hasty(served: Served, last_epoch: int) -> PulledPart | None:
        log = served.partition.log
        if log.start_offset <= served.offset <= log.next_offset:
            return None
        part: PulledPart | None = compare(served, last_epoch)
        return part

    replace(serving, "_compare", hasty)


def _batch_left_out(replace: Replace) -> None:
    """Of several batches that are sent at once the first is forgotten."""
    send = Serving._send

    def careless(session: Serving, served: Served, runs: list[Buffer], next_offset: int) -> int:
        return send(session, served, runs[1:] if len(runs) > 1 else runs, next_offset)

    replace(Serving, "_send", careless)


def _segment_lost_on_reopening(replace: Replace) -> None:
    """Recovery finds a flaw in the last segment of messages where there is none."""
    real = _Attempt._verdict

    def verdict(attempt: _Attempt, scanned: list[_Scanned], mark: SyncedMark, *, trusted: bool) -> list[_Scanned]:
        kept = real(attempt, scanned, mark, trusted=trusted)
        return kept[:-1] if attempt._folder.startswith("logs/t") else kept

    replace(_Attempt, "_verdict", verdict)


def _epochs_forgotten(replace: Replace) -> None:
    """A log that is opened knows of its latest leader alone: others cannot tell where their logs part from it."""
    adopt = Log._adopt

    def forgetful(log: Log, state: LogState) -> None:
        state.epochs = EpochCache(state.epochs.entries()[-1:])
        adopt(log, state)

    replace(Log, "_adopt", forgetful)


def _reopening() -> Options:
    """Worlds of one replica each, whose nodes are killed."""
    return short_worlds("kill", replicas_max=1, consumers=0, seconds=20, calamity_lasts_s=(0.2, 1.0))


# --- metadata


def _snapshot_without_standings(replace: Replace) -> None:
    """What sums up the metadata takes every node for one that lives."""
    others = ClusterState._others

    def forgetful(state: ClusterState) -> list[MetadataRecord]:
        return [record for record in others(state) if not isinstance(record, NodeStanding)]

    replace(ClusterState, "_others", forgetful)


def _snapshot_without_elr(replace: Replace) -> None:
    """What sums up the metadata says of the ISR alone who may lead."""
    placed = vars(apply)["_placed"]

    def forgetful(topic: str, partition: int, placement: Placement) -> PartitionPlaced:
        record: PartitionPlaced = placed(topic, partition, placement)
        record.elr = []
        return record

    replace(apply, "_placed", forgetful)


def _snapshot_without_holders(replace: Replace) -> None:
    """What sums up the metadata forgets the topics that are deleted and still have folders."""
    replace(ClusterState, "_holders", lambda _: [])


def _agreed_before_durable(replace: Replace) -> None:
    """An entry counts when a majority has it, be it in memory."""
    advance = Leader._advance

    def hasty(leader: Leader, now: int) -> None:
        for progress in leader.progress.values():
            progress.durable = progress.matched
        advance(leader, now)

    replace(Leader, "_advance", hasty)


def _summing_up(*calamities: str, **others: object) -> Options:
    """Worlds whose metadata is summed up all the time, while nodes come and go."""
    return short_worlds(
        *calamities, metadata_entries=6, seconds=40, calamity_lasts_s=(1.0, 4.0, 6.0), min_insync=2, **others,
    )  # fmt: skip


# --- work queues


def _told_before_agreed(replace: Replace) -> None:
    """Members are told what the ledger of the leader says before anybody else has it."""
    replace(Book, "durable", property(lambda book: book.appended, lambda *_: None))
    replace(Book, "check", lambda *_: None)


def _cancelled_before_agreed(replace: Replace) -> None:
    """Whoever cancels is told so at once."""
    replace(Calendar, "_durable", property(lambda calendar: calendar._appended, lambda *_: None))
    replace(Calendar, "check", lambda *_: None)


def _cancelling() -> Options:
    """Worlds of messages that come later, and of somebody who changes their mind."""
    return short_worlds("isolate", p_delay=0.9, schedulers=2, think_ns=50_000_000, letter_ns_max=50_000_000)


def _telling() -> Options:
    """Worlds of work queues."""
    return short_worlds(
        "isolate", "kill", consumers=0, workers=2, visibility_ms=5_000, session_ms_max=6_000, attempts_max=4,
        think_ns=100_000_000, patience_ns=3_000_000_000, letter_ns_max=50_000_000,
    )  # fmt: skip


INNER_PLANTS: dict[str, Plant] = {
    "joins-before-the-end": Plant(_joins_before_the_end, _crashing, 40, "InSyncReplicas"),
    "slowest-not-awaited": Plant(_slowest_not_awaited, _failing_over, 5, "InSyncReplicas"),
    "confirmed-before-sync": Plant(_confirmed_before_sync, _failing_over, 5, "InSyncReplicas"),
    "new-leader-trusts-its-end": Plant(_new_leader_trusts_its_end, _failing_over, 30, "InSyncReplicas"),
    "answered-by-the-leader-alone": Plant(_answered_by_the_leader_alone, _failing_over, 5, "PublishedBatches"),
    "logs-compared-by-length": Plant(_logs_compared_by_length, _failing_over, 30, "Lineage"),
    "batch-left-out": Plant(_batch_left_out, _failing_over, 10, "Lineage"),
    "segment-lost-on-reopening": Plant(_segment_lost_on_reopening, _reopening, 10, "InSyncReplicas"),
    "epochs-forgotten": Plant(
        _epochs_forgotten, lambda: short_worlds("kill", consumers=0, think_ns=300_000_000), 20, "Lineage"
    ),
    "snapshot-without-standings": Plant(_snapshot_without_standings, lambda: _summing_up("kill"), 10, "States"),
    "snapshot-without-elr": Plant(_snapshot_without_elr, lambda: _summing_up("kill", "crash"), 20, "States"),
    "snapshot-without-holders": Plant(
        _snapshot_without_holders, lambda: _summing_up("kill", p_topic_change=0.05), 20, "States"
    ),
    "agreed-before-durable": Plant(_agreed_before_durable, lambda: _summing_up("kill"), 5, "Entries"),
    "cancelled-before-agreed": Plant(_cancelled_before_agreed, _cancelling, 10, "Schedules"),
    "told-before-agreed": Plant(_told_before_agreed, _telling, 5, "Ledgers"),
}
"""Those plants by their names."""
