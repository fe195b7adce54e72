"""./dev where it matters most: when the installation fails, and when there is nothing to install."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What ./dev reads, without .venv."""
    for name in ("dev", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    return tmp_path


def _dev(tree: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [tree / "dev", *arguments], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_an_installation_that_fails_says_so_and_is_not_marked_as_done(tree: Path) -> None:
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tree)}
    for _ in range(2):
        ran = _dev(tree, "run", "version", **offline)
        assert ran.returncode == 1
        assert "dev: installing the run level failed" in ran.stderr
        assert ran.stdout == ""
        assert not list(tree.glob(".venv/.stamp-*"))


def test_an_interpreter_that_will_not_do_is_named(tree: Path) -> None:
    ran = _dev(tree, "run", "version", PYTHON="/bin/false")
    assert ran.returncode == 1
    assert "found no Python 3.11 or newer with pip under PYTHON=/bin/false" in ran.stderr


def test_help_needs_nothing_installed(tree: Path) -> None:
    ran = _dev(tree, "help")
    assert ran.returncode == 0
    assert not (tree / ".venv").exists()
    makefile = (ROOT / "Makefile").read_text()
    for command in ("run", "bench", "test", "check", "fmt", "cover", "proto", "fuzz", "lock"):
        assert f"\n  {command} " in ran.stdout
        assert f" {command}" in makefile


def test_a_command_it_does_not_have_is_refused_with_the_overview(tree: Path) -> None:
    ran = _dev(tree, "tset")
    assert ran.returncode == 1
    assert "no command `tset`" in ran.stderr
    assert "./dev COMMAND" in ran.stderr


def test_fuzz_asks_for_how_long(tree: Path) -> None:
    ran = _dev(tree, "fuzz")
    assert ran.returncode == 1
    assert "SECONDS" in ran.stderr
    assert not (tree / ".venv").exists()
