"""`goqueue spark import`: messages from Parquet, a data folder or captures into a topic."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
from attrs import asdict

from goqueue.cli.endings import WRONG, Ending
from goqueue.cli.output import counted, form_option, print_structure
from goqueue.core.records.batch import Codec
from goqueue.spark.commands.opening import Wanted, opened
from goqueue.spark.commands.pairs import named_values
from goqueue.spark.commands.progress import shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from goqueue.spark.sinking.job import BackFilled

_KEEP, _BY_KEY = "keep", "by-key"
_CODECS = tuple(codec.name.lower() for codec in Codec)


@click.command("import")
@click.argument("topic")
@click.option("--bootstrap", required=True, metavar="HOST:PORT", help="A broker of the cluster, by its gRPC port.")
@click.option("--parquet", multiple=True, metavar="FOLDER", help="Parquet, exported or any other; may be repeated.")
@click.option("--from", "path", default="", metavar="DATA-DIR", help="The data folder of a broker, running or not.")
@click.option("--captures", multiple=True, metavar="PATH", help="What clients published to captured nodes.")
@click.option("--from-topic", default="", metavar="NAME", help="Which topic's messages.  [default: TOPIC's own]")
@click.option(
    "--column", "pairs", multiple=True, metavar="NAME=COLUMN",
    help="Where in Parquet the key, value, headers, timestamp, lane, partition or offset is; may be repeated.",
)  # fmt: skip
@click.option(
    "--partitions", type=click.Choice((_KEEP, _BY_KEY)), default=_KEEP, show_default=True,
    help="Messages stay in the partition of their number, or the topic's partitioner chooses.",
)  # fmt: skip
@click.option(
    "--messages-per-second", type=click.FloatRange(0), default=0, metavar="N", help="Not more of the whole job."
)
@click.option(
    "--bytes-per-second",
    type=click.FloatRange(0),
    default=0,
    metavar="N",
    help="Not more of the whole job, of stored bytes.",
)
@click.option("--original-timing", is_flag=True, help="As they once came: with the gaps between their timestamps.")
@click.option(
    "--speed",
    type=click.FloatRange(1e-6, 1e6),
    default=1,
    show_default=True,
    metavar="N",
    help="Of original timing: so many times faster.",
)
@click.option("--compression", type=click.Choice(_CODECS), default=_CODECS[0], show_default=True, help="Of batches.")
@click.option("--job", default="", metavar="NAME", help="A name: under it a job that broke off goes on where it was.")
@form_option
@click.pass_context
def import_(
    context: click.Context, topic: str, bootstrap: str, parquet: tuple[str, ...], path: str, captures: tuple[str, ...],
    from_topic: str, pairs: tuple[str, ...], partitions: str, messages_per_second: float, bytes_per_second: float,
    original_timing: bool, speed: float, compression: str, job: str, form: str,
) -> None:  # fmt: skip
    """Publish messages to TOPIC that were somewhere else: with their keys, headers and times, in their order.

    \b
    What was exported, ten times as fast as it once came:
      goqueue spark import orders --bootstrap HOST:PORT --parquet lake/orders --original-timing --speed 10
    Any Parquet, a thousand a second, so that it can be run again after a kill and stores nothing twice:
      goqueue spark import users --bootstrap HOST:PORT --parquet users --column key=id --column value=document \\
        --partitions by-key --messages-per-second 1000 --job users-1
    Exit status 1 means that something went wrong, or that some of the messages could not be had.
    """  # noqa: D301 - click leaves alone what follows the character itself
    if [bool(parquet), bool(path), bool(captures)].count(True) != 1:
        raise Ending("import from where? Name one of --parquet, --from and --captures", WRONG)
    columns = named_values(pairs, "column", "value=document")
    if columns and not parquet:
        raise Ending("--column says where something is in Parquet, and the messages come from elsewhere", WRONG)
    if from_topic and parquet:
        raise Ending("--from-topic is for --from and --captures; all that is in a folder of Parquet is taken", WRONG)
    if speed != 1 and not original_timing:
        raise Ending("--speed is of --original-timing, which was not asked for", WRONG)
    wanted: Wanted = context.obj
    with opened(wanted) as spark, shown(spark, f"importing {topic}") as told:
        from goqueue.spark.sinking import job as jobs

        back_filled = jobs.back_fill(
            spark,
            _messages(spark, parquet, path, captures, from_topic or topic, columns),
            bootstrap,
            topic,
            pace=jobs.Pace(messages_per_second, bytes_per_second, original_timing, speed),
            partitions=jobs.KEEP if partitions == _KEEP else jobs.BY_KEY,
            job=job,
            options={"compression": compression},
            told=told,
        )
    if form == "table":
        _tell(topic, back_filled)
    else:
        print_structure(form, asdict(back_filled))
    context.exit(1 if back_filled.left_out else 0)


def _messages(
    spark: "SparkSession",
    parquet: Sequence[str],
    path: str,
    captures: Sequence[str],
    topic: str,
    columns: dict[str, str],
) -> "DataFrame":
    from goqueue.spark.sinking import sources

    if parquet:
        return sources.from_parquet(spark, parquet, columns)
    if path:
        return sources.from_topic(spark, {"path": path, "topic": topic})
    return sources.from_captures(spark, captures, topic)


def _tell(topic: str, done: "BackFilled") -> None:
    came = f"{topic}: {counted(done.rows, 'message')} of {counted(done.sources, 'source')} in {done.seconds:.1f} s"
    if done.found:
        came += f", {done.found:,} of them stored before"
    if done.repeated:
        came += f", {done.repeated:,} recorded twice"
    click.echo(f"{came}; job {done.job!r}")
    for reason, count in sorted(done.left_out.items()):
        click.echo(f"left out: {count:,} of {reason}", err=True)
