"""`goqueue sim`: run worlds from seeds, and say of the first that broke a promise all that is known.

The command line reaches this by its name alone (`goqueue.cli.main`), since `cli` may not import what lies above it.
Exit status 1 means that a promise was broken.
"""

import json
import math
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import attrs
import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from goqueue.fuzz.case import FAULTS, Case, live_through, of_seed, read_spared
from goqueue.fuzz.histories.form import lines_of
from goqueue.fuzz.marks.survey import survey
from goqueue.fuzz.narrative import narrative_of
from goqueue.fuzz.options import Options
from goqueue.fuzz.planted import look_for_planted
from goqueue.fuzz.plants.catalogue import UnknownPlant, plant_of
from goqueue.fuzz.reach import CoverageMissing, Reach, measure_worker, unreached_in
from goqueue.fuzz.report import explain_violation, explain_world
from goqueue.fuzz.scribing.keeping import HistoryKeeper
from goqueue.fuzz.shrinking import Shrinking
from goqueue.fuzz.sim import Verdict
from goqueue.fuzz.timeline import timeline_of
from goqueue.fuzz.unreached import told

_A_WHILE = 100
_CLUSTER_NODES = 3
_EXPLAIN = "explain"


def _counted(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | str | None:
    """A number of worlds, or the word that has one told."""
    if value is None or value == _EXPLAIN:
        return value
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f"expected a number from 1 on, or {_EXPLAIN}, found {value!r}")
    return int(value)


@click.command()
@click.argument("count", callback=_counted, metavar="[COUNT|explain]", required=False)
@click.option("--seed", type=int, help="One world.")
@click.option("--seeds", metavar="A..B", help="Many worlds, B not among them.")
@click.option("--steps", type=click.IntRange(1), help="How long trouble lasts; each seed has a length of its own.")
@click.option("--nodes", type=click.IntRange(1, 9), help="How many nodes; each seed has a number of its own.")
@click.option("--clusters", type=click.IntRange(1), help="So many worlds of three nodes, and those of COUNT have one.")
@click.option("--minutes", type=click.FloatRange(0, 600, min_open=True), help="How long trouble lasts in a cluster.")
@click.option("--faults", metavar="KIND,…", help=f"These and no others, or none: {', '.join(FAULTS)}.")
@click.option(
    "--spare", metavar="N,…", help="Calamities that do not happen, and strikes (s7, s9-12), by their numbers."
)
@click.option("--without", metavar="NAME,…", help="Clients that are not there.")
@click.option("--off", metavar="OPTION,…", help="Options that are as they are by default.")
@click.option("--plant", metavar="NAME", help="A bug to be in the product, in worlds that show it, or as --nodes says.")
@click.option("--planted", is_flag=True, help="Look for all known bugs among worlds as anybody gets them.")
@click.option("--only", metavar="NAME", multiple=True, help="With --planted: this bug; may be given more than once.")
@click.option(
    "--markdown",
    type=click.Path(dir_okay=False, writable=True, allow_dash=True, path_type=Path),
    help="With --planted: put the table into a page that has marks for it, or print it for -.",
)
@click.option("--marks", is_flag=True, help="Print in how many worlds each rare state of the product is reached.")
@click.option("--shrink", is_flag=True, help="Look for a smaller world that breaks the same promise.")
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True, help="How many processes to use.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a world.")
@click.option("--trace", is_flag=True, help="Print what happens as it happens.")
@click.option("--explain", is_flag=True, help="Print what each world was like and what happened in it.")
@click.option("--coverage", is_flag=True, help="Print the branches of the core that no world has taken.")
@click.option(
    "--capture",
    type=click.Path(file_okay=False, writable=True, path_type=Path),
    help="Write down what the processes of one world are told, for `goqueue replay`.",
)
@click.option(
    "--history",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write down what the clients of one world saw, for `goqueue chaos --check`.",
)
@click.pass_context
def sim(
    context: click.Context,
    count: int | str | None,
    seed: int | None,
    seeds: str | None,
    steps: int | None,
    nodes: int | None,
    clusters: int | None,
    minutes: float | None,
    faults: str | None,
    spare: str | None,
    without: str | None,
    off: str | None,
    plant: str | None,
    planted: bool,
    only: tuple[str, ...],
    markdown: Path | None,
    marks: bool,
    shrink: bool,
    jobs: int,
    as_json: bool,
    trace: bool,
    explain: bool,
    coverage: bool,
    capture: Path | None,
    history: Path | None,
) -> None:
    """Run simulated worlds: brokers, their clients, disks and networks, and all that can go wrong with them.

    COUNT runs that many worlds, from seed 0 on. The same seed always gives the same world. With explain, and --seed, a
    world that breaks a promise is told from its beginning to that, in the order in which it happened.
    """
    if planted:
        context.exit(look_for_planted(only, nodes, seed, jobs, as_json=as_json, markdown=markdown))
    chosen = _chosen(None if isinstance(count, str) else count, seed, seeds)
    _refuse_many(chosen, trace=trace, as_json=as_json, capture=capture, history=history, narrates=count == _EXPLAIN)
    case = Case(chosen[0], nodes or 0, steps, None if minutes is None else _seconds(minutes))
    case.faults, case.off, case.plant = _faults(faults), _names(off), _plant(plant)
    case.spared, case.strikes = _spared(spare)
    case.without = tuple(without.split(",")) if without else ()
    cases = _cases(case, chosen, clusters)
    if marks:
        context.exit(_survey(cases, jobs))
    with _measured(is_wanted=coverage) as folder:
        if len(cases) == 1:
            captured, report = None if capture is None else str(capture), click.echo if trace else None
            keeper = HistoryKeeper()
            verdicts = iter([live_through(case, report, captured, keeper)])
            if history is not None:
                history.write_text("".join(f"{line}\n" for line in lines_of(keeper.history)), encoding="utf-8")
        else:
            verdicts = _run(cases, jobs, folder)
        show = _as_json if as_json else (_explained if explain else _silent)
        broken = _show(verdicts, show, len(cases), quiet=as_json)
    if broken is not None:
        if not as_json:
            _explain(_case_of(broken, case, clusters), broken, shrink, timeline=explain, narrates=count == _EXPLAIN)
        context.exit(1)
    if count == _EXPLAIN:
        click.echo(f"seed {case.seed} keeps its promises: there is nothing to tell. --explain says what it is like.")


def _refuse_many(
    chosen: range, *, trace: bool, as_json: bool, capture: Path | None, history: Path | None, narrates: bool
) -> None:
    """What is for one world, and for people."""
    if trace and (as_json or len(chosen) > 1):
        raise click.UsageError("--trace shows one world, for people: give it --seed, and no --json.")
    if capture is not None and len(chosen) > 1:
        raise click.UsageError("--capture is for one world: give it --seed.")
    if history is not None and len(chosen) > 1:
        raise click.UsageError("--history is for one world: give it --seed.")
    if narrates and (as_json or len(chosen) > 1):
        raise click.UsageError("explain tells of one world, for people: give it --seed, and no --json.")


def _cases(case: Case, seeds: range, clusters: int | None) -> list[Case]:
    """The worlds to run: one a seed, and the clusters that are wanted besides."""
    if clusters is None:
        return [of_seed(case, seed) for seed in seeds]
    if case.nodes:
        raise click.UsageError("--clusters says how many worlds have three nodes and the others have one: no --nodes.")
    alone = [attrs.evolve(case, seed=seed, nodes=1) for seed in seeds]
    return [*alone, *(attrs.evolve(case, seed=seeds[0] + at, nodes=_CLUSTER_NODES) for at in range(clusters))]


def _case_of(broken: Verdict, case: Case, clusters: int | None) -> Case:
    """The case of a world that broke a promise."""
    return attrs.evolve(case, seed=broken.seed, nodes=case.nodes if clusters is None else broken.options.nodes)


def _survey(cases: list[Case], jobs: int) -> int:
    """Print what the worlds reach; the exit status says whether all kept their promises."""
    with _progress(len(cases)) as advance:
        found, broken = survey(cases, jobs, advance)
    click.echo("\n".join(found.lines()))
    for verdict in broken:
        click.echo(f"seed {verdict.seed} breaks a promise: {verdict.violation}")
    return 1 if broken else 0


@contextmanager
def _measured(*, is_wanted: bool) -> Iterator[str]:
    """Measure which branches of the core are taken meanwhile, and print those that are not; empty if nobody asks."""
    if not is_wanted:
        yield ""
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            reach = Reach(folder)
        except CoverageMissing as error:
            raise click.UsageError(str(error)) from None
        reach.begin()
        try:
            yield folder
        finally:
            reach.end()
        click.echo(told(unreached_in(folder)))


def _explain(case: Case, broken: Verdict, shrink: bool, *, timeline: bool, narrates: bool) -> None:
    """All that is to be said of a world that broke a promise."""
    if shrink:
        shrinking = Shrinking(case, broken, click.echo)
        shrinking.run()
        case, broken = shrinking.case, shrinking.found
    if narrates:
        click.echo(narrative_of(case, broken))
        return
    click.echo(explain_violation(case, broken))
    if timeline:
        click.echo(timeline_of(case, broken))


def _faults(text: str | None) -> tuple[str, ...] | None:
    """The kinds of faults that are wanted."""
    if text is None or text == "none":
        return None if text is None else ()
    unknown = [fault for fault in text.split(",") if fault not in FAULTS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(FAULTS)}", param_hint="--faults")
    return tuple(text.split(","))


def _spared(text: str | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The numbers of calamities and of strikes."""
    spared = read_spared(text) if text else ((), ())
    if spared is None:
        raise click.BadParameter(f"expected numbers between commas, found {text!r}", param_hint="--spare")
    return spared


def _seconds(minutes: float) -> int:
    """Whole seconds; a report prints minutes with few digits."""
    return math.ceil(round(minutes * 60, 2))


def _plant(name: str | None) -> str:
    """A bug that there is."""
    try:
        return plant_of(name).name if name is not None else ""
    except UnknownPlant as error:
        raise click.BadParameter(str(error), param_hint="--plant") from None


def _names(text: str | None) -> tuple[str, ...]:
    """Names of options between commas."""
    words = tuple(text.split(",")) if text else ()
    unknown = [word for word in words if word not in attrs.fields_dict(Options)]
    if unknown:
        raise click.BadParameter(f"there is no option {unknown[0]!r}", param_hint="--off")
    return words


def _chosen(count: int | None, seed: int | None, seeds: str | None) -> range:
    """The seeds to run."""
    if sum(one is not None for one in (count, seed, seeds)) != 1:
        raise click.UsageError("Which worlds? A number of them, or --seed N, or --seeds A..B.")
    if seeds is not None:
        first, dots, last = seeds.partition("..")
        if not dots or not first.isdecimal() or not last.isdecimal() or int(first) >= int(last):
            raise click.BadParameter(f"expected A..B with A below B, found {seeds!r}", param_hint="--seeds")
        return range(int(first), int(last))
    return range(count) if count is not None else range(seed or 0, (seed or 0) + 1)


def _run(cases: list[Case], jobs: int, folder: str) -> Iterator[Verdict]:
    """The verdicts, in the order of the cases; with a folder, each process is measured into it."""
    if jobs == 1:
        yield from map(live_through, cases)
        return
    # A fresh interpreter for each: what a fork inherits, threads and their locks, belongs to somebody else.
    measure = partial(measure_worker, folder) if folder else None
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), measure) as pool:
        try:
            yield from pool.map(live_through, cases, chunksize=10)
        finally:
            pool.shutdown(cancel_futures=True)


def _show(verdicts: Iterator[Verdict], show: Callable[[Verdict], None], total: int, *, quiet: bool) -> Verdict | None:
    """Show verdicts as they come, up to the first that names a violation."""
    begun, acknowledged, done = time.monotonic(), 0, 0
    with _progress(total) as advance:
        for done, verdict in enumerate(verdicts, 1):
            acknowledged += verdict.acknowledged
            show(verdict)
            advance()
            if verdict.violation is not None:
                return verdict
            if not quiet and (done % _A_WHILE == 0 or done == total):
                rate = done / max(time.monotonic() - begun, 1e-9)
                click.echo(f"{done} worlds kept {acknowledged} acknowledgements, {rate:.0f} a second")
    return None


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], None]]:
    """A bar on a terminal's standard error, for more than one world."""
    console = Console(stderr=True)
    columns = (TextColumn("worlds"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    disabled = total == 1 or not console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=disabled) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)


def _as_json(verdict: Verdict) -> None:
    click.echo(json.dumps(verdict.as_json()))


def _explained(verdict: Verdict) -> None:
    click.echo(explain_world(verdict))


def _silent(verdict: Verdict) -> None:
    """Nothing is said of a world that kept its promises."""
