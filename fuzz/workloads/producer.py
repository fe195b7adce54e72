"""A producer: single messages with and without keys, several in a request, and batches of its own making."""

from random import Random

from goqueue.core.records.batch import Codec, Lane
from goqueue.core.records.build import encode
from goqueue.core.verbs import NewRecord, Publish, PublishBatch, Request
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client

_LANES = (Lane.NORMAL, Lane.NORMAL, Lane.NORMAL, Lane.CRITICAL, Lane.BACKGROUND)


class Producer(Client):
    """Sends messages that no other message is like."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self.in_flight_max = random.randint(1, options.in_flight_max)
        self._count = 0

    def next_request(self) -> Request:
        """A publish."""
        random, topic = self.random, self.draw_topic()
        count = random.choice((1, 1, 1, 2, 5))
        if random.random() < self.options.p_batch:
            codec = random.choice((Codec.NONE, Codec.NONE, Codec.LZ4))
            batch = encode([(self._time(), None, self._value(), ()) for _ in range(count)], codec=codec)
            return PublishBatch(topic, self.draw_partition(), batch)
        return Publish(topic, [self._record() for _ in range(count)])

    def _record(self) -> NewRecord:
        random = self.random
        key = random.choice((None, b"a", b"b", b"c"))
        partition = self.draw_partition() if random.random() < 0.3 else None
        return NewRecord(key, self._value(), partition=partition, lane=random.choice(_LANES))

    def _time(self) -> int:
        """When a message claims to be from: some clients have no clock."""
        return 1_700_000_000_000 if self.random.random() < 0.9 else 0

    def _value(self) -> bytes:
        self._count += 1
        return b"%s:%d|" % (self.name.encode(), self._count) + bytes(
            self.random.randint(0, self.options.value_bytes_max)
        )
