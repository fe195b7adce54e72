"""The `goqueue` command: the table of its subcommands, and what every run of it has in common.

A subcommand is named in `COMMANDS` by where it lives and one line of help. Its module is imported when it is called and
at no other time: listing commands, completing a name in a shell or mistyping one costs the import of click and nothing
else. What a command does is in its own module; nothing here knows.

Invariant: an error raised on purpose reaches the user as one sentence and an exit status (`endings.py`), as a traceback
only with --debug; anything else is a defect and keeps its traceback.
"""

import platform
import sys
import traceback
from importlib import import_module

import click

from goqueue import __version__
from goqueue.cli.endings import FAILED, INTERRUPTED, Ending, with_next_step
from goqueue.cli.output import form_option, print_structure
from goqueue.core.errors import GoQueueError

# name -> (module:attribute, help line), in the order in which they are worth reading.
COMMANDS = {
    "serve": ("goqueue.cli.serve:serve", "Run a broker."),
    "topic": ("goqueue.cli.topic:topic", "List, make, describe, alter and delete topics."),
    "group": ("goqueue.cli.group:group", "List, describe, alter, reset and delete consumer groups."),
    "cluster": ("goqueue.cli.cluster:cluster", "Look at a cluster's nodes, drain them, move partitions."),
    "produce": ("goqueue.cli.produce:produce", "Publish messages: arguments, a file, or lines from a pipe."),
    "consume": ("goqueue.cli.consume:consume", "Print the messages of a topic."),
    "delayed": ("goqueue.cli.delayed:delayed", "List, show, cancel and reschedule delayed messages."),
    "dlq": ("goqueue.cli.dead_letters:dlq", "List and look at dead letters, send them back, drop them."),
    "config": ("goqueue.cli.config:config", "Check a broker's settings; give brokers names."),
    "demo": ("goqueue.cli.demo:demo", "Kill a writer at work, and count what was acknowledged."),
    "bench": ("goqueue.cli.bench.command:bench", "Measure what this machine can do."),
    "replay": ("goqueue.cli.replay:replay", "Tell a fresh node what a capture says, and compare."),
    "log": ("goqueue.cli.log:log", "Look into the logs on disk, check them, repair them."),
    # By name alone: it lives above this package, which must not import it.
    "sim": ("goqueue.fuzz.command:sim", "Run simulated worlds in which everything fails."),
    "chaos": ("goqueue.fuzz.chaos.command:chaos", "Run a real cluster through a storm, and judge what clients saw."),
    "spark": ("goqueue.spark.commands.command:spark", "Replay, report, check, export and import with Spark."),
    "completion": ("goqueue.cli.completion:completion", "Print what makes a shell complete commands and topics."),
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


class Run:
    """What holds for one run of the command line, whichever command it is."""

    def __init__(self) -> None:
        self.shows_tracebacks = False


@click.group(cls=Contents, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error as well.")
@click.pass_obj
def goqueue(run: Run | None, debug: bool) -> None:
    """GoQueue: a distributed, persistent message queue."""
    if run is not None:
        run.shows_tracebacks = debug


for _name, (_target, _summary) in COMMANDS.items():
    goqueue.add_command(Deferred(_name, _target, _summary))


@goqueue.command()
@form_option
def version(form: str) -> None:
    """Print the versions of GoQueue and of what runs it."""
    python, system = f"{platform.python_implementation()} {platform.python_version()}", platform.system()
    if form == "table":
        click.echo(f"goqueue {__version__} ({python}, {system} {platform.machine()})")
    else:
        found = {"goqueue": __version__, "python": python, "system": system, "machine": platform.machine()}
        print_structure(form, found)


def main() -> None:
    """Run the command line of this process and exit."""
    if not __debug__:
        sys.exit("goqueue: refusing to run without asserts, which guard your data: drop -O and PYTHONOPTIMIZE")
    run = Run()
    try:
        status = goqueue.main(prog_name="goqueue", standalone_mode=False, obj=run)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort as error:
        is_interrupt = isinstance(error.__cause__, KeyboardInterrupt)
        sys.exit(INTERRUPTED if is_interrupt else FAILED)
    except GoQueueError as error:
        if run.shows_tracebacks:
            traceback.print_exc()
        if isinstance(error, Ending) and error.status != FAILED:
            click.echo(f"goqueue: {error}", err=True)
            sys.exit(error.status)
        sys.exit(f"goqueue: {with_next_step(str(error), getattr(error, 'code', ''))}")
    sys.exit(status if isinstance(status, int) else 0)
