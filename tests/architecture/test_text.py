"""What no file of the tree may hold: one machine's paths, one network's hosts, unfinished work, what tools made."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch

import pytest

from tests.architecture.tree import ROOT, demand, files

# Put together from pieces, so that this file does not hold them either.
HOMES = ("ho" + "me", "Us" + "ers", "ro" + "ot", "wo" + "rk", "fa" + "rm")
REGISTRIES = (r"pypi\.org", "pythonhosted", r"registry\.", r"/simple/?$")
UNFINISHED = ("TO" + "DO", "FIX" + "ME", "X" * 3, "Not" + "ImplementedError")

BANNED = {
    rf"(?<![\w.~}}-])/(?:{'|'.join(HOMES)})/\w": "is a path of one machine; make it relative, or an argument",
    rf"://\S*(?:{'|'.join(REGISTRIES)})": "names a package index; which one to use is the machine's choice",
    rf"\b(?:{'|'.join(UNFINISHED)})\b": "marks unfinished work; finish it, or leave it out altogether",
}

# Tools write these; a clone makes its own. The locks are made too, but they are the decision, not a result of it.
MADE = (
    "*.pyc", "*.pyo", "*.so", "*.whl", "*.egg-info/*", "*__pycache__/*", ".coverage*", "build/*", "dist/*", "*_cache/*",
    ".venv/*", ".hypothesis/*", "*.orig", "*.rej", "*~", "*.swp", "goqueue-data/*",
)  # fmt: skip


def misplaced(path: str, text: str) -> Iterator[str]:
    """Lines that belong to one machine, one network or one moment."""
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, advice in BANNED.items():
            if found := re.search(pattern, line):
                yield f"{path}:{number} {found.group()!r} {advice}"


def made(path: str) -> bool:
    """Whether tools write it."""
    return any(fnmatch(path, pattern) or fnmatch(path, f"*/{pattern}") for pattern in MADE)


def test_the_tree_belongs_to_no_machine_and_no_moment() -> None:
    said: list[str] = []
    for path in files():
        name = str(path.relative_to(ROOT))
        if name != "LICENSE":
            said += misplaced(name, path.read_text(errors="replace"))
    demand("\n".join(said))


def test_nothing_made_by_tools_is_committed() -> None:
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("no git clone")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    said = [path for path in listed.stdout.splitlines() if made(path)]
    assert not said, f"remove these from git and name them in .gitignore: {' '.join(said)}"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"cache = '/{HOMES[0]}/ann/.cache'", "one machine"),
        (f"#!/{HOMES[3]}/main/dev", "one machine"),
        (f"PYTHONPATH=/{HOMES[2]}/x", "one machine"),
        ("--index-url https://" + "pypi" + ".org/" + "simple", "package index"),
        ("https://mirror.example/api/" + "sim" + "ple/", "package index"),
        (f"x = 1  # {UNFINISHED[0]}: the rest", "unfinished"),
        (f"raise {UNFINISHED[3]}", "unfinished"),
    ],
)
def test_a_misplaced_line_is_named(line: str, said: str) -> None:
    assert said in "".join(misplaced("x.py", line))


@pytest.mark.parametrize(
    "line",
    ["/var/lib/goqueue", "https://kafka.apache.org/documentation/", f"docs/{HOMES[3]}/x", "~/.goqueue/config.yaml"],
)
def test_an_ordinary_line_is_left_alone(line: str) -> None:
    assert not list(misplaced("x.py", line))


@pytest.mark.parametrize("path", ["core/__pycache__/a.pyc", "goqueue.egg-info/PKG-INFO", "build/lib/a.py", ".coverage"])
def test_what_tools_make_is_known(path: str) -> None:
    assert made(path)


def test_what_people_write_is_not_taken_for_made() -> None:
    assert not any(made(path) for path in ("core/log/log.py", ".ci/lock/run.txt", ".gitignore", "docs/build.md"))
