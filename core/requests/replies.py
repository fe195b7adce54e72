"""Every answer of a node, and the number of each class between nodes."""

from types import MappingProxyType

from goqueue.core.requests.cluster import (
    ClusterFigures,
    ClusterReply,
    DrainReply,
    ElectReply,
    LeaveReply,
    NodeHeartbeatReply,
    ReassignmentsReply,
    RegisteredReply,
)
from goqueue.core.requests.deadletters import Carried, DeadCounts, DeadLetters, DeadTopic, Moved, RedriveReply
from goqueue.core.requests.delays import DelayedMessage, DelayedMessages, DelaysMeasured
from goqueue.core.requests.groups import (
    CommittedOffsets,
    GroupBeat,
    GroupOffset,
    GroupReply,
    GroupsMeasured,
    Joined,
    OffsetChange,
    Polled,
    RebalancesReply,
    RevokedPartitions,
)
from goqueue.core.requests.messages import Fetched, FoundOffset, ProducerReply, Published, PublishReply
from goqueue.core.requests.nodes import NodeReply
from goqueue.core.requests.queues import LanesMeasured, PolledWork, QueuesTold, WorkDone, WorkMeasured
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.topics import PartitionReply, TopicReply

Reply = (
    Refusal
    | TopicReply
    | NodeReply
    | PublishReply
    | ProducerReply
    | Fetched
    | FoundOffset
    | Joined
    | GroupBeat
    | RevokedPartitions
    | Polled
    | CommittedOffsets
    | GroupReply
    | RebalancesReply
    | GroupsMeasured
    | PolledWork
    | WorkDone
    | WorkMeasured
    | LanesMeasured
    | QueuesTold
    | DelayedMessages
    | DelayedMessage
    | DelaysMeasured
    | DeadLetters
    | RedriveReply
    | DeadCounts
    | Moved
    | Carried
    | RegisteredReply
    | NodeHeartbeatReply
    | LeaveReply
    | ReassignmentsReply
    | DrainReply
    | ElectReply
    | ClusterReply
    | ClusterFigures
    | Published
    | list[TopicReply]
    | list[PartitionReply]
    | list[GroupOffset]
    | list[OffsetChange]
    | list[GroupReply]
    | list[DeadTopic]
    | list[RedriveReply]
    | None
)
"""What a request may be answered with."""

REPLY_NUMBERS: MappingProxyType[type, int] = MappingProxyType(
    {
        Refusal: 300,
        TopicReply: 301,
        PartitionReply: 302,
        NodeReply: 303,
        PublishReply: 304,
        Published: 305,
        ProducerReply: 306,
        Fetched: 307,
        FoundOffset: 308,
        Joined: 320,
        GroupBeat: 321,
        RevokedPartitions: 322,
        Polled: 323,
        CommittedOffsets: 324,
        GroupOffset: 325,
        OffsetChange: 326,
        GroupReply: 327,
        RebalancesReply: 328,
        GroupsMeasured: 329,
        PolledWork: 350,
        WorkDone: 351,
        WorkMeasured: 352,
        LanesMeasured: 353,
        QueuesTold: 354,
        DelayedMessages: 370,
        DelayedMessage: 371,
        DelaysMeasured: 372,
        DeadLetters: 380,
        DeadTopic: 381,
        RedriveReply: 382,
        DeadCounts: 383,
        Moved: 384,
        Carried: 385,
        RegisteredReply: 400,
        NodeHeartbeatReply: 401,
        LeaveReply: 402,
        ReassignmentsReply: 403,
        DrainReply: 404,
        ElectReply: 405,
        ClusterReply: 406,
        ClusterFigures: 407,
    }
)
"""The numbers are for ever: one that is not used any more is not given to another class."""
