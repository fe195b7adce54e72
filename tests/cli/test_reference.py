"""The page about the command line says what the commands say."""

import os
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


def test_the_page_is_current() -> None:
    # In a process of its own: click keeps what a command's help was when it was first asked, here by other tests.
    command = [sys.executable, "-m", "goqueue.cli.reference"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "COLUMNS": "80"}
    written = subprocess.run(command, capture_output=True, env=environment, check=True, timeout=60).stdout.decode()
    assert PAGE.read_text() == written, "write it with: python -m goqueue.cli.reference > docs/cli.md"
