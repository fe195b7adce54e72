"""The counters of what goes between clients and the broker: plain integers, changed by the loop alone."""

from attrs import define, field

from goqueue.core.records.batch import Lane
from goqueue.core.requests.histogram import Histogram


@define
class Consumed:
    """What readers of one topic were given."""

    messages: int = 0
    bytes: int = 0


@define
class BrokerMeters:
    """The counters of one broker's transports."""

    publish_latency: Histogram = field(factory=Histogram)
    fetch_latency: Histogram = field(factory=Histogram)
    # Messages that were refused, by code.
    failed: dict[str, int] = field(factory=dict)
    # Messages that were taken, by lane.
    prioritized: dict[Lane, int] = field(factory=lambda: dict.fromkeys(Lane, 0))
    # By topic; those that are gone are dropped when the page is made.
    consumed: dict[str, Consumed] = field(factory=dict)

    def count_failed(self, code: str, messages: int) -> None:
        """Messages were refused."""
        self.failed[code] = self.failed.get(code, 0) + messages

    def count_prioritized(self, lane: Lane, messages: int) -> None:
        """Messages were taken into a lane."""
        self.prioritized[lane] += messages

    def count_consumed(self, topic: str, messages: int, size: int) -> None:
        """A reader of a topic that is there was given messages."""
        consumed = self.consumed.get(topic)
        if consumed is None:
            consumed = self.consumed[topic] = Consumed()
        consumed.messages += messages
        consumed.bytes += size
