"""A simulator that finds nothing proves nothing: each promise is broken on purpose, and has to be missed."""

import pytest

from goqueue.fuzz.checkers import CHECKERS, OF_CLUSTERS
from goqueue.fuzz.scribing.scribe import Scribe
from goqueue.fuzz.sim import run_world
from tests.fuzz.planted_bugs import BUGS as BUGS_OF_LOGS
from tests.fuzz.planted_bugs import Bug
from tests.fuzz.planted_group_bugs import GROUP_BUGS
from tests.fuzz.planted_removal_bugs import REMOVAL_BUGS
from tests.fuzz.planted_work_bugs import WORK_BUGS

SEEDS = 60
BUGS = (*BUGS_OF_LOGS, *REMOVAL_BUGS, *GROUP_BUGS, *WORK_BUGS)


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_a_planted_bug_is_found(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    # What clients saw shows some of them sooner; test_scribing.py asks for that.
    monkeypatch.setattr(Scribe, "judge", unasked)
    bug.plant(monkeypatch)
    for seed in range(SEEDS):
        verdict = run_world(seed, options=bug.worlds())
        if verdict.violation is not None:
            assert bug.said in verdict.violation
            return
    pytest.fail(f"{SEEDS} worlds, and none shows it")


def unasked(_: Scribe) -> None:
    """Stands in for the verdict on the history."""


def test_the_worlds_of_the_bugs_are_sound_without_them() -> None:
    for worlds in dict.fromkeys(bug.worlds for bug in BUGS):
        assert run_world(1, options=worlds()).violation is None


def test_every_checker_is_the_first_to_find_some_bug() -> None:
    found: set[str] = set()
    for bug in BUGS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Scribe, "judge", unasked)
            bug.plant(patch)
            verdicts = (run_world(seed, options=bug.worlds()) for seed in range(SEEDS))
            verdict = next(verdict for verdict in verdicts if verdict.violation is not None)
        found.update(checker.__name__ for checker in CHECKERS if f"{checker.__name__}." in verdict.place)
    # Those of clusters have theirs in test_planted_cluster_bugs.py.
    assert found >= {checker.__name__ for checker in CHECKERS if checker not in OF_CLUSTERS}
