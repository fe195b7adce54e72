"""Which requests may be carried out twice: whoever asks could not tell, and nothing is stored twice.

Some of them change nothing, so that it is known what became of one without an answer.

A poll of an exclusive group moves the member's place, which is in the memory of whoever carries it out. Carried out
once more there, it would skip what the first answer had, of which nobody has heard; another process knows nothing of
that place.
"""

from typing import get_args

from goqueue.core.cluster.verbs import ClusterRequest, DescribeCluster, DescribeReassignments, MeasureCluster
from goqueue.core.dead.verbs import BrowseDead, CountDead, DescribeRedrive, FindMoved, ListDeadTopics, ListRedrives
from goqueue.core.delay.verbs import GetDelayed, ListDelayed, MeasureDelays
from goqueue.core.groups.verbs import (
    CommitOffsets,
    DescribeGroup,
    DescribeRebalances,
    FetchOffsets,
    GroupHeartbeat,
    LeaveGroup,
    ListGroups,
    MeasureGroups,
    PollGroup,
    RevokePartitions,
    WatchGroup,
)
from goqueue.core.records.batch import HEADER_BYTES, NO_PRODUCER, read_header
from goqueue.core.verbs import (
    AlterTopic,
    DescribeNode,
    DescribePartitions,
    DescribeTopic,
    Fetch,
    FindOffset,
    InitProducer,
    ListTopics,
    PublishBatch,
)
from goqueue.core.work.verbs import AckWork, DescribeQueues, ExtendWork, MeasureLanes, MeasureWork, PollWork

_REPEATABLE: frozenset[type] = frozenset(
    (
        Fetch, FindOffset, InitProducer, ListTopics, DescribeTopic, DescribePartitions, DescribeNode, AlterTopic,
        GroupHeartbeat, WatchGroup, LeaveGroup, RevokePartitions, PollGroup, CommitOffsets, FetchOffsets, ListGroups,
        DescribeGroup, DescribeRebalances, AckWork, ExtendWork, GetDelayed, ListDelayed, MeasureDelays,
        *get_args(ClusterRequest),
    )
)  # fmt: skip
# What a poll takes is given to others when nobody hears the answer, and the number of a producer is used by nobody.
_LOOKING: frozenset[type] = frozenset(
    (
        Fetch, FindOffset, InitProducer, ListTopics, DescribeTopic, DescribePartitions, DescribeNode, WatchGroup,
        PollGroup, FetchOffsets, ListGroups, DescribeGroup, DescribeRebalances, MeasureGroups, PollWork, MeasureWork,
        MeasureLanes, GetDelayed, ListDelayed, MeasureDelays, BrowseDead, ListDeadTopics, DescribeRedrive, ListRedrives,
        CountDead, FindMoved, DescribeQueues, DescribeCluster, MeasureCluster, DescribeReassignments,
    )
)  # fmt: skip


def changes_nothing(kind: type) -> bool:
    """Whether nothing is lost or done twice, whatever became of a request of this class without an answer."""
    return kind in _LOOKING


def is_idempotent(request: object) -> bool:
    """Whether the process that may have carried out a request may do so again, and its second answer is as good.

    A batch with numbers is stored once however often it comes. But its first answer may be lost, and then the process
    may refuse the batch, as one that it cannot store any more: whoever asked would hear that nothing was stored.
    """
    return isinstance(request, ClusterRequest) or (
        changes_nothing(type(request)) and not isinstance(request, PollGroup)
    )


def is_repeatable(request: object) -> bool:
    """Whether a process may carry out a request that another one may have carried out, which is gone."""
    if isinstance(request, PublishBatch):
        # A producer that numbers its records has them stored once, and is answered as at first.
        return len(request.batch) >= HEADER_BYTES and read_header(request.batch).producer_id != NO_PRODUCER
    return type(request) in _REPEATABLE
