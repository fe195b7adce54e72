"""`goqueue config`: the broker's file checked, and contexts of the command line made, chosen and forgotten."""

import os
import sys

import click

from goqueue.cli.contexts import Context, read_contexts
from goqueue.cli.endings import WRONG, Ending
from goqueue.cli.output import FORMS, form_option, print_structure, print_table
from goqueue.cli.server import API_KEY_LENGTH_MAX, complete_context, parse_api_key, parse_server
from goqueue.cli.settings.flags import CONFIG_VARIABLE, flag_options, given_flags

_name = click.argument("name", shell_complete=complete_context)


@click.group()
def config() -> None:
    """Check a broker's settings; give brokers names.

    Contexts, as such names are called, live in ~/.goqueue/config.yaml, or in the file that GOQUEUE_CLI_CONFIG names.
    """


@click.pass_context
def _check(ctx: click.Context, /, file: str, form: str, **_values: str) -> None:
    """Check the settings of a broker, and print what it would run with and why.

    FILE is what `goqueue serve --config` would be given; without it GOQUEUE_CONFIG counts, and without that there is no
    file. The flags of `goqueue serve` may be given as well, and its variables count. If the broker would not start, all
    that is wrong is printed, and the exit status is 2.
    """
    from goqueue.cli.serve_settings import WrongSettings, gather_settings, serve_settings

    settings = gather_settings(given_flags(ctx), file, os.environ)
    try:
        serve_settings(settings)
    except WrongSettings as error:
        raise Ending(str(error), WRONG) from error
    finally:
        for warning in settings.warnings:
            click.echo(f"warning: {warning}", err=True)
    found = settings.all()
    if form == "table":
        rows = [[each.key.name, each.text or "-", each.place or each.source] for each in found]
        print_table(("SETTING", "VALUE", "FROM"), rows)
        return
    print_structure(
        form,
        [{"key": each.key.name, "value": each.plain, "source": each.source, "place": each.place} for each in found],
    )


config.add_command(
    form_option(
        click.Command(
            "check",
            callback=_check,
            params=[
                click.Argument(["file"], envvar=CONFIG_VARIABLE, required=False, default="", type=click.Path()),
                *flag_options(are_hidden=True),
            ],
            help=_check.__doc__,
        )
    )
)


@config.command()
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(FORMS[1:]),
    default="yaml",
    show_default=True,
    help="How to print it.",
)
def view(form: str) -> None:
    """Print the file of contexts; API keys are not shown."""
    print_structure(form, read_contexts().redacted())


@config.command("get-contexts")
@form_option
def get_contexts(form: str) -> None:
    """List all contexts; the current one bears a star."""
    contexts = read_contexts()
    found = [contexts.context(name) for name in contexts.names]
    if form == "table":
        marks = {contexts.current: "*"}
        print_table(
            ("CURRENT", "NAME", "SERVER", "API KEY"),
            [[marks.get(each.name, ""), each.name, each.server, "yes" if each.api_key else "no"] for each in found],
        )
        return
    print_structure(
        form,
        [
            {
                "name": each.name,
                "server": each.server,
                "has_api_key": bool(each.api_key),
                "is_current": each.name == contexts.current,
            }
            for each in found
        ],
    )


@config.command("current-context")
def current_context() -> None:
    """Print the name of the current context; exit status 1 if there is none."""
    current = read_contexts().current
    if not current:
        raise Ending("there is no current context; choose one with: goqueue config use-context NAME")
    click.echo(current)


@config.command("set-context")
@_name
@click.option("--server", metavar="ADDRESS", help="Where the broker is; needed for a new context.")
@click.option("--api-key", metavar="KEY", help="The key to show there; - reads it from standard input, '' forgets it.")
def set_context(name: str, server: str | None, api_key: str | None) -> None:
    """Make a context, or change what is given of one."""
    contexts = read_contexts()
    known = contexts.context(name) if name in contexts.names else None
    if known is None and server is None:
        raise click.UsageError(f"there is no context {name!r} yet; say where its broker is, with --server")
    if api_key == "-":
        api_key = sys.stdin.readline(API_KEY_LENGTH_MAX + 2).rstrip("\r\n")
    chosen = Context(name, known.server if known else "", known.api_key if known else "")
    try:
        if server is not None:
            parse_server(server)
            chosen.server = server.strip()
        if api_key is not None:
            chosen.api_key = parse_api_key(api_key)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    contexts.put(chosen)
    contexts.write()
    click.echo(f"{'changed' if known else 'made'} context {name}: {chosen.server}")
    if not contexts.current:
        click.echo(
            f"no context is the current one yet; make it this one with: goqueue config use-context {name}", err=True
        )


@config.command("use-context")
@_name
def use_context(name: str) -> None:
    """Make a context the current one."""
    contexts = read_contexts()
    contexts.use(name)
    contexts.write()
    click.echo(f"{name} is the current context: {contexts.context(name).server}")


@config.command("delete-context")
@_name
def delete_context(name: str) -> None:
    """Forget a context."""
    contexts = read_contexts()
    was_current = contexts.current == name
    contexts.remove(name)
    contexts.write()
    click.echo(f"deleted context {name}{'; no context is the current one' if was_current else ''}")
