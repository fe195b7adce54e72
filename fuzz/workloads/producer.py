"""A producer: single messages with and without keys, several in a request, and batches of its own making.

Some send again what they got no answer to: they prefer a message that is there twice to one that is not there.
"""

from random import Random

from goqueue.core.records.batch import Codec, Lane
from goqueue.core.records.build import encode
from goqueue.core.requests.messages import Acks, NewRecord, Publish, PublishBatch
from goqueue.core.requests.row import Request
from goqueue.fuzz.history import NAME_HEADER
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client

_LANES = (Lane.NORMAL, Lane.NORMAL, Lane.NORMAL, Lane.CRITICAL, Lane.BACKGROUND)


class Producer(Client):
    """Sends messages that no other message is like."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self.in_flight_max = random.randint(1, options.in_flight_max)
        self._resends = random.random() < options.p_resends
        self._again: list[Request] = []
        self._count = 0
        self._keys = (None, *(bytes((ord("a") + number,)) for number in range(options.keys)))

    def next_request(self) -> Request:
        """A publish."""
        if self._again:
            return self._again.pop(0)
        random, topic = self.random, self.draw_topic()
        count = random.choice((1, 1, 1, 2, 5))
        if random.random() < self.options.p_batch:
            codec = random.choice((Codec.NONE, Codec.NONE, Codec.LZ4))
            batch = encode([self._entry() for _ in range(count)], codec=codec)
            return PublishBatch(topic, self.draw_partition(), batch, self._acks())
        return Publish(topic, [self._record() for _ in range(count)], self._acks())

    def lost(self, request: Request) -> None:
        """Whether it was taken is not known: ask once more, or leave it at that."""
        if self._resends:
            self._again.append(request)

    def _acks(self) -> Acks:
        drawn, options = self.random.random(), self.options
        if drawn < options.p_acks_none:
            return Acks.NONE
        return Acks.LEADER if drawn < options.p_acks_none + options.p_acks_leader else Acks.ALL

    def _record(self) -> NewRecord:
        random = self.random
        key = random.choice(self._keys)
        partition = self.draw_partition() if random.random() < 0.3 else None
        value, headers = self._content(key)
        record = NewRecord(key, value, headers, partition=partition, lane=random.choice(_LANES))
        options = self.options
        if options.p_delay and random.random() < options.p_delay:
            record.delay_ms = random.choice((1, 10, 100, 1_000, 1_000, 5_000))
        if options.p_ttl and random.random() < options.p_ttl:
            record.ttl_ms = random.choice((1, 500, 3_000, 1_000_000))
        return record

    def _entry(self) -> tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]:
        """Some clients have no clock."""
        key = self.random.choice(self._keys)
        timestamp = 1_700_000_000_000 if self.random.random() < 0.9 else 0
        return (timestamp, key, *self._content(key))

    def _content(self, key: bytes | None) -> tuple[bytes | None, tuple[tuple[str, bytes | None], ...]]:
        """A value and headers; a message without a value says that nothing of its key is wanted any more."""
        self._count += 1
        name = b"%s:%d" % (self.name.encode(), self._count)
        if key is not None and self.random.random() < self.options.p_tombstone:
            return None, ((NAME_HEADER, name),)
        return name + b"|" + bytes(self.random.randint(0, self.options.value_bytes_max)), ()
