"""The metadata log of a node: requests that change what all agree on, one after another.

A request is planned against the agreed state, its records are appended, and when they are durable they are applied
and the request is answered. The next one is planned only then, so every plan sees everything before it. In a quorum
of one, durable is agreed; the log does not know how many have agreed, only that they have.
"""

from collections import deque
from collections.abc import Iterable

from attrs import define

from goqueue.core.clock import Clock
from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.plan import Plan, plan_alter, plan_create, plan_delete, plan_removed
from goqueue.core.cluster.records import METADATA_CODEC, MetadataRecord
from goqueue.core.log.log import Log, LogState, LogUnsound
from goqueue.core.records.build import encode
from goqueue.core.verbs import AlterTopic, Code, CreateTopic, DeleteTopic, Refusal

METADATA_STREAM = "meta/cluster"
_WAITING_MAX = 1000


@define
class FinishDelete:
    """The folder of a deleted topic is gone: the node's own request, last part of a deletion."""

    name: str


Change = CreateTopic | AlterTopic | DeleteTopic | FinishDelete


@define
class Agreed:
    """A change that has come to be, and whom to tell, if anybody."""

    to: int | None
    request: Change


@define
class _Pending:
    agreed: Agreed
    records: list[MetadataRecord]
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

    def replay(self, records: Iterable[bytes]) -> None:
        """Make the state what the records add up to: at a start, and when a failed disk was recovered."""
        self.state = ClusterState()
        for record in records:
            self.state.apply(METADATA_CODEC.decode(record))

    def reopened(self, now: int, state: LogState, records: Iterable[bytes]) -> None:
        """Go on from what recovery found: a change that was refused for the disk's sake may have come to be."""
        assert self._pending is None
        self.log.reopened(now, state)
        self.replay(records)

    def ask(self, now: int, to: int | None, request: Change) -> None:
        """Put a change in line."""
        self._waiting.append(Agreed(to, request))

    def plan_next(self, now: int) -> list[tuple[int | None, Refusal]]:
        """Begin the next change that can be made; answers those that cannot."""
        refused: list[tuple[int | None, Refusal]] = []
        while self._waiting and self._pending is None:
            asked = self._waiting.popleft()
            plan = self._plan(now, asked.request)
            if isinstance(plan, Refusal):
                refused.append((asked.to, plan))
                continue
            try:
                stamp = self._clock.wall_ms(now)
                self.log.append(now, encode([(stamp, None, METADATA_CODEC.encode(record), ()) for record in plan]))
            except LogUnsound as error:
                refused.append((asked.to, Refusal(Code.UNAVAILABLE, str(error), retry_after_ms=1000)))
            else:
                self._pending = _Pending(asked, plan, self.log.next_offset)
        while len(self._waiting) > _WAITING_MAX:
            asked = self._waiting.pop()
            refused.append((asked.to, Refusal(Code.UNAVAILABLE, "too many changes are waiting", retry_after_ms=1000)))
        return refused

    def _plan(self, now: int, request: Change) -> Plan:
        if isinstance(request, CreateTopic):
            return plan_create(self.state, request, self._partitions_default, self._clock.wall_ms(now))
        if isinstance(request, AlterTopic):
            return plan_alter(self.state, request)
        if isinstance(request, DeleteTopic):
            return plan_delete(self.state, request)
        return plan_removed(self.state, request.name)

    def agreed(self) -> Agreed | None:
        """The change that has become durable, applied to the state; None while there is none."""
        pending = self._pending
        if pending is None or self.log.synced_offset < pending.end_offset:
            return None
        self._pending = None
        for record in pending.records:
            self.state.apply(record)
        return pending.agreed

    def disk_failed(self, now: int, why: str) -> list[tuple[int | None, Refusal]]:
        """The metadata's disk failed; whoever waits is told."""
        self.log.disk_failed(now, why)
        asked = [*([self._pending.agreed] if self._pending else []), *self._waiting]
        self._pending = None
        self._waiting.clear()
        refusal = Refusal(Code.UNAVAILABLE, f"the metadata log has lost its disk: {why}", retry_after_ms=1000)
        return [(one.to, refusal) for one in asked]

    def check(self) -> None:
        """Assert the invariants."""
        self.log.check()
        self.state.check()
