"""`goqueue dlq`: dead letters listed, looked at, sent back and dropped, by the broker's REST interface.

TOPIC is a topic of dead letters, such as `orders.dlq`, or one that has such a topic. Sending back and dropping are work
of the broker: it goes on
when the command that asked for it has ended. `redrives.py` follows it, `sieves.py` says which letters are meant.
"""

from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

import click

from goqueue.cli.changes import confirm
from goqueue.cli.output import counted, form_option, print_structure, print_table
from goqueue.cli.redrives import finish, follow, print_redrives
from goqueue.cli.server import Server, ask, complete_names, complete_topic, server_option
from goqueue.cli.shortened import NONE, shortened
from goqueue.cli.sieves import Sieve, sieve_options

PAGE = 1000

T = TypeVar("T")


def _complete_dead(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return complete_names(ctx, "dlq", "topic", incomplete, within="topics")


def _complete_redrive(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return complete_names(ctx, "redrives", "redrive_id", incomplete)


_topic = click.argument("topic", shell_complete=_complete_dead)


def _work_options(command: Callable[..., T]) -> Callable[..., T]:
    """What redrives and purges have in common."""
    for option in reversed(
        (
            sieve_options,
            click.option("--dry-run", is_flag=True, help="Only say how many it would be."),
            click.option("--detach", is_flag=True, help="Do not wait for its end."),
            click.option("-y", "--yes", is_flag=True, help="Do not ask."),
            form_option,
            server_option,
        )
    ):
        command = option(command)
    return command


@click.group()
def dlq() -> None:
    """List and look at dead letters, send them back, drop them."""


@dlq.command("list")
@form_option
@server_option
def list_dead(form: str, server: Server) -> None:
    """List the topics of dead letters, and how many there are in each."""
    topics = ask(server, "GET", "/v1/dlq")["topics"]
    if form == "table":
        print_table(("TOPIC", "LETTERS"), [[each["topic"], each["letters"]] for each in topics])
    else:
        print_structure(form, topics)


@dlq.command()
@_topic
@sieve_options
@click.option("-n", "--count", type=click.IntRange(min=1), default=20, show_default=True, help="So many at most.")
@form_option
@server_option
def peek(topic: str, sieve: Sieve, count: int, form: str, server: Server) -> None:
    """Show dead letters of TOPIC, the oldest of each partition first; they stay where they are."""
    letters = _pages(server, topic, sieve, count)
    if form != "table":
        print_structure(form, letters)
        return
    titles = ("LETTER", "DIED AT", "REASON", "GROUP", "ATTEMPTS", "FROM", "KEY", "VALUE")
    print_table(titles, [_row(letter) for letter in letters])


@dlq.command()
@_topic
@click.option("--to", "target", shell_complete=complete_topic, help="Send them there, not to where each came from.")
@click.option("--rate", type=click.IntRange(min=1), help="So many messages a second at most.")
@click.option("--limit", type=click.IntRange(min=1), help="So many messages in all at most.")
@_work_options
def redrive(
    topic: str,
    target: str | None,
    rate: int | None,
    limit: int | None,
    sieve: Sieve,
    dry_run: bool,
    detach: bool,
    yes: bool,
    form: str,
    server: Server,
) -> None:
    """Send dead letters of TOPIC back to the topics they came from, or to another one.

    The broker does it, and goes on when Ctrl-C ends this command, or the broker itself is started anew: goqueue dlq
    status shows how far it is, goqueue dlq cancel stops it.
    """
    body: dict[str, object] = {**sieve.fields(), "rate": rate, "limit": limit, "to": target}
    body = {name: value for name, value in body.items() if value is not None}
    question = f"Send {{letters}} of {topic} to {target}?" if target else f"Send {{letters}} of {topic} back?"
    _work(server, topic, "redrive", body, question, form, dry_run=dry_run, detach=detach, yes=yes)


@dlq.command()
@_topic
@_work_options
def purge(topic: str, sieve: Sieve, dry_run: bool, detach: bool, yes: bool, form: str, server: Server) -> None:
    """Drop dead letters of TOPIC for good; asks first on a terminal, and elsewhere wants --yes."""
    question = f"Drop {{letters}} of {topic} for good?"
    _work(server, topic, "purge", sieve.fields(), question, form, dry_run=dry_run, detach=detach, yes=yes)


@dlq.command()
@click.argument("redrive_id", required=False, shell_complete=_complete_redrive, metavar="[ID]")
@click.option("--topic", shell_complete=_complete_dead, help="Only of this topic of dead letters.")
@click.option("-f", "--follow", "is_followed", is_flag=True, help="Stay until it has ended.")
@form_option
@server_option
def status(redrive_id: str | None, topic: str | None, is_followed: bool, form: str, server: Server) -> None:
    """Show redrives and purges: one, or all that the broker remembers, the newest first."""
    if redrive_id is None:
        if is_followed:
            raise click.UsageError("say which one to follow, as goqueue dlq status shows them")
        found = ask(server, "GET", f"/v1/redrives?topic={quote(topic, safe='')}" if topic else "/v1/redrives")
        redrives = found["redrives"]
    else:
        if topic is not None:
            raise click.UsageError("an id says it all: leave --topic out")
        one = ask(server, "GET", f"/v1/redrives/{quote(redrive_id, safe='')}")
        redrives = [follow(server, one) if is_followed else one]
    if form == "table":
        print_redrives(redrives)
    else:
        print_structure(form, redrives if redrive_id is None else redrives[0])


@dlq.command()
@click.argument("redrive_id", shell_complete=_complete_redrive, metavar="ID")
@form_option
@server_option
def cancel(redrive_id: str, form: str, server: Server) -> None:
    """Stop a redrive or a purge; what it has done stays done."""
    found = ask(server, "DELETE", f"/v1/redrives/{quote(redrive_id, safe='')}")
    if form == "table":
        print_redrives([found])
    else:
        print_structure(form, found)


def _work(
    server: Server,
    topic: str,
    verb: str,
    body: dict[str, object],
    question: str,
    form: str,
    *,
    dry_run: bool,
    detach: bool,
    yes: bool,
) -> None:
    """Let the broker send back or drop letters: ask first, begin, follow, and say how it ended."""
    path = f"/v1/dlq/{quote(topic, safe='')}/{verb}"
    if not (dry_run or yes):
        counted_by_broker = follow(server, ask(server, "POST", path, {**body, "dry_run": True}))
        letters = counted(finish(counted_by_broker)["matched"], "dead letter")
        confirm(question.format(letters=letters), f"{verb} letters", f"{topic} stays as it is")
    found = ask(server, "POST", path, {**body, "dry_run": dry_run})
    if not detach:
        found = finish(follow(server, found))
    if form != "table":
        print_structure(form, found)
    elif detach:
        click.echo(found["redrive_id"])
    else:
        click.echo(_summary(found))


def _summary(found: dict[str, Any]) -> str:
    seen = f"of {counted(found['total'], 'message')} looked at"
    if found["dry_run"]:
        return f"{counted(found['matched'], 'dead letter')} {seen} in {found['topic']}: this was a dry run"
    done = "dropped" if found["purge"] else "sent back"
    where = f" to {found['to']}" if found["to"] else ""
    return f"{done} {counted(found['moved'], 'dead letter')}{where} {seen} in {found['topic']}"


def _pages(server: Server, topic: str, sieve: Sieve, count: int) -> list[dict[str, Any]]:
    """The first so many letters, asked for page by page."""
    letters: list[dict[str, Any]] = []
    more: dict[str, object] = {}
    while True:
        query = sieve.query(limit=min(count - len(letters), PAGE), **more)
        found = ask(server, "GET", f"/v1/dlq/{quote(topic, safe='')}/messages{query}")
        letters += found["messages"]
        if len(letters) >= count or not found.get("next"):
            return letters
        more = {"after": found["next"]}


def _row(letter: dict[str, Any]) -> list[object]:
    source = f"{letter['source_topic']}-{letter['source_partition']}@{letter['source_offset']}"
    return [
        f"{letter['partition']}:{letter['offset']}",
        letter["died_at"],
        letter["reason"],
        letter["group"] or NONE,
        letter["attempts"],
        source,
        shortened(letter["key"]),
        shortened(letter["value"]),
    ]
