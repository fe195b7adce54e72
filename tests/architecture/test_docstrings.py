"""Every public name says in a sentence what it is; every package opens with a few lines for who comes in."""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.tree import DEFINITIONS, FUNCTIONS, Source, demand, product, sample, verdict

PACKAGE_LINES = range(3, 11)
ADVICE = "say in 3 to 10 lines what lives here, what does not, and where to start reading"
# What speaks for them is elsewhere: the method they override, the getter, the signatures they spell out.
SPOKEN_FOR = {"override", "overload", "setter", "deleter"}


def silent(source: Source) -> Iterator[str]:
    """Modules, public classes, public functions and methods without a docstring."""
    if not ast.get_docstring(source.tree):
        yield f"{source.path} has no docstring: open with its responsibility, what it is not, theory and invariants"
    yield from _silent_names(source, source.tree.body)


def _silent_names(source: Source, body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if not isinstance(node, DEFINITIONS) or node.name.startswith("_"):
            continue
        if isinstance(node, FUNCTIONS) and SPOKEN_FOR & {_last_name(mark) for mark in node.decorator_list}:
            continue
        if not ast.get_docstring(node):
            yield f"{source.at(node)} {node.name} has no docstring: one sentence, or the contract if there is one"
        if isinstance(node, ast.ClassDef):
            yield from _silent_names(source, node.body)


def _last_name(mark: ast.expr) -> str:
    return ast.unparse(mark).partition("(")[0].rpartition(".")[2]


def unwelcoming(source: Source) -> Iterator[str]:
    """Packages that do not open with three to ten lines."""
    if not source.path.endswith("/__init__.py"):
        return
    lines = len((ast.get_docstring(source.tree) or "").splitlines())
    if lines not in PACKAGE_LINES:
        yield f"{source.path} opens with a docstring of {lines} lines: {ADVICE}"


def test_every_public_name_has_a_docstring() -> None:
    demand(verdict(silent, product()))


def test_every_package_opens_with_a_few_lines() -> None:
    demand(verdict(unwelcoming, product()))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "core/sample.py has no docstring"),
        ('"""M."""\ndef read(): ...', "read has no docstring"),
        ('"""M."""\nasync def read(): ...', "read has no docstring"),
        ('"""M."""\nclass Log: ...', "Log has no docstring"),
        ('"""M."""\nclass Log:\n    """L."""\n    def read(self): ...', "read has no docstring"),
    ],
)
def test_a_silent_name_is_named(text: str, said: str) -> None:
    assert said in verdict(silent, [sample(text)])


@pytest.mark.parametrize(
    "text",
    [
        '"""M."""\ndef _read(): ...',
        '"""M."""\nclass Log:\n    """L."""\n    def __init__(self): ...',
        '"""M."""\nclass Log:\n    """L."""\n    @size.setter\n    def size(self, size): ...',
        '"""M."""\n@typing.overload\ndef read(): ...',
    ],
)
def test_private_names_and_those_spoken_for_may_be_silent(text: str) -> None:
    assert verdict(silent, [sample(text)]) == ""


@pytest.mark.parametrize("lines", [0, 1, 2, 11])
def test_a_package_that_says_too_little_or_too_much_is_named(lines: int) -> None:
    text = '"""' + "line\n" * lines + '"""' if lines else ""
    assert ADVICE in verdict(unwelcoming, [sample(text, "core/log/__init__.py")])
