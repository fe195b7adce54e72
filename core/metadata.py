"""The metadata log of a node: requests that change what all agree on, one after another.

A request is planned against the agreed state, its records are appended, and when they are durable they are applied
and the request is answered. The next one is planned only then, so every plan sees everything before it. In a quorum
of one, durable is agreed; the log does not know how many have agreed, only that they have.

A request for a producer id is no change by itself: it is answered from a block of ids, and getting a block is one.
"""

from collections import deque
from collections.abc import Iterable

from attrs import define

from goqueue.core.clock import Clock
from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.changes import AddSide, ExtendProducerIds, FinishDelete, MakeOwnTopic, Summarize
from goqueue.core.cluster.plan import (
    Plan,
    plan_alter,
    plan_create,
    plan_delete,
    plan_own,
    plan_producer_ids,
    plan_removed,
    plan_side,
)
from goqueue.core.cluster.records import METADATA_CODEC, MetadataRecord, MetadataSnapshot, ProducerIds
from goqueue.core.log.log import Log, LogState, LogUnsound
from goqueue.core.producer_ids import ProducerIdSupply
from goqueue.core.records.build import encode
from goqueue.core.verbs import AlterTopic, Code, CreateTopic, DeleteTopic, InitProducer, ProducerReply, Refusal

METADATA_STREAM = "meta/cluster"
_WAITING_MAX = 1000
# A log is summed up when it holds this many records, or this many times as many as there are topics.
_RECORDS_LEAST = 1000
_RECORDS_PER_TOPIC = 4


Change = CreateTopic | AlterTopic | DeleteTopic | MakeOwnTopic | AddSide | FinishDelete | ExtendProducerIds | Summarize
Answer = tuple[int | None, ProducerReply | Refusal]


@define
class Agreed:
    """A change that has come to be, and whom to tell, if anybody."""

    to: int | None
    request: Change


@define
class _Pending:
    agreed: Agreed
    records: list[MetadataRecord]
    first_offset: int
    end_offset: int


class Metadata:
    """The agreed state and the changes under way."""

    def __init__(self, log: Log, clock: Clock, partitions_default: int) -> None:
        self.log = log
        self.state = ClusterState()
        self._clock = clock
        self._partitions_default = partitions_default
        self._waiting: deque[Agreed] = deque()
        self._pending: _Pending | None = None
        self._ids = ProducerIdSupply()
        self._record_count = 0

    def replay(self, records: Iterable[bytes]) -> None:
        """Make the state what the records add up to: at a start, and when a failed disk was recovered."""
        self.state = ClusterState()
        self._record_count = 0
        for content in records:
            record = METADATA_CODEC.decode(content)
            self.state.apply(record)
            self._record_count = 1 if isinstance(record, MetadataSnapshot) else self._record_count + 1

    def reopened(self, now: int, state: LogState, records: Iterable[bytes]) -> None:
        """Go on from what recovery found: a change that was refused for the disk's sake may have come to be."""
        assert self._pending is None
        self.log.reopened(now, state)
        self.replay(records)

    def ask(self, now: int, to: int | None, request: Change | InitProducer) -> None:
        """Put a request in line."""
        if isinstance(request, InitProducer):
            assert to is not None
            self._ids.ask(to)
        else:
            self._waiting.append(Agreed(to, request))

    def plan_next(self, now: int) -> list[Answer]:
        """Begin the next change that can be made; answers those that cannot, and those that need none."""
        answers: list[Answer] = [*self._ids.hand_out()]
        if self._ids.order():
            self._waiting.append(Agreed(None, ExtendProducerIds()))
        if self._record_count >= max(_RECORDS_LEAST, _RECORDS_PER_TOPIC * len(self.state.topics)):
            self._record_count = 0
            self._waiting.append(Agreed(None, Summarize()))
        while self._waiting and self._pending is None:
            asked = self._waiting.popleft()
            plan = self._plan(now, asked.request)
            if isinstance(plan, Refusal):
                answers.append((asked.to, plan))
                continue
            try:
                offset = self._append(now, plan, begins=isinstance(asked.request, Summarize))
            except LogUnsound as error:
                answers += self._refuse([asked], Refusal(Code.UNAVAILABLE, str(error), retry_after_ms=1000))
            else:
                self._pending = _Pending(asked, plan, offset, self.log.next_offset)
        while len(self._waiting) > _WAITING_MAX:
            refusal = Refusal(Code.UNAVAILABLE, "too many changes are waiting", retry_after_ms=1000)
            answers += self._refuse([self._waiting.pop()], refusal)
        return answers

    def _append(self, now: int, records: list[MetadataRecord], *, begins: bool) -> int:
        """Write records; those that all before can go for begin a segment."""
        if begins:
            self.log.roll(now)
        stamp = self._clock.wall_ms(now)
        return self.log.append(now, encode([(stamp, None, METADATA_CODEC.encode(record), ()) for record in records]))

    def _refuse(self, asked: Iterable[Agreed], refusal: Refusal) -> list[Answer]:
        answers: list[Answer] = []
        for one in asked:
            if isinstance(one.request, ExtendProducerIds):
                answers += self._ids.refused(refusal)
            else:
                answers.append((one.to, refusal))
        return answers

    def _plan(self, now: int, request: Change) -> Plan:
        if isinstance(request, CreateTopic):
            return plan_create(self.state, request, self._partitions_default, self._clock.wall_ms(now))
        if isinstance(request, MakeOwnTopic):
            return plan_own(self.state, request.name, request.partitions, request.config, self._clock.wall_ms(now))
        if isinstance(request, AddSide):
            return plan_side(self.state, request.name, request.side)
        if isinstance(request, AlterTopic):
            return plan_alter(self.state, request)
        if isinstance(request, DeleteTopic):
            return plan_delete(self.state, request)
        if isinstance(request, ExtendProducerIds):
            return plan_producer_ids(self.state)
        if isinstance(request, Summarize):
            return [self.state.snapshot()]
        return plan_removed(self.state, request.name)

    def agreed(self, now: int) -> Agreed | None:
        """The change that has become durable, applied to the state; None while there is none."""
        pending = self._pending
        if pending is None or self.log.synced_offset < pending.end_offset:
            return None
        self._pending = None
        for record in pending.records:
            self.state.apply(record)
            if isinstance(record, ProducerIds):
                self._ids.received(record)
        self._record_count += len(pending.records)
        if isinstance(pending.agreed.request, Summarize):
            self._record_count = 1
            self.log.delete_before(now, pending.first_offset)
        return pending.agreed

    def disk_failed(self, now: int, why: str) -> list[Answer]:
        """The metadata's disk failed; whoever waits is told."""
        self.log.disk_failed(now, why)
        asked = [*([self._pending.agreed] if self._pending else []), *self._waiting]
        self._pending = None
        self._waiting.clear()
        refusal = Refusal(Code.UNAVAILABLE, f"the metadata log has lost its disk: {why}", retry_after_ms=1000)
        return self._refuse(asked, refusal)

    def check(self) -> None:
        """Assert the invariants."""
        self.log.check()
        self.state.check()
        self._ids.check()
