"""Answers in the form that was asked for: a table for people, JSON or YAML for programs.

YAML is written here and not by a library: of what brokers answer, mappings, lists and plain values, there is little to
it, and text is quoted as in JSON, which YAML reads as well. A table is as wide as its contents, so that what is piped
on is not cut to a screen.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

import click

FORMS = ("table", "json", "yaml")

form_option = click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(FORMS),
    default="table",
    show_default=True,
    help="How to print it.",
)


def print_structure(form: str, found: object) -> None:
    """Print an answer as JSON or as YAML."""
    assert form in FORMS[1:]
    text = json.dumps(found, indent=2, ensure_ascii=False) if form == "json" else "\n".join(_yaml_lines(found))
    click.echo(text)


def print_table(titles: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under titles; numbers stand to the right."""
    cells = [[_cell(cell) for cell in row] for row in rows]
    numeric = [True] * len(titles)
    originals: list[list[str]] = [list(titles), *cells]
    widths = [max(len(row[column]) for row in originals) for column in range(len(titles))]
    for row in cells:
        for column, cell in enumerate(row):
            numeric[column] = numeric[column] and cell.replace(",", "").lstrip("-").isdigit()
    for row in originals:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        click.echo("  ".join(padded).rstrip())


def _cell(cell: object) -> str:
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    if isinstance(cell, list):
        return ",".join(str(each) for each in cell)
    return str(cell)


def _yaml_lines(found: object, indent: str = "") -> Iterator[str]:
    if isinstance(found, dict) and found:
        for key, value in found.items():
            name = key if str(key).replace("_", "a").isalpha() else json.dumps(key)
            if isinstance(value, dict | list) and value:
                yield f"{indent}{name}:"
                yield from _yaml_lines(value, indent + "  ")
            else:
                yield f"{indent}{name}: {json.dumps(value, ensure_ascii=False)}"
    elif isinstance(found, list) and found:
        for value in found:
            first, *rest = _yaml_lines(value, indent + "  ")
            yield f"{indent}- {first.lstrip()}"
            yield from rest
    else:
        yield f"{indent}{json.dumps(found, ensure_ascii=False)}"
