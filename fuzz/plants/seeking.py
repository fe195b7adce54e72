"""Looking for bugs among the worlds that anybody gets, not among those that show them: `goqueue sim --planted`.

A bug counts as found by a world that breaks a promise with it and keeps all promises without it. Each is looked for
from the same seed on, by one process, up to a bound.
"""

import multiprocessing
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import attrs
from attrs import define, field

from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.checkers import CHECKERS
from goqueue.fuzz.checkers.checker import Sight
from goqueue.fuzz.history import History
from goqueue.fuzz.invariants import invariants
from goqueue.fuzz.plants.catalogue import plant_of
from goqueue.fuzz.sim import Verdict

# In so many worlds a bug is looked for, by the number of their nodes.
WORLDS_MAX = {1: 150, 3: 60}


@define
class Search:
    """What came of looking for one bug."""

    bug: str
    found: bool
    # How many worlds were run with it, and which of them showed it.
    worlds: int
    seed: int | None = None
    # Who found it: a checker, an invariant, `history` for what clients saw, or the module of the product that died.
    checker: str = ""
    # Worlds that break a promise without any bug.
    unsound: list[int] = field(factory=list)


def look_for(name: str, first: int) -> Search:
    """Run worlds with a bug until one shows it."""
    plant = plant_of(name)
    bound, unsound = WORLDS_MAX[plant.nodes], list[int]()
    for worlds, seed in enumerate(range(first, first + bound), 1):
        case = Case(seed, nodes=plant.nodes, plant=name)
        verdict = live_through(case)
        if verdict.violation is None:
            continue
        if live_through(attrs.evolve(case, plant="")).violation is None:
            return Search(name, True, worlds, seed, finder_of(verdict), unsound)
        unsound.append(seed)
    return Search(name, False, bound, unsound=unsound)


def look_for_all(names: Sequence[str], first: int, jobs: int) -> Iterator[Search]:
    """What comes of looking for each, in this order."""
    look = partial(look_for, first=first)
    if jobs == 1:
        yield from map(look, names)
        return
    # A fresh interpreter for each: a bug is in the process that looks for it, and in no other.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        try:
            yield from pool.map(look, names)
        finally:
            pool.shutdown(cancel_futures=True)


def finder_of(verdict: Verdict) -> str:
    """Who found what is wrong with a world."""
    assert verdict.violation is not None
    if "what clients saw" in verdict.violation:
        return "history"
    module = verdict.module.removeprefix("goqueue.")
    if module.startswith("fuzz."):
        lookers = {checker.__name__ for checker in CHECKERS} | {
            type(invariant).__name__ for invariant in invariants(Sight(History()))
        }
        for call in reversed(verdict.place.split(" > ")):
            if (owner := call.partition(".")[0]) in lookers:
                return owner
    return module
