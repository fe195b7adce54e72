"""What a listener is: one part of the product as facts, told of what happens to a node, by kinds.

A listener says in tables (`Hears`) what it wants to be told of, and is told of nothing else: of verbs by their name, of
requests and answers by the type of the request, of batches by the side that they are of, of other effects and of
letters by their type. So an event costs a look into some tables, however many listeners there are.

The order in one event: changes of roles, requests and letters that came, then verbs; of a `take` the batches and
effects, the answers and the letters come before verbs; `after` comes last. Listeners hear in the order of `LISTENERS`.
"""

from collections.abc import Callable
from typing import Any

from attrs import define, field

from goqueue.core.capture.events import Event
from goqueue.core.log.effects import Buffer
from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.records.batch import Header
from goqueue.core.replication.replica import Replica
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import Side
from goqueue.spark.facts.notebook import Notebook

CLIENT = "client"
PEER = "peer"


@define(eq=False)
class Errand:
    """A request that waits for its answer.

    `way` is CLIENT for one of a client of this node, PEER for one that another node, `peer`, has passed on to be
    carried out here. What a client asks of one node and another one carries out is an errand on both. `at` is None
    where it was asked before the capture began.
    """

    way: str
    peer: str
    at: int | None
    caller: Caller
    request: Any
    # Whether no client asked for it, but a room of that other node.
    is_own: bool = False


@define(eq=False)
class Stream:
    """One stream of a partition by its parts, `name` being its folder; the metadata's has no topic and no side."""

    name: str
    topic: str
    partition: int
    side: Side | None


@define(eq=False)
class Batch:
    """A batch on its way to the disk, taken into the log by a leader or copied by a follower."""

    stream: Stream
    header: Header
    content: Buffer
    is_led: bool


@define(eq=False)
class Hears:
    """What a listener is told of; `object` in the place of a type is for all types."""

    verbs: dict[str, Callable[[Node, Event, Any], None]] = field(factory=dict)
    # By type of the request.
    asked: dict[type, Callable[[Node, Errand], None]] = field(factory=dict)
    answered: dict[type, Callable[[Node, Errand, Any], None]] = field(factory=dict)
    # Nobody waits for the answer any more.
    forgotten: dict[type, Callable[[Node, Errand], None]] = field(factory=dict)
    batches: dict[Side, Callable[[Node, Batch], None]] = field(factory=dict)
    # By type of the effect, save those that carry batches.
    effects: dict[type, Callable[[Node, Stream, Any], None]] = field(factory=dict)
    # By type of the letter; the text is the other node.
    received: dict[type, Callable[[Node, str, Any], None]] = field(factory=dict)
    sent: dict[type, Callable[[Node, str, Any], None]] = field(factory=dict)
    # The node leads a stream from here on or follows somebody, in an epoch; it has the stream no more.
    leads: Callable[[Node, Stream, Partition], None] | None = None
    follows: Callable[[Node, Stream, Replica], None] | None = None
    dropped: Callable[[Node, Stream], None] | None = None
    # After every event that may have changed how streams stand.
    after: Callable[[Node, Event], None] | None = None


class Listener:
    """One part of the product; a file is heard from its snapshot to its end by one of each."""

    def __init__(self, notebook: Notebook) -> None:
        self.notebook = notebook

    def hears(self) -> Hears:
        """What this listener is to be told of."""
        return Hears()

    def begin(self, node: Node) -> list[tuple[int, Errand]]:
        """See the node as it is before the first event; the clients' requests that it has under way, by number."""
        del node
        return []

    def end(self, node: Node) -> None:
        """The file is over."""
