"""A delayed message is moved to where readers find it when it is due: never before, and not long after.

Looked at where it is moved to, whoever reads it. Not before it is due by any time that its leader's clock ever showed,
which is judged when it is appended, since what follows would hide that; and, as far as it is acknowledged, not more
than a moment after, counted from when nothing failed any more. That it is there once and with its own contents is for
others to see (`checkers/once.py`, `checkers/contents.py`).
"""

import heapq

from goqueue.core.log.producers import MOVER_ID
from goqueue.core.partition.partition import Partition
from goqueue.core.requests.messages import Publish, PublishBatch, Side
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Asked, Message, Place, Violation, name_of
from goqueue.fuzz.invariants.tapes import Tape

# A move takes two turns, a read and a sync, of a partition that may have to be opened first; among several nodes some
# letters as well.
_LATE_MS, _LATE_MS_CLUSTER = 2_000, 5_000


class Moves(Checker):
    """Follows what is moved."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._tapes: dict[Place, Tape] = {}
        self._moved: set[bytes] = set()
        self._dues: list[tuple[int, int, Message]] = []
        # The latest time that a node's clock showed, and its last turn that was looked at.
        self._latest_ms: dict[str, int] = {}
        self._turns = 0
        # What was moved last by whoever leads.
        self._last: dict[Place, tuple[Partition, int]] = {}

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Take note of what is kept back."""
        if isinstance(asked.request, Publish | PublishBatch):
            for message in asked.messages:
                if message.kept_at is not None and message.is_kept_strongly:
                    heapq.heappush(self._dues, (message.told_due_ms, len(self._dues), message))

    def stepped(self) -> None:
        """Look at what was moved by the node of which something was heard, and at what was not."""
        broker = self.sight.stirred
        if broker is None:
            return
        if self.sight.turns != self._turns:
            self._turns, node_id = self.sight.turns, broker.node_id
            self._latest_ms[node_id] = max(self.sight.wall_ms, self._latest_ms.get(node_id, 0))
            self._look_for_early(self._latest_ms[node_id])
        if not self.history.delayed:
            return
        for topic_id, partition in self.sight.stirred_streams():
            if partition.side is Side.DATA and self.history.is_strong(topic_id):
                tape = self._tapes.setdefault((topic_id, partition.number), Tape())
                if partition.high_watermark > tape.end:
                    self._moved.update(map(name_of, tape.records(broker, partition, MOVER_ID)))
        if self.sight.calm_since is not None:
            self._judge(self.sight.calm_since)

    def _look_for_early(self, latest_ms: int) -> None:
        """See that what was moved in a turn was due: it bears the time at which it is."""
        for topic_id, partition in self.sight.stirred_partitions():
            last, place = partition.log.producers.last(MOVER_ID), (topic_id, partition.number)
            if last is None:
                continue
            seen = self._last.get(place)
            self._last[place] = partition, last[1]
            if seen is None or seen[0] is not partition or seen[1] == last[1]:
                # What is there at first was moved by another, with a clock of its own.
                continue
            due_ms = partition.log.producers.batches(MOVER_ID)[-1].timestamp
            if due_ms > latest_ms:
                what = f"what is due at {due_ms} is moved to {partition.log.stream}"
                raise Violation(f"{what}, and its leader's clock has not shown more than {latest_ms}")

    def _judge(self, calm_since: int) -> None:
        """See that whatever is overdue has been moved, once there was time enough."""
        late_ms = _LATE_MS_CLUSTER if self.sight.is_cluster else _LATE_MS
        if self.sight.now < calm_since + late_ms * 1_000_000:
            return
        while self._dues and self._dues[0][0] + late_ms <= self.sight.least_ms:
            message = heapq.heappop(self._dues)[2]
            if message.name not in self._moved and self._must_come(message):
                what = f"{message.name!r}, kept at {message.kept_at}, was due at {message.told_due_ms}"
                raise Violation(f"{what}, and at {self.sight.least_ms} it is not moved")

    def _must_come(self, message: Message) -> bool:
        """Whether nobody has changed their mind, and it cannot be lost."""
        assert message.kept_at is not None
        place = message.kept_at[0]
        terms = self.history.terms.get(place[0])
        if terms is None or terms.retains:
            # It may be gone before anybody has seen it.
            return False
        if message.is_doubtful or message.may_repeat or place in self.history.rotten:
            return False
        return place[0] not in self.history.is_doomed and self.history.is_strong(place[0])
