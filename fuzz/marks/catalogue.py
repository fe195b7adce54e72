"""All marks, by the part of the product that they are about."""

from collections.abc import Callable

from goqueue.core.broker import metadata_listener as leading
from goqueue.core.cluster import apply, plan_moves
from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.records import (
    DiskLost,
    MetadataRecord,
    NodeRemoved,
    PartitionPlaced,
    PartitionsAdded,
    TopicDeleted,
)
from goqueue.core.deadletters.mover import DeadLetterMover
from goqueue.core.delays.calendar import Calendar
from goqueue.core.delays.schedule import Schedule
from goqueue.core.delays.summaries import Summaries
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.log import log as log_module
from goqueue.core.log.compaction import CompactionOutput, CompactionPlan, Compactor
from goqueue.core.log.log import Log
from goqueue.core.partition import producers
from goqueue.core.partition.lanes import LaneIndex
from goqueue.core.partition.producers import Repeated
from goqueue.core.queues.ledger import Ledger
from goqueue.core.queues.move_records import Intent
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.queues.records import Snapshot
from goqueue.core.queues.shares import Shares
from goqueue.core.quorum.follower import Follower
from goqueue.core.quorum.log import EntryLog
from goqueue.core.quorum.messages import Install
from goqueue.core.quorum.quorum import Quorum
from goqueue.core.records.batch import Header
from goqueue.core.records.record import Record
from goqueue.core.requests.refusals import Refusal
from goqueue.fuzz.marks.mark import Mark

_LONG_QUEUE = 200
_MANY_GROUPS = 5


def _always(*_: object, **__: object) -> bool:
    return True


def _anything(result: object, *_: object, **__: object) -> bool:
    return bool(result)


# --- logs


def _is_cut(log: Log, _: int, offset: int) -> bool:
    return offset < log.next_offset


def _is_cut_over_segments(log: Log, _: int, offset: int) -> bool:
    return offset < log.segments[-1].base


def _is_cut_below_compacted(log: Log, _: int, offset: int) -> bool:
    return offset < min(log.cleaned_offset, log.next_offset)


def _has_messages(log: Log, *_: object) -> bool:
    return log.stream.startswith("logs/t")


def _is_held(result: int, _: object, count: int, __: int) -> bool:
    return result < count


def _is_past_horizon(result: bool, _: Compactor, __: Header, record: Record) -> bool:
    return not result and record.value is None


def _are_merged(_: Log, __: int, ___: CompactionPlan, ____: int, outputs: list[CompactionOutput]) -> bool:
    return any(len(one.inputs) > 1 for one in outputs)


def _is_emptied(_: Log, __: int, ___: CompactionPlan, ____: int, outputs: list[CompactionOutput]) -> bool:
    return any(one.segment is None for one in outputs)


def _is_repeated(result: object, *_: object) -> bool:
    return isinstance(result, Repeated)


def _is_refused(result: object, *_: object) -> bool:
    return isinstance(result, Refusal)


# --- metadata


def _is_summed_up(quorum: Quorum, index: int) -> bool:
    return index > 0 and not quorum.log.is_hollow


def _is_piece(_: Follower, message: Install) -> bool:
    return len(message.piece) < message.size


def _is_later_term(quorum: Quorum, *_: object) -> bool:
    return quorum.term > 1


def _placed(test: Callable[[PartitionPlaced, apply.Placement | None], bool]) -> Callable[..., bool]:
    """Whether a place of a partition is agreed on of which something holds, beside what it was before."""

    def looks(state: ClusterState, record: MetadataRecord) -> bool:
        if not isinstance(record, PartitionPlaced) or record.topic not in state.topics:
            return False
        return test(record, state.topics[record.topic].placements.get(record.partition))

    return looks


def _shrinks(record: PartitionPlaced, before: apply.Placement | None) -> bool:
    return before is not None and any(one not in record.isr for one in before.isr)


def _grows(record: PartitionPlaced, before: apply.Placement | None) -> bool:
    return before is not None and any(one not in before.isr for one in record.isr)


def _is_led_by_another(record: PartitionPlaced, before: apply.Placement | None) -> bool:
    return before is not None and record.leader not in ("", before.leader)


def _is_eligible(record: PartitionPlaced, _: apply.Placement | None) -> bool:
    return bool(record.elr)


def _stands_still(record: PartitionPlaced, _: apply.Placement | None) -> bool:
    return bool(record.last) and not record.leader


def _moves_replicas(record: PartitionPlaced, _: apply.Placement | None) -> bool:
    return bool(record.adding or record.removing)


def _agreed(kind: type) -> Callable[..., bool]:
    def looks(_: ClusterState, record: MetadataRecord) -> bool:
        return isinstance(record, kind)

    return looks


def _is_granted(result: object, *_: object) -> bool:
    return isinstance(result, list) and bool(result)


# --- queues, delays and groups


def _is_long(lanes: LaneIndex, start: int, *_: object) -> bool:
    return lanes.upto - lanes.begin >= _LONG_QUEUE and start >= 0


def _has_parts_missing(calendar: Calendar) -> bool:
    return bool(calendar.schedule.parts_missing)


def _is_snapshot(_: Ledger, __: int, record: object) -> bool:
    return isinstance(record, Snapshot)


def _is_redrive(_: DeadLetterMover, __: int, ___: QueueLedger, intent: Intent, ____: int) -> bool:
    return bool(intent.job)


def _are_many(coordinator: Coordinator, *_: object) -> bool:
    return len(coordinator.groups.groups) >= _MANY_GROUPS


MARKS: tuple[Mark, ...] = (
    Mark("segment of messages rolled", Log, "_roll", _has_messages),
    Mark("log cut", Log, "truncate", _is_cut),
    Mark("log cut over segments", Log, "truncate", _is_cut_over_segments),
    Mark("log cut below what was compacted", Log, "truncate", _is_cut_below_compacted),
    Mark("log begun anew", Log, "restart", _always),
    Mark("segments removed", Log, "retain", _anything, is_after=True),
    Mark("retention held back for replicas", log_module, "held_count", _is_held, is_after=True),
    Mark("segments compacted", Log, "compacted", _always),
    Mark("segments merged", Log, "compacted", _are_merged),
    Mark("segment compacted to nothing", Log, "compacted", _is_emptied),
    Mark("tombstone removed", Compactor, "_stays", _is_past_horizon, is_after=True),
    Mark("disk of a log failed", Log, "disk_failed", _has_messages),
    Mark("repeat older than five batches", producers, "_out_of_turn", _is_repeated, is_after=True),
    Mark("repeat out of order", producers, "_out_of_turn", _is_refused, is_after=True),
    Mark("metadata summed up", Quorum, "forget_before", _is_summed_up),
    Mark("metadata installed", Quorum, "restart", _always),
    Mark("metadata installed in pieces", Follower, "_install", _is_piece),
    Mark("metadata entries cut", EntryLog, "cut", _always),
    Mark("another controller", Quorum, "lead", _is_later_term),
    Mark("follower begins to lead", leading, "promoted", _always),
    Mark("replica leaves the ISR", ClusterState, "apply", _placed(_shrinks)),
    Mark("replica joins the ISR", ClusterState, "apply", _placed(_grows)),
    Mark("partition led by another", ClusterState, "apply", _placed(_is_led_by_another)),
    Mark("replica eligible outside the ISR", ClusterState, "apply", _placed(_is_eligible)),
    Mark("partition stands still", ClusterState, "apply", _placed(_stands_still)),
    Mark("replicas moved", ClusterState, "apply", _placed(_moves_replicas)),
    Mark("unclean leader", plan_moves, "_elect_unclean", _is_granted, is_after=True),
    Mark("node forgotten", ClusterState, "apply", _agreed(NodeRemoved)),
    Mark("disk given up", ClusterState, "apply", _agreed(DiskLost)),
    Mark("partitions added", ClusterState, "apply", _agreed(PartitionsAdded)),
    Mark("topic deleted", ClusterState, "apply", _agreed(TopicDeleted)),
    Mark("ledger page written", QueueLedger, "_turn_page", _always),
    Mark("queue summed up", Ledger, "snapshot", _always),
    Mark("queue restored", Ledger, "apply", _is_snapshot),
    Mark("lane starves", Shares, "_starving", _anything, is_after=True),
    Mark("long queue", LaneIndex, "add_run", _is_long),
    Mark("summary of a schedule begun", Summaries, "begin", _always),
    Mark("schedule opened by a summary", Schedule, "begin", _always),
    Mark("summary left unfinished", Calendar, "_end_load", _has_parts_missing),
    Mark("dead letters arrived", DeadLetterMover, "_arrived", _always),
    Mark("redrive arrived", DeadLetterMover, "_arrived", _is_redrive),
    Mark("many groups", Coordinator, "ask", _are_many),
    Mark("group forgotten", Coordinator, "_forget", _always),
    Mark("member given up", Coordinator, "_remove", _always),
)
"""All of them."""
