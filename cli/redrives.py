"""Redrives and purges as a command sees them: followed to their end, shown as a table.

The broker does the work. Who stops following stops nothing, and is told so.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import click

from goqueue.cli.endings import INTERRUPTED, Ending
from goqueue.cli.output import print_table
from goqueue.cli.server import Server, ask
from goqueue.cli.shortened import NONE

RUNNING = "running"
# The first look comes soon, since most redrives are small; later ones cost a broker less.
LOOK_FIRST_S, LOOK_LAST_S = 0.02, 0.5


def follow(server: Server, found: dict[str, Any]) -> dict[str, Any]:
    """How a redrive is when it has ended, with a bar meanwhile on a terminal; Ctrl-C ends only the following."""
    path = f"/v1/redrives/{quote(found['redrive_id'], safe='')}"
    pause_s = LOOK_FIRST_S
    try:
        with _bar(found) as advanced:
            while found["state"] == RUNNING:
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, LOOK_LAST_S)
                found = ask(server, "GET", path)
                advanced(found)
    except KeyboardInterrupt:
        click.echo(
            f"goqueue: {found['redrive_id']} goes on; look at it with goqueue dlq status {found['redrive_id']}, "
            f"stop it with goqueue dlq cancel {found['redrive_id']}",
            err=True,
        )
        sys.exit(INTERRUPTED)
    return found


def finish(found: dict[str, Any]) -> dict[str, Any]:
    """A redrive that did all it was to do; raises Ending for any other."""
    if found["state"] == "failed":
        raise Ending(f"{found['redrive_id']} failed after {found['moved']:,} dead letters: {found.get('error', '')}")
    if found["state"] == "cancelled":
        raise Ending(f"{found['redrive_id']} was cancelled after {found['moved']:,} dead letters")
    return found


def print_redrives(redrives: list[dict[str, Any]]) -> None:
    """Redrives and purges, a line each."""
    titles = ("ID", "WHAT", "TOPIC", "TO", "STATE", "LOOKED", "OF", "MATCHED", "MOVED", "STARTED")
    print_table(
        titles,
        [
            [
                each["redrive_id"],
                _kind(each),
                each["topic"],
                each["to"] or NONE,
                each["state"],
                each["looked"],
                each["total"],
                each["matched"],
                each["moved"],
                each["started_at"],
            ]
            for each in redrives
        ],
    )
    for each in redrives:
        if each.get("error"):
            click.echo(f"{each['redrive_id']}: {each['error']}", err=True)


def _kind(found: dict[str, Any]) -> str:
    kind = "purge" if found["purge"] else "redrive"
    return f"{kind}, dry run" if found["dry_run"] else kind


@contextmanager
def _bar(found: dict[str, Any]) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A bar on a terminal's standard error, gone afterwards; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _found: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(_kind(found)), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[moved]:,} moved"),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=found["total"], completed=found["looked"], moved=found["moved"])
        yield lambda now: progress.update(task, completed=now["looked"], total=now["total"], moved=now["moved"])
