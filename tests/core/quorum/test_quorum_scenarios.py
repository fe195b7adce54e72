"""Stories of agreement as text: what was told, and what came of it.

`python -m tests.core.quorum.test_quorum_scenarios [NAME ...]` writes what comes of them; read the difference before you
keep it.
"""

import sys
from pathlib import Path

import pytest

from tests.core.quorum.quorum_story import Story

STORIES = sorted((Path(__file__).parents[2] / "scenarios" / "quorum").glob("*.txt"))


def told(text: str) -> str:
    """A scenario with its trace made anew: comments stay, each command is followed by what came of it."""
    story = Story()
    heading, blocks = text.split("\n\n", 1)
    paragraphs = [heading]
    for block in blocks.strip().split("\n\n"):
        commands = block.split("----")[0].strip().splitlines()
        story.trace.clear()
        for command in commands:
            if not command.startswith("#"):
                story.tell(command)
        paragraphs.append("\n".join([*commands, "----", *story.trace]))
    return "\n\n".join(paragraphs) + "\n"


def test_there_are_stories() -> None:
    assert len(STORIES) >= 40


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_of_the_quorum_comes_out_as_written(path: Path) -> None:
    assert told(path.read_text()) == path.read_text()


if __name__ == "__main__":
    for story_path in STORIES:
        if len(sys.argv) == 1 or story_path.stem in sys.argv[1:]:
            story_path.write_text(told(story_path.read_text()))
