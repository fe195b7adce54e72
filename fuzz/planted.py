"""`goqueue sim --planted`: whether the worlds that anybody gets find the bugs that are known, and how soon.

Each bug (`plants/`) is put into the product and looked for by `plants/seeking.py`; here is what is said of it, as a
table for people, as JSON a line, or as the table of `docs/simulation.md`.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import SystemRandom

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from goqueue.cli.output import print_table
from goqueue.fuzz.plants.catalogue import UnknownPlant, plant_of, plants
from goqueue.fuzz.plants.seeking import Search, look_for_all

_SEEDS = 10**9
_BEGIN, _END = "<!-- planted: made by `goqueue sim --planted --markdown` -->", "<!-- planted: end -->"


def look_for_planted(
    only: Sequence[str], nodes: int | None, first: int | None, jobs: int, *, as_json: bool, markdown: Path | None
) -> int:
    """Look for bugs, and say what came of it; the status to exit with."""
    names = _names(only, nodes)
    if first is None:
        first = SystemRandom().randrange(_SEEDS)
    searches = []
    with _progress(len(names)) as advance:
        for search in look_for_all(names, first, jobs):
            searches.append(search)
            if as_json:
                click.echo(json.dumps(as_object(search)))
            advance()
    if markdown is not None:
        write_between_marks(markdown, markdown_table(searches))
    elif not as_json:
        _print(searches)
    found = sum(search.found for search in searches)
    summary = f"{found} of {len(searches)} bugs found, in worlds from seed {first} on: --seed {first} repeats it"
    click.echo(summary, err=as_json)
    for search in searches:
        for seed in search.unsound:
            command = f"goqueue sim --seed {seed} --nodes {plant_of(search.bug).nodes}"
            click.echo(f"a promise is broken without any bug: {command}", err=as_json)
    return 0 if found == len(searches) else 1


def _names(only: Sequence[str], nodes: int | None) -> list[str]:
    """The bugs to look for, those of one node first."""
    try:
        chosen = [plant_of(name) for name in only] or [*plants().values()]
    except UnknownPlant as error:
        raise click.BadParameter(str(error), param_hint="--only") from None
    named = [plant for plant in chosen if nodes is None or plant.nodes == nodes]
    if not named:
        raise click.BadParameter(f"no bug is looked for in worlds of {nodes} nodes", param_hint="--nodes")
    return [plant.name for plant in sorted(named, key=lambda plant: plant.nodes)]


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal's standard error."""
    console = Console(stderr=True)
    columns = (TextColumn("bugs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)


def as_object(search: Search) -> dict[str, object]:
    """What came of one search, for programs."""
    plant = plant_of(search.bug)
    return {
        "bug": search.bug, "promise": plant.promise, "found": search.found, "worlds": search.worlds,
        "seed": search.seed, "checker": search.checker, "tags": [*plant.tags],
    }  # fmt: skip


def _print(searches: Sequence[Search]) -> None:
    """A table for people."""
    titles = ("BUG", "PROMISE", "WORLDS", "SEED", "FOUND BY")
    print_table(titles, [(search.bug, plant_of(search.bug).promise, *_told(search)) for search in searches])


def _told(search: Search) -> tuple[str, str, str]:
    """After how many worlds a bug was found, by which seed, and by whom."""
    if not search.found:
        return str(search.worlds), "-", "nobody"
    return str(search.worlds), str(search.seed), search.checker


def markdown_table(searches: Sequence[Search]) -> str:
    """The table of `docs/simulation.md`; of a bug that was not looked for it has the name and the promise alone."""
    rows = ["| bug | promise | nodes | worlds | seed | found by | needs |", "|---|---|---|---|---|---|---|"]
    for search in searches:
        plant = plant_of(search.bug)
        needs = ", ".join(tag.replace("_", " ") for tag in plant.tags)
        told = _told(search) if search.worlds else ("", "", "")
        rows.append("| " + " | ".join((f"`{plant.name}`", plant.promise, str(plant.nodes), *told, needs)) + " |")
    return "\n".join(rows)


def write_between_marks(path: Path, table: str) -> None:
    """Put a table where a page has its marks, or print it where there is no page: `-`."""
    if str(path) == "-":
        click.echo(table)
        return
    before, begin, rest = path.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise click.ClickException(f"{path} has no place for the table: a line {_BEGIN} and a line {_END}")
    path.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="utf-8")
