"""What members of shared groups ask of work queues, and what they are answered.

A receipt is a stem, which all that was leased together shares, and the offset of a message. So receipts travel as runs:
a stem and the offsets from one on. Spelled as one text, for whoever wants a receipt a message, it is the stem with the
offset behind it (`receipts.spelled_receipt`), and `read_receipt` takes that apart again.

`group` in a request that shows receipts is either empty or the group that they are to be of, and `member_id` either
empty or the member that they were given to. Without it, whoever has a receipt may use it.
"""

from functools import partial

from attrs import define, field

from goqueue.core.records.batch import Lane
from goqueue.core.records.varint import Readable
from goqueue.core.requests.groups import OffsetChange
from goqueue.core.requests.histogram import Histogram
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.row import NOTHING, Audience, Operation, Repeat, Request, Resource, Row, ServiceName


@define
class PollWork(Request):
    """Lease what comes next to a member, once there is anything or after `wait_ns`; also a heartbeat.

    At most `messages_max` messages, in batches of `bytes_max` in all, save that a first one comes whole. The lease
    lasts for `visibility_ms`, or as long as the group or the topic says. `round` is another node's number for the poll,
    by which it may be ended before its time.
    """

    group: str
    member_id: str
    messages_max: int = 100
    bytes_max: int = 1 << 20
    wait_ns: int = 0
    visibility_ms: int = 0
    round: int = 0


@define
class ReceiptRun:
    """The receipts of so many messages, from an offset on, that share a stem."""

    stem: str
    first_offset: int
    count: int = 1


@define
class LeaseRun:
    """So many messages from an offset on, leased together: which attempt it is, the receipts' stem, until when."""

    first_offset: int
    count: int
    attempt: int
    stem: str
    # In milliseconds since 1970.
    until_ms: int


@define
class LeasedBatches:
    """Whole batches of a partition; of what is in them only the messages under a lease are meant, in that order."""

    topic: str
    partition: int
    batches: Readable
    leases: list[LeaseRun]


@define
class PolledWork:
    """What was leased; of one partition there may be several parts, and the order of parts is that of delivery."""

    parts: list[LeasedBatches]


@define
class AckWork(Request):
    """These messages are done. To say so twice is no mistake."""

    receipts: list[ReceiptRun]
    group: str = ""
    member_id: str = ""


@define
class NackWork(Request):
    """These are to be tried again: after a delay, or what their attempts ask for when it is None."""

    receipts: list[ReceiptRun]
    delay_ms: int | None = None
    reason: str = ""
    group: str = ""
    member_id: str = ""


@define
class RejectWork(Request):
    """These are never to be tried again; they become dead letters, or are dropped where the topic has none."""

    receipts: list[ReceiptRun]
    reason: str = ""
    group: str = ""
    member_id: str = ""


@define
class ExtendWork(Request):
    """The leases of these are to last for a span from now, longer or shorter than they would have."""

    receipts: list[ReceiptRun]
    timeout_ms: int
    group: str = ""
    member_id: str = ""


@define
class ReleaseWork(Request):
    """These were not begun: somebody else may have them, and the attempt does not count."""

    receipts: list[ReceiptRun]
    group: str = ""
    member_id: str = ""


@define
class ReceiptRefusal:
    """Why nothing was done for a message."""

    stem: str
    offset: int
    refusal: Refusal


@define
class WorkDone:
    """It was done for so many messages, and not for those refused.

    `at_ms`, in milliseconds since 1970, is when the last of what was nacked is tried again, or when the first lease of
    what was extended ends; `topic` is where dead letters go, empty where the topic has none. Messages that failed for
    the last time are dead letters after a nack as well; of these `dead` are.
    """

    done: int
    refusals: list[ReceiptRefusal] = field(factory=list)
    at_ms: int = 0
    topic: str = ""
    dead: int = 0


@define
class MeasureWork(Request):
    """What there is to count of work queues, of so many groups and topics one by one; makes nothing.

    It is of the partitions that this node leads, or of those of all nodes that can be asked.
    """

    pairs_max: int = 1000
    everywhere: bool = False


@define
class QueueMeasure:
    """The queues of a group on all partitions of a topic, added up."""

    group: str
    topic: str
    in_flight: int
    ready: int
    waiting: int
    held: int
    dead: int


@define
class LaneMeasure:
    """One lane of a partition, all groups added up; rates are messages a second over the last minute."""

    lane: Lane
    ready: int
    in_flight: int
    enqueue_rate: float
    dequeue_rate: float
    # From being appended to being leased for the first time.
    waited_ms: float = 0.0


@define
class WorkMeasured:
    """Work queues in numbers, and what was counted since the node began; `ack_latency` is from lease to ack."""

    queues: list[QueueMeasure]
    acked: int = 0
    nacked: int = 0
    rejected: int = 0
    extended: int = 0
    timed_out: int = 0
    expired: int = 0
    buried: int = 0
    delivered: int = 0
    polls: int = 0
    polls_empty: int = 0
    ack_latency: Histogram = field(factory=Histogram)
    acked_by: dict[str, int] = field(factory=dict)
    buried_by: dict[str, int] = field(factory=dict)
    timed_out_by: dict[str, int] = field(factory=dict)


@define
class MeasureLanes(Request):
    """The lanes of the partitions of a topic, or of all topics that have work queues; makes nothing.

    It is of the partitions that this node leads, or of those of all nodes that can be asked.
    """

    topic: str = ""
    partitions_max: int = 1000
    everywhere: bool = False


@define
class LanesMeasured:
    """Lanes by topic and partition, five each in the order of precedence."""

    topics: dict[str, dict[int, list[LaneMeasure]]]


@define
class EndPoll(Request):
    """The polls of a member that belong to a round are to be answered with what they have. Answered None."""

    group: str
    member_id: str
    round: int


@define
class DescribeQueues(Request):
    """How far a group's queues on some topics have come, of the partitions that are led there."""

    group: str
    topics: list[str]


@define
class QueueTold:
    """Below which offset everything is settled in a partition, and how many messages are not.

    `open` of these are leased, or dead letters that are not where they belong.
    """

    topic: str
    partition: int
    floor: int
    left: int
    open: int = 0


@define
class QueuesTold:
    """The queues of the partitions that are led there."""

    queues: list[QueueTold]


@define
class ResetQueues(Request):
    """Have a group's queues on some partitions of a topic go on as the changes say; answered with these.

    A dry run only says whether that can be, and what they would change.
    """

    group: str
    topic: str
    changes: list[OffsetChange]
    dry_run: bool = False


_row = partial(Row, audience=Audience.CLIENT, service=ServiceName.QUEUES, resource=Resource.GROUP)
_look = partial(_row, repeat=Repeat.ALWAYS, changes=False)
ROWS = (
    # Whatever a poll leased goes to others when nobody hears the answer.
    _look(PollWork, 150, PolledWork, Operation.READ, "group", measured=True),
    _row(AckWork, 151, WorkDone, Operation.READ, "group", repeat=Repeat.ELSEWHERE),
    _row(NackWork, 152, WorkDone, Operation.READ, "group"),
    _row(RejectWork, 153, WorkDone, Operation.READ, "group"),
    _row(ExtendWork, 154, WorkDone, Operation.READ, "group", repeat=Repeat.ELSEWHERE),
    _row(ReleaseWork, 155, WorkDone, Operation.READ, "group"),
    _look(MeasureWork, 156, WorkMeasured, Operation.DESCRIBE, ""),
    _look(MeasureLanes, 157, LanesMeasured, Operation.DESCRIBE, "topic", resource=Resource.TOPIC),
    _row(EndPoll, 158, NOTHING, Operation.ACT, "group", audience=Audience.PEER),
    _look(DescribeQueues, 159, QueuesTold, Operation.ACT, "group", audience=Audience.PEER),
    _row(ResetQueues, 160, OffsetChange, Operation.ACT, "group", many=True, audience=Audience.PEER),
)
"""The rows of this area."""
