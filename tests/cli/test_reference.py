"""The pages about the command line say what the commands say."""

import os
import re
import subprocess
import sys
from pathlib import Path

from goqueue.cli.main import COMMANDS

FOLDER = Path(__file__).parents[2] / "docs" / "cli"


def written(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """What comes of writing the pages, or of checking them."""
    # In a process of its own: click keeps what a command's help was when it was first asked, here by other tests.
    command = [sys.executable, "-m", "goqueue.cli.reference", str(folder), *options]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "COLUMNS": "80"}
    return subprocess.run(command, capture_output=True, env=environment, check=False, timeout=60, text=True)


def test_the_pages_are_current() -> None:
    ended = written(FOLDER, "--check")
    assert ended.returncode == 0, f"{ended.stdout}{ended.stderr}write it: python -m goqueue.cli.reference docs/cli"


def test_pages_are_written_removed_and_checked(tmp_path: Path) -> None:
    (tmp_path / "topic.md").write_text("# Another\n")
    (tmp_path / "gone.md").write_text("# A command that is no more\n")
    checked = written(tmp_path, "--check")
    assert checked.returncode == 1
    assert {"README.md", "gone.md", "serve.md", "topic.md"} <= {
        Path(each.split()[0]).name for each in checked.stdout.splitlines()
    }
    assert (tmp_path / "gone.md").exists()
    assert written(tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in FOLDER.iterdir())
    assert written(tmp_path, "--check").returncode == 0


def test_every_command_has_a_page_and_every_link_a_target() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {"README", "version", *COMMANDS}
    for page in FOLDER.iterdir():
        for path, anchor in re.findall(r"\]\(([\w./-]*)#?([\w-]*)\)", page.read_text()):
            target = (FOLDER / path) if path else page
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            assert not anchor or anchor in {each.lower().replace(" ", "-") for each in headings}, (page, path, anchor)
