"""Which partition a record goes to, and where its leader is.

A key is hashed as the topic's setting says, with the broker's own functions, so that it is of no account who chooses. A
record without a key goes where the last one went until that parcel is due, and then to the next partition in an order
that was drawn at random once: parcels get large, and of many clients not all begin with partition 0. `sticky` treats
every record like that; `round_robin` sends each to the next partition of that order.
"""

from collections.abc import Callable
from random import Random

from attrs import define

from goqueue.core.client.pipeline import Pipeline
from goqueue.core.partition.partitioners import Partitioner
from goqueue.core.records.varint import Readable

ROUND_ROBIN = "round_robin"
# These look at no keys.
KEYLESS = (ROUND_ROBIN, "sticky")


@define
class Layout:
    """What a client knows of a topic: its partitions' leaders by address, and the settings that concern a producer."""

    topic: str
    leaders: list[str]
    partitioner: str
    message_bytes_max: int
    # How many of the partitions, from the first on, keys go to; 0 for all.
    key_partitions: int = 0


class Route:
    """The way to one topic."""

    __slots__ = (
        "_hash", "_is_spread", "_order", "_place", "_random", "later", "limit", "message_bytes_max", "next",
        "pipelines", "topic",
    )  # fmt: skip

    def __init__(self, layout: Layout, random: Random, limit: int) -> None:
        self.topic = layout.topic
        self.limit = limit
        self.message_bytes_max = layout.message_bytes_max
        self.pipelines: list[Pipeline] = []
        # By partition those that lead to schedules, once they are wanted.
        self.later: dict[int, Pipeline] = {}
        self._random = random
        self.revise(layout)

    def revise(self, layout: Layout) -> list[Pipeline]:
        """Take over what is known newly; the pipelines of partitions that are no more."""
        assert layout.leaders
        self.message_bytes_max = layout.message_bytes_max
        self._is_spread = layout.partitioner == ROUND_ROBIN
        count = len(layout.leaders)
        for partition in range(len(self.pipelines), count):
            self.pipelines.append(Pipeline(self, partition, layout.leaders[partition]))
        gone = self.pipelines[count:]
        gone += [self.later.pop(pipeline.partition) for pipeline in gone if pipeline.partition in self.later]
        del self.pipelines[count:]
        for pipeline in self.all_pipelines():
            pipeline.message_bytes_max = layout.message_bytes_max
        self._hash: Callable[[Readable], int] | None = None
        if layout.partitioner not in KEYLESS:
            self._hash = Partitioner(layout.partitioner, count, layout.key_partitions).choose
        self._order = self._random.sample(range(count), count)
        self._place = 0
        self.next = self.pipelines[self._order[0]]
        return gone

    def all_pipelines(self) -> list[Pipeline]:
        """Those to the data of all partitions, and those to their schedules."""
        return [*self.pipelines, *self.later.values()]

    def postpone(self, pipeline: Pipeline) -> Pipeline:
        """The pipeline to the schedule of the partition that another one leads to."""
        later = self.later.get(pipeline.partition)
        if later is None:
            later = Pipeline(self, pipeline.partition, pipeline.address, is_later=True)
            later.message_bytes_max = self.message_bytes_max
            self.later[pipeline.partition] = later
        return later

    def choose(self, key: Readable | None) -> Pipeline:
        """The pipeline for a record with this key."""
        if key is not None and self._hash is not None:
            return self.pipelines[self._hash(key)]
        chosen = self.next
        if self._is_spread:
            self._advance()
        return chosen

    def turn(self, pipeline: Pipeline) -> None:
        """A parcel of this pipeline is due."""
        if pipeline.partition == self.next.partition:
            self._advance()

    def _advance(self) -> None:
        self._place = (self._place + 1) % len(self._order)
        self.next = self.pipelines[self._order[self._place]]
