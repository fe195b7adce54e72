"""A producer that numbers its records: what it gets no answer to it sends again, and nothing may be stored twice.

It keeps the rules that make that possible. Of each partition at most five batches are unsettled, counted from the
oldest; they are sent again in the order of their sequences and as they were. A batch refused as out of order behind
another that is unsettled only has to wait for that one. Refused as the oldest, the broker has lost what it knew: then
the producer takes a new id, or goes on under the next epoch of its own, and what was unsettled stays unknown for ever,
since then it could come twice. Now and then one has forgotten that a batch was acknowledged, and sends it once more.
"""

from collections import deque
from random import Random

from attrs import define, evolve, field

from goqueue.core.records.batch import read_header
from goqueue.core.records.build import encode
from goqueue.core.requests.messages import InitProducer, ProducerReply, PublishBatch, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client

_UNSETTLED_MAX = 5
_P_AGAIN = 0.03
_P_EPOCH = 0.01
# Of these a producer knows that they pass, and not whether the batch is stored.
_PASSING = (Code.UNAVAILABLE, Code.SHUTTING_DOWN, Code.NOT_LEADER, Code.NOT_ENOUGH_REPLICAS, Code.OUTCOME_UNKNOWN)


@define
class _Numbered:
    """A batch as it is sent, once or more often."""

    first_sequence: int
    content: bytes
    is_under_way: bool = False
    is_settled: bool = False


@define
class _Run:
    """The sequences of one partition."""

    next_sequence: int = 0
    batches: deque[_Numbered] = field(factory=deque)

    def settle(self, batch: _Numbered) -> None:
        """A batch was acknowledged; whatever was before it must be there as well, but has yet to be heard of."""
        batch.is_settled = True
        while self.batches and self.batches[0].is_settled:
            self.batches.popleft()


class SequencedProducer(Client):
    """Sends every batch until it is acknowledged."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self.in_flight_max = random.choice((1, _UNSETTLED_MAX, 2 * _UNSETTLED_MAX))
        self._identity: ProducerReply | None = None
        self._is_asking = False
        self._runs: dict[tuple[str, int], _Run] = {}
        self._past: deque[tuple[tuple[str, int], bytes]] = deque(maxlen=30)
        self._count = 0

    def next_request(self) -> Request | None:
        """A batch that has to be sent again, a new one, or the wish for an id."""
        if self._identity is None:
            if self._is_asking:
                return None
            self._is_asking = True
            return InitProducer()
        if self._past and self.random.random() < _P_AGAIN:
            place, content = self.random.choice(self._past)
            return PublishBatch(*place, bytearray(content))
        if self.random.random() < _P_EPOCH:
            self._begin_anew()
        for place, run in self._runs.items():
            for batch in run.batches:
                if not batch.is_under_way and not batch.is_settled:
                    return self._send(place, batch)
        place = self.draw_topic(), self.draw_partition()
        run = self._runs.setdefault(place, _Run())
        if len(run.batches) >= _UNSETTLED_MAX:
            return None
        return self._send(place, self._next(run, self._identity))

    def _begin_anew(self) -> None:
        """Go on under another epoch."""
        assert self._identity is not None
        self._identity = evolve(self._identity, epoch=self._identity.epoch + 1)
        self._runs.clear()
        self._past.clear()

    def _send(self, place: tuple[str, int], batch: _Numbered) -> PublishBatch:
        batch.is_under_way = True
        return PublishBatch(*place, bytearray(batch.content))

    def _next(self, run: _Run, identity: ProducerReply) -> _Numbered:
        count = self.random.choice((1, 1, 2, 3))
        content = encode(
            [(1_700_000_000_000, None, self._value(), ()) for _ in range(count)],
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
            base_sequence=run.next_sequence,
        )
        run.batches.append(_Numbered(run.next_sequence, bytes(content)))
        run.next_sequence += count
        return run.batches[-1]

    def _value(self) -> bytes:
        self._count += 1
        filler = bytes(self.random.randint(0, self.options.value_bytes_max))
        return b"%s:%d|" % (self.name.encode(), self._count) + filler

    def answered(self, request: Request, reply: Reply) -> None:
        """Settle a batch, send it again, or begin anew."""
        if isinstance(request, InitProducer):
            self._is_asking = False
            if isinstance(reply, ProducerReply):
                self._identity = reply
            return
        run, batch = self._find(request)
        if run is None or batch is None:
            return
        batch.is_under_way = False
        result = reply.results[0] if isinstance(reply, PublishReply) else reply
        if isinstance(result, Published):
            assert isinstance(request, PublishBatch)
            if not batch.is_settled:
                self._past.append(((request.topic, request.partition), batch.content))
            run.settle(batch)
        elif not isinstance(result, Refusal) or not self._may_wait(result, run, batch):
            self._begin_anew()
            if self.random.random() < 0.5:
                self._identity = None

    def _may_wait(self, refusal: Refusal, run: _Run, batch: _Numbered) -> bool:
        """Whether sending a batch again may help."""
        if refusal.code is Code.OUT_OF_ORDER:
            return batch is not run.batches[0]
        return refusal.code in _PASSING

    def lost(self, request: Request) -> None:
        """Whether it was taken is not known: it is sent again."""
        if isinstance(request, InitProducer):
            self._is_asking = False
        else:
            _, batch = self._find(request)
            if batch is not None:
                batch.is_under_way = False

    def _find(self, request: Request) -> tuple[_Run | None, _Numbered | None]:
        """What a request was about; nothing if that was before the present id."""
        assert isinstance(request, PublishBatch)
        header, run = read_header(request.batch), self._runs.get((request.topic, request.partition))
        known, named = self._identity, (header.producer_id, header.producer_epoch)
        if run is None or known is None or named != (known.producer_id, known.epoch):
            return None, None
        found = [batch for batch in run.batches if batch.first_sequence == header.base_sequence]
        return run, found[0] if found else None
