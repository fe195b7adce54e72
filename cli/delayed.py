"""`goqueue delayed`: messages that are kept back until they are due, by the broker's REST interface.

A delayed message is known by partition and offset in the schedule, `0:17`, as `goqueue produce -v` prints it.
"""

import re
from datetime import UTC, datetime
from typing import Any

import click
from attrs import define

from goqueue.cli.changes import confirm
from goqueue.cli.moments import OFFSET_MAX, span_given, spelled, time_given
from goqueue.cli.output import counted, form_option, print_structure, print_table
from goqueue.cli.server import Server, ask, server_option, topic_argument, topic_path
from goqueue.cli.shortened import left, shortened
from goqueue.core.cluster.durations import format_duration

PAGE = 1000
_NAME = re.compile(r"([0-9]{1,9}):([0-9]{1,19})")


@define
class DelayedName:
    """Which delayed message of a topic: where in the schedule it stands."""

    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.partition}:{self.offset}"


def name_given(text: str) -> DelayedName:
    """A delayed message on the command line; raises BadParameter."""
    found = _NAME.fullmatch(text)
    if found is None or int(found[2]) > OFFSET_MAX:
        raise click.BadParameter(f"{text!r} names no delayed message; write PARTITION:OFFSET as in 0:17")
    return DelayedName(int(found[1]), int(found[2]))


_names = click.argument("names", nargs=-1, required=True, type=name_given, metavar="PARTITION:OFFSET...")
_name = click.argument("name", type=name_given, metavar="PARTITION:OFFSET")


@click.group()
def delayed() -> None:
    """List, show, cancel and reschedule delayed messages."""


@delayed.command("list")
@topic_argument
@click.option("-n", "--count", type=click.IntRange(min=1), default=100, show_default=True, help="So many at most.")
@form_option
@server_option
def list_delayed(topic: str, count: int, form: str, server: Server) -> None:
    """List delayed messages of TOPIC, those due first at the top."""
    messages, total = _pages(server, topic, count)
    if form != "table":
        print_structure(form, {"messages": messages, "count": total})
        return
    now = datetime.now(UTC)
    rows = [[_name_of(each), each["deliver_at"], left(each["deliver_at"], now), each["priority"]] for each in messages]
    print_table(("MESSAGE", "DELIVERED AT", "IN", "PRIORITY"), rows)
    if total > len(messages):
        click.echo(f"{counted(total - len(messages), 'message')} more; --count shows more of them", err=True)


@delayed.command()
@topic_argument
@_name
@form_option
@server_option
def show(topic: str, name: DelayedName, form: str, server: Server) -> None:
    """Show one delayed message of TOPIC, with what is in it."""
    found = ask(server, "GET", topic_path(topic, f"/delayed/{name.offset}?partition={name.partition}"))
    if form != "table":
        print_structure(form, found)
        return
    rows = [
        ["message", str(name)],
        ["delivered at", found["deliver_at"]],
        ["in", left(found["deliver_at"], datetime.now(UTC))],
        ["priority", found["priority"]],
        ["key", shortened(found.get("key"))],
        ["value", shortened(found.get("value"))],
        *([f"header {header}", shortened(value)] for header, value in found.get("headers", {}).items()),
    ]
    print_table(("WHAT", "VALUE"), rows)


@delayed.command()
@topic_argument
@_names
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@form_option
@server_option
def cancel(topic: str, names: tuple[DelayedName, ...], yes: bool, form: str, server: Server) -> None:
    """Never deliver these messages; asks first on a terminal, and elsewhere wants --yes."""
    if not yes:
        what = f"{counted(len(names), 'delayed message')} of {topic}"
        confirm(f"Never deliver {what}?", "cancel messages", f"{what} stay as they are")
    cancelled = []
    for name in names:
        cancelled.append(ask(server, "DELETE", topic_path(topic, f"/delayed/{name.partition}/{name.offset}")))
        if form == "table":
            click.echo(f"cancelled {name} of {topic}")
    if form != "table":
        print_structure(form, cancelled)


@delayed.command()
@topic_argument
@_name
@click.option("--delay", "delay_ms", type=span_given, metavar="SPAN", help="Deliver it so long from now, as in 10m.")
@click.option("--at", "due", type=time_given, metavar="TIME", help="Deliver it then: 12:00, or RFC 3339.")
@form_option
@server_option
def reschedule(
    topic: str, name: DelayedName, delay_ms: int | None, due: datetime | None, form: str, server: Server
) -> None:
    """Deliver a message at another time, earlier or later."""
    if (delay_ms is None) == (due is None):
        raise click.UsageError("say when to deliver it, once: --delay or --at")
    body = {"deliverAt": spelled(due)} if due is not None else {"delay": format_duration(delay_ms or 0)}
    found = ask(server, "PATCH", topic_path(topic, f"/delayed/{name.partition}/{name.offset}"), body)
    if form == "table":
        click.echo(f"{_name_of(found)} of {topic} is delivered at {found['deliver_at']}")
    else:
        print_structure(form, found)


def _pages(server: Server, topic: str, count: int) -> tuple[list[dict[str, Any]], int]:
    """The first so many, asked for page by page, and how many there are in all."""
    messages: list[dict[str, Any]] = []
    after = ""
    while True:
        wanted = min(count - len(messages), PAGE)
        found = ask(server, "GET", topic_path(topic, f"/delayed?limit={wanted}{after}"))
        messages += found["messages"]
        if len(messages) >= count or not found.get("next"):
            return messages, found["count"]
        after = f"&after={found['next']}"


def _name_of(message: dict[str, Any]) -> str:
    return f"{message['partition']}:{message['offset']}"
