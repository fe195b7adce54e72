"""The source tree as the architecture tests see it: files, their text and their syntax.

It walks folders and asks git nothing, so that a tree from an archive is judged like a clone. A checker is a function
from a `Source` to sentences, each naming the place and what to do about it; `sample` makes a `Source` out of a few
lines, with which every checker is shown to be able to fail.
"""

import ast
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

# What tools and the product itself leave behind: .gitignore names the same.
LEFT_BEHIND = {"__pycache__", "build", "dist", "goqueue-data"}

# The packages at the top of the tree; those that do not exist yet are allowed to come.
ROOMS = ("cli", "core", "fuzz", "goqueue", "proto", "spark", "storage", "transports")

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (ast.ClassDef, *FUNCTIONS)


class Source:
    """One Python file, by its path from the root."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text

    @property
    def room(self) -> str:
        """The folder at the top that it belongs to."""
        return self.path.partition("/")[0]

    @property
    def generated(self) -> bool:
        """Whether a program wrote it, which its first line says."""
        return "generated" in self.text.partition("\n")[0].lower()

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax."""
        return ast.parse(self.text, self.path)

    def at(self, node: ast.AST) -> str:
        """A place in it, the way editors open it."""
        return f"{self.path}:{getattr(node, 'lineno', 1)}"

    def imports(self) -> Iterator[tuple[ast.AST, str]]:
        """Every imported module or name, dotted: `from a.b import c` is `a.b.c`; relative ones start with a dot."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                origin = "." * node.level + (node.module or "")
                yield from ((node, f"{origin}.{alias.name}") for alias in node.names)


Checker = Callable[[Source], Iterable[str]]


def sample(text: str, path: str = "core/sample.py") -> Source:
    """A file that does not exist, for showing what a checker says to it."""
    return Source(path, text)


@cache
def files() -> tuple[Path, ...]:
    """Every file of the tree, without what tools left behind, links and folders of tools."""
    return tuple(sorted(_walk(ROOT)))


def _walk(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        hidden = entry.name.startswith(".") and entry.name not in {".ci", ".gitignore"}
        if hidden or entry.is_symlink() or entry.name in LEFT_BEHIND or entry.suffix == ".egg-info":
            continue
        if entry.is_dir():
            yield from _walk(entry)
        else:
            yield entry


@cache
def sources() -> tuple[Source, ...]:
    """Every Python file of the packages and the tests."""
    named = ((str(path.relative_to(ROOT)), path) for path in files() if path.suffix == ".py")
    return tuple(Source(name, path.read_text()) for name, path in named if name.startswith((*ROOMS, "tests/")))


def product() -> list[Source]:
    """Every file that is written by hand and shipped."""
    return [source for source in sources() if source.room in ROOMS and not source.generated]


@cache
def project() -> dict[str, Any]:
    """What pyproject.toml says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def verdict(checker: Checker, judged: Iterable[Source]) -> str:
    """All that a checker has to say, one sentence a line: empty when all is well."""
    return "\n".join(sentence for source in judged for sentence in checker(source))


def demand(said: str) -> None:
    """Fail with these sentences and nothing else, if there are any: no stack of ours helps the reader."""
    if said:
        pytest.fail(said, pytrace=False)
