"""Stories of groups as text: what was told, and what came of it.

`python -m tests.core.groups.test_group_scenarios` writes what comes of them; read the difference before you keep it.
"""

from pathlib import Path

import pytest

from tests.core.groups.group_story import Story

STORIES = sorted((Path(__file__).parents[2] / "scenarios" / "groups").glob("*.txt"))


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
    assert len(STORIES) >= 12


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_comes_out_as_written(path: Path) -> None:
    assert told(path.read_text()) == path.read_text()


def test_a_story_told_otherwise_is_noticed() -> None:
    text = STORIES[0].read_text()
    assert told(text.replace("generation 1", "generation 3")) != text.replace("generation 1", "generation 3")


if __name__ == "__main__":
    for story_path in STORIES:
        story_path.write_text(told(story_path.read_text()))
