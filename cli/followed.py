"""The way of a message through a cluster, for people as a table and for programs as a structure."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click

from goqueue.cli.output import print_table
from goqueue.core.capture.timeline import Place, Step
from goqueue.storage.capture_following import Followed, timeline


def parse_place(text: str) -> Place:
    """`orders/0/17` as a place; raises BadParameter."""
    topic, _, rest = text.partition("/")
    partition, _, offset = rest.partition("/")
    if not topic or not all(number.isascii() and number.isdigit() for number in (partition, offset)):
        raise click.BadParameter(f"{text!r} is not TOPIC/PARTITION/OFFSET, like orders/0/17")
    return Place(topic, int(partition), int(offset))


def print_followed(place: Place, nodes: list[Followed], print_it: Callable[[object], None], *, as_table: bool) -> bool:
    """Print all steps by time, as a table or by `print_it`; whether there were any."""
    steps = timeline(nodes)
    if not as_table:
        print_it({"topic": place.topic, "partition": place.partition, "offset": place.offset, **_told(nodes, steps)})
    elif steps:
        rows = [[_moment(step), step.node, step.kind.value, step.peer or "-", step.detail] for step in steps]
        print_table(("TIME (UTC)", "NODE", "STEP", "PEER", "DETAIL"), rows)
    else:
        click.echo(f"nothing is said of {place} in these captures")
    return bool(steps)


def _told(nodes: list[Followed], steps: list[Step]) -> dict[str, Any]:
    return {
        "nodes": [
            {"node_id": one.node_id, "identical": one.replay.is_identical, "events": one.replay.events} for one in nodes
        ],
        "steps": [
            {
                "time": _moment(step).replace(" ", "T") + "Z",
                "node": step.node,
                "step": step.kind.value,
                "peer": step.peer,
                "detail": step.detail,
                "event": step.event,
            }
            for step in steps
        ],
    }


def _moment(step: Step) -> str:
    seconds, rest = divmod(step.wall_ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}.{rest // 1000:06d}"
