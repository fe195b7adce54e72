"""`goqueue group`: consumer groups listed, described, altered, set back and deleted, by the broker's REST interface.

Reading as a member of a group is `goqueue consume --group`. What the tables look like is `group_tables.py`.
"""

from datetime import UTC, datetime
from urllib.parse import quote

import click

from goqueue.cli.changes import alter_settings, confirm_deletion, delete_at
from goqueue.cli.group_tables import print_changes, print_group, print_groups, print_offsets, print_rebalances
from goqueue.cli.moments import OFFSET_MAX, parse_place, spelled
from goqueue.cli.output import counted, form_option, print_structure
from goqueue.cli.server import Server, ask, complete_names, complete_topic, server_option
from goqueue.cli.topic import parse_settings


def group_path(group: str, rest: str = "") -> str:
    """The path of a group."""
    return f"/v1/groups/{quote(group, safe='')}{rest}"


def complete_group(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Groups whose names begin so, for the shell; none if no broker says any."""
    return complete_names(ctx, "groups", "", incomplete)


_name = click.argument("name", shell_complete=complete_group)


def time_of_reset(text: str) -> datetime:
    """A time, or a span before this moment; raises BadParameter for an offset and for anything else."""
    try:
        place = parse_place(text, datetime.now().astimezone())
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    if not isinstance(place, datetime):
        raise click.BadParameter(f"{text!r} is an offset; say --to-offset {text}")
    return place.astimezone(UTC)


@click.group()
def group() -> None:
    """List, describe, alter, reset and delete consumer groups."""


@group.command("list")
@form_option
@server_option
def list_groups(form: str, server: Server) -> None:
    """List all groups."""
    groups = ask(server, "GET", "/v1/groups?details=true")["groups"]
    if form == "table":
        print_groups(groups)
    else:
        print_structure(form, groups)


@group.command()
@_name
@form_option
@server_option
def describe(name: str, form: str, server: Server) -> None:
    """Show a group: how far it is in each partition, who reads it, its members, its settings."""
    found = ask(server, "GET", group_path(name))
    progress = ask(server, "GET", group_path(name, "/offsets"))
    if form == "table":
        print_group(found, progress, datetime.now(UTC))
    else:
        print_structure(form, {**found, "offsets": progress["offsets"], "lag": progress["lag"]})


@group.command()
@_name
@click.option("--topic", "topics", multiple=True, shell_complete=complete_topic, help="Only of this; may be repeated.")
@form_option
@server_option
def offsets(name: str, topics: tuple[str, ...], form: str, server: Server) -> None:
    """Show how far a group is: the next offset that it reads, and how many messages are left."""
    found = ask(server, "GET", group_path(name, "/offsets"))
    chosen = {
        part: {topic: known for topic, known in found[part].items() if not topics or topic in topics}
        for part in ("offsets", "lag")
    }
    if form == "table":
        print_offsets(chosen)
    else:
        print_structure(form, chosen)


@group.command("reset-offsets")
@_name
@click.option("--topic", required=True, shell_complete=complete_topic, help="The topic whose offsets are reset.")
@click.option("-p", "--partition", "partitions", multiple=True, type=click.IntRange(min=0), help="Only these.")
@click.option("--to-earliest", is_flag=True, help="Go on with the oldest message.")
@click.option("--to-latest", is_flag=True, help="Go on with what comes from here on.")
@click.option("--to-offset", type=click.IntRange(0, OFFSET_MAX), help="Go on with this offset.")
@click.option(
    "--to-time", type=time_of_reset, metavar="TIME", help="Go on with the first message since: 2h, 12:00, or RFC 3339."
)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@form_option
@server_option
def reset_offsets(
    name: str,
    topic: str,
    partitions: tuple[int, ...],
    to_earliest: bool,
    to_latest: bool,
    to_offset: int | None,
    to_time: datetime | None,
    dry_run: bool,
    form: str,
    server: Server,
) -> None:
    """Let a group go on from elsewhere, in partitions that no member reads at the moment."""
    places: list[dict[str, object]] = []
    if to_earliest:
        places.append({"to": "earliest"})
    if to_latest:
        places.append({"to": "latest"})
    if to_offset is not None:
        places.append({"to": "offset", "offset": to_offset})
    if to_time is not None:
        places.append({"to": "time", "time": spelled(to_time)})
    if len(places) != 1:
        raise click.UsageError("say where to go on, once: --to-earliest, --to-latest, --to-offset or --to-time")
    body: dict[str, object] = {"topic": topic, "dry_run": dry_run, **places[0]}
    if partitions:
        body["partitions"] = sorted(set(partitions))
    changes = ask(server, "POST", group_path(name, "/offsets/reset"), body)
    if form == "table":
        print_changes(topic, changes, is_dry=dry_run)
    else:
        print_structure(form, changes)


@group.command()
@_name
@click.argument("settings", nargs=-1, required=True, metavar="KEY=VALUE...")
@form_option
@server_option
def alter(name: str, settings: tuple[str, ...], form: str, server: Server) -> None:
    """Change settings of a group; KEY= with no value takes one back to its default."""
    config = parse_settings(settings, may_reset=True)
    alter_settings(server, group_path(name), name, config, form)


@group.command()
@_name
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@form_option
@server_option
def delete(name: str, yes: bool, form: str, server: Server) -> None:
    """Delete a group without members, with its offsets; asks first on a terminal, and elsewhere wants --yes."""
    kept = ask(server, "GET", group_path(name, "/offsets"))["offsets"]
    if not yes:
        count = sum(offset >= 0 for known in kept.values() for offset in known.values())
        confirm_deletion("group", name, f"{name} and its offsets of {counted(count, 'partition')}")
    delete_at(server, group_path(name), name, form)


@group.command()
@click.argument("name", required=False, shell_complete=complete_group)
@form_option
@server_option
def rebalances(name: str | None, form: str, server: Server) -> None:
    """Show how often partitions were divided anew, why, and how long it took: in one group, or in all."""
    found = ask(server, "GET", group_path(name, "/rebalance/stats") if name else "/v1/rebalance/stats")
    if form == "table":
        print_rebalances(found)
    else:
        print_structure(form, found)
