"""Assignors: which member of a group is to have which partition. Pure functions of members and topics.

Every assignor gives each partition of a subscribed topic to exactly one member that subscribes to it, and the same
answer to the same question whatever the order of the members. `range` and `roundrobin` are Kafka's, so a group can move
over from there and find its partitions where they were.

`sticky` is balanced first and moves little second. Where all members subscribe to the same topics that is a matter of
quotas, and the number of moves is the least possible. Where they differ it is a semi-matching: members and topics are
a graph, in which a partition may be passed on along a chain of members to one that has at least two fewer than the
first. When there is no such chain, no assignment is more even (Harvey, Ladner, Lovász, Tamir 2006, theorem 3.1). What
was moved on the way is then brought home where that costs nothing: few moves, though not provably the fewest.
"""

from collections import deque
from collections.abc import Callable
from enum import StrEnum

from attrs import define, field

Slot = tuple[str, int]


class Assignor(StrEnum):
    """The ways to divide partitions among members."""

    STICKY = "sticky"
    ROUND_ROBIN = "roundrobin"
    RANGE = "range"


@define
class Subscriber:
    """A member as an assignor sees it: `held` is what it has, and what it should keep above all comes first."""

    member_id: str
    instance_id: str
    topics: list[str]
    held: list[Slot] = field(factory=list)


Assignment = dict[str, list[Slot]]


def assign(assignor: Assignor, subscribers: list[Subscriber], topics: dict[str, int]) -> Assignment:
    """The partitions of each member, sorted; `topics` are those that exist, with their numbers of partitions."""
    # Members with a name that outlives them come first, by that name, so a new process takes the old one's place.
    ordered = sorted(subscribers, key=_seat)
    assignment = _ASSIGN[assignor](ordered, topics)
    for slots in assignment.values():
        slots.sort()
    return assignment


def _seat(subscriber: Subscriber) -> tuple[bool, str, str]:
    return (not subscriber.instance_id, subscriber.instance_id, subscriber.member_id)


def _subscribed(subscribers: list[Subscriber], topics: dict[str, int]) -> dict[str, list[Subscriber]]:
    """Who reads each topic that exists, topics by name."""
    readers: dict[str, list[Subscriber]] = {}
    for subscriber in subscribers:
        for topic in dict.fromkeys(subscriber.topics):
            if topic in topics:
                readers.setdefault(topic, []).append(subscriber)
    return dict(sorted(readers.items()))


# --- range and round-robin


def _range(subscribers: list[Subscriber], topics: dict[str, int]) -> Assignment:
    assignment: Assignment = {subscriber.member_id: [] for subscriber in subscribers}
    for topic, readers in _subscribed(subscribers, topics).items():
        least, extra = divmod(topics[topic], len(readers))
        start = 0
        for place, reader in enumerate(readers):
            end = start + least + (place < extra)
            assignment[reader.member_id] += [(topic, partition) for partition in range(start, end)]
            start = end
    return assignment


def _round_robin(subscribers: list[Subscriber], topics: dict[str, int]) -> Assignment:
    assignment: Assignment = {subscriber.member_id: [] for subscriber in subscribers}
    reads = [set(subscriber.topics) for subscriber in subscribers]
    at = 0
    for topic in _subscribed(subscribers, topics):
        for partition in range(topics[topic]):
            while topic not in reads[at]:
                at = (at + 1) % len(subscribers)
            assignment[subscribers[at].member_id].append((topic, partition))
            at = (at + 1) % len(subscribers)
    return assignment


# --- sticky


def _sticky(subscribers: list[Subscriber], topics: dict[str, int]) -> Assignment:
    readers = _subscribed(subscribers, topics)
    if all(len(reading) == len(subscribers) for reading in readers.values()):
        return _even(subscribers, {topic: topics[topic] for topic in readers})
    return _Balance(subscribers, readers, topics).found()


def _even(subscribers: list[Subscriber], topics: dict[str, int]) -> Assignment:
    """Everybody may have everything: each keeps up to its quota, and what is left fills up those below theirs."""
    free = dict.fromkeys((topic, partition) for topic, count in topics.items() for partition in range(count))
    least, extra = divmod(len(free), len(subscribers))
    # Who has most is given the larger quotas, so that as little as possible has to be taken from anybody.
    by_held = sorted(subscribers, key=_held_count, reverse=True)
    assignment: Assignment = {}
    for place, subscriber in enumerate(by_held):
        quota = least + (place < extra)
        kept: list[Slot] = []
        for slot in subscriber.held:
            if len(kept) < quota and slot in free:
                del free[slot]
                kept.append(slot)
        assignment[subscriber.member_id] = kept
    left = iter(free)
    # Dealt in rounds: the partitions of one topic come to as many members as possible.
    open_quotas = [(assignment[one.member_id], least + (place < extra)) for place, one in enumerate(by_held)]
    while open_quotas:
        open_quotas = [(slots, quota) for slots, quota in open_quotas if len(slots) < quota]
        for slots, _ in open_quotas:
            slots.append(next(left))
    return assignment


def _held_count(subscriber: Subscriber) -> int:
    return len(subscriber.held)


class _Balance:
    """An assignment for members that read different topics, on its way to being even."""

    def __init__(
        self, subscribers: list[Subscriber], readers: dict[str, list[Subscriber]], topics: dict[str, int]
    ) -> None:
        self._readers = {topic: [reader.member_id for reader in reading] for topic, reading in readers.items()}
        self._members = [subscriber.member_id for subscriber in subscribers]
        self._place = {member: place for place, member in enumerate(self._members)}
        self._load = dict.fromkeys(self._members, 0)
        self._slots: dict[str, dict[str, list[int]]] = {member: {} for member in self._members}
        self._homes: dict[Slot, str] = {}
        self._keep(subscribers, topics)
        # What few can have is placed first: the others can still make room for it.
        for topic in sorted(self._readers, key=self._scarcity):
            for partition in range(topics[topic]):
                if (topic, partition) not in self._homes:
                    self._put(min(self._readers[topic], key=self._burden), topic, partition)

    def _keep(self, subscribers: list[Subscriber], topics: dict[str, int]) -> None:
        for subscriber in subscribers:
            reads = set(subscriber.topics)
            for topic, partition in subscriber.held:
                known = topic in reads and partition < topics.get(topic, 0)
                if known and (topic, partition) not in self._homes:
                    self._homes[topic, partition] = subscriber.member_id
                    self._put(subscriber.member_id, topic, partition)

    def _scarcity(self, topic: str) -> tuple[int, str]:
        return (len(self._readers[topic]), topic)

    def _burden(self, member: str) -> tuple[int, int]:
        return (self._load[member], self._place[member])

    def _put(self, member: str, topic: str, partition: int) -> None:
        self._slots[member].setdefault(topic, []).append(partition)
        self._load[member] += 1

    def found(self) -> Assignment:
        """The assignment once nothing can make it more even."""
        while self._relieve():
            pass
        while self._bring_home():
            pass
        return {
            member: [(topic, partition) for topic, partitions in by_topic.items() for partition in partitions]
            for member, by_topic in self._slots.items()
        }

    def _relieve(self) -> bool:
        """Pass one partition on from the member that has most to the one with least that it can reach, if any can."""
        came: dict[str, tuple[str, str]] = {}
        seen: set[str] = set()
        seen_topics: set[str] = set()
        for source in sorted(self._members, key=self._burden, reverse=True):
            if source in seen:
                # Whom it can reach a member with at least as many reached before, and in vain.
                continue
            target = self._reach(source, came, seen, seen_topics)
            if self._load[source] - self._load[target] >= 2:
                self._pass_on(source, target, came)
                return True
        return False

    def _reach(self, source: str, came: dict[str, tuple[str, str]], seen: set[str], seen_topics: set[str]) -> str:
        """The member with least that a partition of `source` can get to; `came` tells from whom, and of which topic."""
        seen.add(source)
        least = source
        queue = deque([source])
        while queue:
            member = queue.popleft()
            for topic, partitions in self._slots[member].items():
                if not partitions or topic in seen_topics:
                    continue
                seen_topics.add(topic)
                for reader in self._readers[topic]:
                    if reader not in seen:
                        seen.add(reader)
                        came[reader] = (member, topic)
                        queue.append(reader)
                        if self._load[reader] < self._load[least]:
                            least = reader
        return least

    def _bring_home(self) -> bool:
        """Bring a partition back to who had it before, where others make room for it at no cost and as even as now."""
        for (topic, partition), home in self._homes.items():
            holder = next(one for one in self._readers[topic] if partition in self._slots[one].get(topic, ()))
            if holder == home:
                continue
            came = self._makes_room(home)
            for end in came:
                evens_out = end == holder or self._load[end] == self._load[holder] - 1
                if evens_out and holder not in _between(home, end, came):
                    self._slots[holder][topic].remove(partition)
                    self._slots[home].setdefault(topic, []).append(partition)
                    self._load[holder] -= 1
                    self._load[home] += 1
                    self._pass_on(home, end, came)
                    return True
        return False

    def _makes_room(self, source: str) -> dict[str, tuple[str, str]]:
        """Who can be reached from a member by passing on partitions that are not at home where they are."""
        came: dict[str, tuple[str, str]] = {source: ("", "")}
        queue = deque([source])
        while queue:
            member = queue.popleft()
            for topic, partitions in self._slots[member].items():
                if any(self._homes.get((topic, partition)) != member for partition in partitions):
                    for reader in self._readers[topic]:
                        if reader not in came:
                            came[reader] = (member, topic)
                            queue.append(reader)
        return came

    def _pass_on(self, source: str, target: str, came: dict[str, tuple[str, str]]) -> None:
        member = target
        while member != source:
            giver, topic = came[member]
            partition = self._cheapest(giver, member, topic)
            self._slots[giver][topic].remove(partition)
            self._slots[member].setdefault(topic, []).append(partition)
            member = giver
        self._load[source] -= 1
        self._load[target] += 1

    def _cheapest(self, giver: str, taker: str, topic: str) -> int:
        """The partition whose passing on moves least: one that comes home, then one that is no home of the giver's."""
        partitions = self._slots[giver][topic]
        homes = [self._homes.get((topic, partition)) for partition in partitions]
        if taker in homes:
            return partitions[homes.index(taker)]
        away = [partition for partition, home in zip(partitions, homes, strict=True) if home != giver]
        return away[-1] if away else partitions[-1]


def _between(source: str, target: str, came: dict[str, tuple[str, str]]) -> list[str]:
    members = []
    while target != source:
        target = came[target][0]
        members.append(target)
    return members


_ASSIGN: dict[Assignor, Callable[[list[Subscriber], dict[str, int]], Assignment]] = {
    Assignor.RANGE: _range,
    Assignor.ROUND_ROBIN: _round_robin,
    Assignor.STICKY: _sticky,
}
