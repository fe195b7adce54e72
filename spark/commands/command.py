"""`goqueue spark`: jobs over topics and captures, on this machine or on a Spark elsewhere."""

import sys

import click

from goqueue.cli.main import main as run_goqueue
from goqueue.spark.commands.checking import check
from goqueue.spark.commands.exporting import export
from goqueue.spark.commands.facts import facts
from goqueue.spark.commands.importing import import_
from goqueue.spark.commands.opening import Wanted
from goqueue.spark.commands.packaging import package
from goqueue.spark.commands.pairs import named_values
from goqueue.spark.commands.replaying import replay
from goqueue.spark.commands.reporting import report

_SETTINGS = {"help_option_names": ["-h", "--help"]}


class Reading(click.Group):
    """A group whose help lists commands in reading order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, as added."""
        return list(self.commands)


@click.group(cls=Reading, context_settings=_SETTINGS)
@click.option(
    "--master", default="local[*]", show_default=True, help="Where to run: local[2], spark://…, yarn, k8s://…"
)
@click.option("--memory", default="", help="The driver's memory, like 4g; on this machine that of all tasks.")
@click.option("--conf", "pairs", multiple=True, metavar="NAME=VALUE", help="A setting of Spark's own; may be repeated.")
@click.pass_context
def spark(context: click.Context, master: str, memory: str, pairs: tuple[str, ...]) -> None:
    """Run jobs over topics and captures with Spark: replay, report, check, export, import.

    \b
    What happened on three brokers, as one page with pictures:
      goqueue spark report captures-a captures-b captures-c --to report.html
    Whether any promise was broken:
      goqueue spark check captures-a captures-b captures-c
    """  # noqa: D301 - click leaves alone what follows the character itself
    context.obj = Wanted(master, memory, named_values(pairs, "setting of Spark", "spark.executor.memory=4g"))


for _command in (replay, report, check, facts, export, import_, package):
    spark.add_command(_command)


def main() -> None:
    """What spark-submit starts: the arguments are those of `goqueue spark`."""
    sys.argv.insert(1, "spark")
    run_goqueue()
