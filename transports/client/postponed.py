"""Messages that are to be delivered later: gathered by topic, published by calls of many, each told where it waits.

They do not travel in batches of the log, since the broker keeps them apart until they are due; so nothing says in which
order they come, and a call that was perhaps carried out is not made again: what is in it fails, rather than be
delivered twice. A call whose broker was certainly not reached is made again for as long as a delivery may take.

Invariants: a bundle is filled until it is sent, and settled once; no more than `CALLS_MAX` calls are under way.
"""

from datetime import datetime, timedelta
from functools import partial

from attrs import define, field

from goqueue.core.client.backoff import Backoff
from goqueue.core.client.failure import DELIVERY_TIMEOUT, DROPPED, PASSING, Failure
from goqueue.core.client.parcel import RECORD_BYTES_MAX, headers_bytes_max
from goqueue.core.verbs import Acks, NewRecord, Publish, Refusal
from goqueue.core.verbs import Published as Placed
from goqueue.proto import messages as translation
from goqueue.proto import v1
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import ClientError, bad_reply, error_of
from goqueue.transports.client.loops import Parking, Task
from goqueue.transports.client.messages import Published
from goqueue.transports.client.times import MILLISECOND, milliseconds_of

CALLS_MAX = 4
MESSAGES_MAX = 500
BUNDLE_BYTES = 1 << 20
# How many bundles with failures are kept for a report.
FAILED_MAX = 64
DELAY_MS_MAX = (1 << 53) - 1


@define(eq=False)
class Bundle:
    """Messages of a topic that are published by one call."""

    topic: str
    opened: int
    settled: Parking
    records: list[NewRecord] = field(factory=list)
    size: int = 0
    count: int = 0
    is_due: bool = False
    is_settled: bool = False
    # By place; what has none, or was only refused for the time being, failed with all the rest.
    results: dict[int, Placed | Refusal] = field(factory=dict)
    failure: Failure | None = None
    seen: set[int] = field(factory=set)

    def settle(self, results: dict[int, Placed | Refusal], failure: Failure | None) -> None:
        """The end: where each went, or why those did not that went nowhere."""
        assert not self.is_settled
        self.results, self.failure, self.is_settled = results, failure, True
        self.records = []
        self.settled.wake()

    def find(self, place: int) -> Failure | None:
        """Why a message was not taken, if it was not."""
        found = self.results.get(place)
        if isinstance(found, Placed):
            return None
        if self.failure is not None:
            return self.failure
        assert found is not None
        return Failure(str(found.code), found.message, found.field, found.retry_after_ms)

    def look(self, place: int) -> Published:
        """Where a message went, for somebody who asks; raises ClientError if it went nowhere."""
        failure = self.find(place)
        if failure is not None:
            self.seen.add(place)
            raise error_of(failure, self.topic)
        found = self.results[place]
        assert isinstance(found, Placed)
        return Published(self.topic, found.partition, found.offset, found.timestamp, found.due_ms)

    def unseen(self) -> list[Failure]:
        """The failures that nobody has looked at."""
        failures = [self.find(place) for place in range(self.count) if place not in self.seen]
        return [failure for failure in failures if failure is not None]

    async def until_settled(self) -> None:
        """Wait for the answer."""
        while not self.is_settled:
            await self.settled.wait()


class Postponed:
    """All such messages of one producer."""

    def __init__(self, brokers: Brokers, acks: Acks, linger_ns: int, timeout_ns: int, buffer_bytes: int) -> None:
        self._brokers = brokers
        self._loop = brokers.loop
        self._acks = acks
        self._linger_ns = linger_ns
        self._timeout_ns = timeout_ns
        self._buffer_bytes = buffer_bytes
        self.buffered = 0
        self._open: dict[str, Bundle] = {}
        self._full: list[Bundle] = []
        self._calls: dict[Bundle, Task] = {}
        self._stirred = self._loop.parking()
        self._room = self._loop.parking()
        self._task: Task | None = None
        self._stopped: Failure | None = None
        # Those that failed in part, until somebody asks for a report; of too many, the number of messages.
        self._failed: list[Bundle] = []
        self._failed_count = 0

    async def add(self, topic: str, record: NewRecord) -> tuple[Bundle, int]:
        """Take a message; waits while the buffer is full."""
        while self.buffered >= self._buffer_bytes and self._stopped is None:
            await self._room.wait()
        if self._stopped is not None:
            raise error_of(self._stopped, topic)
        if self._task is None:
            self._task = self._loop.start(self._run)
        size = RECORD_BYTES_MAX + len(record.key or b"") + len(record.value or b"") + headers_bytes_max(record.headers)
        bundle = self._open.get(topic)
        if bundle is not None and (bundle.count >= MESSAGES_MAX or bundle.size + size > BUNDLE_BYTES):
            self._full.append(self._open.pop(topic))
            bundle = None
        if bundle is None:
            bundle = self._open[topic] = Bundle(topic, self._loop.now(), self._loop.parking())
        bundle.records.append(record)
        bundle.count += 1
        bundle.size += size
        self.buffered += size
        self._stirred.wake()
        return bundle, bundle.count - 1

    def hurry(self, bundle: Bundle) -> None:
        """Somebody waits for this one."""
        bundle.is_due = True
        self._stirred.wake()

    async def flush(self) -> None:
        """Send everything that was taken so far and wait for the answers."""
        bundles = [*self._full, *self._open.values(), *self._calls]
        for bundle in bundles:
            self.hurry(bundle)
        for bundle in bundles:
            await bundle.until_settled()

    def take_unseen(self) -> tuple[int, tuple[str, Failure] | None]:
        """How many failures nobody has looked at, and the first with its topic; each is told of once."""
        failed, count = self._failed, self._failed_count
        self._failed, self._failed_count = [], 0
        unseen = [(bundle.topic, failure) for bundle in failed for failure in bundle.unseen()]
        return count + len(unseen), next(iter(unseen), None)

    def stop(self, why: str) -> None:
        """Send nothing more; what has no answer fails."""
        self._stopped = Failure(DROPPED, f"{why} before the message was acknowledged")
        for bundle, call in self._calls.items():
            call.cancel()
            bundle.settle({}, self._stopped)
        for bundle in [*self._full, *self._open.values()]:
            bundle.settle({}, self._stopped)
        self._full, self._open, self._calls = [], {}, {}
        if self._task is not None:
            self._task.cancel()
        self._room.wake()

    async def _run(self) -> None:
        loop = self._loop
        while True:
            now = loop.now()
            for topic, bundle in [*self._open.items()]:
                if bundle.is_due or bundle.count >= MESSAGES_MAX or now >= bundle.opened + self._linger_ns:
                    self._full.append(self._open.pop(topic))
            while self._full and len(self._calls) < CALLS_MAX:
                bundle = self._full.pop(0)
                self._calls[bundle] = loop.start(partial(self._publish, bundle))
            if self._open:
                due = min(bundle.opened for bundle in self._open.values()) + self._linger_ns
                await loop.within(due, self._stirred.wait)
            else:
                await self._stirred.wait()

    async def _publish(self, bundle: Bundle) -> None:
        outcomes: dict[int, Placed | Refusal] = {}
        failure: Failure | None = None
        try:
            in_time = await self._loop.within(
                bundle.opened + self._timeout_ns, partial(self._publish_all, bundle, outcomes)
            )
            if not in_time and len(outcomes) < bundle.count:
                failure = Failure(DELIVERY_TIMEOUT, "there was no answer in time")
        except ClientError as error:
            failure = Failure(error.code, str(error), error.field)
        if bundle.is_settled:
            return
        self._calls.pop(bundle, None)
        self.buffered -= bundle.size
        bundle.settle(outcomes, failure)
        if len(self._failed) < FAILED_MAX and bundle.unseen():
            self._failed.append(bundle)
        else:
            self._failed_count += len(bundle.unseen())
        self._room.wake()
        self._stirred.wake()

    async def _publish_all(self, bundle: Bundle, outcomes: dict[int, Placed | Refusal]) -> None:
        """Publish what has no outcome, and again what was refused for the time being."""
        backoff, attempts = Backoff(self._brokers.random), 0
        places = [*range(bundle.count)]
        while places:
            request = Publish(bundle.topic, [bundle.records[place] for place in places], self._acks)
            message = translation.publish_message(request)
            reply = await self._brokers.call("Messages/Publish", message, v1.PublishReply, bundle.topic, once=True)
            results = translation.read_publish_reply(reply).results
            if len(results) != len(places):
                raise bad_reply("PublishReply", f"it is for {len(results)} messages of {len(places)}", bundle.topic)
            outcomes.update(zip(places, results, strict=True))
            places = [place for place in places if _is_passing(outcomes[place])]
            attempts += 1
            if places:
                await self._loop.pause(backoff.delay_ns(attempts))


def _is_passing(outcome: Placed | Refusal) -> bool:
    return isinstance(outcome, Refusal) and outcome.code in PASSING


def due_times(delay: timedelta | None, deliver_at: datetime | None) -> tuple[int, int | None]:
    """A delay in milliseconds, or a time in milliseconds since 1970; raises ValueError or TypeError."""
    if delay is not None and deliver_at is not None:
        raise ValueError("a message is delivered after a delay or at a time, not both")
    if deliver_at is not None:
        due_ms = milliseconds_of(deliver_at, "deliver_at")
        if due_ms < 0:
            raise ValueError(f"deliver_at is 1970 or later, not {deliver_at.isoformat(sep=' ')}")
        return 0, due_ms
    return span_ms(delay, "delay") if delay is not None else 0, None


def span_ms(span: timedelta, name: str, least: int = 0) -> int:
    """A span in whole milliseconds; raises ValueError or TypeError."""
    if not isinstance(span, timedelta):
        raise TypeError(f"{name} is a timedelta, not {type(span).__name__}")
    milliseconds = span // MILLISECOND
    if not least <= milliseconds <= DELAY_MS_MAX:
        raise ValueError(f"{name} is from {least * MILLISECOND} to {DELAY_MS_MAX * MILLISECOND}, not {span}")
    return milliseconds
