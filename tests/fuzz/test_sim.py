"""Simulated worlds: the product keeps its promises, and the same seed gives the same world wherever it is run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from goqueue.cli.main import goqueue
from goqueue.core.partition.partition import Partition
from goqueue.fuzz.history import Violation
from goqueue.fuzz.options import Options
from goqueue.fuzz.process import Process
from goqueue.fuzz.sim import run_world
from goqueue.storage.capture import core_vocabulary
from goqueue.storage.capture_files import list_captures, replay

SEEDS = 120


def test_the_product_keeps_its_promises_and_worlds_reach_what_they_are_for() -> None:
    """Everything that can happen does, within some seeds: a rate that is never drawn would test nothing."""
    happened: set[str] = set()
    for seed in range(SEEDS):
        verdict = run_world(seed)
        assert verdict.violation is None
        happened.update(verdict.counts)
    assert happened >= {
        "bit rot", "clock jump", "crash", "disk full", "failed sync", "failed write", "hang-up", "kill or stop",
        "link cut", "link half open", "link stalled", "part of work StreamJob", "part of work Opening", "pause",
        "patience at its end", "request AlterTopic", "request DeleteTopic", "request Fetch", "request FindOffset",
        "request Publish", "request PublishBatch", "work Compaction", "work Reading", "work Removal",
        "request JoinGroup", "request GroupHeartbeat", "request WatchGroup", "request LeaveGroup", "request PollGroup",
        "request RevokePartitions", "request CommitOffsets", "request FetchOffsets", "request ResetOffsets",
        "request AlterGroup", "request ListGroups", "request DescribeGroup", "request DescribeRebalances",
        "request DeleteGroup",
    }  # fmt: skip


def test_the_same_seed_gives_the_same_world() -> None:
    first, second = run_world(7), run_world(7)
    assert first == second
    assert first.digest != run_world(8).digest


def test_work_in_parts_gives_the_same_world_every_time() -> None:
    options = {"p_split": 1.0, "p_crash": 0.02, "p_cut_inside": 0.02, "p_kill": 0.02}
    verdicts = [run_world(seed, options=Options(**options)) for seed in (1, 2, 1, 2)]  # type: ignore[arg-type]
    assert verdicts[:2] == verdicts[2:]
    assert all(verdict.violation is None for verdict in verdicts)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--nodes", "1", "--seeds", "0..6"), 0),
        (("--nodes", "3", "--seeds", "3..5", "--minutes", "0.1"), 0),
        # Also what a verdict says of who waits for whom.
        (("--seed", "0", "--plant", "lost-with-its-node"), 1),
    ],
)
def test_the_world_does_not_hang_on_the_hash_seed(
    arguments: tuple[str, ...], code: int, pytestconfig: pytest.Config
) -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-m", "goqueue", "sim", *arguments, "--json"],
            cwd=pytestconfig.rootpath,
            env={**os.environ, "PYTHONPATH": str(pytestconfig.rootpath), "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=False,
        )
        for hash_seed in ("1", "2")
    ]
    assert [run.returncode for run in runs] == [code, code]
    assert runs[0].stdout == runs[1].stdout
    if arguments[:2] == ("--nodes", "1"):
        digests = [json.loads(line)["digest"] for line in runs[0].stdout.splitlines()]
        assert digests == [run_world(seed).digest for seed in range(6)]


def test_a_world_that_finds_no_rest_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def turn_for_ever(process: Process, argument: object) -> None:
        process.later(1, process._turn)

    monkeypatch.setattr(Process, "_turn", turn_for_ever)
    verdict = run_world(1, 10)
    assert verdict.violation is not None
    assert Violation.__name__ in verdict.violation
    assert "time hardly passes" in verdict.violation


# --- the command


def said_by(*arguments: str) -> Result:
    """What `goqueue sim` prints of worlds of one node."""
    return CliRunner().invoke(goqueue, ["sim", "--nodes", "1", *arguments])


def broken(partition: Partition) -> None:
    """Stands in for an invariant that does not hold."""
    raise AssertionError("planted")


def test_a_violation_says_how_to_see_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "check", broken)
    result = said_by("--seeds", "6..10", "--steps", "50")
    assert result.exit_code == 1
    assert "violation in seed 6, at step" in result.output
    assert "AssertionError: planted" in result.output
    assert "commit: " in result.output
    assert "producers=" in result.output
    assert "again: goqueue sim --seed 6 --nodes 1 --steps 50 --trace" in result.output
    last = re.search(r"the last (\d+) events:\n((?:  .*\n)+)", result.output)
    assert last is not None
    assert int(last[1]) == len(last[2].splitlines()) > 3
    assert "('hear', 'p0')" in last[2]
    assert said_by("--seeds", "6..10", "--steps", "50").output == result.output


def test_a_violation_is_json_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Partition, "check", broken)
    result = said_by("--seeds", "5..9", "--json")
    assert result.exit_code == 1
    (line,) = result.output.splitlines()
    assert json.loads(line)["seed"] == 5
    assert json.loads(line)["violation"] == "AssertionError: planted"


def test_a_number_is_that_many_worlds() -> None:
    result = said_by("3")
    assert result.exit_code == 0
    assert "3 worlds kept" in result.output


def test_one_world_as_json() -> None:
    result = said_by("--seed", "0", "--json")
    assert result.exit_code == 0
    told = json.loads(result.output)
    verdict = run_world(0)
    assert told["violation"] is None
    assert (told["digest"], told["steps"], told["counts"]) == (verdict.digest, verdict.steps, verdict.counts)
    assert told["options"]["steps"] == verdict.options.steps


def test_many_processes_say_what_one_does() -> None:
    one, two = said_by("--seeds", "0..12", "--json"), said_by("--seeds", "0..12", "--json", "--jobs", "2")
    assert one.output == two.output
    assert len(one.output.splitlines()) == 12


def test_a_trace_and_an_explanation_tell_of_one_world() -> None:
    traced = said_by("--seed", "1", "--trace").output
    assert "('start', " in traced
    assert traced.count("('ask', ") > 20
    explained = said_by("--seed", "1", "--explain").output
    verdict = run_world(1)
    assert f"digest {verdict.digest}" in explained
    assert f"{verdict.counts['request Publish']:6} request Publish\n" in explained


def test_what_a_world_captures_is_replayed_alike(tmp_path: Path) -> None:
    """Every process of a world that crashes is told again what it was told, and says what it said."""
    plain = (run_world(seed) for seed in range(SEEDS))
    # What is captured is replayed by the product with the sizes that it has.
    seed = next(
        one.seed for one in plain if one.counts.get("crash", 0) > 2 and one.options.page_bits == Options().page_bits
    )
    result = said_by("--seed", str(seed), "--json", "--capture", str(tmp_path))
    assert json.loads(result.output)["digest"] == run_world(seed).digest
    outcome = replay(list_captures(str(tmp_path)), core_vocabulary())
    assert outcome.divergence is None
    assert outcome.is_identical
    assert outcome.files == run_world(seed).counts["start"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Which worlds?"),
        (("3", "--seed", "1"), "Which worlds?"),
        (("--seeds", "9..5"), "A below B"),
        (("--seeds", "5"), "A below B"),
        (("--seeds", "a..b"), "A below B"),
        (("0",), "expected a number from 1 on, or explain, found '0'"),
        (("many",), "expected a number from 1 on, or explain, found 'many'"),
        (("4", "--faults", "kill,boredom"), "'boredom' is none of"),
        (("4", "--spare", "1,x"), "numbers between commas"),
        (("4", "--off", "gravity"), "there is no option 'gravity'"),
        (("4", "--trace"), "--trace shows one world"),
        (("4", "--capture", "here"), "--capture is for one world"),
        (("--seed", "1", "--trace", "--json"), "--trace shows one world"),
    ],
)
def test_what_cannot_be_run_is_said(arguments: tuple[str, ...], said: str) -> None:
    result = said_by(*arguments)
    assert result.exit_code == 2
    assert said in result.output
