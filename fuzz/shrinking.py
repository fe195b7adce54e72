"""A smaller world that breaks the same promise: only the faults, clients and habits that matter, and no longer a time.

Each attempt leaves something out and runs the world; what still breaks the promise is kept and made smaller still. Two
violations are the same when the same check found them. What is left out of a world leaves the draws of the rest as they
were, so most attempts show the same story with less around it.

Things that can be left out one by one are halved: all of them, each half, each quarter, down to single ones. That is
done first for what each world has most of and what costs most to read: calamities, strikes of chance, clients. Then
come habits, and the time. A world is not run further than shortly behind the moment of its violation, and not healed
where that came before. All of it ends when nothing more can be left out, or the time for it is over: a small world is a
convenience.
"""

import time
from collections.abc import Callable, Sequence
from math import ceil
from typing import TypeVar

import attrs

from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.options import Options
from goqueue.fuzz.sim import End, Verdict

BUDGET_S = 110.0
_Thing = TypeVar("_Thing", int, str)
_PLAIN = Options()
# What a world may do without.
_HABITS = (
    "p_letter_loss", "p_letter_double", "letters_overtake", "encodes", "skew_ms_max", "drift_ppm_max", "p_acks_none",
    "p_acks_leader", "p_split", "p_delay", "p_ttl", "p_stray", "p_resends", "p_compact",
    "p_tombstone", "small_segments", "retention", "alters_fsync", "p_cold", "p_slow", "reserves", "min_insync",
    "founders", "lane_weights", "starvation_ms", "metadata_entries", "metadata_entries_a_topic", "quorum_piece_bytes",
    "ledger_page_bytes", "summary_bytes", "summary_bytes_a_message",
    "summary_part_messages", "side_segment_bytes", "compaction_pause_ns", "adds_partitions", "forgets",
    "unclean", "segment_bytes", "index_interval_bytes", "metadata_segment_bytes", "checkpoint_bytes",
)  # fmt: skip
# How much later a smaller world may break its promise.
_LATER = 1.25
_LATER_NS = 3_000_000_000
_S = 1_000_000_000


class Shrinking:
    """Makes one case smaller; `tell` hears of every step, and `clock` tells the time in seconds."""

    def __init__(
        self,
        case: Case,
        found: Verdict,
        tell: Callable[[str], None],
        budget_s: float = BUDGET_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        assert found.violation is not None
        self.case = case
        self.found = found
        self.runs = 0
        self._place = _checked_by(found)
        self._tell = tell
        self._clock = clock
        self._until = clock() + budget_s
        self._tried: set[str] = set()

    def run(self) -> None:
        """Leave out what can be left out, until nothing more can or the time is over."""
        is_smaller = True
        if self.found.is_healed:
            self._heal_earlier()
        while is_smaller and not self._is_over:
            before = self.case
            self._halve(self._calamities(), self._spare)
            self._halve(self._strikes(), self._spare_strikes)
            self._halve(self._clients(), self._drop)
            self._halve(self._habits(), self._switch_off)
            is_smaller = self.case != before
        self._shorten()

    @property
    def _is_over(self) -> bool:
        return self._clock() >= self._until

    # --- what can be left out, and how

    def _calamities(self) -> list[int]:
        return [one.number for one in self.found.calamities if one.number not in self.case.spared]

    def _spare(self, numbers: Sequence[int]) -> Case:
        return attrs.evolve(self.case, spared=tuple(sorted({*self.case.spared, *numbers})))

    def _strikes(self) -> list[int]:
        return [number + 1 for number in range(self.found.strikes) if number + 1 not in self.case.strikes]

    def _spare_strikes(self, numbers: Sequence[int]) -> Case:
        return attrs.evolve(self.case, strikes=tuple(sorted({*self.case.strikes, *numbers})))

    def _clients(self) -> list[str]:
        """The clients, but for the one who makes topics."""
        return self.found.clients[1:]

    def _drop(self, names: Sequence[str]) -> Case:
        return attrs.evolve(self.case, without=(*self.case.without, *names))

    def _habits(self) -> list[str]:
        options = self.found.options
        return [name for name in _HABITS if getattr(options, name) != getattr(_PLAIN, name)]

    def _switch_off(self, names: Sequence[str]) -> Case:
        return attrs.evolve(self.case, off=(*self.case.off, *names))

    # --- attempts

    def _halve(self, things: list[_Thing], without: Callable[[Sequence[_Thing]], Case]) -> None:
        """Leave out all, then halves, quarters and so on of what is still there."""
        size = len(things)
        while size and not self._is_over:
            at = 0
            while at < len(things) and not self._is_over:
                gone = things[at : at + size]
                if self._try(without(gone)):
                    things = things[:at] + things[at + size :]
                else:
                    at += size
            size = min(size // 2, len(things))

    def _shorten(self) -> None:
        """End the trouble where the violation was, for whoever runs the world again."""
        found = self.found
        if found.is_healed:
            self._heal_earlier()
        elif found.options.nodes > 1:
            seconds = ceil(found.simulated_ms / 1000)
            if 0 < seconds < found.options.seconds:
                self._try(attrs.evolve(self.case, seconds=seconds), is_whole=True)
        elif 0 < found.steps < found.options.steps:
            self._try(attrs.evolve(self.case, steps=found.steps), is_whole=True)

    def _heal_earlier(self) -> None:
        """Let less of the trouble come: what is left of it is as it was."""
        options = self.found.options
        for eighths in (1, 2, 4, 6):
            if options.nodes > 1:
                smaller = attrs.evolve(self.case, seconds=max(options.seconds * eighths // 8, 1))
            else:
                smaller = attrs.evolve(self.case, steps=max(options.steps * eighths // 8, 1))
            if self._is_over or self._try(smaller):
                return

    def _try(self, smaller: Case, *, is_whole: bool = False) -> bool:
        """Whether a smaller case still breaks the promise; it is the case from then on."""
        command = smaller.command()
        if command in self._tried:
            return False
        self._tried.add(command)
        self.runs += 1
        at_ns = self.found.simulated_ms * 1_000_000
        end = End(int(at_ns * _LATER) + _LATER_NS, self.found.is_healed)
        verdict = live_through(smaller, end=None if is_whole else end)
        if verdict.violation is None or _checked_by(verdict) != self._place:
            return False
        self.case, self.found = smaller, verdict
        left = len(self._calamities()), len(self._strikes()), len(self._clients())
        what = "{} calamities, {} strikes, {} clients".format(*left)
        self._tell(f"smaller: {verdict.simulated_ms} ms, {what}: {command}")
        return True


def _checked_by(verdict: Verdict) -> str:
    """What found a violation: the innermost place, without its line."""
    return verdict.place.rpartition(" > ")[2].partition(":")[0]
