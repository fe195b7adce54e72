"""How often worlds reach each mark: a line for each mark, and a column for each kind of work and of trouble."""

import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

from attrs import define, field

from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.marks.catalogue import MARKS
from goqueue.fuzz.marks.mark import counting
from goqueue.fuzz.sim import Verdict

Seen = tuple[Verdict, list[str]]
"""What came of a world, and the marks that it reached."""


@define
class Survey:
    """What some worlds reached."""

    total: int = 0
    whole: Counter[str] = field(factory=Counter)
    # By kinds of work and of trouble: how many worlds, and in how many of them each mark was reached.
    worlds: Counter[str] = field(factory=Counter)
    reached: dict[str, Counter[str]] = field(factory=dict)

    def add(self, profile: str, seen: Iterable[str]) -> None:
        """Another world; its profile names its work and its trouble."""
        marks = [*seen]
        self.total += 1
        self.whole.update(marks)
        for kind in profile.split() or ["unmixed"]:
            self.worlds[kind] += 1
            self.reached.setdefault(kind, Counter()).update(marks)

    def lines(self) -> Iterator[str]:
        """A table for people, in percent of the worlds."""
        kinds, width = sorted(self.worlds), max(len(mark.name) for mark in MARKS)
        yield " ".join([" " * width, *(f"{kind:>9.9}" for kind in kinds), f"{'all':>9}"])
        yield " ".join(["worlds".ljust(width), *(f"{self.worlds[kind]:9}" for kind in kinds), f"{self.total:9}"])
        for mark in MARKS:
            shares = [self.reached[kind][mark.name] / self.worlds[kind] for kind in kinds]
            shares.append(self.whole[mark.name] / max(self.total, 1))
            yield " ".join([mark.name.ljust(width), *(f"{100 * share:8.0f}%" for share in shares)])


def surveyed(case: Case) -> Seen:
    """Live through the world of a case and see which marks it reaches."""
    with counting(MARKS) as seen:
        verdict = live_through(case)
    return verdict, [*seen]


def survey(cases: list[Case], jobs: int, advance: Callable[[], None]) -> tuple[Survey, list[Verdict]]:
    """What these worlds reach, and the verdicts of those that broke a promise."""
    found, broken = Survey(), list[Verdict]()
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for verdict, seen in pool.map(surveyed, cases, chunksize=5):
            found.add(verdict.options.profile, seen)
            if verdict.violation is not None:
                broken.append(verdict)
            advance()
    return found, broken
