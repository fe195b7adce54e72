"""Assignors against Kafka's own, and against what they promise."""

from random import Random

import pytest

from goqueue.core.groups.assignment import Assignment, Assignor, Subscriber, assign
from tests.core.groups.kafka_assignors import (
    aiokafka_round_robin,
    aiokafka_sticky,
    kafka_range,
    kafka_round_robin,
    kafka_sticky,
)


def world(seed: int, *, mixed: bool, named: bool = False) -> tuple[list[Subscriber], dict[str, int]]:
    """Some members, with something in their hands or not, and some topics."""
    random = Random(seed)
    topics = {f"t{number}": random.randint(1, 8) for number in range(random.randint(1, 5))}
    names = sorted(topics)
    subscribers = []
    for number in range(random.randint(1, 8)):
        read = random.sample(names, random.randint(1, len(names))) if mixed else list(names)
        subscribers.append(Subscriber(f"m{number}", f"i{9 - number}" if named and random.random() < 0.5 else "", read))
    if random.random() < 0.5:
        before = assign(Assignor.STICKY, subscribers[: random.randint(1, len(subscribers))], topics)
        for subscriber in subscribers:
            subscriber.held = before.get(subscriber.member_id, [])
        return subscribers[random.randint(0, len(subscribers) - 1) :], topics
    for topic, count in topics.items():
        readers = [subscriber for subscriber in subscribers if topic in subscriber.topics]
        for partition in range(count):
            if readers and random.random() < 0.7:
                random.choice(readers).held.append((topic, partition))
    return subscribers, topics


def unevenness(assignment: Assignment) -> int:
    """The sum of the differences between all members, as Kafka measures it."""
    loads = [len(slots) for slots in assignment.values()]
    return sum(abs(one - other) for one in loads for other in loads) // 2


def moves(subscribers: list[Subscriber], assignment: Assignment) -> int:
    """How many partitions somebody else has than before."""
    homes = {slot: subscriber.member_id for subscriber in subscribers for slot in subscriber.held}
    return sum(homes.get(slot, member) != member for member, slots in assignment.items() for slot in slots)


@pytest.mark.parametrize("mixed", [False, True])
def test_range_is_kafkas(mixed: bool) -> None:
    for seed in range(300):
        subscribers, topics = world(seed, mixed=mixed, named=True)
        assert assign(Assignor.RANGE, subscribers, topics) == kafka_range(subscribers, topics)


def test_round_robin_is_kafkas() -> None:
    for seed in range(300):
        subscribers, topics = world(seed, mixed=False, named=True)
        assert assign(Assignor.ROUND_ROBIN, subscribers, topics) == kafka_round_robin(subscribers, topics)
        subscribers, topics = world(seed, mixed=True)
        assert assign(Assignor.ROUND_ROBIN, subscribers, topics) == aiokafka_round_robin(subscribers, topics)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("theirs", [aiokafka_sticky, kafka_sticky])
def test_sticky_is_as_even_as_kafkas_and_moves_no_more(theirs: object, mixed: bool) -> None:
    assert callable(theirs)
    for seed in range(300):
        subscribers, topics = world(seed, mixed=mixed)
        ours = assign(Assignor.STICKY, subscribers, topics)
        found = theirs(subscribers, topics)
        assert unevenness(ours) <= unevenness(found)
        if unevenness(ours) == unevenness(found):
            assert moves(subscribers, ours) <= moves(subscribers, found)


@pytest.mark.parametrize("assignor", Assignor)
def test_each_partition_goes_to_one_reader_of_its_topic_in_any_order_of_members(assignor: Assignor) -> None:
    for seed in range(300):
        subscribers, topics = world(seed, mixed=True)
        found = assign(assignor, subscribers, topics)
        for subscriber in subscribers:
            assert all(topic in subscriber.topics for topic, _ in found[subscriber.member_id])
        read = {topic for subscriber in subscribers for topic in subscriber.topics}
        every = [(topic, partition) for topic in sorted(read) for partition in range(topics[topic])]
        assert sorted(slot for slots in found.values() for slot in slots) == every
        assert assign(assignor, subscribers[::-1], topics) == found


def test_sticky_is_even_within_one_where_all_read_the_same() -> None:
    for seed in range(300):
        subscribers, topics = world(seed, mixed=False)
        loads = [len(slots) for slots in assign(Assignor.STICKY, subscribers, topics).values()]
        assert max(loads) - min(loads) <= 1


@pytest.mark.parametrize("mixed", [False, True])
def test_sticky_leaves_what_is_even_as_it_is(mixed: bool) -> None:
    for seed in range(300):
        subscribers, topics = world(seed, mixed=mixed)
        found = assign(Assignor.STICKY, subscribers, topics)
        for subscriber in subscribers:
            subscriber.held = found[subscriber.member_id]
        assert assign(Assignor.STICKY, subscribers, topics) == found


def test_sticky_gives_away_what_stands_last_in_a_members_list() -> None:
    subscribers = [Subscriber("a", "", ["t"], [("t", 3), ("t", 0), ("t", 1), ("t", 2)]), Subscriber("b", "", ["t"])]
    found = assign(Assignor.STICKY, subscribers, {"t": 4})
    assert found == {"a": [("t", 0), ("t", 3)], "b": [("t", 1), ("t", 2)]}


@pytest.mark.parametrize("assignor", Assignor)
def test_a_topic_that_is_not_there_is_nobodys(assignor: Assignor) -> None:
    assert assign(assignor, [Subscriber("a", "", ["t", "u", "t"])], {"u": 1}) == {"a": [("u", 0)]}
