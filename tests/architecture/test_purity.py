"""The core computes: no clock, disk, network, thread, global generator, nor an order that differs between two runs.

Read from the syntax, so that a line that no test runs is judged as well; `test_effects` watches it at run time, and the
import contracts in pyproject.toml catch what comes in through a third module.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.tree import Source, demand, sample, sources, verdict

PURE_STANDARD_LIBRARY = {
    "__future__", "abc", "array", "base64", "binascii", "bisect", "collections", "contextlib", "dataclasses", "enum",
    "fractions", "functools", "hashlib", "heapq", "hmac", "itertools", "json", "math", "operator", "random", "re",
    "string", "struct", "types", "typing", "zlib",
}  # fmt: skip
COMPUTING_LIBRARIES = {"attrs", "cramjam", "crc32c", "mmh3"}

FORBIDDEN_NAMES = {
    "__import__": "imports stand at the top, where they are seen",
    "breakpoint": "it waits for a person",
    "eval": "the core runs no text",
    "exec": "the core runs no text",
    "hash": "hash() differs between processes; use mmh3, or compare the values",
    "id": "id() differs between runs; count with an int of your own",
    "input": "inputs are arguments of a verb",
    "open": "files are goqueue.storage's; return what is to be written or read",
    "print": "return what happened; the driver says it",
}


def impurities(source: Source) -> Iterator[str]:
    """What in a file of the core could make two runs differ, or reach outside."""
    yield from _impure_imports(source)
    for node in ast.walk(source.tree):
        said = _impure_name(node) or _impure_order(node) or _impure_random(node)
        if said:
            yield f"{source.at(node)} {said}"


def _impure_imports(source: Source) -> Iterator[str]:
    for node, name in source.imports():
        top = name.partition(".")[0]
        if name.startswith("random.") and name != "random.Random":
            yield f"{source.at(node)} imports {name}: take a random.Random from the constructor instead"
        elif top == "goqueue":
            if not name.startswith("goqueue.core."):
                yield f"{source.at(node)} imports {name}: the core imports no other package of ours; pass it in"
        elif top not in PURE_STANDARD_LIBRARY | COMPUTING_LIBRARIES:
            yield (
                f"{source.at(node)} imports {name}: the core may import {', '.join(sorted(COMPUTING_LIBRARIES))} and "
                "the pure standard library; pass the effect in, or send it out as data"
            )


def _impure_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in FORBIDDEN_NAMES:
        return f"uses {node.id}: {FORBIDDEN_NAMES[node.id]}"
    if isinstance(node, ast.AsyncFunctionDef):
        return f"defines async {node.name}: the core waits for nothing; say when to be woken through deadline()"
    return None


def _impure_order(node: ast.AST) -> str | None:
    if isinstance(node, ast.For | ast.comprehension):
        over = node.iter
        called = isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id in {"set", "frozenset"}
        if called or isinstance(over, ast.Set | ast.SetComp):
            return "iterates a set: its order hangs on the hash seed; use sorted() or dict.fromkeys()"
    return None


def _impure_random(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "random":
        if node.attr != "Random":
            return f"uses random.{node.attr}: the global generator; take a random.Random from the constructor"
    elif isinstance(node, ast.Call) and not node.args and ast.unparse(node.func) in {"Random", "random.Random"}:
        return "seeds a generator from the machine: pass a seed, or take a random.Random from the constructor"
    return None


def test_the_core_is_pure() -> None:
    demand(verdict(impurities, (source for source in sources() if source.room == "core")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import os", "imports os"),
        ("import os.path", "imports os.path"),
        ("from time import monotonic_ns", "imports time.monotonic_ns"),
        ("def late():\n    import threading", "imports threading"),
        ("from random import choice", "random.Random from the constructor"),
        ("import random\nrandom.shuffle([])", "the global generator"),
        ("import random\nrandom.SystemRandom()", "the global generator"),
        ("from random import Random\nRandom()", "pass a seed"),
        ("from goqueue.storage.files import Disk", "no other package of ours"),
        ("import goqueue", "no other package of ours"),
        ("from . import clock", "imports ."),
        ("open('x')", "goqueue.storage's"),
        ("print('x')", "the driver says it"),
        ("eval('1')", "runs no text"),
        ("exec('1')", "runs no text"),
        ("input()", "arguments of a verb"),
        ("__import__('os')", "at the top"),
        ("sorted([], key=id)", "id() differs"),
        ("hash('topic')", "hash() differs"),
        ("async def wait(): ...", "waits for nothing"),
        ("for name in {'a', 'b'}: ...", "iterates a set"),
        ("[name for name in set(names)]", "iterates a set"),
    ],
)
def test_an_impurity_is_named(text: str, said: str) -> None:
    assert said in verdict(impurities, [sample(text)])


@pytest.mark.parametrize(
    "text",
    [
        "from random import Random\nRandom(7)",
        "import random\ndef f(r: random.Random) -> int: return r.randrange(3)",
        "from collections.abc import Callable",
        "from goqueue.core.errors import GoQueueError",
        "from attrs import define",
        "for name in sorted({'a', 'b'}): ...",
        "'a' in {'a', 'b'}",
    ],
)
def test_pure_code_is_left_alone(text: str) -> None:
    assert verdict(impurities, [sample(text)]) == ""
