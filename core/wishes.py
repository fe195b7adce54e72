"""What the rooms of a node ask of the node itself, each question under a number below zero that its answer bears."""

from attrs import define, field

from goqueue.core.calls import Request
from goqueue.core.cluster.changes import AddSide, FinishDelete, MakeOwnTopic
from goqueue.core.cluster.verbs import AlterIsr, LeaveNode, NodeHeartbeat, RegisterNode
from goqueue.core.verbs import CreateTopic, Fetch, FindOffset, InitProducer, Publish, PublishBatch, Side

# More rooms than there are: the numbers of one never meet those of another.
ROOMS_MAX = 8


@define
class RollSide:
    """The next batch of a stream begins a segment, so that all before it can be removed. Answered None."""

    topic: str
    partition: int
    side: Side


@define
class TrimSide:
    """Whatever lies in whole segments before an offset may go. Answered None."""

    topic: str
    partition: int
    side: Side
    offset: int


@define
class AskNode:
    """Have one other node carry out a request with what it has; it is passed on to no third one."""

    node: str
    request: Request


Wish = (
    MakeOwnTopic
    | CreateTopic
    | AddSide
    | InitProducer
    | Publish
    | PublishBatch
    | Fetch
    | FindOffset
    | RollSide
    | TrimSide
    | AskNode
    | RegisterNode
    | NodeHeartbeat
    | LeaveNode
    | AlterIsr
    | FinishDelete
)


@define
class Wishes:
    """What is to be asked for one room, and the numbers given out so far."""

    room: int = 0
    asked: list[tuple[int, Wish]] = field(factory=list)
    _count: int = 0

    def ask(self, wish: Wish) -> int:
        """Ask for something; the number of it."""
        self._count += 1
        number = -(self._count * ROOMS_MAX + self.room)
        self.asked.append((number, wish))
        return number

    def take(self) -> list[tuple[int, Wish]]:
        """What was asked since the last call."""
        asked, self.asked = self.asked, []
        return asked


def room_of(number: int) -> int:
    """The room whose wish has a number."""
    return -number % ROOMS_MAX
