"""Without a Java the tests of Spark are skipped, and the summary says so in one line."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with our conftest and one test on either side of the line."""
    (tmp_path / "tests" / "spark").mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests")
    (tmp_path / "tests" / "test_here.py").write_text("def test_here(): pass\n")
    (tmp_path / "tests" / "spark" / "test_there.py").write_text("def test_there(): pass\n")
    return tmp_path


def _pytest(tree: Path, java: str) -> str:
    """The words of a run with a `java` that is nothing but the given shell script."""
    (tree / "bin").mkdir()
    (tree / "bin" / "java").write_text(f"#!/bin/sh\n{java}\n")
    (tree / "bin" / "java").chmod(0o755)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests"],
        cwd=tree, env={**os.environ, "JAVA_HOME": str(tree)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_with_a_java_that_fails_spark_is_skipped_and_said(tree: Path) -> None:
    said = _pytest(tree, "exit 1")
    assert "Spark: 1 skipped, because no Java runs here." in said
    assert "1 passed, 1 skipped" in said.splitlines()[-1]


def test_with_a_java_that_starts_spark_is_tested(tree: Path) -> None:
    said = _pytest(tree, "exit 0")
    assert "Spark" not in said
    assert "2 passed" in said.splitlines()[-1]
