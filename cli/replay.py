"""`goqueue replay`: tell fresh nodes everything that captures say they were told, and compare all that they say.

The exit status is 0 when everything came out the same and 1 when something did not, or when part of a capture could
not be read. An end that a kill cut off is told and does not count: what was being written then was never whole.

Several folders are several nodes, each told again by itself. With `--follow` the replay is the means: what is printed
is what all of them had to do with one message.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
from attrs import asdict, define
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from goqueue.cli.followed import parse_place, print_followed
from goqueue.cli.output import counted, form_option, print_structure
from goqueue.core.capture.errors import CaptureError
from goqueue.core.capture.replay import Divergence
from goqueue.core.capture.timeline import Place
from goqueue.storage.capture import core_vocabulary
from goqueue.storage.capture_files import CaptureFile, Fault, Replay, list_captures, misnamed, parse_name, read_heading
from goqueue.storage.capture_files import replay as replay_files
from goqueue.storage.capture_following import follow

_LONG_BYTES = 8 << 20
_FAULTS_TOLD = 10


@define
class Folder:
    """The capture of one node."""

    path: Path
    files: list[CaptureFile]
    # What is called a capture there and is not named as one.
    strays: list[Fault]

    def node_id(self) -> str:
        """Whose it is; empty where no file says so."""
        for file in self.files:
            try:
                return read_heading(file).node_id
            except (CaptureError, OSError):
                continue
        return ""


@click.command()
@click.argument("paths", metavar="DIR...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--from-snapshot",
    "first",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Begin at this file, counted from 0.",
)
@click.option(
    "--follow",
    "place",
    metavar="TOPIC/PARTITION/OFFSET",
    callback=lambda _context, _option, text: parse_place(text) if text else None,
    help="Print what the nodes had to do with one message, in the order of time.",
)
@form_option
@click.option("--json", "as_json", is_flag=True, help="The same as `-o json`, in one line.")
def replay(paths: tuple[Path, ...], first: int, place: Place | None, form: str, as_json: bool) -> None:
    """Replay captures: folders of them, one a node, or single files.

    \b
    Make one:
      goqueue serve --capture captures
      kill -USR1 PID        begins or ends a capture of a broker that runs

    \b
    Follow the message at offset 17 of partition 0 through three nodes:
      goqueue replay --follow orders/0/17 captures-a captures-b captures-c
    """  # noqa: D301 - click leaves alone what follows the character itself
    folders = [Folder(path, _files(path, first), misnamed(str(path)) if path.is_dir() else []) for path in paths]
    form = "line" if as_json else form
    if place is not None:
        sys.exit(0 if _follow(folders, place, form) else 1)
    sys.exit(0 if _replay(folders, form) else 1)


def _files(path: Path, first: int) -> list[CaptureFile]:
    files = _all_files(path)[first:]
    if not files:
        raise click.ClickException(f"{path} holds no capture" + (f" after the first {first} files" if first else ""))
    return files


def _all_files(path: Path) -> list[CaptureFile]:
    if path.is_dir():
        return list_captures(str(path))
    named = parse_name(str(path))
    if named is None:
        raise click.ClickException(f"{path.name} is not named as a capture is, like 1700000000000-000000.capture")
    return [named]


@contextmanager
def _progress(folders: Sequence[Folder], *, shown: bool) -> Iterator[Callable[[int], None]]:
    total = sum(Path(file.path).stat().st_size for folder in folders for file in folder.files)
    console = Console(stderr=True)
    if not shown or total < _LONG_BYTES or not console.is_terminal:
        yield lambda _: None
        return
    columns = TextColumn("replaying"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda size: progress.advance(task, size)


# --- all again


def _replay(folders: list[Folder], form: str) -> bool:
    """Replay one node after another; whether all came out the same."""
    told: list[dict[str, Any]] = []
    identical = True
    with _progress(folders, shown=form == "table") as progress:
        for folder in folders:
            begun = time.monotonic()
            outcome = replay_files(folder.files, core_vocabulary(), progress)
            seconds = time.monotonic() - begun
            outcome.faults = [*folder.strays, *outcome.faults]
            identical = identical and outcome.is_identical
            if form == "table":
                _tell(outcome, seconds, f"{folder.node_id() or '-'} ({folder.path}) " if len(folders) > 1 else "")
            else:
                told.append(_structure(folder, outcome, seconds))
    if form != "table":
        _print(form, told[0] if len(told) == 1 else {"identical": identical, "nodes": told})
    return identical


def _structure(folder: Folder, outcome: Replay, seconds: float) -> dict[str, Any]:
    counts = {"identical": outcome.is_identical, "unread": outcome.unread, "seconds": round(seconds, 3)}
    found = {**counts, **asdict(outcome)}
    return {**found, "node_id": folder.node_id(), "path": str(folder.path)}


def _print(form: str, found: object) -> None:
    if form == "line":
        click.echo(json.dumps(found))
    else:
        print_structure(form, found)


def _tell(outcome: Replay, seconds: float, whose: str) -> None:
    _tell_faults(outcome, whose)
    told = f"{counted(outcome.events, 'event')}, {counted(outcome.snapshots, 'snapshot')}, {seconds:.2f} s"
    if outcome.divergence is not None:
        _tell_divergence(outcome, outcome.divergence, whose)
    elif outcome.is_identical:
        click.echo(f"{whose}identical: {told}")
    elif outcome.snapshots:
        click.echo(f"{whose}identical as far as it could be read: {told}")
    else:
        click.echo(f"{whose}nothing could be replayed")
    for note in _notes(outcome):
        click.echo(whose + note)


def _notes(outcome: Replay) -> Iterator[str]:
    """What there is to know besides."""
    if outcome.unread:
        yield f"{counted(outcome.unread, 'file')} with something missing or unreadable"
    if outcome.headless_runs:
        yield f"{counted(outcome.headless_runs, 'run')} without the first file"
    if len(outcome.versions) > 1:
        yield f"captures of several releases: {', '.join(outcome.versions)}"
    if outcome.clock_steps:
        yield f"{counted(outcome.clock_steps, 'step')} of a wall clock"


def _tell_faults(outcome: Replay, whose: str, *, aside: bool = False) -> None:
    for fault in outcome.faults[:_FAULTS_TOLD]:
        click.echo(f"{whose}{fault.name}: {fault.why}", err=aside)
    if len(outcome.faults) > _FAULTS_TOLD:
        click.echo(f"{whose}and {len(outcome.faults) - _FAULTS_TOLD} more like these", err=aside)


def _tell_divergence(outcome: Replay, found: Divergence, whose: str, *, aside: bool = False) -> None:
    wall = datetime.fromtimestamp(outcome.diverged_wall_ms / 1000, UTC)
    place = f"{outcome.diverged_in} at event {found.event:,}, {wall:%Y-%m-%d %H:%M:%S.%f} UTC"
    click.echo(f"{whose}diverged in {place}", err=aside)
    click.echo(f"  told      {found.input}", err=aside)
    click.echo(f"  expected  {found.expected}", err=aside)
    click.echo(f"  actual    {found.actual}", err=aside)
    said = f"{counted(outcome.events, 'event')} replayed; the capture is of release {', '.join(outcome.versions)}"
    click.echo(said, err=aside)


# --- one message


def _follow(folders: list[Folder], place: Place, form: str) -> bool:
    """Print the way of a message; whether there was any, and all captures could be relied on."""
    with _progress(folders, shown=form == "table") as progress:
        found = [follow(folder.files, place, core_vocabulary(), progress) for folder in folders]
    for folder, one in zip(folders, found, strict=True):
        one.replay.faults = [*folder.strays, *one.replay.faults]
        whose = f"{one.node_id or '-'} ({folder.path}) "
        _tell_faults(one.replay, whose, aside=True)
        if one.replay.divergence is not None:
            _tell_divergence(one.replay, one.replay.divergence, whose, aside=True)
        if one.is_cut_short:
            click.echo(f"{whose}has more to do with it than is kept: only the first steps are shown", err=True)
    has_steps = print_followed(place, found, lambda structure: _print(form, structure), as_table=form == "table")
    return has_steps and all(one.replay.is_identical for one in found)
