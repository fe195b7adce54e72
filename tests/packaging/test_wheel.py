"""A wheel built from a clean copy of the tree is complete, holds nothing else, and runs without the tree."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from goqueue import __version__
from tests.architecture.tree import LEFT_BEHIND, ROOT
from tests.packaging.shipped import folders, modules

BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as pip would, offline. The copy is clean: an old build/ would leak what was removed since."""
    room = tmp_path_factory.mktemp("wheel")
    tree = room / "tree"
    tree.mkdir()
    for folder in folders().values():
        shutil.copytree(ROOT / folder, tree / folder, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
    for name in ("pyproject.toml", "LICENSE", "README.md"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, tree)
    built = subprocess.run(
        [sys.executable, "-c", BUILD, str(room)], cwd=tree, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return room / built.stdout.splitlines()[-1]


def test_it_holds_every_module_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == modules()
    assert not [name for name in held if "tests" in name.split("/") or name.rpartition("/")[2].startswith("test_")]


def test_its_summary_names_nothing_that_is_not_there(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        (summary,) = (line for line in archive.read(metadata).decode().splitlines() if line.startswith("Summary: "))
    (sentence,) = re.findall(r"Not there yet: ([^.]+)\.", (ROOT / "README.md").read_text())
    missing = sentence.replace("\n", " ").split(", ")
    assert not [each for each in (*missing, "tracing") if each in summary]


def test_it_carries_its_licence_and_its_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        named = {name.partition(".dist-info/")[2]: name for name in archive.namelist()}
        assert "licenses/LICENSE" in named
        assert "goqueue = goqueue.cli.main:main" in archive.read(named["entry_points.txt"]).decode()


@pytest.mark.parametrize("safe_path", ["", "1"])
def test_unpacked_it_runs_without_the_tree(wheel: Path, tmp_path: Path, safe_path: str) -> None:
    installed = tmp_path / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(installed)
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": safe_path}
    ran = subprocess.run(
        [sys.executable, "-m", "goqueue", "version"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(f"goqueue {__version__} ")
    seen = subprocess.run(
        [sys.executable, "-c", "import goqueue.core; print(goqueue.core.__file__)"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert Path(seen.stdout.strip()) == installed / "goqueue" / "core" / "__init__.py"
