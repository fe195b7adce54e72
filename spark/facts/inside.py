"""What is read inside of a node, and of its replay, beyond what they show to everybody, in one place.

A node shows what its driver needs. Whoever looks on wants to know what was agreed and who waits, and changes nothing.
"""

from collections.abc import Iterator

from goqueue.core.capture.replay import Replayer
from goqueue.core.cluster.apply import ClusterState
from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.publishing import Unacknowledged
from goqueue.core.quorum.entries import Entry
from goqueue.core.quorum.quorum import Role
from goqueue.core.replicas.topic import Held
from goqueue.core.requests.call import Call, Caller, Origin

# Numbers from here on are not the driver's: see `forwarding.numbers`.


def agreed_index(node: Node) -> int:
    """The end of what a node knows to be agreed on, and has applied."""
    return node._agreement.agreed_index


def agreed_state(node: Node) -> ClusterState:
    """What is agreed, as far as a node knows."""
    return node._agreement.state


def is_current(node: Node) -> bool:
    """Whether a node knows enough of what is agreed to act on it."""
    return node._agreement.is_current


def agreed_start(node: Node) -> int:
    """Before which index a node has no entries any more."""
    return node._agreement._quorum.log.start


def agreed_entries(node: Node, first: int) -> list[Entry]:
    """The agreed entries from an index on, as far as the node still has them."""
    log = node._agreement._quorum.log
    return log.entries[max(first - log.start, 0) : agreed_index(node) - log.start]


def term(node: Node) -> int:
    """The term in which a node believes to be."""
    return node._agreement.term


def disk(node: Node) -> str | None:
    """The id of the disk that a node votes by; None where it has none, as a node that is alone."""
    return node._agreement._disk_id or None


def role(node: Node) -> Role:
    """What a node is among the voters."""
    return node._agreement._quorum.role


def all_held(node: Node) -> list[tuple[str, Held]]:
    """The streams that a node leads and follows, by name."""
    found: list[tuple[str, Held]] = [*node.led.streams.items()]
    found.extend(node.led.replicas.items())
    return found


def waiting(partition: Partition) -> Iterator[Unacknowledged]:
    """The publishes to a partition that wait to be acknowledged."""
    yield from partition._hasty
    yield from partition._unacknowledged


def is_of_client(call: Call) -> bool:
    """Whether a request is a client's of this node, and not a service's or another node's."""
    return call.origin is Origin.CLIENT


def under_way(node: Node) -> Iterator[tuple[int, Caller, object]]:
    """The clients' requests that a node has others carry out, at least in part."""
    if node._peering is not None:
        for call, errand in node._peering.dispatch._errands.items():
            if is_of_client(call):
                yield call.number, call.caller, errand.request


def has_read_all(replayer: Replayer) -> bool:
    """Whether nothing is left of the block that a replay ended in."""
    return replayer._reader._values.is_done()
