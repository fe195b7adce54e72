"""`goqueue bench`: measure what this machine can do, and print it for people or for programs.

Progress goes to standard error, and only when that is a terminal; the figures go to standard output. A run that
misses a bar still succeeds: whether a machine is good enough is for whoever reads the figures.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from importlib import import_module
from pathlib import Path

import click
from attrs import evolve
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from goqueue.cli.bench import (
    log_append,
    log_group_commit,
    log_lookup,
    log_memory,
    log_read,
    log_recovery,
    records,
)
from goqueue.cli.bench.cores import kept_to, split
from goqueue.cli.bench.figures import Entry, Figure
from goqueue.cli.bench.machine import describe, is_in_memory
from goqueue.cli.bench.scratch import scratch
from goqueue.cli.bench.sizes import FULL, QUICK, Sizes
from goqueue.cli.bench.table import print_figures
from goqueue.cli.bench.workbench import Workbench

_LOG = (log_append, log_read, records, log_lookup, log_recovery, log_group_commit, log_memory)
# Imported when they are measured: a client and everything under it.
_OF_BROKERS = {
    "broker": ("publish", "fetch", "single", "latency", "rest", "memory", "start"),
    "groups": ("rebalance", "consume", "start"),
    "queue": ("work", "calls", "parts", "delays", "burst"),
    "cluster": ("failover", "handover", "outages", "throughput", "catchup"),
    "capture": ("cost",),
    "hostile": ("attacks",),
    "turn": ("one", "serve"),
}
# By name alone: it lives above this package, which must not import it.
_SPARK = "goqueue.spark.bench.catalogue"


@click.group()
def bench() -> None:
    """Measure what this machine can do.

    Every figure stands beside a bare loop of system calls measured in the same run; docs/benchmarks.md says more.
    """


def _measured(command: Callable[..., None]) -> Callable[..., None]:
    """The options of everything that measures."""
    options = [
        click.option(
            "--folder",
            type=click.Path(exists=True, file_okay=False, writable=True, path_type=Path),
            default=Path(),
            help="Where to work, in a new folder that is removed at the end.  [default: the current folder]",
        ),
        click.option("--quick", is_flag=True, help="Measure little: whether everything works, not how fast it is."),
        click.option(
            "--only", "patterns", metavar="KEY", multiple=True, help="Only figures of this name, such as 'append_*'."
        ),
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a table."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


@bench.command()
@_measured
def log(folder: Path, quick: bool, patterns: tuple[str, ...], as_json: bool) -> None:
    """Measure the log: appends, reads, look-ups, recovery, group commit, memory.

    It takes about two minutes, and up to 3.5 GB of disk that it gives back.
    """
    _run("log", log_entries(QUICK if quick else FULL), QUICK if quick else FULL, (folder, patterns, as_json))


@bench.command()
@_measured
def broker(folder: Path, quick: bool, patterns: tuple[str, ...], as_json: bool) -> None:
    """Measure a broker end to end: publishing and reading over gRPC and REST, latency, memory, start.

    Brokers run in processes of their own, on one core; the load runs here, on the others. It takes about three minutes,
    and up to 11 GB of disk that it gives back.
    """
    _run_beside("broker", (folder, patterns, as_json), quick=quick)


@bench.command()
@_measured
def groups(folder: Path, quick: bool, patterns: tuple[str, ...], as_json: bool) -> None:
    """Measure consumer groups: members that come, go and die, reading together, commits.

    Broker and members run in processes of their own. It takes about a minute, and up to 1.4 GB of disk that it gives
    back.
    """
    _run_beside("groups", (folder, patterns, as_json), quick=quick)


@bench.command()
@_measured
def queue(folder: Path, quick: bool, patterns: tuple[str, ...], as_json: bool) -> None:
    """Measure work queues: leases and acknowledgements, timers, delayed messages, a burst of them.

    Brokers run in processes of their own, on one core; the load runs here, on the others. It takes about five minutes,
    and up to 2.5 GB of disk that it gives back.
    """
    _run_beside("queue", (folder, patterns, as_json), quick=quick)


@bench.command()
@_measured
@click.option(
    "--storms",
    type=click.IntRange(1),
    metavar="COUNT",
    help="How many storms each figure of outages has.  [default: 10, or 1 with --quick]",
)
def cluster(folder: Path, quick: bool, patterns: tuple[str, ...], as_json: bool, storms: int | None) -> None:
    """Measure a cluster: nodes that are killed, stopped or cut off under load, replication, catching up.

    Three brokers run in processes of their own and share all cores with the load. It takes about 25 minutes, and up to
    4 GB of disk that it gives back.
    """
    sizes = QUICK if quick else FULL
    sizes = evolve(sizes, storms=storms or sizes.storms)
    _run("cluster", entries_of("cluster", sizes), sizes, (folder, patterns, as_json))


@bench.command()
@_measured
def capture(folder: Path, quick: bool, patterns: tuple[str, ...], as_json: bool) -> None:
    """Measure captures: what one costs a broker, how large it gets, how fast it is told again.

    Brokers run in processes of their own, on one core; the load runs here, on the others. It takes about a minute, and
    up to 6 GB of disk that it gives back.
    """
    _run_beside("capture", (folder, patterns, as_json), quick=quick)


@bench.command()
@_measured
def hostile(folder: Path, quick: bool, patterns: tuple[str, ...], as_json: bool) -> None:
    """Measure a broker under attack: clients that read nothing, dribble or flood, beside a reader that behaves.

    Each attack has a broker of its own, and ends by itself; nothing but this machine is attacked. It takes about three
    minutes, and up to 200 MB of disk that it gives back.
    """
    _run_beside("hostile", (folder, patterns, as_json), quick=quick)


@bench.command()
@_measured
@click.option("--profile", is_flag=True, help="Print where the CPU time of turn_one goes, or of what --only names.")
def turn(folder: Path, quick: bool, patterns: tuple[str, ...], as_json: bool, profile: bool) -> None:
    """Measure the CPU time of a single publish: in the node, in a node that holds a crowd, in a broker over gRPC.

    The broker runs in a process of its own, on one core; all else runs here, on the others. It takes about three
    minutes, most of them for making and removing the crowd, and up to 600 MB of disk that it gives back.
    """
    if not profile:
        _run_beside("turn", (folder, patterns, as_json), quick=quick)
    elif as_json:
        raise click.UsageError("a profile is for people: leave --json out")
    else:
        _profile_turns(folder, patterns or ("turn_one",), QUICK if quick else FULL)


def _profile_turns(folder: Path, patterns: Sequence[str], sizes: Sizes) -> None:
    """Print where the CPU time goes of the figures that are asked for."""
    from goqueue.cli.bench.turn_profile import profiled

    entries = _chosen(entries_of("turn", sizes), patterns)
    _, load_cores = split()
    room = scratch(folder, wanted_bytes(entries, sizes))
    with kept_to(load_cores), room as place, _progress(len(entries)) as advanced:
        tables = [
            profiled(entry.key, Workbench(place, sizes, partial(_advance, advanced, entry.key, done)))
            for done, entry in enumerate(entries)
        ]
    click.echo("\n".join(tables), nl=False)


def _advance(advanced: Callable[[str, float], None], key: str, done: int, part: float) -> None:
    advanced(key, done + part)


@bench.command()
@_measured
def spark(folder: Path, quick: bool, patterns: tuple[str, ...], as_json: bool) -> None:
    """Measure Spark over topics and captures, beside Spark over Parquet.

    It needs a Java. Spark runs on two cores of this machine. It takes about six minutes, and up to 3 GB of disk that
    it gives back.
    """
    sizes = QUICK if quick else FULL
    _run("spark", spark_entries(sizes), sizes, (folder, patterns, as_json))


def _run_beside(name: str, options: tuple[Path, tuple[str, ...], bool], *, quick: bool) -> None:
    """Take figures of brokers that have a core of their own, with the load on the others."""
    sizes = QUICK if quick else FULL
    _, load_cores = split()
    with kept_to(load_cores):
        _run(name, entries_of(name, sizes), sizes, options)


def _run(name: str, known: Sequence[Entry], sizes: Sizes, options: tuple[Path, tuple[str, ...], bool]) -> None:
    """Take the figures that are asked for, and print them."""
    folder, patterns, as_json = options
    entries = _chosen(known, patterns)
    machine = describe(folder)
    in_memory = ": this measures memory, not a disk" if is_in_memory(folder) else ""
    click.echo(f"working in {folder.absolute()}, on {machine['file_system']}{in_memory}", err=True)
    with scratch(folder, wanted_bytes(entries, sizes)) as place, _progress(len(entries)) as advanced:
        figures = take(entries, sizes, place, advanced)
    if as_json:
        click.echo(json.dumps(answer(name, figures, machine)))
    else:
        print_figures(entries, figures, machine)


def entries_of(name: str, sizes: Sizes) -> list[Entry]:
    """All figures of a command that starts brokers, in the order in which they are taken."""
    modules = [import_module(f"goqueue.cli.bench.{name}_{part}") for part in _OF_BROKERS[name]]
    return [entry for module in modules for entry in module.entries(sizes)]


def spark_entries(sizes: Sizes) -> list[Entry]:
    """All figures of `bench spark`, in the order in which they are taken. Raises Ending where there is no Spark."""
    found: list[Entry] = import_module(_SPARK).entries(sizes)
    return found


def log_entries(sizes: Sizes) -> list[Entry]:
    """All figures of `bench log`, in the order in which they are taken."""
    return [entry for module in _LOG for entry in module.entries(sizes)]


def _chosen(entries: Sequence[Entry], patterns: Sequence[str]) -> list[Entry]:
    for pattern in patterns:
        if not any(fnmatchcase(entry.key, pattern) for entry in entries):
            known = " ".join(entry.key for entry in entries)
            raise click.BadParameter(f"no figure is named {pattern!r}; there are: {known}", param_hint="--only")
    return [entry for entry in entries if not patterns or any(fnmatchcase(entry.key, name) for name in patterns)]


def wanted_bytes(entries: Sequence[Entry], sizes: Sizes) -> int:
    """The room that these figures take at the worst moment."""
    shared = {batch_records for entry in entries for batch_records in entry.shared}
    return sum(sizes.shared_bytes[kind] for kind in shared) + max((entry.disk_bytes for entry in entries), default=0)


def take(
    entries: Sequence[Entry], sizes: Sizes, folder: Path, advanced: Callable[[str, float], None]
) -> dict[str, Figure]:
    """Take the figures in order; `advanced` hears the key of the present one and how much of all is done."""
    figures: dict[str, Figure] = {}
    key = ""

    def part_done(part: float) -> None:
        advanced(key, len(figures) + part)

    workbench = Workbench(folder, sizes, part_done)
    for entry in entries:
        key = entry.key
        part_done(0)
        figures[key] = entry.measure(workbench)
    return figures


def answer(name: str, figures: dict[str, Figure], machine: dict[str, str | int | None]) -> dict[str, object]:
    """The form in which every benchmark answers; `notes` is for people."""
    return {
        "name": name,
        "figures": {key: figure.fields() for key, figure in figures.items()},
        "machine": machine,
        "notes": {key: figure.note for key, figure in figures.items() if figure.note},
    }


@contextmanager
def _progress(count: int) -> Iterator[Callable[[str, float], None]]:
    """A bar that is drawn between rounds and never during one, as the thread that rich would draw it with does."""
    console = Console(stderr=True)
    words, percent = TextColumn("{task.description:24}"), TextColumn("{task.percentage:3.0f} %")
    columns = (words, BarColumn(), percent, TimeElapsedColumn())
    quiet = not console.is_terminal
    with Progress(*columns, console=console, auto_refresh=False, transient=True, disable=quiet) as progress:
        task = progress.add_task("", total=count)
        yield lambda key, done: progress.update(task, description=key, completed=done, refresh=True)
