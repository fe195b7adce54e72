"""Bugs planted into a cluster are found, each within a bounded number of worlds."""

import pytest

from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.checkers.checker import Sight
from goqueue.fuzz.history import History
from goqueue.fuzz.invariants import invariants
from goqueue.fuzz.plants.catalogue import planted, plants

PLANTS = {name: plant for name, plant in plants().items() if plant.nodes > 1}


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_is_found(name: str) -> None:
    plant = PLANTS[name]
    for seed in range(plant.seed, plant.seed + plant.within):
        verdict = live_through(Case(seed, plant=name))
        if verdict.violation is not None:
            assert f"{plant.finder}." in verdict.place
            return
    pytest.fail(f"{plant.within} worlds, and none shows it")


def test_every_invariant_of_clusters_is_the_first_to_find_some_bug() -> None:
    finders = {plant.finder for plant in PLANTS.values()}
    # Copies and what is acknowledged are what the others rest on; what is late shows on one node as well.
    resting = {"Copies", "Acknowledged", "Moves", "Intervals", "Waits"}
    assert finders >= {type(one).__name__ for one in invariants(Sight(History()))} - resting


@pytest.mark.parametrize("name", plants())
def test_what_was_planted_is_gone_afterwards(name: str) -> None:
    places: list[tuple[object, str, object]] = []
    plants()[name].sow(lambda owner, attribute, value: places.append((owner, attribute, vars(owner)[attribute])))
    with planted(name):
        assert all(vars(owner)[attribute] is not real for owner, attribute, real in places)
    assert places
    assert all(vars(owner)[attribute] is real for owner, attribute, real in places)
