"""Stories of groups as text: what was told, and what came of it.

`python -m tests.core.groups.test_group_scenarios` writes what comes of them; read the difference before you keep it.
"""

from pathlib import Path

import pytest

from tests.core.groups.group_story import Story
from tests.core.stories import told

STORIES = sorted((Path(__file__).parents[2] / "scenarios" / "groups").glob("*.txt"))


def test_there_are_stories() -> None:
    assert len(STORIES) >= 12


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_comes_out_as_written(path: Path) -> None:
    assert told(Story(), path.read_text()) == path.read_text()


def test_a_story_told_otherwise_is_noticed() -> None:
    text = STORIES[0].read_text()
    assert told(Story(), text.replace("generation 1", "generation 3")) != text.replace("generation 1", "generation 3")


if __name__ == "__main__":
    for story_path in STORIES:
        story_path.write_text(told(Story(), story_path.read_text()))
