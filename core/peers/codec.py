"""Letters between nodes as bytes, and back.

The numbers are for ever: one that is not used any more is not given to another class. A field that is added later says
since which version (`shapes.since`); what a release sends to a node of the one before is written in that one's version,
which the two find out when they meet. A class that is added is sent to nobody who does not know it.

Whatever the bytes are, decoding ends in a letter or in ProtocolError.
"""

from typing import Any

from goqueue.core import verbs
from goqueue.core.cluster import verbs as cluster
from goqueue.core.cluster.changes import AddSide, ExtendProducerIds, FinishDelete, MakeOwnTopic
from goqueue.core.cluster.horizon import Ends
from goqueue.core.codec import Codec
from goqueue.core.dead import verbs as dead
from goqueue.core.delay import verbs as delay
from goqueue.core.forwarding import messages as forwarding
from goqueue.core.groups import verbs as groups
from goqueue.core.peers.publishes import record_shape, reply_shape
from goqueue.core.quorum import verbs as quorum
from goqueue.core.quorum.messages import QUORUM_MESSAGES, QuorumLetter
from goqueue.core.records.varint import Readable
from goqueue.core.replication import messages as replication
from goqueue.core.work import verbs as work

# What two nodes may speak to each other; of two ranges that meet, the highest they share.
VERSION_MIN = 1
VERSION = 1

_QUORUM_FIRST = 10

_LETTERS: dict[int, type] = {
    30: QuorumLetter,
    40: replication.Pull,
    41: replication.Pulled,
    42: replication.Kept,
    50: forwarding.Forwarded,
    51: forwarding.Answered,
    52: forwarding.Abandoned,
    53: forwarding.Inquiry,
    54: forwarding.Missing,
    60: Ends,
}

_REQUESTS: dict[int, type] = {
    100: verbs.CreateTopic,
    101: verbs.AlterTopic,
    102: verbs.DeleteTopic,
    103: verbs.ListTopics,
    104: verbs.DescribeTopic,
    105: verbs.DescribePartitions,
    106: verbs.DescribeNode,
    107: verbs.Publish,
    108: verbs.PublishBatch,
    109: verbs.InitProducer,
    110: verbs.Fetch,
    111: verbs.FindOffset,
    120: groups.JoinGroup,
    121: groups.GroupHeartbeat,
    122: groups.WatchGroup,
    123: groups.LeaveGroup,
    124: groups.RevokePartitions,
    125: groups.PollGroup,
    126: groups.CommitOffsets,
    127: groups.FetchOffsets,
    128: groups.ResetOffsets,
    129: groups.AlterGroup,
    130: groups.ListGroups,
    131: groups.DescribeGroup,
    132: groups.DescribeRebalances,
    133: groups.MeasureGroups,
    134: groups.DeleteGroup,
    150: work.PollWork,
    151: work.AckWork,
    152: work.NackWork,
    153: work.RejectWork,
    154: work.ExtendWork,
    155: work.ReleaseWork,
    156: work.MeasureWork,
    157: work.MeasureLanes,
    158: work.EndPoll,
    159: work.DescribeQueues,
    160: work.ResetQueues,
    170: delay.ListDelayed,
    171: delay.GetDelayed,
    172: delay.CancelDelayed,
    173: delay.RescheduleDelayed,
    174: delay.MeasureDelays,
    180: dead.BrowseDead,
    181: dead.ListDeadTopics,
    182: dead.StartRedrive,
    183: dead.PurgeDead,
    184: dead.DescribeRedrive,
    185: dead.ListRedrives,
    186: dead.CancelRedrive,
    187: dead.CountDead,
    188: dead.FindMoved,
    189: dead.CarryOn,
    200: cluster.RegisterNode,
    201: cluster.NodeHeartbeat,
    202: cluster.LeaveNode,
    203: cluster.AlterIsr,
    204: cluster.AddPartitions,
    205: cluster.Reassign,
    206: cluster.DescribeReassignments,
    207: cluster.Drain,
    208: cluster.ElectLeaders,
    209: cluster.ForgetNode,
    210: cluster.DescribeCluster,
    211: cluster.MeasureCluster,
    212: cluster.ReadmitNode,
    230: quorum.AddVoter,
    231: quorum.RemoveVoter,
    232: quorum.MoveController,
    233: quorum.Confirm,
    240: MakeOwnTopic,
    241: AddSide,
    242: FinishDelete,
    243: ExtendProducerIds,
}

_REPLIES: dict[int, type] = {
    300: verbs.Refusal,
    301: verbs.TopicReply,
    302: verbs.PartitionReply,
    303: verbs.NodeReply,
    304: verbs.PublishReply,
    305: verbs.Published,
    306: verbs.ProducerReply,
    307: verbs.Fetched,
    308: verbs.FoundOffset,
    320: groups.Joined,
    321: groups.GroupBeat,
    322: groups.RevokedPartitions,
    323: groups.Polled,
    324: groups.CommittedOffsets,
    325: groups.GroupOffset,
    326: groups.OffsetChange,
    327: groups.GroupReply,
    328: groups.RebalancesReply,
    329: groups.GroupsMeasured,
    350: work.PolledWork,
    351: work.WorkDone,
    352: work.WorkMeasured,
    353: work.LanesMeasured,
    354: work.QueuesTold,
    370: delay.DelayedMessages,
    371: delay.DelayedMessage,
    372: delay.DelaysMeasured,
    380: dead.DeadLetters,
    381: dead.DeadTopic,
    382: dead.RedriveReply,
    383: dead.DeadCounts,
    384: dead.Moved,
    385: dead.Carried,
    400: cluster.RegisteredReply,
    401: cluster.NodeHeartbeatReply,
    402: cluster.LeaveReply,
    403: cluster.ReassignmentsReply,
    404: cluster.DrainReply,
    405: cluster.ElectReply,
    406: cluster.ClusterReply,
    407: cluster.ClusterFigures,
}

# Only letters come by themselves; the rest is what they hold.
_QUORUM = {_QUORUM_FIRST + number: cls for number, cls in QUORUM_MESSAGES.items()}
_NUMBERS = {**_LETTERS, **_QUORUM, **_REQUESTS, **_REPLIES}

LETTERS: tuple[type, ...] = tuple(_LETTERS.values())

PEER_CODEC = Codec(
    _LETTERS,
    VERSION,
    {verbs.NewRecord: record_shape, verbs.PublishReply: reply_shape},
    VERSION_MIN,
    {cls: number for number, cls in _NUMBERS.items()},
)


def encode(message: object, version: int = VERSION) -> list[Readable]:
    """The bytes of a letter for a node that reads a version, in pieces; what is large in it is not copied."""
    return PEER_CODEC.pieces(message, version)


def decode(content: Readable) -> Any:  # noqa: ANN401 - any of LETTERS
    """The letter in `content`, or ProtocolError; it may hold views of the content, which has to stay as it is."""
    return PEER_CODEC.decode(content)
