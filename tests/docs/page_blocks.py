"""The blocks of code on the pages of the documentation: fenced ones, and indented ones.

Not here: docs/cli, whose pages `goqueue.cli.reference` makes of what commands say of themselves, and docs/adr.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from attrs import define

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
INDENT = "    "


@define(frozen=True)
class Block:
    """One block; `kind` is the word behind its fence, `first` its first line, by which it is named."""

    page: str
    line: int
    kind: str
    text: str

    @property
    def first(self) -> str:
        """Its first line, without what is said behind it."""
        return re.split(r"\s{2,}", self.text.strip().splitlines()[0])[0]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.first}"


def blocks() -> list[Block]:
    """All blocks of all pages."""
    return [block for page in PAGES for block in blocks_of(page.relative_to(ROOT).as_posix(), page.read_text())]


def blocks_of(page: str, text: str) -> Iterator[Block]:
    """The blocks of a page, in their order. An indented one begins behind an empty line, and ends before other text."""
    lines = [*text.splitlines(), ""]
    at = 0
    while at < len(lines):
        line = lines[at]
        begun = at
        if line.lstrip().startswith("```"):
            fence = len(line) - len(line.lstrip())
            at += 1
            while not lines[at].lstrip().startswith("```"):
                at += 1
            inside = [each[fence:] for each in lines[begun + 1 : at]]
            yield Block(page, begun + 1, line.strip()[3:].strip() or "text", "\n".join(inside))
        elif line.startswith(INDENT) and begun and not lines[begun - 1].strip():
            while at + 1 < len(lines) and (lines[at + 1].startswith(INDENT) or not lines[at + 1].strip()):
                at += 1
            inside = [each.removeprefix(INDENT) for each in lines[begun : at + 1]]
            yield Block(page, begun + 1, "indented", "\n".join(inside).strip("\n"))
        at += 1
