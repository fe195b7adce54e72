"""The page that says what checks each promise names files that are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "durability.md"
_NAMED = re.compile(r"`((?:tests|fuzz)/[a-z_/.]+)`")


def test_every_checker_and_test_that_the_page_names_is_there() -> None:
    named = _NAMED.findall(PAGE.read_text())
    assert len(named) > 20
    missing = sorted({path for path in named if not (ROOT / path).exists()})
    assert missing == [], f"docs/durability.md names {', '.join(missing)}, which is not there: name what checks it now"
