"""`goqueue chaos`: let a storm loose on a real cluster, and say whether its clients saw anything that they must not.

The command line reaches this by its name alone (`goqueue.cli.main`), since `cli` may not import what lies above it.
Exit status 0 says that the history is valid, 1 that it is not, 2 that too little is known.
"""

import json
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import SystemRandom
from types import FrameType
from typing import TextIO

import click
from rich.console import Console

from goqueue.cli.bench.workbench import BenchError
from goqueue.cli.endings import Ending
from goqueue.fuzz.chaos.run import Outcome, Plan, Storm
from goqueue.fuzz.chaos.storm import KINDS
from goqueue.fuzz.histories.form import HistoryError, read_history
from goqueue.fuzz.histories.judge import judge
from goqueue.fuzz.histories.verdict import Result, Verdict

STATUS = {Result.VALID: 0, Result.INVALID: 1, Result.UNKNOWN: 2}
HISTORY = "history.jsonl"
_SEEDS = 1_000_000
_TICK_S, _LINE_S = 0.5, 10.0


@click.command()
@click.option("--seed", type=click.IntRange(0), help="Draws the storm; one is made up, and printed, if there is none.")
@click.option("--seconds", type=click.FloatRange(5, 86_400), help="How long the storm lasts; 60 if nothing is said.")
@click.option("--minutes", type=click.FloatRange(0.1, 1_440), help="The same in minutes.")
@click.option("--nodes", type=click.IntRange(3, 7), default=3, show_default=True, help="How many brokers begin.")
@click.option("--faults", metavar="KIND,…", help=f"These and no others, or none: {', '.join(KINDS)}.")
@click.option(
    "--rate",
    type=click.FloatRange(1, 2_000),
    default=20,
    show_default=True,
    help="Messages a second that each of six producers sends.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the brokers' data and logs and the history go, and stay; a temporary folder if none, which stays "
    "where something was found.",
)
@click.option(
    "--history", type=click.Path(dir_okay=False, path_type=Path), help="Write the history here, whatever comes of it."
)
@click.option(
    "--check",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Run nothing, and judge the history in this file.",
)
@click.option(
    "--proxies", is_flag=True, help="Cut by proxies between brokers also where network namespaces can be made."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")
@click.pass_context
def chaos(
    context: click.Context,
    seed: int | None,
    seconds: float | None,
    minutes: float | None,
    nodes: int,
    faults: str | None,
    rate: float,
    folder: Path | None,
    history: Path | None,
    check: Path | None,
    proxies: bool,
    as_json: bool,
) -> None:
    """Run a real cluster through a storm, and judge what its clients saw.

    Brokers are started as processes on this machine. Producers, consumers, members of groups, workers, an administrator
    and others use them by the client library, and note all that they ask and are told. Meanwhile brokers are killed,
    stopped, cut off, emptied and restarted, as the seed says. In the end the cluster is to be well again, and the
    history is judged: nothing acknowledged is lost, nothing comes twice, in the wrong order or too early, no lease is
    given to two, no commit goes back.

    The same seed lets the same storm loose. What comes of it is real, and not the same twice: keep the history.

    \b
      goqueue chaos --seconds 60
      goqueue chaos --seed 7 --minutes 5 --faults kill,stop,cut
      goqueue chaos --check history.jsonl

    Exit status: 0 where the history is valid, 1 where it is not, 2 where too little is known to say, or where the
    command line is wrong. The brokers have a loopback address each, so this takes Linux.
    """  # noqa: D301 - click leaves alone what follows the character itself
    if check is not None:
        verdict = _checked(check)
        click.echo(json.dumps(verdict.as_json()) if as_json else verdict.text())
        context.exit(STATUS[verdict.result])
    if seconds is not None and minutes is not None:
        raise click.UsageError("How long? Either --seconds or --minutes.")
    chosen = seed if seed is not None else SystemRandom().randrange(_SEEDS)
    lasts_s = 60.0 * minutes if minutes is not None else seconds or 60.0
    with _folder(folder) as place:
        plan = Plan(chosen, lasts_s, nodes, _kinds(faults), rate, place.path, proxies)
        outcome = _run(plan, history or place.path / HISTORY)
        place.stays = folder is not None or outcome.verdict.result is not Result.VALID
        click.echo(json.dumps(_as_json(outcome)) if as_json else _as_text(outcome, history, place))
    context.exit(STATUS[outcome.verdict.result])


def _checked(path: Path) -> Verdict:
    try:
        with path.open(encoding="utf-8") as lines:
            return judge(read_history(lines))
    except (HistoryError, UnicodeDecodeError) as error:
        raise Ending(f"{path} is no history: {error}", 2) from error


def _kinds(text: str | None) -> tuple[str, ...]:
    """The kinds of faults that are wanted."""
    if text is None or text == "none":
        return tuple(KINDS) if text is None else ()
    unknown = [kind for kind in text.split(",") if kind not in KINDS]
    if unknown:
        raise click.BadParameter(f"{unknown[0]!r} is none of {', '.join(KINDS)}", param_hint="--faults")
    return tuple(text.split(","))


# --- running


class _Place:
    """A folder, and whether it stays."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.stays = True


@contextmanager
def _folder(given: Path | None) -> Iterator[_Place]:
    if given is not None:
        if given.exists() and any(given.iterdir()):
            raise Ending(f"{given} is not empty, and a storm begins with brokers that have nothing: name another", 2)
        given.mkdir(parents=True, exist_ok=True)
        yield _Place(given)
        return
    place = _Place(Path(tempfile.mkdtemp(prefix="goqueue-chaos-")))
    try:
        yield place
    except KeyboardInterrupt:
        place.stays = False
        raise
    finally:
        if not place.stays:
            shutil.rmtree(place.path, ignore_errors=True)


def _run(plan: Plan, history: Path) -> Outcome:
    console = Console(stderr=True, highlight=False)
    with ExitStack() as stack:
        file: TextIO = stack.enter_context(history.open("w", encoding="utf-8"))
        stack.enter_context(_terminated_like_interrupted())
        storm = Storm(plan, lambda line: console.print(line, soft_wrap=True), lambda line: print(line, file=file))
        console.print(f"seed {plan.seed}: {len(plan.faults())} faults in {plan.seconds:g} s")
        stack.enter_context(_progress(storm, console))
        try:
            return storm.run()
        except BenchError as error:
            raise Ending(f"the storm could not be let loose: {error}", 2) from error


@contextmanager
def _progress(storm: Storm, console: Console) -> Iterator[None]:
    """A line that stays where it is on a terminal, and one every ten seconds elsewhere."""
    ended = threading.Event()

    def show() -> None:
        if console.is_terminal:
            with console.status(storm.status()) as line:
                while not ended.wait(_TICK_S):
                    line.update(storm.status())
        else:
            while not ended.wait(_LINE_S):
                console.print(storm.status(), soft_wrap=True)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """SIGTERM ends everything as Ctrl-C does."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


# --- the end


def command_of(plan: Plan) -> str:
    """What lets the same storm loose again."""
    words = ["goqueue chaos", f"--seed {plan.seed}", f"--seconds {plan.seconds:g}"]
    if plan.nodes != 3:
        words.append(f"--nodes {plan.nodes}")
    if plan.kinds != tuple(KINDS):
        words.append(f"--faults {','.join(plan.kinds) or 'none'}")
    if plan.rate != 20:
        words.append(f"--rate {plan.rate:g}")
    return " ".join([*words, *(["--proxies"] if plan.by_proxies else [])])


def _as_json(outcome: Outcome) -> dict[str, object]:
    return {
        "seed": outcome.plan.seed,
        "again": command_of(outcome.plan),
        "network": outcome.network,
        "faults": outcome.faults,
        "trouble": outcome.trouble,
        **outcome.verdict.as_json(),
    }


def _as_text(outcome: Outcome, history: Path | None, place: _Place) -> str:
    lines = [outcome.verdict.text()]
    if outcome.trouble:
        lines.append(f"the client library gave up {len(outcome.trouble)} times where it might have gone on; the first:")
        lines += [f"    {line}" for line in outcome.trouble[:3]]
    if place.stays:
        lines.append(f"brokers' data and logs: {place.path}")
    if history is not None or place.stays:
        lines.append(f"history: {history or place.path / HISTORY}")
    lines.append(f"seed {outcome.plan.seed}; the same storm again: {command_of(outcome.plan)}")
    return "\n".join(lines)
