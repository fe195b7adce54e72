"""A work queue in numbers: how many messages are where, and what became of them since it was made."""

from attrs import define, field

from goqueue.core.requests.histogram import Histogram


@define
class Counts:
    """How many messages are where; those beyond the reach are not among them."""

    in_flight: int
    ready: int
    waiting: int
    held: int
    doomed: int


@define
class Tally:
    """What was done since the queue was made, in messages; `ack_latency` is from the lease to the acknowledgement."""

    delivered: int = 0
    acked: int = 0
    nacked: int = 0
    rejected: int = 0
    extended: int = 0
    released: int = 0
    timed_out: int = 0
    expired: int = 0
    ack_latency: Histogram = field(factory=Histogram)
