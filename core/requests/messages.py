"""Publishing and reading: requests and their answers."""

from enum import StrEnum
from functools import partial

from attrs import define

from goqueue.core.records.batch import Lane
from goqueue.core.records.varint import Readable
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.row import Audience, Operation, Repeat, Request, Resource, Route, Row, ServiceName

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
class Publish(Request):
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
class PublishBatch(Request):
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
class InitProducer(Request):
    """An id for a producer that numbers its records, so that none is stored twice."""


@define
class ProducerReply:
    """An id that no other producer has or will have, and the epoch under which its sequences begin at 0."""

    producer_id: int
    epoch: int


@define
class Fetch(Request):
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
class FindOffset(Request):
    """The first record at or after a time in milliseconds since 1970."""

    topic: str
    partition: int
    timestamp: int


@define
class FoundOffset:
    """The record found; the end of the partition when all records are older, with timestamp -1."""

    offset: int
    timestamp: int


# What a request and its answer take besides its bytes.
_OVERHEAD_BYTES = 512
_RECORD_BYTES = 256


def _records_weight(request: Publish) -> int:
    contents = sum(len(record.key or b"") + len(record.value or b"") for record in request.records)
    return _OVERHEAD_BYTES + _RECORD_BYTES * len(request.records) + contents


def _batch_weight(request: PublishBatch) -> int:
    return len(request.batch) + _OVERHEAD_BYTES


_row = partial(
    Row, audience=Audience.CLIENT, service=ServiceName.PARTITIONS, resource=Resource.TOPIC, route=Route.PARTITION
)
_look = partial(_row, repeat=Repeat.ALWAYS, changes=False)
ROWS = (
    _row(
        Publish,
        107,
        PublishReply,
        Operation.WRITE,
        "topic",
        route=Route.PARTITIONS,
        weight=_records_weight,
        measured=True,
    ),
    _row(
        PublishBatch,
        108,
        PublishReply,
        Operation.WRITE,
        "topic",
        repeat=Repeat.NUMBERED,
        weight=_batch_weight,
        measured=True,
    ),
    _look(
        InitProducer,
        109,
        ProducerReply,
        Operation.WRITE,
        "",
        route=Route.CONTROLLER,
        service=ServiceName.METADATA,
        resource=Resource.CLUSTER,
    ),
    _look(Fetch, 110, Fetched, Operation.READ, "topic", measured=True),
    _look(FindOffset, 111, FoundOffset, Operation.DESCRIBE, "topic"),
)
"""The rows of this area."""
