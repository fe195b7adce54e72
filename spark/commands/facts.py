"""`goqueue spark facts`: captures replayed once, and what happened kept; and where other commands get facts from."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from goqueue.cli.endings import WRONG, Ending
from goqueue.cli.output import counted
from goqueue.spark.captures.code import check_code
from goqueue.spark.commands.opening import Wanted, expect_spark, opened
from goqueue.spark.commands.plainly import plainly
from goqueue.spark.commands.progress import Told, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_GAPS_MAX = 20

captures_argument = click.argument("captures", metavar="CAPTURES...", nargs=-1)
facts_option = click.option("--facts", "folder", default="", metavar="FOLDER", help="Facts that were kept, instead.")
code_option = click.option(
    "--code",
    default="",
    metavar="MODULE:NAME",
    help="A context manager under which the replay runs, for captures of a core that was changed.",
)


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What every command has that reads facts."""
    return captures_argument(facts_option(code_option(command)))


def is_whole(faults: Iterable[str]) -> bool:
    """Whether nothing is wrong with files but that a kill cut off their ends."""
    from goqueue.spark.captures.outcome import TAIL

    return all(cause == TAIL for cause in faults)


def expect_source(captures: tuple[str, ...], folder: str, code: str) -> None:
    """Say what is wrong before any Java starts. Raises Ending, CaptureError, UnknownCode."""
    if bool(captures) == bool(folder):
        raise Ending("facts of what? Name captures, or a folder with --facts, and not both", WRONG)
    if folder and code:
        raise Ending("--code is for captures; facts that were kept are not replayed", WRONG)
    expect_captures(captures, code)


def expect_captures(captures: tuple[str, ...], code: str) -> None:
    """Say which captures are not to be had, or which code. Raises Ending, CaptureError, UnknownCode."""
    check_code(code)
    expect_spark()
    from goqueue.spark.captures.files import find_captures

    with plainly():
        find_captures(captures)


@contextmanager
def facts_of(
    spark: "SparkSession", wanted: Wanted, captures: tuple[str, ...], folder: str, code: str, told: Told
) -> Iterator["DataFrame"]:
    """The facts of captures, or those that were kept; each capture is replayed once, however often they are read."""
    from goqueue.spark.facts import frame

    if folder:
        yield frame.kept(spark, folder)
        return
    told("replaying captures")
    facts = frame.read_facts(spark, list(captures), code)
    if wanted.is_local:
        with tempfile.TemporaryDirectory(prefix="goqueue-facts-") as room:
            frame.keep(facts, f"{room}/facts")
            yield frame.kept(spark, f"{room}/facts")
    else:
        from pyspark import StorageLevel

        held = facts.persist(StorageLevel.DISK_ONLY)
        try:
            yield held
        finally:
            held.unpersist()


@click.command()
@click.argument("captures", nargs=-1, required=True)
@click.option("--to", "folder", required=True, metavar="FOLDER", help="Where the facts go, as Parquet.")
@code_option
@click.pass_context
def facts(context: click.Context, captures: tuple[str, ...], folder: str, code: str) -> None:
    """Replay CAPTURES and keep what happened, for many reports and checks, or for your own queries.

    CAPTURES are files, folders of them (one a node), or folders of such folders; local, or on hdfs://, s3://, gs://.
    What a fact is: docs/facts.md. Exit status 1 means that a file could not be read to its end; what was read of it
    is kept.
    """
    wanted: Wanted = context.obj
    expect_captures(captures, code)
    with opened(wanted) as spark, shown(spark, "replaying captures"):
        from goqueue.spark.checks.gaps import gaps_of
        from goqueue.spark.facts import frame

        frame.keep(frame.read_facts(spark, list(captures), code), folder)
        kept = frame.kept(spark, folder)
        count, files = kept.count(), kept.filter("kind = 'file'").count()
        faults = kept.filter("kind = 'file' AND cause IS NOT NULL").select("node", "detail", "cause").collect()
        gaps = [row["words"] for row in gaps_of(kept).orderBy("node", "run", "begin").limit(_GAPS_MAX + 1).collect()]
    click.echo(f"{folder}: {counted(count, 'fact')} of {counted(files, 'file')}")
    for fault in faults:
        click.echo(f"{fault['node'] or '-'}: {fault['cause']}: {fault['detail']}", err=True)
    for gap in gaps[:_GAPS_MAX]:
        click.echo(f"gap: {gap}", err=True)
    if len(gaps) > _GAPS_MAX:
        click.echo("… and more gaps", err=True)
    context.exit(0 if is_whole(fault["cause"] for fault in faults) else 1)
