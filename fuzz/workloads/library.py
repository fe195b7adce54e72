"""The client library's own producer: what it decides (`core.client.session`), on the network of the simulated world.

It gathers, numbers, sends again and renumbers by the rules that users get; some of its messages are delivered later.
All addresses are one here: the node that the client is connected to, which may have led a partition before and not know
yet that it does so no more.

`undone` names the messages that failed, and of which the library says that no broker has them.
"""

from collections import deque
from random import Random

from attrs import define

from goqueue.core.client.failure import Failure
from goqueue.core.client.record_batch import RECORD_BYTES_MAX, RecordBatch
from goqueue.core.client.routing import Layout, Route
from goqueue.core.client.session import Session
from goqueue.core.client.terms import Terms
from goqueue.core.records.batch import Lane
from goqueue.core.requests.messages import Acks, Due, InitProducer, ProducerReply, PublishBatch, Published, PublishReply
from goqueue.core.requests.refusals import Code, Outcome, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import DescribeTopic, TopicReply
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client

ADDRESS = ""
_BUFFERED_MAX = 4_000
_BATCH_BYTES = 300
_MS = 1_000_000
# A topic that is certainly not there.
_GONE = (Code.TOPIC_NOT_FOUND,)


@define(eq=False)
class _Sent:
    """A batch on its way, and what it was taken from."""

    request: PublishBatch
    request_id: int


class LibraryProducer(Client):
    """A producer as the library has it."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self.in_flight_max = 8
        self.undone: set[bytes] = set()
        patience_ms = options.patience_ns // _MS
        terms = Terms(
            batch_bytes=_BATCH_BYTES,
            linger_ns=random.choice((0, 5 * _MS)),
            delivery_timeout_ns=random.choice((4, 30)) * patience_ms * _MS,
            request_timeout_ns=2 * patience_ms * _MS,
            backoff_first_ns=max(patience_ms // 20, 1) * _MS,
            backoff_longest_ns=max(patience_ms // 2, 1) * _MS,
        )
        self._session = Session(terms, random, self)
        self._taken: deque[RecordBatch] = deque()
        self._under_way: list[_Sent] = []
        self._names: dict[RecordBatch, list[bytes]] = {}
        # Topics that are asked about, and whether a number is.
        self._asked_about: set[str] = set()
        self._is_asking = False
        self._count = 0

    @property
    def is_waiting(self) -> bool:
        """Whether it has something to publish, and may."""
        return self._session.failure is None and self._session.buffered > 0

    # --- what is sent

    def next_request(self) -> Request | None:
        """What the session wants to know, or a batch that it has."""
        session = self._session
        if session.failure is not None:
            return None
        session.wake(self.now)
        self._settle()
        if session.wants_identity and not self._is_asking:
            self._is_asking = True
            return InitProducer()
        for topic in session.misplaced:
            if topic not in self._asked_about:
                return self._ask_about(topic)
        topic = self.draw_topic()
        route = session.routes.get(topic)
        if route is not None:
            if session.buffered < _BUFFERED_MAX:
                self._add(route)
        elif topic not in self._asked_about:
            return self._ask_about(topic)
        return self._next_batch()

    def _ask_about(self, topic: str) -> DescribeTopic:
        self._asked_about.add(topic)
        return DescribeTopic(topic)

    def _add(self, route: Route) -> None:
        """A message more, to be delivered now or later."""
        random, session = self.random, self._session
        pipeline, due, time_ms = route.choose(None), Due.NOW, 1_700_000_000_000
        if self.options.p_delay and random.random() < self.options.p_delay:
            pipeline, due = route.postpone(pipeline), random.choice((Due.AFTER, Due.AFTER, Due.AT))
            if due is Due.AFTER:
                time_ms = random.choice((0, 10, 1_000, 5_000))
        self._count += 1
        name = b"%s:%d" % (self.name.encode(), self._count)
        value = name + b"|" + bytes(random.randint(0, min(self.options.value_bytes_max, 200)))
        size, parcel = RECORD_BYTES_MAX + len(value), pipeline.open[0]
        if parcel is None or parcel.due is not due or parcel.size + size > parcel.bytes_max:
            parcel = session.open(self.now, pipeline, Lane.NORMAL, due)
        session.add(parcel, (time_ms, None, value, ()), size)
        self._names.setdefault(parcel, []).append(name)

    def _next_batch(self) -> PublishBatch | None:
        if not self._taken:
            self._taken.extend(self._session.take(self.now, ADDRESS))
        while self._taken:
            parcel = self._taken.popleft()
            if parcel.request_id and parcel.content is not None:
                pipeline = parcel.pipeline
                content = bytearray(parcel.content)
                request = PublishBatch(pipeline.topic, pipeline.partition, content, Acks.ALL, due=parcel.due)
                self._under_way.append(_Sent(request, parcel.request_id))
                return request
        return None

    def idle_ns(self) -> int | None:
        """The session wants to know the time now and then, and whoever publishes has more to publish."""
        return self.options.think_ns + 5 * _MS

    # --- what comes back

    def answered(self, request: Request, reply: Reply) -> None:
        """Tell the session."""
        session = self._session
        if isinstance(request, InitProducer):
            self._is_asking = False
            if isinstance(reply, ProducerReply):
                session.identify(reply.producer_id, reply.epoch)
        elif isinstance(request, DescribeTopic):
            self._asked_about.discard(request.name)
            self._found(request.name, reply)
        else:
            sent = self._take_sent(request)
            if sent is not None:
                self._published(sent, reply)
        self._settle()

    def _found(self, topic: str, reply: Reply) -> None:
        session = self._session
        if isinstance(reply, TopicReply):
            session.route(self.now, Layout(topic, [ADDRESS] * reply.partitions, "murmur3", 1 << 20))
        elif isinstance(reply, Refusal) and topic in session.misplaced and reply.code in _GONE:
            session.unroute(topic, _failure(reply))

    def _published(self, sent: _Sent, reply: Reply) -> None:
        result = reply.results[0] if isinstance(reply, PublishReply) else reply
        if isinstance(result, Published):
            self._session.acknowledged(self.now, ADDRESS, sent.request_id, result.offset, result.timestamp)
        else:
            assert isinstance(result, Refusal)
            self._session.refused(self.now, ADDRESS, sent.request_id, _failure(result))

    def lost(self, request: Request) -> None:
        """The connection is gone, and with it the answers to all that was sent over it."""
        if isinstance(request, InitProducer):
            self._is_asking = False
        elif isinstance(request, DescribeTopic):
            self._asked_about.discard(request.name)
        elif self._take_sent(request) is not None:
            self._session.lost(self.now, ADDRESS)
        self._settle()

    def _take_sent(self, request: Request) -> _Sent | None:
        """The batch that a request was about."""
        found = next((sent for sent in self._under_way if sent.request is request), None)
        if found is not None:
            self._under_way.remove(found)
        return found

    def _settle(self) -> None:
        """Note what failed, and was certainly not stored."""
        session = self._session
        session.resets.clear()
        settled, session.settled = session.settled, []
        for parcel in settled:
            for place, name in enumerate(self._names.pop(parcel, [])):
                failure = parcel.look(place)
                if failure is not None and failure.what_happened is Outcome.NONE:
                    self.undone.add(name)
        session.check()


def _failure(refusal: Refusal) -> Failure:
    return Failure(
        str(refusal.code), refusal.message, refusal.field, refusal.retry_after_ms, refusal.divide_at, refusal.outcome
    )
