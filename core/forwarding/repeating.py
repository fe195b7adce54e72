"""Which requests may be carried out twice: whoever asks could not tell, and nothing is stored twice."""

from typing import get_args

from goqueue.core.cluster.verbs import ClusterRequest
from goqueue.core.delay.verbs import GetDelayed, ListDelayed, MeasureDelays
from goqueue.core.groups.verbs import (
    CommitOffsets,
    DescribeGroup,
    DescribeRebalances,
    FetchOffsets,
    GroupHeartbeat,
    LeaveGroup,
    ListGroups,
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
from goqueue.core.work.verbs import AckWork, ExtendWork

_REPEATABLE: frozenset[type] = frozenset(
    (
        Fetch, FindOffset, InitProducer, ListTopics, DescribeTopic, DescribePartitions, DescribeNode, AlterTopic,
        GroupHeartbeat, WatchGroup, LeaveGroup, RevokePartitions, PollGroup, CommitOffsets, FetchOffsets, ListGroups,
        DescribeGroup, DescribeRebalances, AckWork, ExtendWork, GetDelayed, ListDelayed, MeasureDelays,
        *get_args(ClusterRequest),
    )
)  # fmt: skip


def is_repeatable(request: object) -> bool:
    """Whether a request may be carried out again when it is not known if it was."""
    if isinstance(request, PublishBatch):
        # A producer that numbers its records has them stored once, and is answered as at first.
        return len(request.batch) >= HEADER_BYTES and read_header(request.batch).producer_id != NO_PRODUCER
    return type(request) in _REPEATABLE
