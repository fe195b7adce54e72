"""A simulator that finds nothing proves nothing: each promise is broken on purpose, and has to be missed."""

from functools import cache

import pytest

from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.checkers import CHECKERS, OF_CLUSTERS
from goqueue.fuzz.plants.catalogue import plants
from goqueue.fuzz.scribing.scribe import Scribe
from goqueue.fuzz.sim import Verdict, run_world

PLANTS = {name: plant for name, plant in plants().items() if plant.nodes == 1}


@cache
def first_to_show(name: str) -> Verdict | None:
    """The first of a bug's own worlds that shows it."""
    with pytest.MonkeyPatch.context() as patch:
        # What clients saw shows some of them sooner; test_scribing.py asks for that.
        patch.setattr(Scribe, "judge", unasked)
        first, within = PLANTS[name].seed, PLANTS[name].within
        verdicts = (live_through(Case(seed, plant=name)) for seed in range(first, first + within))
        return next((verdict for verdict in verdicts if verdict.violation is not None), None)


def unasked(_: Scribe) -> None:
    """Stands in for the verdict on the history."""


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_bug_is_found(name: str) -> None:
    verdict = first_to_show(name)
    assert verdict is not None, f"{PLANTS[name].within} worlds, and none shows it"
    assert verdict.violation is not None
    assert PLANTS[name].said in verdict.violation
    assert f"{PLANTS[name].finder}." in verdict.place


def test_the_worlds_of_the_bugs_are_sound_without_them() -> None:
    for worlds in dict.fromkeys(plant.worlds for plant in PLANTS.values() if plant.worlds is not None):
        assert run_world(1, options=worlds()).violation is None


def test_every_checker_is_the_first_to_find_some_bug() -> None:
    found: set[str] = set()
    for name in PLANTS:
        verdict = first_to_show(name)
        assert verdict is not None
        found.update(checker.__name__ for checker in CHECKERS if f"{checker.__name__}." in verdict.place)
    # Those of clusters have theirs in test_planted_cluster_bugs.py.
    assert found >= {checker.__name__ for checker in CHECKERS if checker not in OF_CLUSTERS}
