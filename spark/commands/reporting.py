"""`goqueue spark report`: what operators ask of the past, as one page."""

from pathlib import Path

import click

from goqueue.cli.endings import WRONG, Ending
from goqueue.spark.commands.facts import expect_source, facts_of, source_options
from goqueue.spark.commands.opening import Wanted, opened
from goqueue.spark.commands.plainly import plainly
from goqueue.spark.commands.progress import shown


@click.command()
@source_options
@click.option(
    "--to", "page", default="report.html", show_default=True, type=click.Path(dir_okay=False, path_type=Path),
    help="The page: one file, which needs nothing beside it.",
)  # fmt: skip
@click.option("--only", metavar="NAME,…", default="", help="These reports and no others.")
@click.pass_obj
def report(wanted: Wanted, captures: tuple[str, ...], folder: str, code: str, page: Path, only: str) -> None:
    """Make a page with pictures of what happened in CAPTURES.

    Latencies by stage, rebalances, redeliveries and dead letters by cause, delays, lanes, lag, hot partitions and keys,
    failovers, throughput and the cost of syncs.
    """
    if not page.parent.is_dir():
        raise Ending(f"there is no folder {page.parent} for the page", WRONG)
    names = [name.strip() for name in only.split(",") if name.strip()]
    expect_source(captures, folder, code)
    from goqueue.spark.reports import catalogue, job

    catalogue.chosen(names)
    with (
        opened(wanted) as spark,
        shown(spark, "reporting") as told,
        facts_of(spark, wanted, captures, folder, code, told) as facts,
    ):
        written = job.report(facts, names, told=told)
    with plainly():
        page.write_text(written, encoding="utf-8")
    click.echo(f"{page}: {len(written.encode()):,} bytes")
