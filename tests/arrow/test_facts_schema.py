"""What facts are is said in one place: whatever is noted is a kind, and the page has all of them as they are."""

import re
from pathlib import Path

from goqueue.spark.facts.schema import COLUMNS, KINDS

_ROOT = Path(__file__).parents[2]


def rows_of(title: str) -> list[list[str]]:
    """The rows of the table under a title of the page about facts."""
    page = (_ROOT / "docs" / "facts.md").read_text()
    lines = page.partition(f"## {title}\n")[2].partition("\n## ")[0].splitlines()
    table = [line for line in lines if line.startswith("| `")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]


def test_the_page_has_every_column_with_its_type_in_order() -> None:
    assert [row[:2] for row in rows_of("Columns")] == [
        [f"`{name}`", f"`{word}`"] for name, (_, word) in COLUMNS.items()
    ]


def test_the_page_says_of_every_kind_what_the_schema_says() -> None:
    assert rows_of("Kinds") == [[f"`{kind}`", words] for kind, words in KINDS.items()]


def test_every_kind_is_noted_by_a_listener() -> None:
    source = "".join(path.read_text() for path in (_ROOT / "spark" / "facts").glob("*.py") if path.stem != "schema")
    unknown = [kind for kind in KINDS if f'"{kind}"' not in source]
    assert not unknown


def test_a_kind_names_only_columns_and_words_that_a_table_can_hold() -> None:
    for words in KINDS.values():
        assert "|" not in words
        assert "\n" not in words
    assert all(re.fullmatch(r"[a-z_]+", kind) for kind in KINDS)
