"""Which streams a node leads and which it follows, looked at whenever that may have changed.

Roles follow from what is agreed, and from streams that are opened or removed, so nothing is looked through while
neither happens. What stood in a log when its role changed was taken in the old role, though it is handed to the disk in
the new one: `is_led` tells by offset.
"""

from attrs import define, field

from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.topics import Held
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
        # Of streams whose role has changed and of which something may not be handed to the disk yet: until where.
        self._before: dict[str, list[tuple[int, bool]]] = {}

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
        if known is not None and known.is_led != role.is_led:
            self._before.setdefault(stream, []).append((held.log.next_offset, known.is_led))
        self._roles[stream] = role
        changes.held.append(held)

    def of(self, stream: str) -> Role | None:
        """The role that a node has for a stream, as of the last look."""
        return self._roles.get(stream)

    def is_led(self, stream: str, offset: int) -> bool:
        """Whether the node led a stream when it took the batch at an offset that is handed to the disk."""
        for end, was_led in self._before.get(stream, ()):
            if offset < end:
                return was_led
        role = self._roles.get(stream)
        return role is not None and role.is_led

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
