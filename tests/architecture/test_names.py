"""Names say what a thing is. A word that fits everything says nothing, and what is named so grows without end."""

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath

import pytest

from tests.architecture.tree import FUNCTIONS, Source, demand, product, sample, verdict

# In any place of a name, singular or plural.
EMPTY_WORDS = {"common", "handler", "helper", "manager", "misc", "util", "utility"}
# As empty where they name a thing. A function may lead to one: `base_offset`, `first_base`; but not `header_info`.
EMPTY_NOUNS = {"base", "data", "info"}
EMPTY_VERBS = {"do", "process"}

ADVICE = "name it for the one thing it is or does"


def empty_names(source: Source) -> Iterator[str]:
    """Modules, classes and functions named with words that fit everything."""
    module = PurePath(source.path)
    for part in (*module.parts[:-1], module.stem):
        yield from (f"{source.path} is named with {word!r}: {ADVICE}" for word in _empty(part, noun=True))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef):
            yield from (f"{source.at(node)} {node.name}: {word!r}; {ADVICE}" for word in _empty(node.name, noun=True))
        elif isinstance(node, FUNCTIONS):
            yield from (f"{source.at(node)} {node.name}: {word!r}; {ADVICE}" for word in _empty(node.name, noun=False))


def _empty(name: str, *, noun: bool) -> list[str]:
    words = [word.lower() for word in re.findall(r"[a-z]+|[A-Z][a-z]*", name)]
    found = [word for word in words if word in EMPTY_WORDS or word.removesuffix("s") in EMPTY_WORDS]
    if noun:
        found += [word for word in words if word in EMPTY_NOUNS]
    elif words:
        found += words[-1:] if words[-1] in EMPTY_NOUNS - {"base"} or words == ["base"] else []
        found += words[:1] if words[0] in EMPTY_VERBS else []
    return found


def test_names_say_something() -> None:
    demand(verdict(empty_names, product()))


@pytest.mark.parametrize(
    "text",
    [
        "class SegmentManager: ...",
        "class BaseLog: ...",
        "class HeaderInfo: ...",
        "class LogData: ...",
        "class RequestHandlers: ...",
        "def process_batch(): ...",
        "async def do_append(): ...",
        "def read_info(): ...",
        "def base(): ...",
        "def append_helper(): ...",
        "def _util(): ...",
    ],
)
def test_an_empty_name_is_named(text: str) -> None:
    assert ADVICE in verdict(empty_names, [sample(text)])


@pytest.mark.parametrize("path", ["core/utils.py", "storage/common/files.py", "cli/base.py", "core/log/log_helpers.py"])
def test_a_module_with_an_empty_name_is_named(path: str) -> None:
    assert ADVICE in verdict(empty_names, [sample("", path)])


@pytest.mark.parametrize("text", ["def base_offset(): ...", "def first_base(): ...", "class Database: ..."])
def test_a_word_that_says_something_is_left_alone(text: str) -> None:
    assert verdict(empty_names, [sample(text)]) == ""
