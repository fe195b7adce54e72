"""What the clients of simulated worlds saw: bugs show in it, and what is written down can be judged again."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from goqueue.cli.main import goqueue
from goqueue.fuzz.case import Case
from goqueue.fuzz.histories.form import lines_of, read_history
from goqueue.fuzz.histories.judge import judge
from goqueue.fuzz.histories.operation import End, History, Operation, Verb
from goqueue.fuzz.histories.recorder import Recorder
from goqueue.fuzz.histories.verdict import Result as Judged
from goqueue.fuzz.plants import lone, planted
from goqueue.fuzz.sim import run_world
from goqueue.fuzz.world import World

_S = 1_000_000_000


def seen_with(plant: str, seed: int) -> History:
    """What clients saw of a world with a bug while there was trouble, with nobody else to look for the bug."""
    options = Case(seed, plant=plant).options()
    with planted(plant):
        world = World(seed, options)
        world.checkers.clear()
        world.begin()
        while world.step(options.seconds * _S):
            pass
        world.close()
    return world.scribe.recorder.history


@pytest.mark.parametrize(
    ("plant", "anomaly"),
    [
        ("lease-not-fenced", "double-lease"),
        ("offset-commit-lost", "stale-commit"),
        ("schedule-moved-twice", "duplicate"),
    ],
)
def test_a_planted_bug_is_found_by_the_history_alone(plant: str, anomaly: str) -> None:
    found: set[str] = set()
    for seed in range(5):
        found |= {one.anomaly for one in judge(seen_with(plant, seed)).findings}
        if anomaly in found:
            return
    pytest.fail(f"five worlds, and their clients saw only {found or 'what they may'}")


def test_a_world_whose_clients_saw_what_they_must_not_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict on the history is one of the world: here everything that is published seems to be refused."""
    monkeypatch.setattr(Recorder, "ok", forgetful)
    verdict = run_world(1, options=lone.quiet())
    assert verdict.violation is not None
    assert "what clients saw: aborted-read" in verdict.violation


def forgetful(recorder: Recorder, operation: Operation, **told: object) -> None:
    """Stands in for `Recorder.ok`."""
    operation.told = told
    recorder._end(operation, End.FAIL if operation.verb is Verb.PUBLISH else End.OK, "")


def said_by(*arguments: str) -> Result:
    """What `goqueue` prints."""
    return CliRunner().invoke(goqueue, [*arguments])


def test_the_history_of_a_world_is_written_and_judged_again(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    assert said_by("sim", "--nodes", "1", "--seed", "1", "--history", str(path)).exit_code == 0
    history = read_history(path.read_text().splitlines())
    assert [*lines_of(history)] == path.read_text().splitlines()
    verdict = judge(history)
    assert verdict.result is Judged.VALID, verdict.text()
    assert verdict.counts["publish"].ok > 10
    checked = said_by("chaos", "--check", str(path), "--json")
    assert checked.exit_code == 0
    assert json.loads(checked.output)["counts"]["poll"]["ok"] == verdict.counts["poll"].ok


def test_histories_of_worlds_have_something_of_everything() -> None:
    """Else their checkers would look at nothing."""
    missing = {
        "publish", "publish_later", "poll", "assign", "commit", "committed", "reset", "receive", "ack", "nack",
        "reject", "extend", "release", "leave", "create", "alter", "delete", "describe",
    }  # fmt: skip
    for seed in range(150):
        world = World(seed, Case(seed, nodes=1).options())
        world.begin()
        while world.steps < world.options.steps and world.step():
            pass
        world.close()
        history = world.scribe.recorder.history
        missing -= {one.verb for one in history.operations if one.is_ok}
        assert [*lines_of(read_history(lines_of(history)))] == [*lines_of(history)]
        if not missing:
            return
    pytest.fail(f"150 worlds, and none of their clients saw {missing}")


def test_a_history_is_of_one_world(tmp_path: Path) -> None:
    result = said_by("sim", "3", "--history", str(tmp_path / "x"))
    assert result.exit_code == 2
    assert "--history is for one world" in result.output
