"""`goqueue spark check`: whether any promise was broken, and the facts that prove it."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click
from attrs import asdict

from goqueue.cli.output import counted, form_option, print_structure, print_table
from goqueue.spark.commands.facts import expect_source, facts_of, is_whole, source_options
from goqueue.spark.commands.opening import Wanted, opened
from goqueue.spark.commands.progress import shown

if TYPE_CHECKING:
    from goqueue.spark.checks.job import Summary

_SHOWN_MAX = 100


@click.command()
@source_options
@click.option("--only", metavar="NAME,…", default="", help="These checks and no others.")
@click.option(
    "--limit", type=click.IntRange(0), default=_SHOWN_MAX, show_default=True, help="How many findings to print."
)
@form_option
@click.pass_context
def check(
    context: click.Context, captures: tuple[str, ...], folder: str, code: str, only: str, limit: int, form: str
) -> None:
    """Check the promises of the product over CAPTURES.

    Nothing lost, duplicated, reordered or early; one lease at a time, one leader in an epoch; what readers saw stays;
    assignments apart. Exit status 1 means that something was found, or that a file could not be read to its end.
    """
    wanted: Wanted = context.obj
    expect_source(captures, folder, code)
    from goqueue.spark.checks import job

    names = job.chosen_checks([name.strip() for name in only.split(",") if name.strip()] or None)
    with (
        opened(wanted) as spark,
        shown(spark, "checking") as told,
        facts_of(spark, wanted, captures, folder, code, told) as facts,
    ):
        examined = job.examine(facts, names, told=told)
        found = [row.asDict(recursive=True) for row in examined.findings.limit(limit).collect()]
    if form == "table":
        tell(examined.summary, found)
    else:
        print_structure(form, plain({**asdict(examined.summary), "found": found}))
    context.exit(1 if examined.summary.found or not is_whole(examined.summary.faults) else 0)


def tell(summary: "Summary", found: list[dict[str, Any]]) -> None:
    """Print findings, counts by check, and, on standard error, what is missing."""
    for finding in found:
        _tell_finding(finding)
    if summary.found > len(found):
        click.echo(f"… and {counted(summary.found - len(found), 'finding')} more; --limit shows more of them")
    rows = [(name, summary.findings.get(name, 0), summary.unknown.get(name, 0)) for name in summary.checks]
    print_table(("CHECK", "FINDINGS", "UNKNOWN"), rows)
    for each in summary.unknowns:
        click.echo(f"unknown, {each.check}: {each.words} ({each.gap})")
    doubts = sum(summary.unknown.values()) - len(summary.unknowns)
    if doubts > 0:
        click.echo(f"… and {doubts:,} more that nobody knows")
    click.echo(f"{counted(summary.facts, 'fact')} of {counted(summary.files, 'file')}, {summary.events:,} events")
    for gap in summary.gaps:
        click.echo(f"gap: {gap}", err=True)
    if summary.gap_count > len(summary.gaps):
        click.echo(f"… and {counted(summary.gap_count - len(summary.gaps), 'gap')} more", err=True)
    for cause, count in summary.faults.items():
        click.echo(f"{counted(count, 'file')}: {cause}", err=True)
    if summary.clock_steps:
        click.echo(
            f"{counted(summary.clock_steps, 'step')} of wall clocks: times of different nodes may not agree", err=True
        )


def _tell_finding(finding: dict[str, Any]) -> None:
    click.echo(f"{finding['check']}: {finding['words']}")
    click.echo(f"  {finding['promise']}")
    for fact in finding["evidence"]:
        moment = f"{fact['time']:%Y-%m-%d %H:%M:%S.%f}"
        click.echo(f"  {moment}  {fact['node']} event {fact['event']:,}  {fact['kind']}: {fact['words']}")


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever is in a structure
    """A structure that JSON can hold."""
    if isinstance(value, dict):
        return {key: plain(held) for key, held in value.items()}
    if isinstance(value, list):
        return [plain(held) for held in value]
    return value.isoformat() if isinstance(value, datetime) else value
