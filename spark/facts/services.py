"""The rooms of a node, for whoever looks on: its work queues, its groups, its delayed messages.

A node has its rooms for itself, and a replayed one is nobody's to change. What is found here is read, never written.
"""

from collections.abc import Mapping
from typing import TypeVar

from goqueue.core.delays.leader import DelayLeader
from goqueue.core.delays.schedule import Schedule
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.journal import JOURNAL_STREAM
from goqueue.core.groups.leader import GroupLeader
from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.queues.leader import WorkLeader
from goqueue.core.queues.queue_ledger import QueueLedger

Slot = tuple[str, int]
Kind = TypeVar("Kind")


def _room(node: Node, kind: type[Kind]) -> Kind:
    return next(room for room in node._services.services if isinstance(room, kind))


def books_of(node: Node) -> Mapping[Slot, QueueLedger]:
    """The ledgers of the partitions that a node leads; the same object as long as the node lives."""
    return _room(node, WorkLeader).books


def groups_of(node: Node) -> GroupLeader:
    """The groups as a node knows them."""
    return _room(node, GroupLeader)


def coordinator_of(node: Node) -> Coordinator | None:
    """The coordinator of all groups, if that is this node and it is ready."""
    groups = _room(node, GroupLeader)
    return groups.coordinator if groups.is_ready else None


def journal_of(node: Node) -> Partition | None:
    """The journal of all groups, if this node leads it."""
    return node.led.streams.get(JOURNAL_STREAM)


def loading_of(groups: GroupLeader) -> Mapping[bytes, bytes] | None:
    """What a node has read of the journal so far, if it reads it in order to coordinate; it grows until all is read."""
    journal = groups._journal
    return journal._loaded if journal.is_loading else None


def schedule_of(node: Node, slot: Slot) -> Schedule | None:
    """What is kept back in a partition, if this node leads it."""
    calendar = _room(node, DelayLeader)._calendars.get(slot)
    return None if calendar is None else calendar.schedule
