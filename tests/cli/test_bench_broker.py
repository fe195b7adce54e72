"""`goqueue bench broker` measures what it says, against brokers of its own that are gone afterwards."""

import json
import os
import subprocess
import sys
from pathlib import Path

KEYS = ["publish_batches", "publish_records", "fetch_records", "publish_one_grpc", "end_to_end", "rest_batch_100"]


def test_figures_come_from_brokers_that_are_gone_afterwards(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "goqueue", "bench", "broker", "--quick", "--json", "--folder", str(tmp_path)]
    only = [word for key in KEYS for word in ("--only", key)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run([*command, *only], capture_output=True, env=environment, timeout=240, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
    answer = json.loads(ended.stdout)
    assert sorted(answer["figures"]) == sorted(KEYS)
    assert all(figure["value"] > 0 for figure in answer["figures"].values())
    assert answer["figures"]["publish_batches"]["ratio"] > 0
    assert list(tmp_path.iterdir()) == []
    assert not _processes_of(tmp_path)


def test_an_unknown_figure_is_refused_with_the_known_ones() -> None:
    command = [sys.executable, "-m", "goqueue", "bench", "broker", "--only", "speed"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ended = subprocess.run(command, capture_output=True, env=environment, timeout=60, check=False)
    assert ended.returncode == 2
    assert b"publish_batches" in ended.stderr


def _processes_of(folder: Path) -> list[str]:
    """Processes whose command names a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_text()
        except OSError:
            continue
        if str(folder) in command and str(os.getpid()) != path.parent.name:
            found.append(command)
    return found
