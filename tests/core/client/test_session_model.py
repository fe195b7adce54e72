"""Whatever happens between a producer and its broker: order holds, and with an idempotent producer each record once."""

from collections import deque
from random import Random

from attrs import define, evolve, field
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from goqueue.core.client.failure import CONNECTION_LOST, DELIVERY_TIMEOUT, Failure
from goqueue.core.client.record_batch import RECORD_BYTES_MAX, RecordBatch
from goqueue.core.client.routing import Layout
from goqueue.core.client.session import Session
from goqueue.core.client.terms import Terms
from goqueue.core.records.batch import Lane
from goqueue.core.records.record import iterate
from tests.core.client.model_broker import ModelPartition, first_occurrences

TOPIC, PARTITIONS, MS = "orders", 2, 1_000_000
POISON = b"poison"
SICKNESSES = ("unavailable", "topic_not_found", "shutting_down")
partitions = st.integers(0, PARTITIONS - 1)
TERMS = Terms(batch_bytes=150, linger_ns=5 * MS, delivery_timeout_ns=20_000 * MS, request_timeout_ns=4_000 * MS)


@define
class Request:
    """What travels to the broker."""

    request_id: int
    partition: int
    batch: bytes


@define
class Link:
    """One connection: requests one way, replies the other, both in order."""

    requests: deque[Request] = field(factory=deque)
    replies: deque[tuple[int, str, int]] = field(factory=deque)


class ProducerMachine(RuleBasedStateMachine):
    """A session, a link, and a broker that may be sick; connections that were cut may still deliver what they hold."""

    is_idempotent = True

    def __init__(self) -> None:
        super().__init__()
        self.now = 1
        self.link = Link()
        self.cut: list[Link] = []
        self.partitions = [ModelPartition() for _ in range(PARTITIONS)]
        self.sent: dict[bytes, tuple[RecordBatch, int]] = {}
        self.order: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
        self.settled: dict[int, RecordBatch] = {}

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        self.session = Session(evolve(TERMS, is_idempotent=self.is_idempotent), Random(seed))
        self.session.route(self.now, Layout(TOPIC, [""] * PARTITIONS, "murmur3", 1 << 20))

    # --- what users do

    @rule(partition=partitions, size=st.integers(0, 90), count=st.integers(1, 12), lane=st.sampled_from(list(Lane)[:2]))
    def publish(self, partition: int, size: int, count: int, lane: Lane) -> None:
        for _ in range(count):
            self._publish(partition, b"%d" % len(self.sent) + b"." * size, lane)

    @rule(partition=partitions)
    def publish_poison(self, partition: int) -> None:
        """The broker refuses for good whatever holds this."""
        self._publish(partition, POISON + b"%d" % len(self.sent), Lane.NORMAL)

    def _publish(self, partition: int, value: bytes, lane: Lane) -> None:
        session = self.session
        if session.failure is not None or TOPIC not in session.routes:
            return
        pipeline = session.routes[TOPIC].pipelines[partition]
        size = RECORD_BYTES_MAX + len(value)
        parcel = pipeline.open[lane]
        if parcel is None or parcel.size + size > parcel.bytes_max:
            parcel = session.open(self.now, pipeline, lane)
        place = session.add(parcel, (1, None, value, ()), size)
        self.sent[value] = parcel, place
        if lane is Lane.NORMAL:
            self.order[partition].append(value)

    @rule()
    def flush(self) -> None:
        self.session.flush()

    # --- what the driver does

    @rule()
    def send(self) -> None:
        for parcel in self.session.take(self.now, ""):
            assert parcel.content is not None
            request = Request(parcel.request_id, parcel.pipeline.partition, bytes(parcel.content))
            self.link.requests.append(request)
        if self.session.wants_identity:
            self.session.identify(7, 0)

    @rule(count=st.integers(1, 8))
    def hear(self, count: int) -> None:
        for _ in range(min(count, len(self.link.replies))):
            request_id, code, offset = self.link.replies.popleft()
            if code:
                self.session.refused(self.now, "", request_id, Failure(code, "said the broker"))
            else:
                self.session.acknowledged(self.now, "", request_id, offset)

    @rule(ms=st.sampled_from([1, 5, 60, 500, 3000, 9000]))
    def pass_time(self, ms: int) -> None:
        self.now += ms * MS
        self.session.wake(self.now)
        if self.session.resets:
            self.session.resets.clear()
            self._cut()
        deadline = self.session.deadline()
        assert deadline is None or deadline > self.now

    @rule()
    def find_topic(self) -> None:
        for topic in list(self.session.misplaced):
            self.session.route(self.now, Layout(topic, [""] * PARTITIONS, "murmur3", 1 << 20))

    # --- what the world does

    @rule(sicknesses=st.lists(st.sampled_from(["", "", *SICKNESSES]), min_size=1, max_size=8))
    def serve(self, sicknesses: list[str]) -> None:
        self._serve(self.link, sicknesses)

    @rule(sicknesses=st.lists(st.sampled_from(["", "", *SICKNESSES]), min_size=1, max_size=8), count=st.integers(1, 8))
    def converse(self, sicknesses: list[str], count: int) -> None:
        """All steps in a row, as on a good day."""
        self.send()
        self._serve(self.link, sicknesses)
        self.hear(count)

    @rule()
    def cut_connection(self) -> None:
        self._cut()
        self.session.lost(self.now, "")

    @rule(count=st.integers(1, 9))
    def deliver_late(self, count: int) -> None:
        """What a cut connection still held arrives: nobody hears the answer."""
        if self.cut and self.is_idempotent:
            self._serve(self.cut[0], [""] * count)
            if not self.cut[0].requests:
                self.cut.pop(0)

    def _cut(self) -> None:
        if not self.is_idempotent:
            self._serve(self.link, [""] * (len(self.link.requests) // 2))
        self.cut.append(self.link)
        self.link = Link()

    def _serve(self, link: Link, sicknesses: list[str]) -> None:
        for sickness, _ in zip(sicknesses, list(link.requests), strict=False):
            request = link.requests.popleft()
            if sickness:
                code, offset = sickness, -1
            elif any(bytes(record.value or b"").startswith(POISON) for record in iterate(request.batch)):
                code, offset = "too_large", -1
            else:
                code, offset = self.partitions[request.partition].append(request.batch)
            link.replies.append((request.request_id, code, offset))

    # --- what must hold

    @invariant()
    def session_is_sound(self) -> None:
        if hasattr(self, "session"):
            self.session.check()
            for parcel in self.session.settled:
                assert id(parcel) not in self.settled, "a parcel is settled once"
                self.settled[id(parcel)] = parcel
            self.session.settled.clear()

    @invariant()
    def what_was_acknowledged_is_there(self) -> None:
        for value, (parcel, place) in self.sent.items():
            if parcel.is_settled and parcel.look(place) is None:
                assert self.partitions[parcel.pipeline.partition].log[parcel.offset_of(place)] == value

    @invariant()
    def order_holds(self) -> None:
        for number, partition in enumerate(self.partitions):
            log = partition.log if self.is_idempotent else first_occurrences(partition.log)
            assert len(set(log)) == len(log), "a record is there twice"
            places = {value: place for place, value in enumerate(log)}
            found = [places[value] for value in self.order[number] if value in places]
            assert found == sorted(found)

    @invariant()
    def what_was_refused_is_not_there(self) -> None:
        for value, (parcel, place) in self.sent.items():
            failure = parcel.look(place) if parcel.is_settled else None
            if failure is not None and failure.code != DELIVERY_TIMEOUT:
                assert value not in self.partitions[parcel.pipeline.partition].log
                assert value.startswith(POISON) or failure.code != "too_large", "a record fails for another one"

    def teardown(self) -> None:
        """In good times everything comes to an end, long before the time-out."""
        if not hasattr(self, "session"):
            return
        self.session.flush()
        for _ in range(400):
            self.find_topic()
            self.send()
            self._serve(self.link, [""] * 8)
            self.hear(8)
            self.pass_time(60)
        self.session_is_sound()
        assert all(parcel.is_settled for parcel, _ in self.sent.values())
        assert self.session.buffered == 0
        self.what_was_acknowledged_is_there()
        self.order_holds()


class PlainProducerMachine(ProducerMachine):
    """Without a number records may be there twice, and still in order."""

    is_idempotent = False


TestIdempotentProducer = ProducerMachine.TestCase
TestIdempotentProducer.settings = settings(max_examples=150, stateful_step_count=60)
TestPlainProducer = PlainProducerMachine.TestCase
TestPlainProducer.settings = settings(max_examples=80, stateful_step_count=60)

__all__ = ["CONNECTION_LOST", "TestIdempotentProducer", "TestPlainProducer"]
