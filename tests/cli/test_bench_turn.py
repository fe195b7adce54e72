"""`goqueue bench turn` measures what it says, and a profile names the functions of a turn."""

import json
import os
import subprocess
import sys
from pathlib import Path

from goqueue.cli.bench.command import entries_of
from goqueue.cli.bench.driven_node import DrivenNode
from goqueue.cli.bench.sizes import FULL, CrowdSize
from goqueue.cli.bench.turn_crowd import gather
from goqueue.core.requests.groups import ListGroups
from goqueue.core.requests.queues import MeasureWork, WorkMeasured
from goqueue.core.requests.topics import ListTopics
from goqueue.core.services.secrets import Secrets
from tests.cli.test_bench_broker import _processes_of

BARS = {"turn_one": ["value < 35"], "turn_one_crowded": ["ratio < 1.3"], "serve_one": ["value < 120"]}


def bench(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """A quick run."""
    command = [sys.executable, "-m", "goqueue", "bench", "turn", "--quick", "--folder", str(folder), *options]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(command, capture_output=True, env=environment, timeout=120, check=False, text=True)


def test_every_figure_has_the_bar_that_the_page_names() -> None:
    assert {entry.key: [str(bar) for bar in entry.bars] for entry in entries_of("turn", FULL)} == BARS


def test_the_crowd_is_as_large_as_its_title_says() -> None:
    _, crowded, _ = entries_of("turn", FULL)
    assert "10,000 partitions, 1,000 groups, 100,000 producers, 100,000 leases" in crowded.title


def test_a_crowd_is_what_its_size_says(tmp_path: Path) -> None:
    parts: list[float] = []
    with DrivenNode(tmp_path, Secrets(os.urandom)) as node:
        gather(node, CrowdSize(partitions=105, groups=3, producers=210, leases=1_250), parts.append)
        topics = {topic.name: topic for topic in node.demand(ListTopics(), list)}
        assert {name: topics[name].partitions for name in topics if name.startswith("crowd")} == {
            "crowd-0": 100,
            "crowd-1": 5,
        }
        written = sum(end for name in ("crowd-0", "crowd-1") for _, end in topics[name].offsets.values())
        assert written == 105 + 210
        groups = {group.group: len(group.members) for group in node.demand(ListGroups(), list)}
        assert groups == {"group-0": 1, "group-1": 1, "group-2": 1, "workers": 2}
        (queue,) = node.demand(MeasureWork(), WorkMeasured).queues
        assert queue.in_flight == 1_250
    assert parts == sorted(parts)
    assert parts[-1] == 1


def test_figures_are_microseconds_and_leave_nothing_behind(tmp_path: Path) -> None:
    ended = bench(tmp_path, "--json")
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)
    assert answer["name"] == "turn"
    assert list(answer["figures"]) == list(BARS)
    assert {figure["unit"] for figure in answer["figures"].values()} == {"us"}
    assert answer["figures"]["turn_one"]["value"] > 0
    crowded = answer["figures"]["turn_one_crowded"]
    assert crowded["value"] > 0
    assert crowded["limit"] > 0
    assert crowded["ratio"] > 0
    assert answer["figures"]["serve_one"]["p50_ms"] > 0
    assert list(tmp_path.iterdir()) == []
    assert not _processes_of(tmp_path)


def test_a_profile_names_the_functions_that_take_most(tmp_path: Path) -> None:
    ended = bench(tmp_path, "--profile")
    assert ended.returncode == 0, ended.stderr
    heading, _, columns, *rows = ended.stdout.splitlines()
    assert heading.startswith("turn_one: the 25 functions")
    assert columns.split() == ["own", "us", "all", "us", "calls", "function"]
    assert len(rows) == 25
    assert any("core/node.py" in row for row in rows)
    assert list(tmp_path.iterdir()) == []


def test_profiles_of_other_figures_are_asked_for_by_name(tmp_path: Path) -> None:
    ended = bench(tmp_path, "--profile", "--only", "serve_one", "--only", "turn_one_crowded")
    assert ended.returncode == 0, ended.stderr
    headings = [line.partition(":")[0] for line in ended.stdout.splitlines() if " functions that take most" in line]
    assert headings == ["turn_one_crowded", "serve_one"]
    assert not _processes_of(tmp_path)


def test_a_profile_is_no_json(tmp_path: Path) -> None:
    ended = bench(tmp_path, "--profile", "--json")
    assert ended.returncode == 2
    assert "--json" in ended.stderr
