"""Where things are: the rooms and their links, the tests, the news."""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import PurePath

import pytest

from tests.architecture.tree import ROOMS, ROOT, demand, files

NEWS = re.compile(r"\+[a-z0-9][a-z0-9-]*\.(added|changed|fixed|removed)\.md")


def misfiled_tests(paths: Iterable[str]) -> Iterator[str]:
    """Test files that pytest would confuse or not find.

    The folders under tests/ are no packages: each test module is imported by its bare name, which therefore must be
    unlike any other's. What tests share is imported in full, `from tests.core.log.model import ...`.
    """
    by_name: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        name = PurePath(path).name
        if name == "__init__.py":
            yield f"{path}: folders of tests are no packages; remove it, and give test files names of their own"
        elif name != "conftest.py":
            by_name[name].append(path)
        if name.removesuffix(".py") in sys.stdlib_module_names:
            yield f"{path} hides the standard library's {name.removesuffix('.py')}: name it for what it holds"
    for same in by_name.values():
        if len(same) > 1:
            yield f"{' and '.join(same)} have the same name: pytest imports by bare name, so rename all but one"


def test_test_files_have_names_of_their_own() -> None:
    under_tests = (str(path.relative_to(ROOT)) for path in files() if path.is_relative_to(ROOT / "tests"))
    demand("\n".join(misfiled_tests(path for path in under_tests if path.endswith(".py"))))


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["tests/core/log/test_log.py", "tests/cli/test_log.py"], "rename all but one"),
        (["tests/core/__init__.py"], "no packages"),
        (["tests/core/random.py"], "hides the standard library's random"),
    ],
)
def test_a_misfiled_test_is_named(paths: list[str], said: str) -> None:
    assert said in "".join(misfiled_tests(paths))


def test_every_room_is_linked_into_the_package_for_static_tools() -> None:
    rooms = {room for room in ROOMS if room != "goqueue" and (ROOT / room / "__init__.py").exists()}
    links = {entry.name: str(entry.readlink()) for entry in (ROOT / "goqueue").iterdir() if entry.is_symlink()}
    assert links == {room: f"../{room}" for room in rooms}, (
        "links in goqueue/ and packages at the top differ: `ln -s ../ROOM goqueue/ROOM` for each package"
    )


def unnewsworthy(names: Iterable[str]) -> list[str]:
    """Names in docs/news that the release notes would not pick up."""
    return [name for name in names if name != "README.md" and not NEWS.fullmatch(name)]


def test_news_files_are_named_for_the_release_notes() -> None:
    said = unnewsworthy(path.name for path in files() if path.parent == ROOT / "docs" / "news")
    assert not said, f"docs/news holds +subject.kind.md, see its README; rename: {' '.join(said)}"


@pytest.mark.parametrize("name", ["house.added.md", "+house.md", "+house.better.md", "+House.added.md", "+a.added.txt"])
def test_a_name_the_release_notes_would_not_pick_up_is_found(name: str) -> None:
    assert unnewsworthy([name]) == [name]


def test_a_well_named_news_file_is_left_alone() -> None:
    assert unnewsworthy(["README.md", "+log-segments.added.md"]) == []
