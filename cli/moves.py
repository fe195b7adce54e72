"""Moves of partitions as a command sees them: planned, begun, followed to their end, taken back.

The cluster does the work. Who stops following stops nothing, and is told so.
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import click

from goqueue.cli.endings import INTERRUPTED, Ending
from goqueue.cli.server import Server, ask, topic_path

MOVES_PATH = "/v1/admin/reassignment"
# The first look comes soon, since an empty partition moves in no time; later ones cost a broker less.
LOOK_FIRST_S, LOOK_LAST_S = 0.05, 0.5


def planned(server: Server, topic: str, partitions: Sequence[int], nodes: str) -> list[dict[str, Any]]:
    """Where partitions of a topic, or all of them, are to be; the list of nodes begins one further on for each."""
    wanted = [node.strip() for node in nodes.split(",") if node.strip()]
    if not wanted:
        raise click.UsageError("--to names no node")
    known = [each["id"] for each in ask(server, "GET", topic_path(topic, "/partitions"))["partitions"]]
    missing = [number for number in partitions if number not in known]
    if missing:
        raise Ending(f"topic {topic} has no partition {missing[0]}")
    chosen = sorted(set(partitions)) or known
    return [
        {
            "topic": topic,
            "partition": number,
            "new_replicas": [*wanted[at % len(wanted) :], *wanted[: at % len(wanted)]],
        }
        for at, number in enumerate(chosen)
    ]


def begin_moves(server: Server, moves: list[dict[str, Any]]) -> dict[str, Any]:
    """Begin moves, all of them or none, and answer with those that are under way."""
    return ask(server, "POST", MOVES_PATH, {"partitions": moves})


def take_back(server: Server, topic: str, partitions: Sequence[int]) -> list[str]:
    """Take back the moves of a topic, or of some of its partitions; which those were."""
    found = ask(server, "GET", MOVES_PATH)["reassignments"]
    ids = [
        str(each["id"])
        for each in found
        if each["topic"] == topic and (not partitions or each["partition"] in partitions)
    ]
    if ids:
        ask(server, "DELETE", _path(",".join(ids)))
    return ids


def follow(server: Server, found: dict[str, Any]) -> None:
    """Wait for moves to be done, with a bar meanwhile on a terminal; Ctrl-C ends only the waiting."""
    total, pause_s = found["id"].count(",") + 1, LOOK_FIRST_S
    try:
        with _bar(total) as advanced:
            while under_way := found["reassignments"]:
                advanced(total - len(under_way) + sum(each["progress"] for each in under_way))
                time.sleep(pause_s)
                pause_s = min(2 * pause_s, LOOK_LAST_S)
                found = ask(server, "GET", _path(found["id"]))
    except KeyboardInterrupt:
        click.echo(
            "goqueue: it goes on; look at it with goqueue cluster moves, take it back with goqueue cluster reassign "
            "TOPIC --cancel",
            err=True,
        )
        sys.exit(INTERRUPTED)


def _path(moves_id: str) -> str:
    return f"{MOVES_PATH}/{quote(moves_id, safe=',')}"


@contextmanager
def _bar(total: int) -> Iterator[Callable[[float], None]]:
    """A bar on a terminal's standard error, gone afterwards; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _moved: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = TextColumn("moving"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda moved: progress.update(task, completed=moved)
