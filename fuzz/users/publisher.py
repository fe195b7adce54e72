"""A program that publishes by the library's producer, and keeps what it was told of each message."""

from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING

from attrs import define

from goqueue.core.client.failure import CONNECTION_LOST, DEADLINE_EXCEEDED, DELIVERY_TIMEOUT
from goqueue.core.requests.refusals import Outcome
from goqueue.fuzz.users.loop import SimulatedLoop
from goqueue.fuzz.users.program import MS, Program
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import ClientError
from goqueue.transports.client.messages import Published
from goqueue.transports.client.producer import Pending, Producer
from goqueue.transports.client.producer_terms import producer_terms
from goqueue.transports.client.times import moment_of

if TYPE_CHECKING:
    from goqueue.fuzz.world import World

_TIME_MS = 1_700_000_000_000
# Once nothing fails any more: leaders go back to first replicas, and are found again.
_ANSWERED_NS = 15_000 * MS
# What was sent before, and has to be given up first, no more stands before what is sent then.
_SETTLED_NS = 4_000 * MS
# The library says so soon after the time of a message is over.
_EXPIRED_NS = 1_000 * MS
_LATE = (DELIVERY_TIMEOUT, CONNECTION_LOST, DEADLINE_EXCEEDED)
_KEYS = (None, None, b"a", b"b", b"c")


@define(eq=False)
class Sent:
    """A message that the library was given, and since when it has no answer."""

    name: bytes
    topic: str
    pending: Pending
    since: int
    is_later: bool


class Publisher(Program):
    """See the module."""

    calm_think_ns = 200 * MS

    def __init__(self, world: "World", name: str, random: Random) -> None:
        super().__init__(world, name, random)
        # What the library said of messages: where they are, or that no broker has them.
        self.published: dict[bytes, Published] = {}
        self.undone: set[bytes] = set()
        self.open: list[Sent] = []
        # What took too long or failed though nothing fails any more, by topics.
        self.flaws: list[tuple[str, str]] = []
        # Topics in which some message failed for good that may be stored, while what was sent by then has no outcome.
        self._doubted: set[str] = set()
        self.is_idempotent = random.random() < 0.9
        self._count = 0
        # Memory is short in some: a buffer of a batch or two, and batches of a message or two.
        batch_bytes = random.choice((1, 300, 300, 16_384))
        self._terms = producer_terms(
            "all",
            timedelta(milliseconds=random.choice((0, 0, 5, 50))),
            batch_bytes,
            random.choice(("none", "none", "gzip")),
            self.is_idempotent,
            timedelta(milliseconds=random.choice((1_500, 8_000, 60_000))),
            batch_bytes + random.choice((0, 0, 1_000, 1 << 20)),
        )

    def died(self) -> None:
        """What was under way nobody hears of."""
        self.open.clear()

    async def work(self, loop: SimulatedLoop, brokers: Brokers) -> None:
        """Publish, for a while or until the end."""
        rounds = self.random.choice((5, 50, 1_000))
        try:
            async with Producer(brokers, self._terms) as producer:
                while rounds and not self.is_ending:
                    rounds -= 1
                    await self._publish(producer)
                    await self.think(loop)
                    self.look()
                    if self.is_calm:
                        await producer.flush()
        finally:
            self.look()

    async def _publish(self, producer: Producer) -> None:
        random = self.random
        for _ in range(random.choice((1, 1, 3))):
            self._count += 1
            topic, name = self.draw_topic(), b"%s:%d" % (self.name.encode(), self._count)
            value = name + b"|" + bytes(random.randint(0, min(self.options.value_bytes_max, 200)))
            is_later = bool(self.options.p_delay) and random.random() < self.options.p_delay
            delay = timedelta(milliseconds=random.choice((0, 10, 1_000, 5_000))) if is_later else None
            timestamp = None if is_later else moment_of(_TIME_MS)
            key = random.choice(_KEYS) if not self.options.p_compact else name
            since = self.world.now
            try:
                pending = await producer.send(topic, value, key=key, timestamp=timestamp or moment_of(0), delay=delay)
            except ClientError as error:
                # It was never taken in.
                if error.outcome is Outcome.NONE:
                    self.undone.add(name)
                raise
            self.open.append(Sent(name, topic, pending, since, is_later))

    def look(self) -> None:
        """See what became of messages."""
        left: list[Sent] = []
        for sent in self.open:
            if not sent.pending.done:
                if self._is_late(sent):
                    said = f"nothing fails, and {sent.name!r} of {sent.since} has no answer by {self.world.now}"
                    self.flaws.append((sent.topic, said))
                left.append(sent)
                continue
            try:
                self.published[sent.name] = sent.pending.result()
            except ClientError as error:
                self._failed(sent, error)
        self.open = left
        self._doubted &= {sent.topic for sent in left}

    def _is_late(self, sent: Sent) -> bool:
        """Whether a message without an answer should have one.

        Behind one that failed for good and may be stored, others that may be stored have to wait for their numbers'
        sake until their time is over, and what comes after them waits as well.
        """
        if self.calm_since is None:
            return False
        until = max(sent.since, self.calm_since) + _ANSWERED_NS
        if sent.topic in self._doubted:
            until = max(until, sent.since + self._terms.session.delivery_timeout_ns + _EXPIRED_NS)
        return self.world.now > until

    def _failed(self, sent: Sent, error: ClientError) -> None:
        self.world.count(f"unpublished {error.code}")
        if error.outcome is Outcome.NONE:
            self.undone.add(sent.name)
        if error.code not in _LATE:
            if error.outcome is Outcome.UNKNOWN and self.is_idempotent:
                self._doubted.add(sent.topic)
        elif self.calm_since is not None and sent.since > self.calm_since + _SETTLED_NS:
            if sent.topic not in self._doubted:
                self.flaws.append((sent.topic, f"nothing fails, and {sent.name!r} is not published: {error}"))
