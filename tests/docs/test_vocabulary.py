"""The words of the project: the architecture names every package of the core, the glossary every noun once."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Metaphors that the core once had for things that the field has words for.
RETIRED = {
    "Bearings", "Book", "Carrier", "Courier", "Desk", "Doors", "Hall", "Horizon", "Led", "Leading", "Leg", "Parcel",
    "Room", "Sheaf", "Shelf", "Wishes", "Yard",
}  # fmt: skip


def _rows(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| term")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_architecture_has_a_row_for_each_package_of_the_core() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text[text.index("Within `core` a package") : text.index("Within `transports`")]
    named = {name for row in _rows(section) for name in re.findall(r"`([\w.]+)`", row[0])}
    there = {path.parent.name for path in (ROOT / "core").glob("*/__init__.py")}
    there |= {path.name for path in (ROOT / "core").glob("*.py")} - {"__init__.py"}
    assert named == there


def test_the_glossary_has_each_term_once_and_says_what_it_means() -> None:
    rows = _rows((ROOT / "docs" / "glossary.md").read_text())
    terms = [row[0] for row in rows]
    assert len(terms) > 50
    assert len({*terms}) == len(terms)
    assert [row for row in rows if len(row[1]) < 10] == []


def test_no_class_of_the_core_bears_a_name_that_was_retired() -> None:
    found = {
        node.name
        for path in (ROOT / "core").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    }
    assert found & RETIRED == set()
