"""Shared groups, whose members are given messages and not partitions: what the work queues hear, and what they tell.

The coordinator keeps the members of such a group and its settings; how far it has come, its queues know.
"""

from typing import Protocol

from attrs import define, field

from goqueue.core.groups import plan
from goqueue.core.groups.plan import Ends
from goqueue.core.groups.state import Group, Slot
from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import FetchOffsets, GroupMode, GroupOffset, ResetOffsets


@define
class Departure:
    """A member is gone: it has said so, or it is `lost`."""

    group: str
    member_id: str
    lost: bool


@define
class SharedNews:
    """What happened in shared groups since it was last taken; `all_differ` when the coordinator has begun anew."""

    stood: dict[str, None] = field(factory=dict)
    # Those that ended, also where there is another one of the name since.
    gone: dict[str, None] = field(factory=dict)
    departures: list[Departure] = field(factory=list)
    all_differ: bool = False

    def stands(self, group: Group) -> None:
        """A group is another than it was."""
        if group.mode is GroupMode.SHARED:
            self.stood[group.name] = None

    def ended(self, name: str) -> None:
        """A group is no more."""
        self.stood[name] = self.gone[name] = None

    def departed(self, group: Group, member_id: str, *, lost: bool) -> None:
        """A member is gone."""
        if group.mode is GroupMode.SHARED:
            self.departures.append(Departure(group.name, member_id, lost))


class Queues(Protocol):
    """The work queues of shared groups."""

    def offsets(self, group: str) -> dict[Slot, tuple[int, int]]:
        """By partition, below which offset everything is settled, and how many messages are not; of those led here."""

    def tell(self, now: int, call: Call, request: FetchOffsets) -> None:
        """Answer how far a group has come."""

    def look_idle(self, group: str) -> None:
        """Find out whether anything of a group is leased, or a dead letter that is yet to be moved."""

    def reset(self, now: int, call: Call, request: ResetOffsets) -> None:
        """Have the queues of a group go on from somewhere else, and answer when that is durable."""


def topics_of(group: Group, request: FetchOffsets, known: dict[Slot, tuple[int, int]]) -> list[str]:
    """The topics that a request is about: those it names, or all that the group reads or has queues on."""
    read = (topic for member in group.members.values() for topic in member.topics)
    return sorted(dict.fromkeys(request.topics or [*read, *(topic for topic, _ in known)]))


def fetched(
    group: Group, names: list[str], topics: dict[str, int], known: dict[Slot, tuple[int, int]], ends: Ends
) -> list[GroupOffset]:
    """How far a shared group has come in some topics, partition by partition."""
    offsets: list[GroupOffset] = []
    for topic in names:
        for partition in range(topics.get(topic, 0)):
            slot = (topic, partition)
            offset, lag = known.get(slot) or (-1, plan.left_to_read(group, None, ends(*slot)))
            offsets.append(GroupOffset(topic, partition, offset, lag))
    return offsets
