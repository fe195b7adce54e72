"""How figures are shown to people: one row each, with its bar in green or red."""

from collections.abc import Mapping, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from goqueue.cli.bench.figures import Entry, Figure

# For a file or a pipe, which have no width of their own.
_WIDTH = 160
# Below this the numbers would be squeezed by the words beside them.
_WIDTH_WITH_WORDS = 130


def print_figures(entries: Sequence[Entry], figures: Mapping[str, Figure], machine: Mapping[str, object]) -> None:
    """Print the figures taken, and the machine they were taken on, to standard output."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH)
    table = Table(box=box.SIMPLE_HEAD, caption_justify="left", caption=_machine(machine))
    table.add_column("figure", no_wrap=True)
    for name in ("value", "limit", "ratio", "p50 ms", "p99 ms"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("bar", no_wrap=True)
    wide = console.width >= _WIDTH_WITH_WORDS
    if wide:
        table.add_column("what", style="dim")
    for entry in entries:
        if entry.key in figures:
            row = _row(entry, figures[entry.key])
            table.add_row(*(row if wide else row[:-1]))
    console.print(table)


def _row(entry: Entry, figure: Figure) -> list[str | Text]:
    numbers = (figure.limit, figure.ratio, figure.p50_ms, figure.p99_ms)
    return [
        entry.key,
        f"{_number(figure.value)} {figure.unit}",
        *(_number(number) for number in numbers),
        _bars(entry, figure),
        "\n".join(filter(None, (entry.title, figure.note))),
    ]


def _bars(entry: Entry, figure: Figure) -> Text:
    styled = [Text(str(bar), "green" if bar.cleared(figure) else "bold red") for bar in entry.bars]
    return Text("\n").join(styled)


def _number(number: float | None) -> str:
    if number is None:
        return ""
    if number >= 100:
        return f"{number:,.0f}"
    return f"{number:.3g}"


def _machine(machine: Mapping[str, object]) -> str:
    return ", ".join(f"{name.replace('_', ' ')}: {fact}" for name, fact in machine.items())
