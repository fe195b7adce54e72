"""Exclusive and shared groups: who is a member, who may read what, and why that changes, noted by the coordinator.

The journal of the groups holds a group anew at every step, so what happened is the difference to the step before. Why a
member has let go of a partition is not in it: one that was asked to and said so speaks at that moment, and one that
says nothing is cut off.

A coordinator that takes over begins with what the journal holds, which is noted as known, not as having happened.

Invariant: what is compared with is what the journal held before, as far as the file shows it.
"""

import json
from collections.abc import Mapping
from typing import Any

from attrs import define, field

from goqueue.core.capture.events import Event
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.journal import JOURNAL_TOPIC
from goqueue.core.groups.records import OffsetRecord
from goqueue.core.groups.state import Group, GroupStands, Member, OffsetStands, Slot, change_of
from goqueue.core.groups.state import Groups as AllGroups
from goqueue.core.node import Node
from goqueue.core.requests.groups import (
    GroupBeat,
    GroupHeartbeat,
    GroupState,
    Joined,
    JoinGroup,
    Partitions,
    ResetOffsets,
    RevokePartitions,
    WatchGroup,
)
from goqueue.core.requests.messages import Side
from goqueue.core.requests.refusals import Refusal
from goqueue.spark.facts.entries import entries_of
from goqueue.spark.facts.listening import Batch, Errand, Hears, Listener
from goqueue.spark.facts.notebook import Notebook
from goqueue.spark.facts.services import coordinator_of, groups_of, journal_of, loading_of

# By these a member says what it has let go of.
_SPEAKING = JoinGroup, GroupHeartbeat, RevokePartitions


@define(eq=False)
class _Seat:
    """A member that was told what it may read: in which generation each."""

    told: dict[Slot, int] = field(factory=dict)


class Groups(Listener):
    """The groups of a node, while it coordinates them."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__(notebook)
        self._groups: dict[str, Group] = {}
        self._seats: dict[tuple[str, str], _Seat] = {}
        # How many requests of a member wait in which it may have let go of something.
        self._speaking: dict[tuple[str, str], int] = {}
        # Since when and why groups are out of balance, as was last seen.
        self._unrest: dict[str, tuple[int, str]] = {}
        self._coordinator: Coordinator | None = None
        # What the node has read of the journal while it prepares to coordinate.
        self._loaded: Mapping[bytes, bytes] | None = None
        # The groups of which a reset was asked; before the file began, nobody knows.
        self._reset: set[str] = set()
        self._is_whole = False
        # The offsets that the journal holds, by group and partition; all of them where the node coordinates.
        self._offsets: dict[tuple[str, str, int], int] = {}

    def hears(self) -> Hears:
        """The journal, and what members say and are told."""
        return Hears(
            verbs={"take": self._taken},
            asked={**dict.fromkeys(_SPEAKING, self._speaks), ResetOffsets: self._reset_asked},
            answered={**dict.fromkeys(_SPEAKING, self._spoken), WatchGroup: self._told},
            forgotten=dict.fromkeys(_SPEAKING, self._silent),
            batches={Side.DATA: self._written},
        )

    def begin(self, node: Node) -> list[tuple[int, Errand]]:
        """Know the groups that there are."""
        self._groups, self._is_whole = dict(groups_of(node).known), self.notebook.event.number == 0
        self._coordinator = coordinator_of(node)
        if self._coordinator is not None:
            self._note_known(node, self._coordinator.groups.offsets, None)
        return []

    # --- taking over

    def _taken(self, node: Node, event: Event, came: object) -> None:
        self._look(node)
        groups = groups_of(node)
        if groups.is_ready:
            for name, since, reason in groups.coordinator.rebalances.running():
                self._unrest[name] = since, reason
        else:
            # It grows while the journal is read, and is let go of by the node when all is read.
            self._loaded = loading_of(groups)

    def _look(self, node: Node) -> None:
        """See whether the node coordinates from here on, or does no more."""
        coordinator = coordinator_of(node)
        if coordinator is self._coordinator:
            return
        self._coordinator, self._seats, self._unrest, self._offsets = coordinator, {}, {}, {}
        if coordinator is None:
            return
        offsets = coordinator.groups.offsets
        if self._loaded is not None:
            # What the node knows by now may be a step further than what it began with.
            began = read_groups(self._loaded)
            self._groups, offsets = began.groups, began.offsets
        self._loaded = None
        self._note_known(node, offsets, "taken_over")

    def _note_known(self, node: Node, offsets: dict[str, dict[Slot, OffsetRecord]], cause: str | None) -> None:
        journal = journal_of(node)
        self.notebook.note(
            "coordinates", cause=cause or "known", sequence=None if journal is None else journal.log.next_offset,
            value=None if journal is None else journal.leader_epoch,
        )  # fmt: skip
        for group in self._groups.values():
            for slot, member in group.owners().items():
                self._note_owner("known", group, slot, member, _since(group.members[member], slot), cause)
        for name, committed in offsets.items():
            for (topic, partition), record in committed.items():
                self._offsets[name, topic, partition] = record.offset
                self.notebook.note(
                    "offset_known", group=name, topic=topic, partition=partition, end=record.offset,
                    epoch=record.generation, cause=cause or "known",
                    sequence=None if journal is None else journal.log.next_offset,
                    value=None if journal is None else journal.leader_epoch,
                )  # fmt: skip

    # --- what members say

    def _speaks(self, node: Node, errand: Errand) -> None:
        key = _speaker(errand)
        self._speaking[key] = self._speaking.get(key, 0) + 1

    def _reset_asked(self, node: Node, errand: Errand) -> None:
        self._reset.add(errand.request.group)

    def _silent(self, node: Node, errand: Errand) -> None:
        key = _speaker(errand)
        left = self._speaking.get(key, 0) - 1
        if left > 0:
            self._speaking[key] = left
        else:
            self._speaking.pop(key, None)

    # --- what members are told

    def _spoken(self, node: Node, errand: Errand, reply: object) -> None:
        self._silent(node, errand)
        self._told(node, errand, reply)

    def _told(self, node: Node, errand: Errand, reply: object) -> None:
        if self._coordinator is None or isinstance(reply, Refusal):
            return
        if isinstance(reply, Joined):
            self._tell(errand, reply.member_id, reply.generation, reply.assigned)
        elif isinstance(reply, GroupBeat):
            self._tell(errand, errand.request.member_id, reply.generation, reply.assigned)

    def _tell(self, errand: Errand, member: str, generation: int, assigned: Partitions) -> None:
        group = errand.request.group
        seat = self._seats.setdefault((group, member), _Seat())
        told = {(topic, number): generation for topic, numbers in assigned.items() for number in numbers}
        for slot in told:
            if slot not in seat.told:
                self.notebook.note(
                    "told", group=group, member=member, topic=slot[0], partition=slot[1], epoch=generation,
                    since=errand.at, client=errand.caller.client_id or None,
                )  # fmt: skip
        seat.told = told

    # --- the journal

    def _written(self, node: Node, batch: Batch) -> None:
        if batch.stream.topic != JOURNAL_TOPIC:
            return
        if batch.is_led:
            self._look(node)
        changed: dict[str, None] = {}
        for entry in entries_of(batch.content):
            change = change_of(*entry)
            if isinstance(change, GroupStands) and batch.is_led:
                self._step(change)
                changed[change.name] = None
            elif isinstance(change, GroupStands):
                self._copy(change)
            else:
                self._offset(batch, change)
        for name in changed:
            if self._state(name) not in (GroupState.ASSIGNING, GroupState.RECONCILING):
                self._unrest.pop(name, None)

    def _state(self, name: str) -> GroupState | None:
        """How a group is, as far as that is known and it is there."""
        group = self._groups.get(name)
        return None if self._coordinator is None or group is None else self._coordinator.state(group)

    def _copy(self, change: GroupStands) -> None:
        """Another node coordinates; this one is to know the groups when it takes over."""
        if change.group is None:
            self._groups.pop(change.name, None)
        else:
            self._groups[change.name] = change.group

    def _offset(self, batch: Batch, change: OffsetStands) -> None:
        """An offset goes on, which its answer tells of, or back; of one that was never seen nobody knows which."""
        key = change.group, change.topic, change.partition
        before, is_whole = self._offsets.get(key), batch.is_led and self._coordinator is not None
        after = None if change.committed is None else change.committed.offset
        if after is None:
            self._offsets.pop(key, None)
        else:
            self._offsets[key] = after
        is_new = before is None and not is_whole
        if is_new or (before is not None and (after is None or after < before)):
            is_asked = not (is_whole and self._is_whole) or change.group in self._reset
            cause = "unsure" if is_new else "ended" if after is None else None if is_asked else "unasked"
            self.notebook.note(
                "rewound", group=key[0], topic=key[1], partition=key[2], end=after, sequence=batch.header.base_offset,
                value=batch.header.leader_epoch, cause=cause,
            )  # fmt: skip

    def _step(self, change: GroupStands) -> None:
        if change.group is None:
            self._ended(change)
            return
        before = self._groups.get(change.name) or Group(change.name, change.group.mode, {})
        self._groups[change.name] = change.group
        self._members(before, change.group)
        self._owners(before, change.group)
        self._stands(before, change.group)

    def _ended(self, change: GroupStands) -> None:
        before = self._groups.pop(change.name, None)
        self._unrest.pop(change.name, None)
        if before is not None:
            self.notebook.note("group", group=change.name, epoch=before.generation, count=0, cause="deleted")

    def _members(self, before: Group, after: Group) -> None:
        for member_id, member in after.members.items():
            if member_id not in before.members:
                self._disturb(after, "member_joined")
                self.notebook.note(
                    "joined", group=after.name, member=member_id, epoch=after.generation,
                    client=member.client_id or None, detail=member.instance_id or None,
                )  # fmt: skip
        for member_id in before.members:
            if member_id not in after.members:
                end = _end_of(before, after, member_id)
                self._seats.pop((after.name, member_id), None)
                self._disturb(after, "session_expired" if end == "expired" else "member_left")
                self.notebook.note("left", group=after.name, member=member_id, epoch=after.generation, cause=end)

    def _disturb(self, group: Group, reason: str) -> None:
        """What may make it necessary to divide a group anew; the first of several is why."""
        if group.members:
            self._unrest.setdefault(group.name, (self.notebook.at, reason))

    def _owners(self, before: Group, after: Group) -> None:
        """Partitions change hands: first who lets go of them, then who gets them."""
        had, have = before.owners(), after.owners()
        for slot, member_id in had.items():
            if have.get(slot) != member_id:
                cause = self._why(before, after, member_id)
                self._note_owner("disowned", after, slot, member_id, after.generation, cause)
        for slot, member_id in have.items():
            if had.get(slot) != member_id:
                self._note_owner("owned", after, slot, member_id, _since(after.members[member_id], slot), None)

    def _note_owner(self, kind: str, group: Group, slot: Slot, member: str, epoch: int, cause: str | None) -> None:
        self.notebook.note(
            kind, group=group.name, member=member, topic=slot[0], partition=slot[1], epoch=epoch, cause=cause
        )

    def _why(self, before: Group, after: Group, member_id: str) -> str:
        """Why a member has a partition no more."""
        if member_id not in after.members:
            end = _end_of(before, after, member_id)
            return "lost" if end == "expired" else end
        return "revoked" if (after.name, member_id) in self._speaking else "cut_off"

    def _stands(self, before: Group, after: Group) -> None:
        for name, since, reason in [] if self._coordinator is None else self._coordinator.rebalances.running():
            self._unrest[name] = since, reason
        if after.generation != before.generation:
            self._rebalanced(before, after)
        state, settings = self._state(after.name), json.dumps(after.config, sort_keys=True) if after.config else None
        self.notebook.note(
            "group", group=after.name, epoch=after.generation, count=len(after.members),
            cause=None if state is None else state.value, detail=settings,
        )  # fmt: skip

    def _rebalanced(self, before: Group, after: Group) -> None:
        """A generation begins: since when it was wanted and why, and how many partitions are to change hands."""
        since, reason = self._unrest.get(after.name, (self.notebook.at, None))
        if not any(member.owned or member.target for member in before.members.values()):
            # Nobody had anything, so nothing is divided anew: the group begins, or begins again.
            reason = "began"
        targets = _targets(before)
        moves = sum(1 for slot, member in _targets(after).items() if targets.get(slot) != member)
        self.notebook.note(
            "rebalanced", group=after.name, epoch=after.generation, since=since, cause=reason, count=moves
        )


def read_groups(entries: Mapping[bytes, bytes]) -> AllGroups:
    """The groups and offsets that a journal holds, by its entries."""
    groups = AllGroups()
    for key, value in entries.items():
        groups.apply(change_of(key, value))
    return groups


def _speaker(errand: Errand) -> tuple[str, str]:
    """Who speaks; one that joins for the first time has nothing yet, and no name."""
    request: Any = errand.request
    return request.group, request.member_id


def _end_of(before: Group, after: Group, member_id: str) -> str:
    """How a member came to be gone."""
    instance_id = before.members[member_id].instance_id
    if after.instance(instance_id) is not None:
        return "replaced"
    return "expired" if after.lost == member_id else "left"


def _since(member: Member, slot: Slot) -> int:
    return member.owned[slot[0]][slot[1]]


def _targets(group: Group) -> dict[Slot, str]:
    """Who is to have each partition."""
    return {
        (topic, partition): member_id
        for member_id, member in group.members.items()
        for topic, partitions in member.target.items()
        for partition in partitions
    }
