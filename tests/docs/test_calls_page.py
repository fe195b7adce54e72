"""docs/rest.md lists every call, as the routes have it; `python -m tests.docs.test_calls_page` writes the list."""

from itertools import groupby
from pathlib import Path

from goqueue.transports.rest.routes import ROUTES

PAGE = Path(__file__).parents[2] / "docs" / "rest.md"
HEADING = "\n## All calls\n"


def listed() -> str:
    """The list, by what calls are about."""
    sections = []
    for group, routes in groupby(ROUTES, lambda route: route.group):
        rows = "".join(f"| `{route.method} {route.path}` | {route.summary} |\n" for route in routes)
        sections.append(f"\n### {group}\n\n| call | what it does |\n|---|---|\n{rows}")
    return "".join(sections)


def test_the_page_lists_every_call() -> None:
    assert PAGE.read_text().partition(HEADING)[2] == listed()


if __name__ == "__main__":
    PAGE.write_text(PAGE.read_text().partition(HEADING)[0] + HEADING + listed())
