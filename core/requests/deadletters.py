"""What is asked of dead letters, and answered.

A topic of dead letters is an ordinary topic, `orders.dlq` for `orders` unless `dlq_topic` says otherwise. A letter in
it that was sent back or purged is settled, and no longer one.
"""

from enum import StrEnum
from functools import partial

from attrs import define, field

from goqueue.core.requests.row import Audience, Operation, Repeat, Request, Resource, Row, ServiceName


@define
class Sieve:
    """Which dead letters are meant: those that fit everything that is given. Times in milliseconds since 1970."""

    reason: str = ""
    group: str = ""
    key: bytes | None = None
    # Headers that are to be there with these values.
    headers: dict[str, bytes] = field(factory=dict)
    died_from_ms: int | None = None
    died_until_ms: int | None = None


@define
class BrowseDead(Request):
    """Dead letters in a topic, oldest first by partition; `after` is where a page before this ended.

    `only` is the one partition that another node asks for, -1 for all.
    """

    topic: str
    sieve: Sieve = field(factory=Sieve)
    limit: int = 100
    after: dict[int, int] = field(factory=dict)
    only: int = -1


@define
class DeadLetter:
    """A dead letter: where it lies, what it is, and how it came here; `died_ms` in milliseconds since 1970."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    reason: str
    group: str
    attempts: int
    died_ms: int
    source_topic: str
    source_partition: int
    source_offset: int


@define
class DeadLetters:
    """A page of dead letters; `after` goes into the request for the next one, and is None when that is all.

    `reached` tells another node how far it has come in the one partition that was asked for.
    """

    letters: list[DeadLetter]
    after: dict[int, int] | None = None
    reached: int = -1


@define
class ListDeadTopics(Request):
    """The topics of dead letters, and how many there are in each."""


@define
class DeadTopic:
    """A topic of dead letters: how many it has that were neither sent back nor purged."""

    topic: str
    letters: int


@define
class StartRedrive(Request):
    """Send dead letters of a topic back to where each came from, or to the topic `to`; of those there are now.

    At most `limit` of them and `rate` a second, no bound for 0. `dry_run` says how many it would be.
    """

    topic: str
    to: str = ""
    sieve: Sieve = field(factory=Sieve)
    rate: int = 0
    limit: int = 0
    dry_run: bool = False


@define
class PurgeDead(Request):
    """Drop dead letters of a topic, of those there are now."""

    topic: str
    sieve: Sieve = field(factory=Sieve)
    dry_run: bool = False


@define
class DescribeRedrive(Request):
    """How far a redrive or a purge has come."""

    redrive_id: str


@define
class ListRedrives(Request):
    """All redrives and purges that are remembered, the newest first."""

    topic: str = ""


@define
class CancelRedrive(Request):
    """Stop a redrive; what was sent back stays so."""

    redrive_id: str


class RedriveState(StrEnum):
    """How a redrive is."""

    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


@define
class RedriveReply:
    """A redrive or a purge: what it is, how far it has looked, what it found and moved. Times since 1970.

    `total` is how many messages there were to look at when it began, `looked` how many it has. One that is under way
    goes on after a restart where it was.
    """

    redrive_id: str
    topic: str
    to: str
    is_purge: bool
    is_dry_run: bool
    state: RedriveState
    total: int
    looked: int
    matched: int
    moved: int
    rate: int
    started_ms: int
    ended_ms: int = 0
    error: str = ""


@define
class CountDead(Request):
    """Where the letters begin and end in the partitions of a topic that the node leads, and how many are left."""

    topic: str


@define
class DeadCounts:
    """By partition: the first letter that is left, the end, and how many letters are between."""

    starts: dict[int, int]
    ends: dict[int, int]
    left: dict[int, int]


@define
class FindMoved(Request):
    """Whether a partition has the batch of a move, by its producer and first sequence."""

    topic: str
    partition: int
    producer_id: int
    sequence: int


@define
class Moved:
    """Whether it has, and how many messages are in it."""

    is_known: bool
    count: int = 0


@define
class CarryOn(Request):
    """Work on a redrive in one partition, for a while or until told again, and say how far it is.

    `job` is the record of it, `room` how many letters of the partition may match, and `is_over` ends it.
    """

    topic: str
    partition: int
    job: bytes
    room: int
    is_over: bool = False


@define
class Carried:
    """How far a redrive is in a partition; `is_done` when that holds for good, `trouble` why it cannot go on."""

    position: int
    looked: int
    matched: int
    moved: int
    is_done: bool = False
    trouble: str = ""


_row = partial(Row, audience=Audience.CLIENT, service=ServiceName.DEAD_LETTERS, resource=Resource.TOPIC)
_look = partial(_row, repeat=Repeat.ALWAYS, changes=False)
ROWS = (
    _look(BrowseDead, 180, DeadLetters, Operation.READ, "topic"),
    _look(ListDeadTopics, 181, DeadTopic, Operation.DESCRIBE, "", many=True),
    _row(StartRedrive, 182, RedriveReply, Operation.ALTER, "topic"),
    _row(PurgeDead, 183, RedriveReply, Operation.DELETE, "topic"),
    _look(DescribeRedrive, 184, RedriveReply, Operation.DESCRIBE, ""),
    _look(ListRedrives, 185, RedriveReply, Operation.DESCRIBE, "topic", many=True),
    _row(CancelRedrive, 186, RedriveReply, Operation.ALTER, ""),
    _look(CountDead, 187, DeadCounts, Operation.ACT, "topic", audience=Audience.PEER),
    _look(FindMoved, 188, Moved, Operation.ACT, "topic", audience=Audience.PEER),
    _row(CarryOn, 189, Carried, Operation.ACT, "topic", audience=Audience.PEER),
)
"""The rows of this area."""
