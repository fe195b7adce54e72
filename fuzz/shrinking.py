"""A smaller world that breaks the same promise: fewer calamities, fewer clients, a shorter time, less of everything.

Each attempt leaves something out and runs the world; what still breaks the promise is kept and made smaller still. Two
violations are the same when the same check found them. Bounded by a number of runs: a small world is a convenience.
"""

from collections.abc import Callable, Iterator
from itertools import chain

import attrs

from goqueue.fuzz.calamities import Calamity
from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.options import Options
from goqueue.fuzz.sim import Verdict

RUNS_MAX = 60
_PLAIN = Options()
# What a world may do without, in this order: whole habits first.
_LEFT_OUT = (
    "stewards", "operators", "visitors", "schedulers", "undertakers", "members", "eager_members", "workers",
    "sequenced", "consumers", "p_letter_loss", "p_letter_double", "letters_overtake", "encodes", "skew_ms_max",
    "drift_ppm_max", "p_acks_none", "p_acks_leader", "p_split", "p_delay", "p_ttl", "p_stray", "p_resends", "p_cut",
    "p_half_open", "p_stall", "p_hang_up", "p_pause", "p_rot", "p_clock_jump", "p_stop", "p_kill", "p_crash",
    "p_cut_inside", "p_sync_error", "p_write_error", "p_read_error", "p_other_error", "p_full", "p_topic_change",
    "p_compact", "small_segments", "retention", "alters_fsync", "p_cold", "p_slow",
)  # fmt: skip


class Shrinking:
    """Makes one case smaller; `tell` hears of every step."""

    def __init__(self, case: Case, found: Verdict, tell: Callable[[str], None]) -> None:
        assert found.violation is not None
        self.case = case
        self.found = found
        self._place = _checked_by(found)
        self._tell = tell
        self._runs = 0

    def run(self) -> None:
        """Leave out what can be left out, until nothing more can or the patience is over."""
        self._shorten()
        is_smaller = True
        while is_smaller and self._runs < RUNS_MAX:
            is_smaller = sum(self._try(smaller) for smaller in chain(self._halves(), self._plainer())) > 0

    def _shorten(self) -> None:
        """End the trouble where the violation was, or sooner."""
        found = self.found
        if found.options.nodes > 1:
            for seconds in (found.simulated_ms // 1000 + 1, found.simulated_ms // 2000 + 1):
                if 0 < seconds < self.found.options.seconds:
                    self._try(attrs.evolve(self.case, seconds=seconds))
        else:
            for steps in (found.steps, found.steps // 2):
                if 0 < steps < self.found.options.steps:
                    self._try(attrs.evolve(self.case, steps=steps))

    def _halves(self) -> Iterator[Case]:
        """Without half of the calamities, a quarter, and so on down to single ones."""
        numbers = [calamity.number for calamity in self.found.calamities]
        size = len(numbers)
        while size > 1:
            size = (size + 1) // 2
            for at in range(0, len(numbers), size):
                gone = [number for number in numbers[at : at + size] if number not in self.case.spared]
                if gone:
                    yield attrs.evolve(self.case, spared=tuple(sorted({*self.case.spared, *gone})))

    def _plainer(self) -> Iterator[Case]:
        """With one thing less."""
        for name in _LEFT_OUT:
            options = self.found.options
            if name not in self.case.off and getattr(options, name) != getattr(_PLAIN, name):
                yield attrs.evolve(self.case, off=(*self.case.off, name))

    def _try(self, smaller: Case) -> bool:
        """Whether a smaller case still breaks the promise; it is the case from then on."""
        if self._runs >= RUNS_MAX or smaller == self.case:
            return False
        self._runs += 1
        verdict = live_through(smaller)
        if verdict.violation is None or _checked_by(verdict) != self._place:
            return False
        self.case, self.found = smaller, verdict
        self._tell(f"smaller: {verdict.simulated_ms} ms, {len(verdict.calamities)} calamities: {smaller.command()}")
        return True


def left(calamities: list[Calamity]) -> str:
    """The calamities of a case, for people."""
    return "; ".join(f"{one.at_ns / 1e9:.1f} s {one.text()}" for one in calamities) or "none"


def _checked_by(verdict: Verdict) -> str:
    """What found a violation: the innermost place, without its line."""
    return verdict.place.rpartition(" > ")[2].partition(":")[0]
