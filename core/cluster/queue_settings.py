"""How a work queue treats its messages: what a group may set, as numbers."""

from attrs import define

SPAN_MS_MAX = 12 * 3_600_000
DELAY_MS_MAX = 365 * 24 * 3_600_000


@define
class WorkSettings:
    """The visibility time-out, how often and after what pauses a message is tried, and how much may be in flight.

    `held_max` bounds how many messages wait behind others of their keys before nothing new is looked at. Without `dlq`
    what is given up is dropped. `ttl_ms` is for messages that say nothing of their own, 0 for none. The weights of the
    lanes are by precedence.
    """

    visibility_ms: int = 30_000
    max_attempts: int = 4
    backoff_ms: int = 1_000
    backoff_max_ms: int = 600_000
    max_in_flight: int = 1_000
    key_ordered: bool = False
    held_max: int = 100_000
    dlq: bool = True
    ttl_ms: int = 0
    lane_weights: tuple[int, ...] = (50, 25, 15, 7, 3)
    starvation_ms: int = 30_000

    def __attrs_post_init__(self) -> None:
        assert 0 < self.visibility_ms <= SPAN_MS_MAX
        assert 0 < self.max_attempts < 1 << 16
        assert 0 < self.backoff_ms <= self.backoff_max_ms <= DELAY_MS_MAX
        assert self.max_in_flight > 0
        assert self.held_max > 0
        assert self.ttl_ms >= 0
        assert self.starvation_ms > 0


def read_weights(text: str) -> tuple[int, ...]:
    """The weights of the lanes, as the setting of a topic spells them."""
    return tuple(map(int, text.split("/")))
