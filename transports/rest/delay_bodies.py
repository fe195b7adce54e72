"""The JSON of delayed messages that comes in and goes out, as types: see `bodies.py`, whose rules hold here too."""

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from goqueue.transports.rest.bodies import Draft, Moment, Priority, Span


class WheelView(Struct):
    """The wheel that knows when delayed messages are due."""

    timers: int


class DelayView(Struct):
    """Delayed messages in numbers: how many wait, and totals since the node began."""

    pending_count: int
    pending_by_topic: dict[str, int]
    delivered_count: int
    cancelled_count: int
    rescheduled_count: int
    avg_delay: str
    avg_lateness: str
    wheel: WheelView


class DelayDraft(Draft):
    """When a delayed message is to be delivered instead: after a span from now, or at a time."""

    delay: Span | None = None
    deliverAt: Moment | None = None  # noqa: N815 - clients know it by this name


class DelayedView(Struct):
    """A message that is kept back; what is in it is told of a single one."""

    topic: str
    partition: int
    offset: int
    deliver_at: str
    priority: Priority
    key: str | UnsetType | None = UNSET
    value: str | UnsetType | None = UNSET
    headers: dict[str, str | None] | UnsetType = UNSET
    encoding: Literal["base64"] | UnsetType = UNSET
    headers_encoding: Literal["base64"] | UnsetType = UNSET


class DelayedViews(Struct):
    """Delayed messages, the first due first; `count` is how many there are in all, `next` asks for the next page."""

    messages: list[DelayedView]
    count: int
    next: str | UnsetType = UNSET


class CancelledView(Struct):
    """A delayed message that is never delivered."""

    topic: str
    partition: int
    offset: int
    cancelled: bool = True
