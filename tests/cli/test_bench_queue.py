"""`goqueue bench queue` measures what it says, with brokers of its own that are gone afterwards."""

import json
import os
import subprocess
import sys
from pathlib import Path

from goqueue.cli.bench.command import entries_of
from goqueue.cli.bench.sizes import FULL
from tests.cli.test_bench_broker import _processes_of

BARS = {
    "work_queue": ["value >= 100,000"],
    "poll_ack_100": ["value >= 40,000"],
    "ack_one": ["value >= 8,000"],
    "wheel_insert": ["value >= 1,000,000"],
    "wheel_cancel": ["value >= 1,000,000"],
    "wheel_expire": ["value >= 1,000,000"],
    "wheel_bytes": ["value < 100"],
    "poll_scattered": ["value < 5"],
    "delayed_1m_rss": ["value < 400"],
    "delayed_1m_restart": ["value < 15"],
    "delay_late": ["p99_ms < 10"],
    "burst_100k": ["value < 2", "p99_ms < 50"],
}


def test_every_figure_has_the_bar_that_the_page_names() -> None:
    assert {entry.key: [str(bar) for bar in entry.bars] for entry in entries_of("queue", FULL)} == BARS


def test_figures_come_from_brokers_that_are_gone_afterwards(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "goqueue", "bench", "queue", "--quick", "--json", "--folder", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run(command, capture_output=True, env=environment, timeout=240, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    answer = json.loads(ended.stdout)
    assert list(answer["figures"]) == list(BARS)
    assert all(answer["figures"][key]["value"] > 0 for key in BARS if key != "delayed_1m_rss")
    assert list(tmp_path.iterdir()) == []
    assert not _processes_of(tmp_path)
