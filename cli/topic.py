"""`goqueue topic`: the topics of a broker, listed, made, described, altered and deleted, by its REST interface."""

import re
from collections.abc import Iterable

import click

from goqueue.cli.changes import alter_settings, confirm_deletion, delete_at
from goqueue.cli.output import counted, form_option, print_settings, print_structure, print_table
from goqueue.cli.server import Server, ask, complete_topic, server_option, topic_path
from goqueue.core.cluster.durations import parse_duration_ms

HOUR_MS = 3_600_000
UNLIMITED = -1
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_FRACTION = re.compile(r"-?[0-9]{1,18}\.[0-9]{1,18}")

_name = click.argument("name", shell_complete=complete_topic)


def parse_retention(text: str) -> int:
    """Hours in a span such as 168h or 7d, -1 for `unlimited`; ValueError with a sentence."""
    if text in {"unlimited", str(UNLIMITED)}:
        return UNLIMITED
    hours, rest = divmod(parse_duration_ms(text), HOUR_MS)
    if rest or not hours:
        raise ValueError(f"{text!r} is not a number of whole hours, in which retention is counted; 168h and 7d are")
    return hours


def _retention_given(text: str) -> int:
    try:
        return parse_retention(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def parse_settings(pairs: Iterable[str], *, may_reset: bool) -> dict[str, object]:
    """Settings out of `key=value`; `retention` is a span, an empty value the default. Raises UsageError."""
    settings: dict[str, object] = {}
    for pair in pairs:
        key, separator, text = pair.partition("=")
        if not separator or not key:
            raise click.UsageError(f"{pair!r} is no setting; write it like fsync=interval")
        if not text and not may_reset:
            raise click.UsageError(f"{key} has no value; leave the setting out to have its default")
        name = "retention_hours" if key == "retention" else key
        if name in settings:
            raise click.UsageError(f"{key} is given twice")
        try:
            settings[name] = parse_retention(text) if key == "retention" and text else _value(text)
        except ValueError as error:
            raise click.UsageError(f"{key}: {error}") from error
    return settings


def _value(text: str) -> object:
    if not text:
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    if _FRACTION.fullmatch(text):
        return float(text)
    return {"true": True, "false": False}.get(text, text)


@click.group()
def topic() -> None:
    """List, make, describe, alter and delete topics."""


@topic.command("list")
@form_option
@server_option
def list_topics(form: str, server: Server) -> None:
    """List all topics."""
    topics = ask(server, "GET", "/v1/topics?details=true")["topics"]
    if form != "table":
        print_structure(form, topics)
        return
    rows = [[each["name"], each["partitions"], each["total_messages"], each["total_size_bytes"]] for each in topics]
    print_table(("NAME", "PARTITIONS", "MESSAGES", "BYTES"), rows)


@topic.command()
@click.argument("name")
@click.option("-p", "--partitions", type=click.IntRange(min=1), help="How many; the broker's default unless given.")
@click.option(
    "-r",
    "--retention",
    type=_retention_given,
    metavar="SPAN",
    help="How long messages are kept, in whole hours as in 168h or 7d, or unlimited.",
)
@click.option(
    "--replication-factor", type=click.IntRange(min=1), help="How many copies; the broker's default if not given."
)
@click.option("--config", "settings", multiple=True, metavar="KEY=VALUE", help="Another setting; may be repeated.")
@form_option
@server_option
def create(
    name: str,
    partitions: int | None,
    retention: int | None,
    replication_factor: int | None,
    settings: tuple[str, ...],
    form: str,
    server: Server,
) -> None:
    """Make a topic."""
    config = parse_settings(settings, may_reset=False)
    if retention is not None:
        if "retention_hours" in config:
            raise click.UsageError("retention is given twice, by --retention and by --config")
        config["retention_hours"] = retention
    body: dict[str, object] = {"name": name, "config": config}
    if replication_factor is not None:
        body["replication_factor"] = replication_factor
    if partitions is not None:
        body["num_partitions"] = partitions
    made = ask(server, "POST", "/v1/topics", body)
    if form == "table":
        click.echo(f"made {made['name']} with {counted(made['partitions'], 'partition')}")
    else:
        print_structure(form, made)


@topic.command()
@_name
@form_option
@server_option
def describe(name: str, form: str, server: Server) -> None:
    """Show a topic: its settings, and its partitions with their leaders, copies and offsets."""
    found = ask(server, "GET", topic_path(name))
    partitions = ask(server, "GET", topic_path(name, "/partitions"))["partitions"]
    if form != "table":
        print_structure(form, {**found, "partition_list": partitions})
        return
    counts = f"{counted(found['partitions'], 'partition')}, {counted(found['total_messages'], 'message')}"
    click.echo(f"{found['name']}: {counts}, {counted(found['total_size_bytes'], 'byte')}, id {found['id']}\n")
    rows = [
        [each[key] for key in ("id", "leader", "replicas", "isr", "elr", "earliest", "latest", "size_bytes")]
        for each in partitions
    ]
    print_table(("PARTITION", "LEADER", "REPLICAS", "IN SYNC", "ELIGIBLE", "EARLIEST", "LATEST", "BYTES"), rows)
    for each in partitions:
        if each["why_offline"]:
            click.echo(f"\n{each['why_offline']}")
    click.echo()
    print_settings(found["config"])


@topic.command()
@_name
@click.argument("settings", nargs=-1, required=True, metavar="KEY=VALUE...")
@form_option
@server_option
def alter(name: str, settings: tuple[str, ...], form: str, server: Server) -> None:
    """Change settings of a topic; KEY= with no value takes one back to its default."""
    config = parse_settings(settings, may_reset=True)
    alter_settings(server, topic_path(name), name, config, form)


@topic.command("add-partitions")
@_name
@click.argument("count", type=click.IntRange(min=2))
@form_option
@server_option
def add_partitions(name: str, count: int, form: str, server: Server) -> None:
    """Let a topic have COUNT partitions; messages with keys may go to other partitions from then on."""
    found = ask(server, "POST", f"/v1/admin{topic_path(name, '/partitions').removeprefix('/v1')}", {"count": count})
    if form == "table":
        click.echo(f"{name} has {counted(count, 'partition')}, and had {found['old_partition_count']:,}")
    else:
        print_structure(form, found)


@topic.command()
@_name
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@form_option
@server_option
def delete(name: str, yes: bool, form: str, server: Server) -> None:
    """Delete a topic with all its messages; asks first on a terminal, and elsewhere wants --yes."""
    found = ask(server, "GET", topic_path(name))
    if not yes:
        confirm_deletion("topic", name, f"{name} and {counted(found['total_messages'], 'message')}")
    delete_at(server, topic_path(name), name, form)
