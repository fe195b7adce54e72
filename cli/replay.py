"""`goqueue replay`: tell a fresh node everything that a capture says it was told, and compare all that it says.

The exit status is 0 when everything came out the same and 1 when something did not, or when part of the capture could
not be read. An end that a kill cut off is told and does not count: what was being written then was never whole.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import click
from attrs import asdict
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from goqueue.core.capture.replay import Divergence
from goqueue.storage.capture import core_vocabulary
from goqueue.storage.capture_files import CaptureFile, Replay, list_captures, parse_name
from goqueue.storage.capture_files import replay as replay_files

_LONG_BYTES = 8 << 20
_FAULTS_TOLD = 10


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--from-snapshot", "first", default=0, show_default=True, help="Begin at this file, counted from 0.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of sentences.")
def replay(path: Path, first: int, as_json: bool) -> None:
    r"""Replay a capture: a folder of them, or one file.

    \b
    Make one:
      goqueue serve --capture captures
      kill -USR1 PID        begins or ends a capture of a broker that runs
    """
    files = _files(path)[first:]
    if not files:
        raise click.ClickException(f"{path} holds no capture" + (f" after the first {first} files" if first else ""))
    begun = time.monotonic()
    with _progress(files, shown=not as_json) as progress:
        outcome = replay_files(files, core_vocabulary(), progress)
    seconds = time.monotonic() - begun
    if as_json:
        click.echo(json.dumps({"identical": outcome.is_identical, "seconds": round(seconds, 3), **asdict(outcome)}))
    else:
        _tell(outcome, seconds)
    sys.exit(0 if outcome.is_identical else 1)


def _files(path: Path) -> list[CaptureFile]:
    if path.is_dir():
        return list_captures(str(path))
    named = parse_name(str(path))
    if named is None:
        raise click.ClickException(f"{path.name} is not named as a capture is, like 1700000000000-000000.capture")
    return [named]


@contextmanager
def _progress(files: list[CaptureFile], *, shown: bool) -> Iterator[Callable[[int], None]]:
    total = sum(Path(file.path).stat().st_size for file in files)
    console = Console(stderr=True)
    if not shown or total < _LONG_BYTES or not console.is_terminal:
        yield lambda _: None
        return
    columns = TextColumn("replaying"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda size: progress.advance(task, size)


def _tell(outcome: Replay, seconds: float) -> None:
    for fault in outcome.faults[:_FAULTS_TOLD]:
        click.echo(f"{fault.name}: {fault.why}")
    if len(outcome.faults) > _FAULTS_TOLD:
        click.echo(f"and {len(outcome.faults) - _FAULTS_TOLD} more like these")
    counted = f"{outcome.events:,} events, {outcome.snapshots} snapshots, {seconds:.2f} s"
    if outcome.divergence is not None:
        _tell_divergence(outcome, outcome.divergence)
    elif outcome.is_identical:
        click.echo(f"identical: {counted}")
    elif outcome.snapshots:
        click.echo(f"identical as far as it could be read: {counted}")
    else:
        click.echo("nothing could be replayed")


def _tell_divergence(outcome: Replay, found: Divergence) -> None:
    wall = datetime.fromtimestamp(outcome.diverged_wall_ms / 1000, UTC)
    click.echo(f"diverged in {outcome.diverged_in} at event {found.event:,}, {wall:%Y-%m-%d %H:%M:%S.%f} UTC")
    click.echo(f"  told      {found.input}")
    click.echo(f"  expected  {found.expected}")
    click.echo(f"  actual    {found.actual}")
    click.echo(f"{outcome.events:,} events were replayed; the capture is of release {', '.join(outcome.versions)}")
