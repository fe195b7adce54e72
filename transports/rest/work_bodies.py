"""The JSON of work queues that comes in and goes out, as types: see `bodies.py`, whose rules hold here too.

A receipt is a text that a poll gave with its message. A request shows one, or a list; of several each is answered for
itself, and `errors` has those for which nothing was done.
"""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from goqueue.core.queues.settling import REASON_LETTERS_MAX, RECEIPTS_MAX
from goqueue.core.requests.refusals import Outcome
from goqueue.transports.rest.bodies import Draft, Span

Reason = Annotated[str, Meta(max_length=REASON_LETTERS_MAX)]

# --- what comes in


class ReceiptsDraft(Draft, kw_only=True):
    """One receipt or several; with `member_id`, only such as that member was given.

    `consumer_id`, which is what a client calls itself, is taken for courtesy: a receipt says whose it is.
    """

    receipt_handle: str | None = None
    receipt_handles: Annotated[list[str], Meta(min_length=1, max_length=RECEIPTS_MAX)] | None = None
    member_id: str = ""
    consumer_id: str = ""


class NackDraft(ReceiptsDraft, kw_only=True):
    """Messages to be tried again, after `delay` or what their attempts ask for."""

    delay: Span | None = None
    reason: Reason = ""


class RejectDraft(ReceiptsDraft, kw_only=True):
    """Messages that are never to be tried again."""

    reason: Reason = ""


class VisibilityDraft(ReceiptsDraft, kw_only=True):
    """Messages that their member needs for so long from now."""

    timeout: Span


# --- what goes out


class ReceiptErrorView(Struct):
    """Why a receipt was refused, and what was done for it."""

    receipt_handle: str
    error: str
    code: str
    field: str
    outcome: Outcome


class AckedView(Struct):
    """How many messages are done."""

    acked: int
    errors: list[ReceiptErrorView] | UnsetType = UNSET


class NackedView(Struct):
    """How many messages are tried again, and when the last of them is; those that failed too often are dead letters."""

    requeued: int
    next_attempt_at: str | None
    dead_lettered: int
    dead_lettered_to: str | UnsetType = UNSET
    errors: list[ReceiptErrorView] | UnsetType = UNSET


class RejectedView(Struct):
    """How many messages were given up, and the topic they go to; null where they are dropped."""

    rejected: int
    dead_lettered_to: str | None
    errors: list[ReceiptErrorView] | UnsetType = UNSET


class ExtendedView(Struct):
    """How many leases were extended, and when the first of them ends; null when there is none."""

    extended: int
    expires_at: str | None
    errors: list[ReceiptErrorView] | UnsetType = UNSET


class ReleasedView(Struct):
    """How many messages were handed back."""

    released: int
    errors: list[ReceiptErrorView] | UnsetType = UNSET


class ReliabilityView(Struct):
    """Work queues in numbers: totals since the node began, and what there is at the moment."""

    acks_total: int
    nacks_total: int
    rejects_total: int
    dlq_messages: int
    visibility_extensions: int
    in_flight: int
    visibility_timeouts: int
    expired_total: int
    dead_lettered_total: int
    deliveries_total: int


class LanesView(Struct):
    """The five lanes of a partition, in the order of precedence; rates are messages a second over the last minute."""

    ready: list[int]
    in_flight: list[int]
    enqueue_rate: list[float]
    dequeue_rate: list[float]


class LanesByPartition(Struct):
    """The lanes of a topic."""

    partitions: dict[str, LanesView]


class LaneTotals(Struct):
    """One number a lane, by the name of its priority."""

    critical: int = 0
    high: int = 0
    normal: int = 0
    low: int = 0
    background: int = 0


class LaneSpans(Struct):
    """One span of time a lane, by the name of its priority."""

    critical: str = "0ms"
    high: str = "0ms"
    normal: str = "0ms"
    low: str = "0ms"
    background: str = "0ms"


class PriorityView(Struct):
    """Lanes by topic; messages that are ready or in flight, and how long they waited for their first lease."""

    topics: dict[str, LanesByPartition]
    messages_by_priority: LaneTotals
    avg_wait_time_by_priority: LaneSpans
