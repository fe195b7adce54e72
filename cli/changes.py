"""What commands change in the same way, whatever it is: settings that are altered, and things that are deleted."""

import sys

import click

from goqueue.cli.endings import FAILED, Ending
from goqueue.cli.output import print_structure, setting_text
from goqueue.cli.server import Server, ask


def alter_settings(server: Server, path: str, name: str, config: dict[str, object], form: str) -> None:
    """Change settings of what is at a path, and say what they are now."""
    found = ask(server, "PATCH", path, {"config": config})
    if form != "table":
        print_structure(form, found)
        return
    for key in config:
        click.echo(f"{key} of {name} is {setting_text(found['config'][key])}")


def confirm(question: str, purpose: str, otherwise: str) -> None:
    """Ask on a terminal; raises Ending with `otherwise` for a no, UsageError where nobody can be asked."""
    if not sys.stdin.isatty():
        raise click.UsageError(f"nobody is there to be asked; say --yes to {purpose}")
    if not click.confirm(question, err=True):
        raise Ending(otherwise, FAILED)


def confirm_deletion(kind: str, name: str, what: str) -> None:
    """Ask on a terminal whether `what` is to go; raises Ending if not, UsageError where nobody can be asked."""
    confirm(f"Delete {what}?", f"delete the {kind}", f"{name} was not deleted")


def delete_at(server: Server, path: str, name: str, form: str) -> None:
    """Delete what is at a path, and say so."""
    gone = ask(server, "DELETE", path)
    if form == "table":
        click.echo(f"deleted {name}")
    else:
        print_structure(form, gone)
