"""What the world asks of a client."""

from abc import ABC, abstractmethod
from random import Random

from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
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

        # The moment, as of when the world last turned to this client.
        self.now = 0
        # Whether it goes on asking when nothing fails any more.
        self.goes_on = False

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

    def idle_ns(self) -> int | None:
        """With nothing to ask: how long to wait for an answer before looking again; None if only an answer helps."""
        return None

    def calm(self) -> None:  # noqa: B027 - most do nothing wrong
        """Nothing fails from here on, and this client is to do nothing wrong either."""

    def draw_topic(self) -> str:
        """One of the topics there may be."""
        return f"t{self.random.randrange(self.options.topics)}"

    def draw_partition(self) -> int:
        """One of the partitions that a topic may have."""
        return self.random.randrange(self.options.partitions_max)
