"""Bugs planted into a cluster are found, each within a bounded number of worlds."""

import pytest

from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.plants import PLANTS, planted


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_is_found(name: str) -> None:
    plant = PLANTS[name]
    for seed in range(plant.within):
        if live_through(Case(seed, plant=name)).violation is not None:
            return
    pytest.fail(f"{plant.within} worlds, and none shows it")


@pytest.mark.parametrize("name", PLANTS)
def test_what_was_planted_is_gone_afterwards(name: str) -> None:
    places: list[tuple[object, str, object]] = []
    PLANTS[name].sow(lambda owner, attribute, value: places.append((owner, attribute, vars(owner)[attribute])))
    with planted(name):
        assert all(vars(owner)[attribute] is not real for owner, attribute, real in places)
    assert places
    assert all(vars(owner)[attribute] is real for owner, attribute, real in places)
