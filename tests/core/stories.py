"""Stories as text: paragraphs of commands, each followed by a line of dashes and by what came of them."""

from typing import Protocol


class Story(Protocol):
    """Something that is told commands, and notes down what comes of them."""

    trace: list[str]

    def tell(self, command: str, /) -> None:
        """Let one thing happen."""


def told(story: Story, text: str) -> str:
    """A text with its traces made anew by a story that has just begun; the heading and comments stay."""
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
