"""`goqueue chaos`: a short real storm, a history that is judged, and command lines that cannot be meant."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from goqueue.cli.main import goqueue
from goqueue.fuzz.histories.form import lines_of, read_history
from goqueue.fuzz.histories.judge import judge
from tests.fuzz.histories.model import correct_story
from tests.fuzz.histories.story import Story

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="brokers have loopback addresses of their own")


def said_by(*arguments: str) -> Result:
    """What `goqueue chaos` prints."""
    return CliRunner().invoke(goqueue, ["chaos", *arguments])


def written(path: Path, story: Story) -> str:
    """A file with a history."""
    path.write_text("".join(f"{line}\n" for line in lines_of(story.recorder.history)))
    return str(path)


def test_a_history_that_is_valid_is_said_to_be(tmp_path: Path) -> None:
    result = said_by("--check", written(tmp_path / "valid", correct_story(Random(1), 100)))
    assert result.exit_code == 0
    assert result.output.startswith("verdict: valid\n")
    assert "publish  " in result.output


def test_a_history_that_is_not_valid_is_explained(tmp_path: Path) -> None:
    story = correct_story(Random(1), 100)
    story.poll("s", None, "nobody's", at=500)
    path = written(tmp_path / "invalid", story)
    result = said_by("--check", path)
    assert result.exit_code == 1
    assert "unexpected: nobody's was read at orders/0@500, and nobody published it\n    #" in result.output
    told = json.loads(said_by("--check", path, "--json").output)
    assert told["result"] == "invalid"
    assert told["findings"][0]["operations"] == [story.recorder.history.operations[-1].serial]


def test_an_empty_history_is_no_valid_one(tmp_path: Path) -> None:
    result = said_by("--check", written(tmp_path / "empty", Story()))
    assert result.exit_code == 2
    assert "not judged: nothing was published and acknowledged" in result.output


def test_what_is_no_history_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nonsense"
    path.write_text("{}\n")
    done = subprocess.run(
        [sys.executable, "-m", "goqueue", "chaos", "--check", str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "is no history: line 1: expected the header of a history" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--faults", "kill,boredom"), "'boredom' is none of kill, stop"),
        (("--seconds", "60", "--minutes", "1"), "Either --seconds or --minutes"),
        (("--seconds", "1"), "1.0 is not in the range"),
        (("--nodes", "2"), "2 is not in the range"),
        (("--rate", "0"), "0.0 is not in the range"),
        (("--seed", "-1"), "-1 is not in the range"),
        (("--check", "nowhere"), "'nowhere' does not exist"),
    ],
)
def test_what_cannot_be_meant_is_said(arguments: tuple[str, ...], said: str) -> None:
    result = said_by(*arguments)
    assert result.exit_code == 2
    assert said in result.output


def test_a_folder_that_is_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "something").write_text("")
    result = said_by("--folder", str(tmp_path))
    assert result.exit_code != 0
    assert "is not empty" in str(result.exception)
    assert [each.name for each in tmp_path.iterdir()] == ["something"]


# --- real brokers


def begun(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """A storm that has begun, in a process of its own."""
    command = [sys.executable, "-m", "goqueue", "chaos", "--folder", str(folder), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def brokers_of(folder: Path) -> list[int]:
    """The processes that work in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"serve" in words and any(str(folder).encode() in word for word in words):
                found.append(int(entry.name))
    return found


@pytest.mark.parametrize("network", [(), ("--proxies",)], ids=["as it comes", "by proxies"])
def test_a_short_storm_leaves_a_valid_history_and_nothing_else(tmp_path: Path, network: tuple[str, ...]) -> None:
    folder, history = tmp_path / "storm", tmp_path / "history.jsonl"
    storm = begun(
        folder, "--seed", "3", "--seconds", "15", "--rate", "10", "--faults", "kill,stop,cut", "--json",
        "--history", str(history), *network,
    )  # fmt: skip
    said, noise = storm.communicate()
    assert storm.returncode == 0, said + noise
    told = json.loads(said)
    assert told["result"] == "valid"
    assert told["again"].startswith("goqueue chaos --seed 3 --seconds 15 --faults kill,stop,cut --rate 10")
    assert told["faults"]
    for verb in ("publish", "publish_later", "poll", "commit", "receive", "ack", "drained", "letters"):
        assert told["counts"][verb]["ok"] > 0, verb
    assert judge(read_history(history.read_text().splitlines())).as_json()["counts"] == told["counts"]
    assert brokers_of(folder) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_storm_leaves_no_broker(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "storm"
    storm = begun(folder, "--seed", "3", "--seconds", "60", "--faults", "stop")
    assert storm.stderr is not None
    for line in storm.stderr:
        if line.startswith("made topic jobs"):
            break
    assert len(brokers_of(folder)) == 3
    storm.send_signal(number)
    storm.communicate()
    assert storm.returncode == 130
    assert brokers_of(folder) == []
