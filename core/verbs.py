"""What clients ask of a node, and what it answers: plain data, the same for every transport.

A verb is a method of `Node`, its request one of the classes here, its answer one of the replies or a `Refusal`. Every
call comes with a `Caller`, so that access, quotas and tracing can be decided in one place. A transport translates its
bytes to these and back, and adds nothing.
"""

from enum import StrEnum

from attrs import define, field

from goqueue.core.records.batch import Lane
from goqueue.core.records.varint import Readable

# The offset of a message that nothing was promised for.
NO_OFFSET = -1


class Acks(StrEnum):
    """What a publish waits for: nothing, the leader as durable as the topic says, or all in-sync replicas as well."""

    NONE = "none"
    LEADER = "leader"
    ALL = "all"


class Side(StrEnum):
    """One of the streams of a partition: what readers see, what is yet to be delivered, what became of it by group."""

    DATA = "data"
    SCHEDULE = "schedule"
    LEDGER = "ledger"


class Outcome(StrEnum):
    """What a request that was refused has done: nothing, nobody knows, or all of it when it was sent before."""

    NONE = "none"
    UNKNOWN = "unknown"
    DONE = "done"


class Code(StrEnum):
    """Why a request was refused; stable words that programs may compare.

    `outcome` says what the refused request has done: nothing, unless the code says otherwise. It speaks of this one
    request: when an earlier attempt at the same thing has an unknown outcome, a later refusal does not settle it.
    """

    outcome: Outcome

    def __new__(cls, word: str, outcome: Outcome = Outcome.NONE) -> "Code":
        code = str.__new__(cls, word)
        code._value_ = word
        code.outcome = outcome
        return code

    INVALID = "invalid_request"
    TOPIC_NOT_FOUND = "topic_not_found"
    PARTITION_NOT_FOUND = "partition_not_found"
    TOPIC_EXISTS = "topic_exists"
    # Under the name that was asked for there is another topic, which was made after the first was deleted.
    TOPIC_REPLACED = "topic_replaced"
    OFFSET_OUT_OF_RANGE = "offset_out_of_range"
    CORRUPT_BATCH = "corrupt_batch"
    INVALID_TIMESTAMP = "invalid_timestamp"
    TOO_LARGE = "too_large"
    OUT_OF_ORDER = "out_of_order_sequence"
    # The batch was stored before; its offset is not remembered.
    DUPLICATE = "duplicate_sequence", Outcome.DONE
    FENCED = "producer_fenced"
    GROUP_NOT_FOUND = "group_not_found"
    GROUP_NOT_EMPTY = "group_not_empty"
    WRONG_MODE = "wrong_mode"
    UNKNOWN_MEMBER = "unknown_member"
    FENCED_INSTANCE = "fenced_instance"
    FENCED_GENERATION = "fenced_generation"
    RECEIPT_INVALID = "receipt_invalid"
    RECEIPT_EXPIRED = "receipt_expired"
    ALREADY_SETTLED = "already_settled"
    DELAYED_NOT_FOUND = "delayed_not_found"
    NO_DEAD_LETTERS = "no_dead_letters"
    REDRIVE_NOT_FOUND = "redrive_not_found"
    NODE_NOT_FOUND = "node_not_found"
    # There is as much of it as is kept, or it was asked for too often.
    QUOTA_EXCEEDED = "quota_exceeded"
    DAMAGED = "damaged"
    # Nothing was done, and the same request can succeed later.
    UNAVAILABLE = "unavailable"
    SHUTTING_DOWN = "shutting_down"
    NOT_ENOUGH_REPLICAS = "not_enough_replicas"
    # The disk of the leader has no room for messages.
    DISK_FULL = "disk_full"
    # Nothing was done, and another node is to be asked.
    NOT_LEADER = "not_leader"
    NOT_CONTROLLER = "not_controller"
    NOT_COORDINATOR = "not_coordinator"
    # The request was begun, and whoever answers does not know whether it came or will come to its end.
    OUTCOME_UNKNOWN = "outcome_unknown", Outcome.UNKNOWN


@define
class Caller:
    """On whose behalf a verb is called, and how it came; `client_id` is what a client calls itself, if it does."""

    client_id: str = ""
    protocol: str = ""
    principal: str = ""
    tenant: str = ""
    trace: str = ""
    # The other end of the connection.
    address: str = ""


@define
class Refusal:
    """A request that is not granted: a code for programs, a sentence for a person, and the field it is about."""

    code: Code
    message: str
    field: str = ""
    retry_after_ms: int = 0
    # The node to be asked instead, if it is known.
    leader: str = ""
    # Of a numbered batch that was refused: after how many records it may be divided, so that what is stored of it is
    # recognised.
    divide_at: int = 0

    @property
    def outcome(self) -> Outcome:
        """What the request has done that is refused."""
        return self.code.outcome

    def undone(self) -> "Refusal":
        """The refusal of a request that was not begun, since one that it depends on was refused with this.

        Whether that one was carried out may be unknown; nothing was done for the other.
        """
        if self.outcome is Outcome.NONE:
            return self
        return Refusal(Code.UNAVAILABLE, self.message, self.field, self.retry_after_ms or 200)

    def in_doubt(self) -> "Refusal":
        """The refusal of a request that may have been carried out before it was refused with this."""
        return Refusal(Code.OUTCOME_UNKNOWN, self.message, self.field, self.retry_after_ms)


# --- topics


@define
class CreateTopic:
    """A new topic; `config` holds what differs from the defaults, as text or numbers. Zeros stand for the defaults."""

    name: str
    partitions: int = 0
    replication_factor: int = 0
    config: dict[str, object] = field(factory=dict)


@define
class AlterTopic:
    """Change settings of a topic; None takes one back to its default."""

    name: str
    config: dict[str, object]


@define
class DeleteTopic:
    """Remove a topic with everything in it."""

    name: str


@define
class ListTopics:
    """All topics."""


@define
class DescribeTopic:
    """One topic."""

    name: str


@define
class DescribePartitions:
    """Where a topic's partitions live and how far they reach."""

    name: str


@define
class DescribeNode:
    """This node: how it is and what it holds."""


@define
class PartitionReply:
    """One partition as this node knows it."""

    partition: int
    leader: str
    replicas: list[str]
    isr: list[str]
    start_offset: int
    end_offset: int
    high_watermark: int
    size_bytes: int
    # Where clients reach the leader by gRPC; empty where it is the one that answers, or there is none.
    leader_address: str = ""
    # Replicas that are not in sync and may lead all the same, and why nobody leads where that is so.
    elr: list[str] = field(factory=list)
    why_offline: str = ""


@define
class NodeReply:
    """This node at a glance."""

    node_id: str
    version: str
    uptime_ns: int
    topics: int
    size_bytes: int
    streams: list["TopicReply"]
    checks: list["Check"] = field(factory=list)
    timestamps_replaced: int = 0


@define
class Check:
    """One thing that must hold before clients are sent to a node; the problem is empty where it holds."""

    name: str
    problem: str = ""


@define
class TopicReply:
    """A topic as it is known; `offsets` holds start and end of every partition that is open."""

    name: str
    partitions: int
    config: dict[str, object]
    created_ms: int
    offsets: dict[int, tuple[int, int]]
    size_bytes: int
    segments: int = 0
    # Tells it from any other topic of its name, before it and after it.
    identity: str = ""


# --- publishing


@define
class NewRecord:
    """One message to be published; without a partition the topic's partitioner chooses.

    With a delay, or a time in milliseconds since 1970 at which it is due, it is kept back until then; one that is due
    already is published at once. After `ttl_ms` work queues deliver it no more; that counts from when it is due.
    """

    key: Readable | None
    value: Readable | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None
    timestamp: int | None = None
    lane: Lane = Lane.NORMAL
    delay_ms: int = 0
    due_ms: int | None = None
    ttl_ms: int = 0


@define
class Publish:
    """Messages for a topic, one by one; each gets an answer of its own."""

    topic: str
    records: list[NewRecord]
    acks: Acks = Acks.ALL


class Due(StrEnum):
    """When the records of a batch are delivered, and what their timestamps are.

    At once, bearing any time; at the time that each of them bears; or so many milliseconds after the broker takes the
    batch, which then gives each the time that it is due.
    """

    NOW = "now"
    AT = "at"
    AFTER = "after"


@define
class PublishBatch:
    """A batch for one partition as the client encoded it; the bytes are taken over and stamped in place.

    One that is not due now is written to the partition's schedule, as one batch under the same numbers: so its producer
    may send it again, whatever has been delivered of it. `Published` then has the latest time at which one is due.
    """

    topic: str
    partition: int
    batch: bytearray | memoryview
    acks: Acks = Acks.ALL
    # Other streams than the data are the node's own to write.
    side: Side = Side.DATA
    due: Due = Due.NOW


@define
class Published:
    """Where a message or a batch went: the offset of its first record, NO_OFFSET under `Acks.NONE`.

    That of a message that is kept back is one of the schedule, and `due_ms` says when it is due; -1 for all others.
    """

    partition: int
    offset: int
    timestamp: int = -1
    due_ms: int = -1


@define
class PublishReply:
    """One answer a message, in the order asked."""

    results: list[Published | Refusal]


@define
class InitProducer:
    """An id for a producer that numbers its records, so that none is stored twice."""


@define
class ProducerReply:
    """An id that no other producer has or will have, and the epoch under which its sequences begin at 0."""

    producer_id: int
    epoch: int


# --- reading


@define
class Fetch:
    """Batches of a partition from an offset on; without any, an answer once there are some or `wait_ns` have passed."""

    topic: str
    partition: int
    offset: int
    max_bytes: int = 1 << 20
    wait_ns: int = 0
    side: Side = Side.DATA
    # What it brings changes the node itself, and is not passed on unseen.
    looks: bool = False
    # Whole also when the node is told again from a capture, which may leave out what lies in the batches in memory.
    from_disk: bool = False
    # Which topic of that name is meant; empty for whichever there is.
    identity: str = ""


@define
class Fetched:
    """Whole batches, the first of which may begin below the offset asked for, and where to go on."""

    batches: Readable
    next_offset: int
    high_watermark: int
    start_offset: int


@define
class FindOffset:
    """The first record at or after a time in milliseconds since 1970."""

    topic: str
    partition: int
    timestamp: int


@define
class FoundOffset:
    """The record found; the end of the partition when all records are older, with timestamp -1."""

    offset: int
    timestamp: int
