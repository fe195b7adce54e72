"""`goqueue spark replay`: captures told again to the core, many at once; and what a changed core would have said."""

import json

import click

from goqueue.cli.endings import WRONG, Ending
from goqueue.cli.output import form_option, print_structure
from goqueue.core.capture.alterations import known_names, parse_alterations
from goqueue.spark.commands.facts import code_option, expect_captures
from goqueue.spark.commands.opening import Wanted, opened
from goqueue.spark.commands.pairs import named_values
from goqueue.spark.commands.progress import shown


@click.command()
@click.argument("captures", nargs=-1)
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="A setting to try, as topic.NAME.KEY, group.NAME.KEY or node.KEY; may be repeated. * stands for every name.",
)
@click.option("--settings", "lists", is_flag=True, help="List every name that can be set, and end.")
@code_option
@click.option(
    "--kept", type=click.IntRange(0), default=20, show_default=True,
    help="How many differences of a file to tell in words.",
)  # fmt: skip
@form_option
@click.pass_context
def replay(
    context: click.Context,
    captures: tuple[str, ...],
    pairs: tuple[str, ...],
    lists: bool,
    code: str,
    kept: int,
    form: str,
) -> None:
    """Replay CAPTURES, a task a file, and compare all that comes out.

    \b
    What would have been decided otherwise with other settings, or another core:
      goqueue spark replay captures --set topic.orders.max_attempts=10
      goqueue spark replay captures --code mine.patches:shorter_leases
    Exit status 1 means that something came out otherwise than it was captured, or could not be read. What a changed
    node would have said is no error.
    """  # noqa: D301 - click leaves alone what follows the character itself
    if lists:
        click.echo("\n".join(known_names()))
        return
    if not captures:
        raise Ending("captures of what? Name files, folders of captures, or folders of such folders", WRONG)
    wanted: Wanted = context.obj
    settings = named_values(pairs, "setting", "topic.orders.max_attempts=10")
    parse_alterations(settings)
    expect_captures(captures, code)
    with opened(wanted) as spark, shown(spark, "replaying") as told:
        from goqueue.spark.captures import job

        summary = job.replay(spark, list(captures), code, settings, told, kept)
    if form == "table":
        click.echo("\n".join(summary.lines()))
    else:
        print_structure(form, json.loads(json.dumps(summary.structure())))
    context.exit(0 if summary.is_identical else 1)
