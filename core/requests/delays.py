"""What is asked of delayed messages, and answered: one is known by its partition and its offset in the schedule."""

from functools import partial

from attrs import define, field

from goqueue.core.records.batch import Lane
from goqueue.core.requests.histogram import Histogram
from goqueue.core.requests.row import NOTHING, Audience, Operation, Repeat, Request, Resource, Route, Row, ServiceName


@define
class ListDelayed(Request):
    """Messages of a topic that are not due, the first due first; `after` is the last one of a page before this."""

    topic: str
    limit: int = 100
    after: "tuple[int, int, int] | None" = None


@define
class GetDelayed(Request):
    """One delayed message, with what is in it."""

    topic: str
    partition: int
    offset: int


@define
class CancelDelayed(Request):
    """Never deliver a message."""

    topic: str
    partition: int
    offset: int


@define
class RescheduleDelayed(Request):
    """Deliver a message at another time: so much from now, or at a time in milliseconds since 1970."""

    topic: str
    partition: int
    offset: int
    delay_ms: int = 0
    due_ms: int | None = None


@define
class MeasureDelays(Request):
    """What there is to count of delayed messages; makes nothing."""


@define
class DelayedMessage:
    """A message that is kept back; `due_ms` in milliseconds since 1970. What is in it is told only of a single one."""

    topic: str
    partition: int
    offset: int
    due_ms: int
    lane: Lane
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()


@define
class DelayedMessages:
    """A page of delayed messages, and how many there are in all; `after` for the next page, None when that is all."""

    messages: list[DelayedMessage]
    count: int
    after: "tuple[int, int, int] | None" = None


@define
class DelaysMeasured:
    """Delayed messages in numbers: how many wait, by topic, and what was counted since the node began.

    `delay_ms_total` adds up the delays of what was delivered as they were asked for; `lateness` is how long after they
    were due messages were appended.
    """

    pending: dict[str, int]
    delivered: int = 0
    cancelled: int = 0
    rescheduled: int = 0
    delay_ms_total: int = 0
    lateness: Histogram = field(factory=Histogram)
    # The wheel: keys, entries, buckets by level.
    timers: int = 0


_row = partial(Row, audience=Audience.CLIENT, service=ServiceName.DELAYS, resource=Resource.TOPIC)
_look = partial(_row, repeat=Repeat.ALWAYS, changes=False)
ROWS = (
    _look(ListDelayed, 170, DelayedMessages, Operation.DESCRIBE, "topic"),
    _look(GetDelayed, 171, DelayedMessage, Operation.READ, "topic", route=Route.PARTITION),
    _row(CancelDelayed, 172, NOTHING, Operation.WRITE, "topic", route=Route.PARTITION),
    _row(RescheduleDelayed, 173, DelayedMessage, Operation.WRITE, "topic", route=Route.PARTITION),
    _look(MeasureDelays, 174, DelaysMeasured, Operation.DESCRIBE, ""),
)
"""The rows of this area."""
