"""`goqueue bench cluster` measures what the page names, with brokers of its own that are gone afterwards."""

import json
import os
import subprocess
import sys
from pathlib import Path

from goqueue.cli.bench.command import entries_of
from goqueue.cli.bench.sizes import FULL
from tests.cli.test_bench_broker import _processes_of

OUTAGE = ["p50_ms < 3,000", "p99_ms < 5,000"]
BARS = {
    "failover": ["value < 5", "p50_ms < 3,000"],
    "controller_killed": ["value < 5", "p50_ms < 3,000"],
    "coordinator_killed": ["value < 5", "p50_ms < 3,000"],
    "handover_pause": ["value < 0.3"],
    "outage_stop": OUTAGE,
    "outage_isolate": OUTAGE,
    "outage_kill": OUTAGE,
    "outage_term": OUTAGE,
    "outage_grow": OUTAGE,
    "replicated": ["ratio >= 0.3"],
    "replicated_synced": [],
    "catch_up": ["ratio >= 0.4"],
}
KEYS = ["failover", "replicated"]


def test_every_figure_has_the_bar_that_the_page_names() -> None:
    assert {entry.key: [str(bar) for bar in entry.bars] for entry in entries_of("cluster", FULL)} == BARS


def test_figures_come_from_clusters_that_are_gone_afterwards(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "goqueue", "bench", "cluster", "--quick", "--json", "--folder", str(tmp_path)]
    only = [word for key in KEYS for word in ("--only", key)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run([*command, *only], capture_output=True, env=environment, timeout=280, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    answer = json.loads(ended.stdout)
    assert list(answer["figures"]) == KEYS
    assert all(figure["value"] > 0 for figure in answer["figures"].values())
    assert answer["figures"]["replicated"]["ratio"] > 0
    assert list(tmp_path.iterdir()) == []
    assert not _processes_of(tmp_path)
