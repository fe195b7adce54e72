"""Reports over facts: each is computed, brought to the driver, and put on the page.

Facts that come straight from captures would be replayed once a report. They are kept on the disk for as long as it
takes; facts that are read from files are not, since those are on a disk already.
"""

from collections.abc import Callable, Sequence
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from goqueue.spark.reports import coverage
from goqueue.spark.reports.catalogue import chosen
from goqueue.spark.reports.page import page
from goqueue.spark.reports.section import Section

TITLE: Final = "GoQueue: what happened"

Told = Callable[[str], None]


def _silent(words: str) -> None:
    """Whoever asked does not want to know how far it is."""


def report(facts: DataFrame, names: Sequence[str] | None = None, told: Told = _silent, title: str = TITLE) -> str:
    """A page of the reports of these names, of all if there are none. Raises UnknownReport."""
    reports = chosen(names)
    is_kept = bool(facts.inputFiles())
    if not is_kept:
        facts = facts.persist(StorageLevel.DISK_ONLY)
    try:
        told("what was read")
        read = coverage.answer(facts).toArrow()
        sections: list[Section] = []
        for name, module in reports.items():
            told(name)
            sections.append(module.section(module.answer(facts).toArrow()))
    finally:
        if not is_kept:
            facts.unpersist()
    return page(title, coverage.section(read), sections, coverage.warnings(read))


def answers(facts: DataFrame, names: Sequence[str] | None = None) -> dict[str, DataFrame]:
    """The answers themselves, by name, each to be computed when it is looked at. Raises UnknownReport."""
    return {name: module.answer(facts) for name, module in chosen(names).items()}
