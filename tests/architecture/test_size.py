"""Files and functions stay small enough to be read in one go."""

import ast
from collections.abc import Iterator

from tests.architecture.tree import FUNCTIONS, Source, demand, product, sample, sources, verdict

FILE_LINES = 500
TEST_FILE_LINES = 800
FUNCTION_LINES = 70


def outgrown(source: Source) -> Iterator[str]:
    """A file, and functions outside tests, past their bounds."""
    bound = TEST_FILE_LINES if source.room == "tests" else FILE_LINES
    lines = source.text.count("\n")
    if lines > bound:
        yield f"{source.path} has {lines} lines, {bound} is the bound: find the second noun in it and give it a file"
    if source.room == "tests":
        return
    for node in ast.walk(source.tree):
        if isinstance(node, FUNCTIONS):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield (
                    f"{source.at(node)} {node.name} has {lines} lines, {FUNCTION_LINES} is the bound: "
                    "name its steps and make them functions"
                )


def test_files_and_functions_keep_their_bounds() -> None:
    demand(verdict(outgrown, [*product(), *(source for source in sources() if source.room == "tests")]))


def test_a_file_past_the_bound_is_named() -> None:
    assert "find the second noun" in verdict(outgrown, [sample("x = 1\n" * 501)])
    assert verdict(outgrown, [sample("x = 1\n" * 500)]) == ""


def test_a_test_file_has_more_room() -> None:
    assert verdict(outgrown, [sample("x = 1\n" * 800, "tests/test_x.py")]) == ""
    assert "800 is the bound" in verdict(outgrown, [sample("x = 1\n" * 801, "tests/test_x.py")])


def test_a_function_past_the_bound_is_named() -> None:
    assert "long has 71 lines" in verdict(outgrown, [sample("def long():\n" + "    x = 1\n" * 70)])
    assert "long has 71 lines" in verdict(outgrown, [sample("class A:\n  async def long():\n" + "    x = 1\n" * 70)])
    assert verdict(outgrown, [sample("def long():\n" + "    x = 1\n" * 69)]) == ""
