"""What the tests of the tree keep while they run, and no longer."""

from pathlib import Path

import pytest

from tests.architecture.tree import sources


def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Syntax trees of a thousand files are millions of objects, which every later collection of garbage would visit."""
    if nextitem is None or not nextitem.path.is_relative_to(Path(__file__).parent):
        for source in sources():
            vars(source).pop("tree", None)
