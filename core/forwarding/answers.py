"""What each request may be answered with besides a refusal: another node's answer of any other kind is none."""

from typing import get_args

from goqueue.core.calls import Reply
from goqueue.core.cluster import verbs as cluster
from goqueue.core.cluster.changes import AddSide, FinishDelete, MakeOwnTopic
from goqueue.core.dead import verbs as dead
from goqueue.core.delay import verbs as delay
from goqueue.core.groups import verbs as groups
from goqueue.core.histogram import BOUNDS_S, Histogram
from goqueue.core.quorum.verbs import QuorumRequest
from goqueue.core.verbs import (
    AlterTopic,
    CreateTopic,
    DeleteTopic,
    DescribeNode,
    DescribePartitions,
    DescribeTopic,
    Fetch,
    Fetched,
    FindOffset,
    FoundOffset,
    InitProducer,
    ListTopics,
    NodeReply,
    PartitionReply,
    ProducerReply,
    Publish,
    PublishBatch,
    PublishReply,
    Refusal,
    TopicReply,
)
from goqueue.core.work import verbs as work

_NOTHING = type(None)

_ANSWERS: dict[type, type] = {
    **dict.fromkeys((CreateTopic, AlterTopic, DescribeTopic, MakeOwnTopic), TopicReply),
    **dict.fromkeys((DeleteTopic, AddSide, FinishDelete, *get_args(QuorumRequest)), _NOTHING),
    DescribeNode: NodeReply,
    **dict.fromkeys((Publish, PublishBatch), PublishReply),
    InitProducer: ProducerReply,
    Fetch: Fetched,
    FindOffset: FoundOffset,
    groups.JoinGroup: groups.Joined,
    **dict.fromkeys((groups.GroupHeartbeat, groups.WatchGroup), groups.GroupBeat),
    **dict.fromkeys((groups.LeaveGroup, groups.DeleteGroup), _NOTHING),
    groups.RevokePartitions: groups.RevokedPartitions,
    groups.PollGroup: groups.Polled,
    groups.CommitOffsets: groups.CommittedOffsets,
    **dict.fromkeys((groups.AlterGroup, groups.DescribeGroup), groups.GroupReply),
    groups.DescribeRebalances: groups.RebalancesReply,
    groups.MeasureGroups: groups.GroupsMeasured,
    work.PollWork: work.PolledWork,
    **dict.fromkeys((work.AckWork, work.NackWork, work.RejectWork, work.ExtendWork, work.ReleaseWork), work.WorkDone),
    work.MeasureWork: work.WorkMeasured,
    work.MeasureLanes: work.LanesMeasured,
    work.EndPoll: _NOTHING,
    work.DescribeQueues: work.QueuesTold,
    delay.ListDelayed: delay.DelayedMessages,
    **dict.fromkeys((delay.GetDelayed, delay.RescheduleDelayed), delay.DelayedMessage),
    delay.CancelDelayed: _NOTHING,
    delay.MeasureDelays: delay.DelaysMeasured,
    dead.BrowseDead: dead.DeadLetters,
    **dict.fromkeys((dead.StartRedrive, dead.PurgeDead, dead.DescribeRedrive, dead.CancelRedrive), dead.RedriveReply),
    dead.CountDead: dead.DeadCounts,
    dead.FindMoved: dead.Moved,
    dead.CarryOn: dead.Carried,
    cluster.RegisterNode: cluster.RegisteredReply,
    cluster.NodeHeartbeat: cluster.NodeHeartbeatReply,
    cluster.LeaveNode: cluster.LeaveReply,
    cluster.DescribeReassignments: cluster.ReassignmentsReply,
    cluster.Drain: cluster.DrainReply,
    cluster.ElectLeaders: cluster.ElectReply,
    cluster.DescribeCluster: cluster.ClusterReply,
    cluster.MeasureCluster: cluster.ClusterFigures,
    **dict.fromkeys(
        (cluster.AlterIsr, cluster.AddPartitions, cluster.Reassign, cluster.ForgetNode, cluster.ReadmitNode), _NOTHING
    ),
}
# What is answered with a list of these.
_LISTS: dict[type, type] = {
    ListTopics: TopicReply,
    DescribePartitions: PartitionReply,
    groups.FetchOffsets: groups.GroupOffset,
    groups.ResetOffsets: groups.OffsetChange,
    groups.ListGroups: groups.GroupReply,
    work.ResetQueues: groups.OffsetChange,
    dead.ListDeadTopics: dead.DeadTopic,
    dead.ListRedrives: dead.RedriveReply,
}

_HISTOGRAMS: dict[type, tuple[str, ...]] = {
    groups.GroupsMeasured: ("latency",),
    work.WorkMeasured: ("ack_latency",),
    delay.DelaysMeasured: ("lateness",),
}

ANSWERED: frozenset[type] = frozenset((*_ANSWERS, *_LISTS))


def _is_countable(reply: object) -> bool:
    """Whether what a reply counts can be added up with what others have counted."""
    for name in _HISTOGRAMS.get(type(reply), ()):
        histogram: Histogram = getattr(reply, name)
        if len(histogram.counts) != len(BOUNDS_S) + 1:
            return False
    return True


def is_answer(request: object, reply: Reply) -> bool:
    """Whether a reply is of the kind that a request is answered with."""
    if isinstance(reply, Refusal):
        return True
    if not _is_countable(reply):
        return False
    inner = _LISTS.get(type(request))
    if inner is not None:
        return isinstance(reply, list) and all(type(one) is inner for one in reply)
    return type(reply) is _ANSWERS.get(type(request))
