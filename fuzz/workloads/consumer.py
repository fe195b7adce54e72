"""A consumer: follows a partition by fetches, long ones and short ones, and looks up offsets by time now and then."""

from random import Random

from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, FoundOffset
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client

_WORLD_BEGAN_MS = 1_700_000_000_000


class Consumer(Client):
    """Reads one partition after another, from where it was."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self._offsets: dict[tuple[str, int], int] = {}

    def next_request(self) -> Request:
        """A fetch, or a search where the last one was out of range."""
        random = self.random
        place = self.draw_topic(), self.draw_partition()
        offset = self._offsets.get(place)
        if offset is None or random.random() < 0.05:
            return FindOffset(*place, random.choice((0, self._some_time_ms(), 1 << 60)))
        max_bytes = random.choice((1, 1_000, 1 << 20))
        return Fetch(*place, offset, max_bytes, random.randint(0, self.options.wait_ns_max))

    def _some_time_ms(self) -> int:
        """A time of which there may be messages: half as long ago as the world has lasted."""
        return _WORLD_BEGAN_MS + self.now // 2_000_000

    def answered(self, request: Request, reply: Reply) -> None:
        """Go on behind what came, or look for a new beginning."""
        assert isinstance(request, Fetch | FindOffset)
        place = request.topic, request.partition
        if isinstance(reply, Fetched):
            self._offsets[place] = reply.next_offset
        elif isinstance(reply, FoundOffset):
            self._offsets[place] = reply.offset
        elif isinstance(reply, Refusal):
            self._offsets.pop(place, None)
