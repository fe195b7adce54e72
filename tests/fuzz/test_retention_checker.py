"""What the checker of retention makes of segments that go: each had a reason of its own when it went."""

import pytest
from attrs import define

from goqueue.core.log.log import Log
from goqueue.core.node import Node
from goqueue.core.requests.messages import NewRecord, Publish, PublishReply
from goqueue.fuzz.checkers.checker import Sight
from goqueue.fuzz.checkers.retention import Retention
from goqueue.fuzz.history import History, TopicTerms, Violation
from goqueue.storage.simulated import SimulatedDisk
from tests.core.driven_node import DrivenNode
from tests.core.log.batches import WALL_MS

LONG_AGO = 0


@define
class Lone:
    """The one broker there is."""

    node_id: str
    node: Node | None
    disk: SimulatedDisk
    boots: int = 0
    vain_turns: int = 0
    is_retired: bool = False


class Watched:
    """A topic that keeps 150,000 bytes or an hour, in segments of one message each, under the checker."""

    def __init__(self) -> None:
        self.driven = DrivenNode().with_topic(retention_bytes=150_000, retention_hours=1, segment_bytes=1 << 16)
        history = History(terms={self.driven.node.led.topics["orders"].topic.topic_id: TopicTerms(retains=True)})
        self.sight, self.sight.wall_ms = Sight(history), WALL_MS
        self.sight.processes = [Lone("node-1", self.driven.node, SimulatedDisk())]
        self.sight.stir(0, self.sight.processes[0])
        self.checker = Retention(self.sight)

    @property
    def log(self) -> Log:
        """The log of its partition."""
        return self.driven.node.led.streams["logs/orders/0"].log

    def publish(self, *timestamps: int, size: int = 60_000) -> None:
        """A segment for each timestamp."""
        for timestamp in timestamps:
            record = NewRecord(None, bytes(size), timestamp=timestamp)
            assert isinstance(self.driven.answer(Publish("orders", [record])), PublishReply)

    def retain(self) -> list[int]:
        """Let go what may go, and have that judged; the first offsets of what is left."""
        self.driven.node.wake(self.driven.now)
        self.checker.stepped()
        return [segment.base for segment in self.log.segments]


def test_what_is_too_much_may_go_before_what_is_too_old() -> None:
    """The first goes for the size of the log, and only then the second for its age: less than the bound remains."""
    watched = Watched()
    watched.publish(WALL_MS, LONG_AGO, WALL_MS, WALL_MS)
    watched.publish(WALL_MS, size=6_000)
    watched.checker.stepped()
    assert watched.retain() == [2, 3, 4]
    assert watched.log.size_bytes < 150_000


def test_what_is_neither_too_much_nor_too_old_may_not_go() -> None:
    watched = Watched()
    watched.publish(WALL_MS, WALL_MS, WALL_MS, WALL_MS)
    watched.checker.stepped()
    assert watched.log.delete_before(0, 2) == 2
    with pytest.raises(Violation, match=f"newest record of {WALL_MS}, is gone at {WALL_MS}, and 12.... bytes remain"):
        watched.checker.stepped()


def test_of_what_began_and_went_within_a_step_nobody_knows_the_size() -> None:
    watched = Watched()
    watched.publish(WALL_MS)
    watched.checker.stepped()
    watched.publish(LONG_AGO, LONG_AGO, WALL_MS, WALL_MS)
    assert watched.retain() == [3, 4]
