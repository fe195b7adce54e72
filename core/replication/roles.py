"""How a node changes its role in a stream: the log stays, with all that is known of it."""

from goqueue.core.partition.partition import Partition
from goqueue.core.partition.publishing import Publishing
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.replication.replica import Replica
from goqueue.core.requests.refusals import Refusal


def promoted(replica: Replica, recent: RecentBatches) -> Partition:
    """The leader's side of what was followed so far."""
    recent.forget(replica.log.stream)
    partition = Partition(replica.topic, replica.number, replica.log, recent, replica.side)
    partition.high_watermark = min(replica.high_watermark, replica.log.next_offset)
    partition.taken_offset, partition.written_offset = replica.taken_offset, replica.written_offset
    partition.history = replica.history
    partition.failed_offset, partition.has_lost = replica.failed_offset, replica.has_lost
    return partition


def demoted(partition: Partition, refusal: Refusal) -> tuple[Replica, list[Publishing]]:
    """The follower's side of what was led so far, and the publishes that waited, all of them told so."""
    done = partition.abandon(refusal)
    replica = Replica(partition.topic, partition.number, partition.log, partition.side)
    replica.high_watermark = partition.high_watermark
    replica.taken_offset, replica.written_offset = partition.taken_offset, partition.written_offset
    replica.history = partition.history
    replica.failed_offset = partition.failed_offset
    return replica, done
