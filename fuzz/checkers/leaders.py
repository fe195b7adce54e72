"""One leader an epoch: under an epoch of a partition one process writes, and nobody after it.

A process that comes back is another one, since what it had not synced may be gone: what it would write under the same
epoch could differ from what was written there before.
"""

from goqueue.core.requests.messages import Side
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Violation

Reign = tuple[int, int, Side, int]
"""A topic by its id, a partition, one of its streams, and an epoch."""


class Leaders(Checker):
    """Remembers who led in each epoch."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._who: dict[Reign, tuple[str, int]] = {}

    def stepped(self) -> None:
        """Look at all that the node leads of which something was heard."""
        broker = self.sight.stirred
        if not self.sight.is_cluster or broker is None or broker.node is None:
            return
        who = broker.node_id, broker.disk.life
        topics = broker.node.led.topics
        for partition in broker.node.led.streams.values():
            leader = topics.get(partition.topic)
            if leader is None or partition.leadership is None:
                continue
            reign = leader.topic.topic_id, partition.number, partition.side, partition.leader_epoch
            first = self._who.setdefault(reign, who)
            if first != who:
                raise Violation(f"epoch {reign[3]} of {partition.log.stream} is of {first} and of {who}")
