"""What the world asks of a client."""

from abc import ABC, abstractmethod
from random import Random

from goqueue.core.verbs import Reply, Request
from goqueue.fuzz.options import Options


class Client(ABC):
    """Someone who asks."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        self.name = name
        self.random = random
        self.options = options
        self.in_flight = 0
        self.in_flight_max = 1
        self.is_parked = False
        self.patience_until = 0

    @abstractmethod
    def next_request(self) -> Request | None:
        """What to ask next; None while there is nothing to ask before an answer comes."""

    def answered(self, request: Request, reply: Reply) -> None:  # noqa: B027 - some learn nothing
        """An answer came."""

    def lost(self, request: Request) -> None:  # noqa: B027 - some do not care
        """No answer will come: whether the node took the request is not known."""

    def think_ns(self) -> int:
        """How long to wait before the next request."""
        return int(self.random.random() * (self.options.think_ns + 1))

    def draw_topic(self) -> str:
        """One of the topics there may be."""
        return f"t{self.random.randrange(self.options.topics)}"

    def draw_partition(self) -> int:
        """One of the partitions that a topic may have."""
        return self.random.randrange(self.options.partitions_max)
