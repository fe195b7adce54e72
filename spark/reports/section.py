"""A section of a page, as a report makes it: what was asked, the answer in words, pictures and tables.

It is plain text and numbers; nothing here is HTML, save that a picture is a whole SVG. `page.py` puts sections into a
page, and whoever prefers a terminal or a notebook can use them without it.

A cell of a table is what a person reads. Numbers that are left as numbers are written with their thousands apart and
put to the right; None is a gap, and is shown as one.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

from attrs import define, field

Cell: TypeAlias = str | int | float | None

# What nobody reads to the end is cut, and said to be.
ROWS_MAX: Final = 50


@define
class Table:
    """A table under a section: what it shows, the names of its columns, and rows of as many cells."""

    title: str
    header: Sequence[str]
    rows: list[Sequence[Cell]]
    # How many rows there would be, where these are only the first.
    count: int | None = None

    def __attrs_post_init__(self) -> None:
        wrong = [row for row in self.rows if len(row) != len(self.header)]
        assert not wrong, f"{self.title}: a row of {len(wrong[0])} cells under {len(self.header)} names"


@define
class Section:
    """An answer: `words` are sentences, one thing each; `method` says how it was computed and what that leaves out."""

    name: str
    title: str
    question: str
    words: list[str] = field(factory=list)
    pictures: list[str] = field(factory=list)
    tables: list[Table] = field(factory=list)
    method: str = ""


def shortened(title: str, header: Sequence[str], rows: Sequence[Sequence[Cell]], limit: int = ROWS_MAX) -> Table:
    """A table of the first rows, that knows of the others."""
    return Table(title, header, list(rows[:limit]), len(rows) if len(rows) > limit else None)
