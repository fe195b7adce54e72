"""`goqueue demo` does what the README promises of it: a killed writer, and every acknowledged message back."""

import re
import subprocess
import sys
from pathlib import Path


def test_the_demonstration_ends_with_every_acknowledged_message(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "goqueue", "demo", "--seconds", "0.3"]
    said = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60)
    assert said.returncode == 0, said.stderr
    promised = re.search(r"([\d,]+) messages acknowledged", said.stdout)
    assert promised is not None
    assert int(promised.group(1).replace(",", "")) > 0
    assert f"All {promised.group(1)} acknowledged messages are there" in " ".join(said.stdout.split())
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_was_named_is_kept_and_used_again(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "goqueue", "demo", "--seconds", "0.1", "--folder", str(tmp_path / "kept")]
    for _ in range(2):
        said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert said.returncode == 0, said.stderr
    assert (tmp_path / "kept" / "logs" / "demo" / "0" / "checkpoint").exists()
