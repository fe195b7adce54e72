"""Answers in the form that was asked for: a table for people, JSON or YAML for programs.

YAML is written here and not by a library: of what brokers answer, mappings, lists and plain values, there is little to
it. Text that nobody can take for anything else stands as it is, all other text in quotes as in JSON. A table is as
wide as its contents, so that what is piped on is not cut to a screen.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence

import click

FORMS = ("table", "json", "yaml")
# Plain enough for every reader of YAML, also one of 1.1, to which `no` is false and `1:30` a number.
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./@+-]*")
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

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
    numeric = [_is_numeric([row[column] for row in cells]) for column in range(len(titles))]
    originals: list[list[str]] = [list(titles), *cells]
    widths = [max(len(row[column]) for row in originals) for column in range(len(titles))]
    for row in originals:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        click.echo("  ".join(padded).rstrip())


def _is_numeric(cells: list[str]) -> bool:
    """Whether a column holds numbers, some of which may be unknown: a dash."""
    digits = [cell.replace(",", "").lstrip("-") for cell in cells if cell != "-"]
    return all(each.isdigit() for each in digits) and bool(digits or not cells)


def counted(count: int, noun: str) -> str:
    """A number of things, as people write it: 1 message, 2,000 messages."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def setting_text(value: object) -> str:
    """A setting as it is written: true and false as in JSON, numbers without commas."""
    return json.dumps(value) if isinstance(value, bool) else str(value)


def print_settings(config: dict[str, object]) -> None:
    """Print settings with their values."""
    print_table(("SETTING", "VALUE"), [[key, setting_text(value)] for key, value in config.items()])


def _cell(cell: object) -> str:
    if isinstance(cell, int) and not isinstance(cell, bool):
        return f"{cell:,}"
    if isinstance(cell, list):
        return ",".join(str(each) for each in cell)
    return str(cell)


def _yaml_lines(found: object, indent: str = "") -> Iterator[str]:
    if isinstance(found, dict) and found:
        for key, value in found.items():
            name = _yaml_scalar(str(key))
            if isinstance(value, dict | list) and value:
                yield f"{indent}{name}:"
                yield from _yaml_lines(value, indent + "  ")
            else:
                yield f"{indent}{name}: {_yaml_scalar(value)}"
    elif isinstance(found, list) and found:
        for value in found:
            first, *rest = _yaml_lines(value, indent + "  ")
            yield f"{indent}- {first.lstrip()}"
            yield from rest
    else:
        yield f"{indent}{_yaml_scalar(found)}"


def _yaml_scalar(value: object) -> str:
    if isinstance(value, float):
        # 1e+16 is a number in JSON and a word in YAML 1.1.
        return re.sub(r"^(-?[0-9]+)e", r"\1.0e", json.dumps(value))
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join([letter if letter.isprintable() else _escaped(letter) for letter in quoted])


def _escaped(letter: str) -> str:
    return f"\\U{ord(letter):08X}"
