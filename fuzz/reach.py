"""Which branches of `goqueue.core` worlds take, and which never: `goqueue sim --coverage`.

Each process that runs worlds measures itself and leaves a file in one folder; `unreached_in` reads all of them. What
was executed while modules were imported says nothing about worlds, so only what lies in functions counts. Not here: why
a branch is out of the reach of worlds, and how it is told (`unreached.py`).
"""

import ast
import json
from collections.abc import Iterator
from importlib import import_module
from multiprocessing.util import Finalize
from pathlib import Path
from types import ModuleType
from typing import Any

from attrs import define

import goqueue.core

CORE = Path(next(iter(goqueue.core.__path__))).resolve()
_DATA_FILE = "reached"


class CoverageMissing(Exception):
    """The package that measures is not installed."""


@define(frozen=True)
class Unreached:
    """One branch that no world has taken, or one function that none has called."""

    path: str
    function: str
    line: int
    source: str
    # What it would have led to; empty for a function that was never called.
    then: str
    then_line: int = 0

    @property
    def is_function(self) -> bool:
        """Whether a whole function was never called."""
        return not self.then

    def text(self) -> str:
        """The same for people."""
        if self.is_function:
            return f"{self.line}: never called: {self.source}"
        return f"{self.line}: {self.source}  never leads to {self.then}"


class Reach:
    """Measures this process, from `begin` to `end`."""

    def __init__(self, folder: str) -> None:
        self._measuring = coverage_package().Coverage(
            data_file=str(Path(folder) / _DATA_FILE), data_suffix=True, config_file=False, branch=True,
            include=[f"{CORE}/*"], check_preimported=False, messages=False,
        )  # fmt: skip

        # Where other processes run the worlds, this one has nothing to leave.
        self._measuring.set_option("run:disable_warnings", ["no-data-collected"])

    def begin(self) -> None:
        """Measure from here on."""
        self._measuring.start()

    def end(self) -> None:
        """Measure no more, and leave what was measured in the folder."""
        self._measuring.stop()
        self._measuring.save()


def measure_worker(folder: str) -> None:
    """Measure a process of a pool for as long as it lives."""
    # What is executed while modules are imported is not to be measured here either.
    import_module("goqueue.fuzz.command")
    reach = Reach(folder)
    reach.begin()
    Finalize(None, reach.end, exitpriority=10)


def coverage_package() -> ModuleType:
    """The package that measures; raises CoverageMissing."""
    try:
        import coverage  # noqa: PLC0415 - only where it is used: it is no dependency of the product
    except ImportError:
        raise CoverageMissing("--coverage needs the package coverage: pip install coverage") from None
    return coverage


def unreached_in(folder: str) -> list[Unreached]:
    """What no process that was measured into a folder has reached, in the order of the files."""
    report = Path(folder) / "report.json"
    measured = coverage_package().Coverage(
        data_file=str(Path(folder) / _DATA_FILE), config_file=False, branch=True, source=[str(CORE)], messages=False
    )
    measured.combine(data_paths=[folder], keep=True)
    measured.json_report(outfile=str(report), ignore_errors=True)
    files: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))["files"]
    found = {_name(path): told for path, told in files.items()}
    nothing: dict[str, Any] = {"executed_lines": [], "missing_lines": [], "missing_branches": []}
    paths = sorted(_name(str(path)) for path in CORE.rglob("*.py"))
    return [one for path in paths for one in _of_file(path, found.get(path, nothing))]


def _name(path: str) -> str:
    return f"core/{Path(path).resolve().relative_to(CORE)}"


def _of_file(path: str, told: dict[str, Any]) -> Iterator[Unreached]:
    text = (CORE.parent / path).read_text(encoding="utf-8")
    source, missing = text.splitlines(), {*told["missing_lines"]}
    functions = [*_functions(ast.parse(text), "")]
    executed = {*told["executed_lines"]}
    uncalled: set[int] = set()
    for name, first, body, last in functions:
        if not executed.intersection(range(body, last + 1)):
            yield Unreached(path, name, first, source[first - 1].strip(), "")
            uncalled.update(range(first, last + 1))
    for line, to in sorted(map(tuple, told["missing_branches"])):
        spans = [(first, name) for name, first, _, last in functions if first < line <= last]
        if spans and line not in uncalled and line not in missing:
            then = source[to - 1].strip() if to > 0 else "the end"
            yield Unreached(path, max(spans)[1], line, source[line - 1].strip(), then, max(to, 0))


def _functions(node: ast.AST, within: str) -> Iterator[tuple[str, int, int, int]]:
    """Every function that has more than a docstring: its name, first line, first line of its body, and last."""
    for child in ast.iter_child_nodes(node):
        name = f"{within}.{child.name}" if within and hasattr(child, "name") else getattr(child, "name", within)
        if isinstance(child, ast.FunctionDef):
            body = child.body[1:] if ast.get_docstring(child) else child.body
            if body:
                assert child.end_lineno is not None
                yield name, child.lineno, body[0].lineno, child.end_lineno
        yield from _functions(child, name)
