"""`goqueue bench groups` measures what it says, with brokers and members of its own that are gone afterwards."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.cli.test_bench_broker import _processes_of

KEYS = ["rebalance_10th", "group_consume", "group_commit", "cli_start"]


def test_figures_come_from_groups_that_are_gone_afterwards(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "goqueue", "bench", "groups", "--quick", "--json", "--folder", str(tmp_path)]
    only = [word for key in KEYS for word in ("--only", key)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run([*command, *only], capture_output=True, env=environment, timeout=240, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    answer = json.loads(ended.stdout)
    assert sorted(answer["figures"]) == sorted(KEYS)
    assert all(figure["value"] > 0 for figure in answer["figures"].values())
    assert list(tmp_path.iterdir()) == []
    assert not _processes_of(tmp_path)
