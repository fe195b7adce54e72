"""The lock files hold exact versions with hashes, come from no index in particular, and fit pyproject.toml."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.tree import ROOT, project

LOCKS = ROOT / ".ci" / "lock"

# One requirement with its continuation lines; comments are dropped before.
PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^\s;]+)( ;.*?)?( --hash=sha256:[0-9a-f]{64})+")


def pins(text: str) -> dict[str, set[str]]:
    """Distribution -> its pinned versions: several when markers choose among them."""
    found: dict[str, set[str]] = {}
    for line in _requirements(text):
        if pin := PIN.fullmatch(line):
            found.setdefault(canonicalize_name(pin["name"]), set()).add(pin["version"])
    return found


def _requirements(text: str) -> list[str]:
    uncommented = re.sub(r"(?m)^\s*#.*\n?", "", text).replace("\\\n", "")
    return [re.sub(r"\s+", " ", line).strip() for line in uncommented.splitlines() if line.strip()]


def loose(text: str) -> Iterator[str]:
    """Lines that are not one exact version with its hashes: options, addresses, ranges."""
    yield from (line for line in _requirements(text) if not PIN.fullmatch(line))


def unmet(wanted: Iterable[str], text: str) -> Iterator[str]:
    """Requirements that the lock does not satisfy."""
    pinned = pins(text)
    for written in wanted:
        requirement = Requirement(written)
        versions = pinned.get(canonicalize_name(requirement.name), set())
        if not versions or not all(requirement.specifier.contains(version, prereleases=True) for version in versions):
            yield f"{written} (locked: {', '.join(sorted(versions)) or 'not at all'})"


def _wanted(level: str) -> list[str]:
    settings = project()
    groups: dict[str, list[Any]] = settings["dependency-groups"]
    wanted = [*settings["project"]["dependencies"], *groups["build"]]
    if level == "dev":
        wanted += [entry for entry in groups["dev"] if isinstance(entry, str)]
        wanted += settings["project"]["optional-dependencies"]["spark"]
    return wanted


def _lock(level: str) -> str:
    return Path(LOCKS / f"{level}.txt").read_text()


@pytest.mark.parametrize("level", ["run", "dev"])
def test_every_line_of_a_lock_is_one_version_with_hashes(level: str) -> None:
    said = list(loose(_lock(level)))
    assert not said, f"make .ci/lock/{level}.txt with ./dev lock; it holds {said}"


@pytest.mark.parametrize("level", ["run", "dev"])
def test_a_lock_satisfies_what_pyproject_asks_for(level: str) -> None:
    said = list(unmet(_wanted(level), _lock(level)))
    assert not said, f"run ./dev lock: .ci/lock/{level}.txt does not fit {'; '.join(said)}"


def test_both_levels_pin_the_same_versions() -> None:
    run, dev = pins(_lock("run")), pins(_lock("dev"))
    differing = {name: (versions, dev.get(name)) for name, versions in run.items() if dev.get(name) != versions}
    assert not differing, f"run ./dev lock: the levels differ in {differing}"


@pytest.mark.parametrize(
    "line",
    [
        "attrs>=25",
        "attrs==26.1.0",
        "--index-url https://mirror.example/",
        "attrs @ https://mirror.example/attrs.whl",
        "-e .",
        f"attrs==26.1.0 --hash=md5:{'0' * 32}",
    ],
)
def test_a_line_that_pins_nothing_is_found(line: str) -> None:
    assert list(loose(line)) == [line]


def test_a_requirement_the_lock_does_not_meet_is_found() -> None:
    lock = f"attrs==26.1.0 ; python_version < '4' \\\n    --hash=sha256:{'0' * 64}\n    # via goqueue\n"
    assert list(unmet(["attrs>=25"], lock)) == []
    assert list(unmet(["attrs>=27"], lock)) == ["attrs>=27 (locked: 26.1.0)"]
    assert list(unmet(["click"], lock)) == ["click (locked: not at all)"]
