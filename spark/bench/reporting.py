"""Figures of reports: all of them over ten million facts, the time that takes and the memory of all its processes.

Memory is the sum of what is resident of this process, its Java and its Python workers, looked at ten times a second; a
page that two processes share counts twice.
"""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import define

from goqueue.cli.bench.figures import Bar, Entry, Figure
from goqueue.cli.bench.sizes import Sizes
from goqueue.cli.bench.workbench import BenchError, Workbench
from goqueue.spark.bench.made_facts import made
from goqueue.spark.bench.sessions import MASTER, session
from goqueue.spark.facts.frame import keep, kept
from goqueue.spark.reports.catalogue import REPORTS
from goqueue.spark.reports.job import report

# So many facts for each record that other figures read.
_FACTS_EACH = 10
_FACT_BYTES = 60
_INTERVAL_S = 0.1
_PAGE = os.sysconf("SC_PAGE_SIZE")


def entries(sizes: Sizes) -> list[Entry]:
    """The figures of this file."""
    room = sizes.spark_records * _FACTS_EACH * _FACT_BYTES
    return [
        Entry("spark_report", "every report over facts that were kept, as one page", reported,
              [Bar("value", below=600)], disk_bytes=room),
        Entry("spark_report_memory", "what is resident of all processes meanwhile, at most", resident,
              [Bar("value", below=4000)], disk_bytes=room),
    ]  # fmt: skip


@define
class _Taken:
    """What all reports took."""

    facts: int
    seconds: float
    most_bytes: int
    by_report: dict[str, float]


_TAKEN: dict[int, _Taken] = {}


def reported(workbench: Workbench) -> Figure:
    """Seconds for all of them."""
    taken = _taken(workbench)
    slowest = sorted(taken.by_report.items(), key=lambda each: -each[1])[:3]
    said = ", ".join(f"{name} {took:.0f} s" for name, took in slowest)
    return Figure(taken.seconds, "s", note=f"{taken.facts:,} facts on {MASTER}; of that {said}")


def resident(workbench: Workbench) -> Figure:
    """The memory of the same run."""
    return Figure(_taken(workbench).most_bytes / 1e6, "MB", note="shared pages count for each process")


def _taken(workbench: Workbench) -> _Taken:
    """One run serves both figures."""
    count = workbench.sizes.spark_records * _FACTS_EACH
    if count not in _TAKEN:
        with workbench.folder() as folder:
            _TAKEN[count] = _take(workbench, folder, count)
    return _TAKEN[count]


def _take(workbench: Workbench, folder: Path, count: int) -> _Taken:
    spark = session()
    keep(made(spark, count), str(folder / "facts"))
    facts = kept(spark, str(folder / "facts"))
    total = facts.count()
    if total < 0.9 * count:
        raise BenchError(f"{total} facts were made of {count}")
    began: dict[str, float] = {}

    def told(name: str) -> None:
        began[name] = time.perf_counter()
        workbench.advanced(len(began) / (len(REPORTS) + 2))

    with _watched() as most:
        begun = time.perf_counter()
        page = report(facts, told=told)
        took = time.perf_counter() - begun
    missing = [name for name in REPORTS if f'<section id="{name}">' not in page]
    if missing:
        raise BenchError(f"the page has no section {missing[0]}")
    moments = [*began.values(), begun + took]
    spans = {name: after - at for name, at, after in zip(began, moments, moments[1:], strict=False)}
    return _Taken(total, took, most[0], spans)


@contextmanager
def _watched() -> Iterator[list[int]]:
    """Looks at the memory of this process and all under it; what is given holds the most so far."""
    most, ended = [0], threading.Event()

    def look() -> None:
        while not ended.wait(_INTERVAL_S):
            most[0] = max(most[0], _resident_bytes(os.getpid()))

    watcher = threading.Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield most
    finally:
        ended.set()
        watcher.join()


def _resident_bytes(root: int) -> int:
    children, pages = defaultdict(list), {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            pages[int(entry.name)] = int((entry / "statm").read_text().split()[1])
        except OSError:
            # It has ended.
            continue
        children[parent].append(int(entry.name))
    total, open_to = 0, [root]
    while open_to:
        process = open_to.pop()
        total += pages.get(process, 0) * _PAGE
        open_to += children[process]
    return total
