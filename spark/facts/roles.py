"""Which streams a node leads and which it follows, looked at whenever that may have changed.

Roles follow from what is agreed, and from streams that are opened or removed, so nothing is looked through while
neither happens. A batch that a node appended as the leader may be handed to the disk when the node follows, and a node
that is made the leader may append in the same event what had waited for a leader. A batch bears the epoch of the leader
that appended it, so `is_led` compares that with the epochs in which the node led.
"""

from attrs import define, field

from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.replicas.topic import Held
from goqueue.spark.facts.inside import agreed_index, all_held, is_current

_MOVING = ("opened", "open_failed", "removed")


@define
class Role:
    """What a node is to a stream: its leader in an epoch, or the follower of somebody, empty for nobody."""

    is_led: bool
    epoch: int
    leader: str


@define(eq=False)
class Changes:
    """The streams whose roles are other than before, and those that are gone."""

    held: list[Held] = field(factory=list)
    gone: list[str] = field(factory=list)


class Roles:
    """The roles of one node."""

    def __init__(self) -> None:
        self._roles: dict[str, Role] = {}
        self._agreed = -1
        self._is_current = False
        # Earlier epochs in which the node led a stream, of which a batch may not be handed to the disk yet.
        self._before: dict[str, list[int]] = {}

    def look(self, node: Node, verb: str) -> Changes | None:
        """What has changed; None where nothing can have."""
        agreed = agreed_index(node)
        if agreed == self._agreed and verb not in _MOVING and (self._is_current or not is_current(node)):
            return None
        self._agreed, self._is_current = agreed, is_current(node)
        changes = Changes()
        for stream, held in all_held(node):
            self._see(node, stream, held, changes)
        for stream in [one for one in self._roles if node.led.held(one) is None]:
            del self._roles[stream]
            changes.gone.append(stream)
        return changes

    def _see(self, node: Node, stream: str, held: Held, changes: Changes) -> None:
        role, known = role_of(node, held), self._roles.get(stream)
        if role == known:
            return
        if known is not None and known.is_led:
            self._before.setdefault(stream, []).append(known.epoch)
        self._roles[stream] = role
        changes.held.append(held)

    def of(self, stream: str) -> Role | None:
        """The role that a node has for a stream, as of the last look."""
        return self._roles.get(stream)

    def is_led(self, stream: str, epoch: int) -> bool:
        """Whether the node is the leader that appended a batch of an epoch that is handed to the disk."""
        role = self._roles.get(stream)
        if role is not None and role.is_led and role.epoch == epoch:
            return True
        return epoch in self._before.get(stream, ())

    def taken(self) -> None:
        """All that was taken before is handed to the disk."""
        self._before.clear()


def role_of(node: Node, held: Held) -> Role:
    """The role that a node has for a stream at this moment."""
    if isinstance(held, Partition):
        return Role(True, held.leader_epoch, node.options.node_id)
    topic = node.led.topics.get(held.topic)
    placement = None if topic is None else topic.placement(held.number)
    if topic is None or placement is None:
        return Role(False, -1, "")
    return Role(False, placement.leader_epoch, topic.leader(held.number))
