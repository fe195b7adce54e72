"""The `goqueue` command: the table of its subcommands, and what every run of it has in common.

A subcommand is named in `COMMANDS` by where it lives and one line of help. Its module is imported when it is called and
at no other time: listing commands, completing a name in a shell or mistyping one costs the import of click and nothing
else. What a command does is in its own module; nothing here knows.

Invariant: an error raised on purpose reaches the user as one sentence and exit status 1, never as a traceback; anything
else is a defect and keeps its traceback.
"""

import platform
import sys
from importlib import import_module

import click

from goqueue import __version__
from goqueue.core.errors import GoQueueError

# name -> (module:attribute, help line), in the order in which they are worth reading.
COMMANDS = {
    "serve": ("goqueue.cli.serve:serve", "Run a broker."),
    "demo": ("goqueue.cli.demo:demo", "Kill a writer at work, and count what was acknowledged."),
    "bench": ("goqueue.cli.bench.command:bench", "Measure what this machine can do."),
    "log": ("goqueue.cli.log:log", "Look into the logs on disk, check them, repair them."),
}


class Deferred(click.Command):
    """A command known by its name and help line, imported when it is called."""

    def __init__(self, name: str, target: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self.target = target

    def load(self) -> click.Command:
        """The command itself."""
        module, _, attribute = self.target.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command), f"{self.target} is no click command"
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """Hand over: from here on click deals with the command itself, which the context names."""
        return self.load().make_context(info_name, args, parent, **extra)


class Contents(click.Group):
    """A group whose help lists commands in the order they were added: reading order, not the alphabet's."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, as added."""
        return list(self.commands)


@click.group(cls=Contents, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def goqueue() -> None:
    """GoQueue: a distributed, persistent message queue."""


for _name, (_target, _summary) in COMMANDS.items():
    goqueue.add_command(Deferred(_name, _target, _summary))


@goqueue.command()
def version() -> None:
    """Print the versions of GoQueue and of what runs it."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    click.echo(f"goqueue {__version__} ({python}, {platform.system()} {platform.machine()})")


def main() -> None:
    """Run the command line of this process and exit."""
    if not __debug__:
        sys.exit("goqueue: refusing to run without asserts, which guard your data: drop -O and PYTHONOPTIMIZE")
    try:
        goqueue(prog_name="goqueue")
    except GoQueueError as error:
        sys.exit(f"goqueue: {error}")
