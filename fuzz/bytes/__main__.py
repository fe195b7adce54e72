"""`python -m goqueue.fuzz.bytes SECONDS`: fuzz all targets in turn; `--replay TARGET FILE`: run one input again."""

import base64
import importlib.util
import os
import sys
import traceback
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bars

from goqueue.fuzz.bytes.bounds import check_bounds
from goqueue.fuzz.bytes.session import Outcome, Progress, SessionFailed, fuzz
from goqueue.fuzz.bytes.targets import NAMES, load

FINDINGS = Path(__file__).parent / "findings"
_BASE64_CHARACTERS_MAX = 4096


@click.command(help="Fuzz everything that parses bytes for SECONDS, each target for its share.")
@click.argument("seconds", type=click.IntRange(min=1), required=False)
@click.option("--target", type=click.Choice(NAMES), help="Only this one, for all of the time.")
@click.option("--seed", type=click.IntRange(1, 0xFFFF_FFFF), help="Of libFuzzer's generator; drawn when not given.")
@click.option("--corpus", type=click.Path(path_type=Path), help="Where the inputs that were worth keeping stay.")
@click.option("--replay", type=(click.Choice(NAMES), click.Path(path_type=Path)), help="Run one input, in a file.")
def main(
    seconds: int | None, target: str | None, seed: int | None, corpus: Path | None, replay: tuple[str, Path] | None
) -> None:
    """Exit with 1 when something was found."""
    if replay is not None:
        sys.exit(run_again(*replay))
    if seconds is None:
        raise click.UsageError("for how long? Give SECONDS, or --replay TARGET FILE.")
    if importlib.util.find_spec("atheris") is None:
        raise click.ClickException("atheris is not installed: `./dev fuzz SECONDS` installs it, on Linux x86-64.")
    names = NAMES if target is None else (target,)
    console = Console(highlight=False)
    chosen_seed = seed or int.from_bytes(os.urandom(4), "big") or 1
    console.print(f"seed {chosen_seed}, {max(seconds // len(names), 1)} s a target")
    try:
        found = [name for name in names if _fuzz_one(console, name, max(seconds // len(names), 1), chosen_seed, corpus)]
    except SessionFailed as error:
        raise click.ClickException(str(error)) from error
    if found:
        console.print(f"found something in {', '.join(found)}")
        sys.exit(1)


def run_again(name: str, path: Path) -> int:
    """Run one input through a target's check, bounds included; 1 when it fails."""
    content = path.read_bytes()
    try:
        check_bounds(load(name).check, content)
    except Exception:  # noqa: BLE001 - any error is what the replay is to show
        traceback.print_exc()
        return 1
    print(f"{name}: these {len(content)} bytes pass")
    return 0


def _fuzz_one(console: Console, name: str, seconds: int, seed: int, corpus: Path | None) -> bool:
    """Fuzz one target, showing how it goes; whether something was found."""
    columns = (TextColumn(f"{name:<12}"), BarColumn(bar_width=16), TextColumn("{task.description}"))
    with Bars(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task("starting", total=seconds)

        def show(progress: Progress) -> None:
            elapsed = bars.tasks[0].elapsed or 0.0
            bars.update(task, completed=min(elapsed, seconds), description=_figures(progress))

        outcome = fuzz(name, seconds, seed, findings=FINDINGS, corpus=corpus, watch=show)
    console.print(f"{name:<12} {_figures(outcome.progress)}")
    if outcome.finding is not None:
        _show_finding(console, name, outcome, outcome.finding)
    return outcome.finding is not None


def _figures(progress: Progress) -> str:
    return (
        f"{progress.runs:>10,} runs {progress.runs_a_second:>7,}/s"
        f"  {progress.coverage:>5,} branches  {progress.inputs:>5,} inputs kept"
    )


def _show_finding(console: Console, name: str, outcome: Outcome, finding: Path) -> None:
    content = finding.read_bytes()
    encoded = base64.b64encode(content).decode()
    here = Path.cwd()
    path = finding.relative_to(here) if finding.is_relative_to(here) else finding
    print(f"\n{outcome.progress.traceback()}\n")
    print(f"input   {path} ({len(content)} bytes)")
    print(f"base64  {encoded if len(encoded) <= _BASE64_CHARACTERS_MAX else 'too long to be shown'}")
    print(f"replay  ./dev fuzz --replay {name} {path}\n")
    console.file.flush()


if __name__ == "__main__":
    main()
