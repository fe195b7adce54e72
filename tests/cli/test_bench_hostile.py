"""`goqueue bench hostile`: every attack and its bars, and one that is carried out briefly."""

import json
from pathlib import Path

import pytest
from attrs import evolve

from goqueue.cli.bench import command
from goqueue.cli.bench.command import answer, entries_of, take
from goqueue.cli.bench.sizes import FULL, QUICK

PARTS = ["rss_mb", "after_mb", "health_ms", "health_failures", "reader_ratio"]
BARS = ["rss_mb < 300", "after_mb < 50", "health_ms < 250", "health_failures < 1", "reader_ratio >= 0.5"]
ATTACKS = ["closed_window_http", "closed_window_grpc", "slow_headers", "floods"]


def test_each_attack_has_the_same_bars() -> None:
    assert {entry.key: [str(bar) for bar in entry.bars] for entry in entries_of("hostile", FULL)} == dict.fromkeys(
        ATTACKS, BARS
    )


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_ends_by_itself_and_the_broker_stays_within_its_memory(tmp_path: Path, attack: str) -> None:
    entries = [entry for entry in entries_of("hostile", QUICK) if entry.key == attack]
    figures = take(entries, evolve(QUICK, attack_seconds=1.0), tmp_path, lambda *_: None)
    found = json.loads(json.dumps(answer("hostile", figures, {})))["figures"][attack]
    assert list(found)[-len(PARTS) :] == PARTS
    assert 0 < found["rss_mb"] < 300
    assert list(tmp_path.iterdir()) == []


def test_the_command_is_there() -> None:
    assert "hostile" in command.bench.commands
