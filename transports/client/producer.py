"""Publishing: records of many callers become parcels, and parcels outcomes, in order and once.

What is decided is decided in `core.client.session`; here are the ways in and out. `send` is the hot path: it adds a
record to a parcel and returns, and waits only while the buffer is full, or for a moment now and then so that others,
the network among them, get their turn. A pending result is a parcel and a place in it, and costs nothing while nobody
asks.

A producer is a block. Leaving it well sends everything and waits for the answers; leaving it by an exception drops what
was not sent, since what led to it may be wrong. Errors that nobody looked at are raised by `flush`, and by leaving.
"""

from collections.abc import Generator
from datetime import datetime, timedelta
from functools import partial
from time import time_ns

from goqueue.core.client.failure import DROPPED, Failure
from goqueue.core.client.looking import Looks
from goqueue.core.client.pipeline import Pipeline
from goqueue.core.client.record_batch import RECORD_BYTES_MAX, RecordBatch, headers_bytes_max
from goqueue.core.client.routing import Route
from goqueue.core.client.session import Session
from goqueue.core.records.batch import HEADER_BYTES, Codec, Lane
from goqueue.core.records.build import Entry
from goqueue.core.records.headers import EXPIRES
from goqueue.core.requests.messages import Due
from goqueue.core.requests.refusals import Code
from goqueue.proto import v1
from goqueue.transports.client.brokers import ANY, Brokers
from goqueue.transports.client.contents import Content, HeadersGiven, bytes_of, headers_of
from goqueue.transports.client.errors import (
    ClientError,
    PartitionNotFound,
    TooLarge,
    Unavailable,
    Unpublished,
    error_of,
)
from goqueue.transports.client.loops import SECOND_NS, Parking, Task
from goqueue.transports.client.messages import Published
from goqueue.transports.client.producer_terms import ProducerTerms, one_of
from goqueue.transports.client.senders import Sender
from goqueue.transports.client.times import due_of, milliseconds_of, span_ms
from goqueue.transports.client.topics import layout_of

LANES = {lane.name.lower(): lane for lane in Lane}
# How much is taken in before the others get a turn.
TURN_BYTES = 256 << 10
# How many parcels that failed are kept for a report; of the others only the messages are counted.
FAILED_MAX = 256


class Pending:
    """What will become of a message: await it for a `Published`, or for the reason why there is none."""

    __slots__ = ("_parcel", "_place", "_timestamp_ms")

    def __init__(self, parcel: RecordBatch, place: int, timestamp_ms: int) -> None:
        self._parcel = parcel
        self._place = place
        self._timestamp_ms = timestamp_ms

    @property
    def done(self) -> bool:
        """Whether it is known."""
        return self._parcel.is_settled

    def result(self) -> Published:
        """Where the message went, once it is done; raises ClientError if it was not published."""
        parcel = self._parcel
        if not parcel.is_settled:
            raise RuntimeError("the message is on its way; await its result first")
        topic, partition = parcel.pipeline.topic, parcel.pipeline.partition
        failure = parcel.look(self._place)
        if failure is not None:
            raise error_of(failure, topic)
        return Published(topic, partition, parcel.offset_of(self._place), self._timestamp_ms)

    async def wait(self) -> Published:
        """`result`, as soon as there is one."""
        if not self._parcel.is_settled:
            await self._parcel.owner.until_settled(self._parcel)
        return self.result()

    def __await__(self) -> Generator[object, None, Published]:
        return self.wait().__await__()


class PendingLater(Pending):
    """The same of a message that is delivered later; its time is a delay, or the time at which it is due."""

    __slots__ = ()

    def result(self) -> Published:
        """Where the message waits, once it is done; raises ClientError if it was not taken."""
        published = super().result()
        due_ms = self._parcel.due_ms_of(self._place, self._timestamp_ms)
        published.timestamp_ms = published.deliver_at_ms = due_ms
        return published


class Producer:
    """Publishes messages; made by `producer()` of a connection, and used as a block."""

    def __init__(self, brokers: Brokers, terms: ProducerTerms) -> None:
        self._brokers = brokers
        self._loop = brokers.loop
        self._terms = terms
        self._session = Session(terms.session, brokers.random, self)
        self._couriers: dict[str, Sender] = {}
        self._parkings: dict[RecordBatch, Parking] = {}
        self._room = self._loop.parking()
        self._inquiries: dict[str, Task] = {}
        self._looks = Looks()
        self._failed: list[RecordBatch] = []
        self._failed_count = 0
        # Past this much in the buffer `send` is to look up: others want their turn, there is no room, or it is over.
        self._turn_at = min(TURN_BYTES, terms.buffer_bytes)
        self._alarm = 0
        self._kicked = self._loop.parking()
        self._keeping: Task | None = None

    async def __aenter__(self) -> "Producer":
        assert self._keeping is None, "a producer is entered once"
        self._keeping = self._loop.start(self._keep)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                await self.flush()
        finally:
            self._stop("the producer was left" if error is None else f"the producer was left by {error!r}")

    # --- publishing

    async def send(
        self,
        topic: str,
        value: Content | None,
        *,
        key: Content | None = None,
        headers: HeadersGiven | None = None,
        partition: int | None = None,
        timestamp: datetime | None = None,
        priority: str = "normal",
        delay: timedelta | None = None,
        deliver_at: datetime | None = None,
        ttl: timedelta | None = None,
    ) -> Pending:
        """Take a message to be published soon, together with others; waits only while the buffer is full.

        With `delay` or `deliver_at` it is delivered no sooner; after `ttl`, from then on, work queues deliver it no
        more. The result can be awaited, now or later or never. Raises TopicNotFound, TooLarge and the like where that
        is known at once, ValueError and TypeError for what makes no sense.
        """
        size = RECORD_BYTES_MAX
        if value is not None:
            if value.__class__ is not bytes:
                value = bytes_of(value, "value")
            size += len(value)
        if key is not None:
            if key.__class__ is not bytes:
                key = bytes_of(key, "key")
            size += len(key)
        pairs: tuple[tuple[str, bytes | None], ...] = ()
        if headers:
            pairs = headers_of(headers)
            size += headers_bytes_max(pairs)
        timestamp_ms = time_ns() // 1_000_000 if timestamp is None else _timestamp_ms(timestamp)
        lane = LANES.get(priority)
        if lane is None:
            lane = one_of(LANES, priority, "priority")
        if delay is not None or deliver_at is not None:
            due, time_ms = due_of(delay, deliver_at)
            pairs = _expiring(pairs, time_ms, ttl)
            return await self._postpone(topic, partition, lane, due, (time_ms, key, value, pairs))
        if ttl is not None:
            pairs = _expiring(pairs, timestamp_ms, ttl)
            size += headers_bytes_max(pairs[-1:])
        session = self._session
        if session.buffered >= self._turn_at:
            await self._give_way()
        route = session.routes.get(topic)
        if route is None:
            route = await self._find(topic)
        pipeline = route.choose(key) if partition is None else _pipeline(route, partition)
        parcel = pipeline.open[lane]
        if parcel is None or parcel.size + size > parcel.bytes_max:
            parcel = self._open(pipeline, lane, size)
        was_due = parcel.is_due
        place = session.add(parcel, (timestamp_ms, key, value, pairs), size)
        if parcel.is_due and not was_due:
            self._rouse(pipeline)
        return Pending(parcel, place, timestamp_ms)

    async def hand_in(self, topic: str, partition: int, batch: bytearray) -> RecordBatch:
        """Take a batch that is encoded, and numbered as the work that it is part of numbers them.

        Only of a producer whose terms say so. Waits while the buffer is full; `until_settled` waits for the outcome.
        """
        session = self._session
        if session.buffered >= self._turn_at:
            await self._give_way()
        route = session.routes.get(topic)
        if route is None:
            route = await self._find(topic)
        pipeline = _pipeline(route, partition)
        parcel = session.hand_in(self._loop.now(), pipeline, batch)
        if not self._alarm:
            self._kicked.wake()
        self._rouse(pipeline)
        return parcel

    async def publish(
        self,
        topic: str,
        value: Content | None,
        *,
        key: Content | None = None,
        headers: HeadersGiven | None = None,
        partition: int | None = None,
        timestamp: datetime | None = None,
        priority: str = "normal",
        delay: timedelta | None = None,
        deliver_at: datetime | None = None,
        ttl: timedelta | None = None,
    ) -> Published:
        """Publish one message and wait for its acknowledgement; it does not linger."""
        pending = await self.send(
            topic, value, key=key, headers=headers, partition=partition, timestamp=timestamp, priority=priority,
            delay=delay, deliver_at=deliver_at, ttl=ttl,
        )  # fmt: skip
        parcel = pending._parcel
        self._session.hurry(parcel)
        self._rouse(parcel.pipeline)
        return await pending.wait()

    async def _postpone(self, topic: str, partition: int | None, lane: Lane, due: Due, entry: Entry) -> Pending:
        """Take a message that is delivered later."""
        time_ms, key, value, pairs = entry
        size = RECORD_BYTES_MAX + len(key or b"") + len(value or b"") + headers_bytes_max(pairs)
        session = self._session
        if session.buffered >= self._turn_at:
            await self._give_way()
        route = session.routes.get(topic)
        if route is None:
            route = await self._find(topic)
        pipeline = route.postpone(route.choose(key) if partition is None else _pipeline(route, partition))
        parcel = pipeline.open[lane]
        if parcel is None or parcel.due is not due or parcel.size + size > parcel.bytes_max:
            parcel = self._open(pipeline, lane, size, due)
        was_due = parcel.is_due
        place = session.add(parcel, entry, size)
        if parcel.is_due and not was_due:
            self._rouse(pipeline)
        return PendingLater(parcel, place, time_ms)

    async def flush(self) -> None:
        """Send everything that was taken so far and wait for the answers; raises Unpublished if errors went unseen."""
        unsettled = self._session.flush()
        self.stirred()
        for parcel in unsettled:
            await self.until_settled(parcel)
        count = self._failed_count + sum(parcel.unseen for parcel in self._failed)
        first = next((parcel for parcel in self._failed if parcel.unseen), None)
        self._failed.clear()
        self._failed_count = 0
        if first is not None and first.failure is not None:
            raise Unpublished(count, error_of(first.failure, first.pipeline.topic))

    @property
    def buffered_bytes(self) -> int:
        """What is held for messages without an answer."""
        return self._session.buffered

    def _open(self, pipeline: Pipeline, lane: Lane, size: int, due: Due = Due.NOW) -> RecordBatch:
        """A parcel with room for a message of this size."""
        most = pipeline.message_bytes_max
        if size - RECORD_BYTES_MAX + HEADER_BYTES > most and self._terms.session.codec is Codec.NONE:
            said = f"{pipeline.topic} takes messages of up to {most} bytes, and this one has about {size}"
            raise TooLarge(said, str(Code.TOO_LARGE), "value")
        parcel = self._session.open(self._loop.now(), pipeline, lane, due)
        if parcel.opened + self._terms.session.linger_ns < self._alarm or not self._alarm:
            self._kicked.wake()
        self._rouse(pipeline)
        return parcel

    def _rouse(self, pipeline: Pipeline) -> None:
        courier = self._couriers.get(pipeline.address)
        if courier is None:
            self.stirred()
        else:
            courier.wake()

    async def _give_way(self) -> None:
        """Wait for room, or let others have their turn."""
        session, most = self._session, self._terms.buffer_bytes
        if session.buffered < most and session.failure is None:
            await self._loop.pause(0)
        while session.buffered >= most and session.failure is None:
            await self._room.wait()
        if session.failure is not None:
            raise error_of(session.failure)
        self._turn_at = min(session.buffered + TURN_BYTES, most)

    async def _find(self, topic: str) -> Route:
        """Where a topic is that was not published to before."""
        layout = await layout_of(self._brokers, topic)
        if self._session.failure is not None:
            raise error_of(self._session.failure)
        if topic not in self._session.routes:
            self._session.route(self._loop.now(), layout)
        return self._session.routes[topic]

    # --- outcomes

    async def until_settled(self, parcel: RecordBatch) -> None:
        """Wait for what becomes of a parcel."""
        while not parcel.is_settled:
            parking = self._parkings.get(parcel)
            if parking is None:
                parking = self._parkings[parcel] = self._loop.parking()
            await parking.wait()

    def stirred(self) -> None:
        """The session's state has changed: see who has been waiting for it."""
        session = self._session
        settled, session.settled = session.settled, []
        for parcel in settled:
            parking = self._parkings.pop(parcel, None)
            if parking is not None:
                parking.wake()
            if parcel.failure is not None:
                self._remember(parcel)
        if settled and session.buffered < self._terms.buffer_bytes:
            self._room.wake()
        if session.failure is not None:
            self._turn_at = -1
            self._room.wake()
        resets, session.resets = session.resets, []
        for address in resets:
            self._couriers[address].reset()
        for address in session.addresses():
            courier = self._couriers.get(address)
            if courier is None:
                courier = Sender(self._brokers, session, self, address, self._terms.acks)
                self._couriers[address] = courier
            courier.wake()
        if session.wants_identity or session.misplaced:
            self._inquire()
        deadline = session.deadline()
        if deadline is not None and (deadline < self._alarm or not self._alarm):
            self._kicked.wake()

    def _remember(self, parcel: RecordBatch) -> None:
        """Keep a parcel that failed, for the report; of too many, keep the number of messages."""
        if len(self._failed) < FAILED_MAX:
            self._failed.append(parcel)
        else:
            self._failed_count += parcel.unseen

    # --- beside

    async def _keep(self) -> None:
        """Tell the session the time when it wants to know."""
        session, loop = self._session, self._loop
        while True:
            now = loop.now()
            session.wake(now)
            deadline = session.deadline()
            # What is due once something is under way is not all known when it is sent off.
            self._alarm = 0 if deadline is None else min(deadline, now + SECOND_NS)
            self.stirred()
            if self._alarm:
                await loop.within(self._alarm, self._kicked.wait)
            else:
                await self._kicked.wait()

    def _inquire(self) -> None:
        """Ask the broker for what the session wants to know."""
        session, tasks = self._session, self._inquiries
        if session.wants_identity and "" not in tasks:
            tasks[""] = self._loop.start(self._identify)
        for topic in session.misplaced:
            if topic not in tasks:
                tasks[topic] = self._loop.start(partial(self._locate, topic))

    async def _identify(self) -> None:
        """Get a number for this producer, however long it takes."""
        session = self._session
        while session.failure is None:
            try:
                reply = await self._brokers.call(
                    "Messages/InitProducer", v1.InitProducerRequest(), v1.InitProducerReply
                )
            except Unavailable:
                continue
            except ClientError as error:
                said = f"{error}; a producer without a number is made with idempotent=False"
                session.abandon(Failure(error.code, said))
                break
            session.identify(reply.producer_id, reply.producer_epoch)
            break
        del self._inquiries[""]
        self.stirred()

    async def _locate(self, topic: str) -> None:
        """Find out where a topic is, however long it takes."""
        session = self._session
        while topic in session.misplaced:
            try:
                layout = await layout_of(self._brokers, topic)
                session.route(self._loop.now(), layout)
                if self._looks.is_fruitless(self._loop.now(), topic, layout.leaders):
                    self._ask_another()
            except Unavailable:
                continue
            except ClientError as error:
                session.unroute(topic, Failure(error.code, str(error), error.field))
        del self._inquiries[topic]
        self.stirred()

    def _ask_another(self) -> None:
        """The broker that was asked says the same for long: it may be cut off from all others."""
        if self._brokers.turn() and ANY in self._couriers and self._session.terms.is_idempotent:
            self._couriers[ANY].reset()

    def _stop(self, why: str) -> None:
        """Send nothing more; what has no outcome fails."""
        if self._session.failure is None:
            self._session.abandon(Failure(DROPPED, f"{why} before the message was acknowledged"))
        self.stirred()
        for courier in self._couriers.values():
            courier.stop()
        for task in self._inquiries.values():
            task.cancel()
        if self._keeping is not None:
            self._keeping.cancel()


def _pipeline(route: Route, partition: int) -> Pipeline:
    if not 0 <= partition < len(route.pipelines):
        said = f"{route.topic} has partitions 0 to {len(route.pipelines) - 1}, not {partition}"
        raise PartitionNotFound(said, str(Code.PARTITION_NOT_FOUND), "partition")
    return route.pipelines[partition]


def _expiring(
    pairs: tuple[tuple[str, bytes | None], ...], time_ms: int, ttl: timedelta | None
) -> tuple[tuple[str, bytes | None], ...]:
    """Headers that say that a message of this time expires; raises ValueError or TypeError."""
    if ttl is None:
        return pairs
    return (*pairs, (EXPIRES, b"%d" % (time_ms + span_ms(ttl, "ttl", least=1))))


def _timestamp_ms(moment: datetime) -> int:
    milliseconds = milliseconds_of(moment, "timestamp")
    if milliseconds < 0:
        raise ValueError(f"a message is of 1970 or later, not of {moment.isoformat(sep=' ')}")
    return milliseconds
