"""The reports there are, by the word that the command line knows them by, in the order of a page."""

from collections.abc import Sequence
from types import ModuleType
from typing import Final

from goqueue.core.errors import GoQueueError
from goqueue.spark.reports import delays, failovers, hot, lag, lanes, latency, load, rebalances, redeliveries

_ORDER: Final = (load, latency, failovers, lag, rebalances, redeliveries, delays, lanes, hot)
REPORTS: Final[dict[str, ModuleType]] = {report.NAME: report for report in _ORDER}


class UnknownReport(GoQueueError):
    """There is no report of that name."""


def chosen(names: Sequence[str] | None) -> dict[str, ModuleType]:
    """The reports of these names, all if there are none. Raises UnknownReport."""
    for name in names or ():
        if name not in REPORTS:
            raise UnknownReport(f"there is no report {name!r}; there are: {', '.join(REPORTS)}")
    return {name: report for name, report in REPORTS.items() if not names or name in names}
