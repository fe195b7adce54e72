"""Stories of agreement as text: what was told, and what came of it.

`python -m tests.core.quorum.test_quorum_scenarios [NAME ...]` writes what comes of them; read the difference before you
keep it.
"""

import sys
from pathlib import Path

import pytest

from tests.core.quorum.quorum_story import Story
from tests.core.stories import told

STORIES = sorted((Path(__file__).parents[2] / "scenarios" / "quorum").glob("*.txt"))


def test_there_are_stories() -> None:
    assert len(STORIES) >= 40


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_of_the_quorum_comes_out_as_written(path: Path) -> None:
    assert told(Story(), path.read_text()) == path.read_text()


if __name__ == "__main__":
    for story_path in STORIES:
        if len(sys.argv) == 1 or story_path.stem in sys.argv[1:]:
            story_path.write_text(told(Story(), story_path.read_text()))
