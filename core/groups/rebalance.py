"""How partitions change hands: from the old owner, through nobody, to the new one. Pure steps from group to group.

    rebalanced     each member gets a target, in a generation of its own; nothing is taken from anybody by that
    released       an owner lets go of what is no target of its any more: it confirmed, or its time was up
    without        a member is gone, and everything it had is free

After each of these, whoever is to have a partition that nobody has gets it, in the same step. So the one rule that
everything hangs on holds by construction: a partition is owned by one member, and passes to the next only after the
first has let go. Members keep what they keep; nothing stops for a rebalance.

A partition of a topic that was deleted is let go of like any other: its owner may not know yet, and another topic may
come by that name meanwhile.

`since` is the generation in which a partition was given to its owner. A commit that comes from before it is a stray:
1. A owns p in generation 5 and is slow; 6 gives p to B, and A is cut off; 2. B leaves, and 7 gives p to A again;
3. a commit of A from generation 5 arrives. A owns p, but the work it speaks of was B's meanwhile.
"""

from collections import Counter

from attrs import evolve

from goqueue.core.groups.assignment import Assignor, Subscriber, assign
from goqueue.core.groups.state import Group, Member, Slot
from goqueue.core.requests.groups import GroupMode, Partitions


def assigned(member: Member) -> Partitions:
    """What a member has and keeps."""
    kept = {}
    for topic, partitions in member.target.items():
        owned = member.owned.get(topic, {})
        if both := [partition for partition in partitions if partition in owned]:
            kept[topic] = both
    return kept


def tenures(member: Member, partitions: Partitions) -> dict[Slot, int]:
    """The generation since when a member has each of some partitions."""
    return {(topic, each): member.owned[topic][each] for topic, numbers in partitions.items() for each in numbers}


def to_revoke(member: Member) -> Partitions:
    """What a member has and is to let go of."""
    going = {}
    for topic, owned in member.owned.items():
        kept = set(member.target.get(topic, ()))
        if surplus := sorted(partition for partition in owned if partition not in kept):
            going[topic] = surplus
    return going


def is_settled(group: Group) -> bool:
    """Whether nothing is left to be revoked."""
    return not any(to_revoke(member) for member in group.members.values())


def chosen_assignor(group: Group) -> Assignor:
    """What most of those members want who say so, else the group's setting."""
    votes = Counter(member.assignor for member in group.members.values() if member.assignor)
    if votes:
        return max(Assignor, key=votes.__getitem__)
    return Assignor(str(group.config.get("assignor", Assignor.STICKY)))


def rebalanced(group: Group, topics: dict[str, int]) -> Group | None:
    """The group with its partitions divided anew; None when that changes nothing."""
    targets = _targets(group, topics)
    moved = any(member.target != targets[member.member_id] for member in group.members.values())
    if not moved and group.generation:
        return None
    generation = group.generation + 1
    changed: dict[str, Member] = {}
    for member in group.members.values():
        target = targets[member.member_id]
        if target != member.target:
            changed[member.member_id] = evolve(member, target=target)
    return _granted(group, changed, generation)


def released(group: Group, member_id: str, partitions: Partitions) -> Group | None:
    """The group after a member let go of what it was to; None when nothing of that was left."""
    member = group.members[member_id]
    going = {topic: set(partitions.get(topic, ())) & set(surplus) for topic, surplus in to_revoke(member).items()}
    if not any(going.values()):
        return None
    owned = _nonempty(
        {
            topic: {partition: since for partition, since in held.items() if partition not in going.get(topic, ())}
            for topic, held in member.owned.items()
        }
    )
    return _granted(group, {member_id: evolve(member, owned=owned)}, group.generation)


def without(group: Group, member_id: str, wall_ms: int) -> Group:
    """The group after a member is gone."""
    return _granted(group.without(member_id, wall_ms), {}, group.generation)


def _granted(group: Group, changed: dict[str, Member], generation: int) -> Group:
    """The group with `changed`, and with what nobody has given to whom it is meant for."""
    members = {**group.members, **changed}
    taken = {
        (topic, partition)
        for member in members.values()
        for topic, partitions in member.owned.items()
        for partition in partitions
    }
    for member in members.values():
        gained = [
            (topic, partition)
            for topic, partitions in member.target.items()
            for partition in partitions
            if (topic, partition) not in taken
        ]
        if gained:
            changed[member.member_id] = evolve(member, owned=_with(member.owned, gained, generation))
    if not members:
        return group
    return group.next(changed, generation)


def _with(owned: dict[str, dict[int, int]], gained: list[Slot], generation: int) -> dict[str, dict[int, int]]:
    grown = {topic: dict(partitions) for topic, partitions in owned.items()}
    for topic, partition in gained:
        grown.setdefault(topic, {})[partition] = generation
    return {topic: dict(sorted(grown[topic].items())) for topic in sorted(grown)}


def _targets(group: Group, topics: dict[str, int]) -> dict[str, Partitions]:
    targets: dict[str, Partitions] = {member_id: {} for member_id in group.members}
    if group.members and group.mode is GroupMode.EXCLUSIVE:
        subscribers = [_subscriber(member) for member in group.members.values()]
        for member_id, slots in assign(chosen_assignor(group), subscribers, topics).items():
            target = targets[member_id]
            for topic, partition in slots:
                target.setdefault(topic, []).append(partition)
    return targets


def _subscriber(member: Member) -> Subscriber:
    kept = [(topic, partition) for topic, partitions in assigned(member).items() for partition in partitions]
    going = [(topic, partition) for topic, partitions in to_revoke(member).items() for partition in partitions]
    # What it was told to let go of may be out of its hands already; it is the first to go elsewhere.
    return Subscriber(member.member_id, member.instance_id, member.topics, kept + going)


def _nonempty(owned: dict[str, dict[int, int]]) -> dict[str, dict[int, int]]:
    return {topic: held for topic, held in owned.items() if held}
