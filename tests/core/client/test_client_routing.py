"""Which partition a record goes to: the broker's choice for a key, long parcels and no favourite for those without."""

from collections import Counter
from random import Random

import pytest

from goqueue.core.client.routing import Layout, Route
from goqueue.core.partition.partitioners import Partitioner

KEYS = [b"", b"a", b"order-17", bytes(range(40))] + [b"%d" % number for number in range(200)]


def route(partitioner: str = "murmur3", partitions: int = 6, seed: int = 1) -> Route:
    """The way to a topic."""
    return Route(Layout("orders", [""] * partitions, partitioner, 1 << 20), Random(seed), 5)


@pytest.mark.parametrize("partitioner", ["murmur3", "murmur2", "crc32"])
def test_a_key_goes_where_the_broker_would_send_it(partitioner: str) -> None:
    ours, theirs = route(partitioner), Partitioner(partitioner, 6)
    assert [ours.choose(key).partition for key in KEYS] == [theirs.choose(key) for key in KEYS]


def test_records_without_a_key_stay_together_until_their_parcel_is_due() -> None:
    ours = route()
    first = ours.choose(None)
    assert ours.choose(None) is first
    ours.turn(ours.pipelines[(first.partition + 1) % 6])
    assert ours.choose(None) is first, "a parcel of another partition changes nothing"
    ours.turn(first)
    assert ours.choose(None) is not first


def test_every_partition_has_its_turn_before_any_has_a_second() -> None:
    ours = route()
    turns = []
    for _ in range(12):
        turns.append(ours.choose(None).partition)
        ours.turn(ours.choose(None))
    assert sorted(turns[:6]) == list(range(6))
    assert turns[6:] == turns[:6]


def test_of_many_clients_not_all_begin_with_the_same_partition() -> None:
    begins = Counter(route(seed=seed).choose(None).partition for seed in range(300))
    assert sorted(begins) == list(range(6))
    assert max(begins.values()) < 100


def test_the_same_random_numbers_give_the_same_order() -> None:
    def order() -> list[int]:
        ours = route(seed=7)
        chosen = []
        for _ in range(5):
            pipeline = ours.choose(None)
            chosen.append(pipeline.partition)
            ours.turn(pipeline)
        return chosen

    assert order() == order()


def test_round_robin_looks_at_no_key_and_changes_with_every_record() -> None:
    ours = route("round_robin")
    assert sorted(ours.choose(b"same").partition for _ in range(6)) == list(range(6))


def test_sticky_looks_at_no_key_and_changes_with_every_parcel() -> None:
    ours = route("sticky")
    assert len({ours.choose(key).partition for key in KEYS}) == 1


def test_partitions_that_are_added_take_part_and_the_old_ones_stay_what_they_were() -> None:
    ours = route(partitions=2)
    before = list(ours.pipelines)
    assert ours.revise(Layout("orders", [""] * 4, "murmur3", 1 << 10)) == []
    assert ours.pipelines[:2] == before
    assert [pipeline.message_bytes_max for pipeline in ours.pipelines] == [1 << 10] * 4
    assert {ours.choose(key).partition for key in KEYS} == {0, 1, 2, 3}


def test_partitions_that_are_no_more_are_named() -> None:
    ours = route(partitions=4)
    gone = ours.pipelines[1:]
    assert ours.revise(Layout("orders", [""], "murmur3", 1 << 20)) == gone
    assert {ours.choose(key).partition for key in KEYS} == {0}
