"""Which world: a seed, and what is to be otherwise than the seed has it. The same case gives the same world.

A seed draws whether its world is of one node or of several, and then its options. What a case says besides takes part
of that away: a shorter time, fewer faults, single calamities left out, single options as they are by default.
"""

from collections.abc import Callable
from contextlib import nullcontext
from random import Random

import attrs
from attrs import define

from goqueue.fuzz.drawing.clusters import draw_cluster
from goqueue.fuzz.drawing.single import draw_options
from goqueue.fuzz.options import CALAMITIES, Options
from goqueue.fuzz.plants.catalogue import plant_of, planted
from goqueue.fuzz.sim import End, Verdict, run_world
from goqueue.fuzz.world import Watcher

# Of so many worlds one is a cluster; they take as long as all others together.
_CLUSTERS_AMONG = 20
_RATES = {
    "loss": ("p_letter_loss",), "double": ("p_letter_double",),
    "links": ("p_cut", "p_half_open", "p_stall", "p_hang_up"),
    "disk": ("p_sync_error", "p_write_error", "p_read_error", "p_other_error", "p_full"), "rot": ("p_rot",),
    "kill": ("p_kill",), "crash": ("p_crash", "p_cut_inside"), "stop": ("p_stop",), "pause": ("p_pause",),
    "clock": ("p_clock_jump",), "aimed": ("p_aimed",), "slow": ("p_slow", "p_cold"),
    "grow": ("grows",),
}  # fmt: skip
"""Faults by the names that people say, and the rates that they are; beside them all kinds of calamities."""

FAULTS = tuple(sorted({*_RATES, *CALAMITIES}))


@define
class Case:
    """One world among all that a seed could give."""

    seed: int
    # How many nodes; 0 for as many as the seed says.
    nodes: int = 0
    steps: int | None = None
    seconds: int | None = None
    # The only faults there are; None for those that the seed says.
    faults: tuple[str, ...] | None = None
    # Calamities that do not happen, by their numbers, and options that are as they are by default.
    spared: tuple[int, ...] = ()
    off: tuple[str, ...] = ()
    # Strikes of chance that do not happen, by their numbers, and clients that are not there, by their names.
    strikes: tuple[int, ...] = ()
    without: tuple[str, ...] = ()
    # A bug that is in the product while the world is run, one of the bug's own unless it is said how many nodes it has.
    plant: str = ""

    def options(self) -> Options:
        """What the world is like."""
        options = self._drawn()
        if self.steps is not None:
            options.steps = self.steps
        if self.seconds is not None and options.nodes > 1:
            options.seconds = self.seconds
        if self.faults is not None:
            self._keep_faults(options, self.faults)
        options.spared, options.spared_strikes, options.without = self.spared, self.strikes, self.without
        plain = Options()
        for name in self.off:
            setattr(options, name, getattr(plain, name))
        return options

    def _drawn(self) -> Options:
        nodes = self.nodes
        if self.plant and not nodes:
            plant = plant_of(self.plant)
            if plant.worlds is not None:
                return plant.worlds()
            nodes = plant.nodes
        if not nodes:
            random = Random(f"{self.seed}/nodes")
            nodes = random.choice((3, 3, 3, 5)) if random.random() < 1 / _CLUSTERS_AMONG else 1
        random = Random(f"{self.seed}/options")
        return draw_options(random) if nodes == 1 else draw_cluster(random, nodes)

    def _keep_faults(self, options: Options, faults: tuple[str, ...]) -> None:
        """Have these faults, all that are wanted and no others."""
        options.calamities = tuple(kind for kind in CALAMITIES if kind in faults)
        plain = Options()
        for fault, rates in _RATES.items():
            for rate in rates:
                if fault not in faults:
                    setattr(options, rate, getattr(plain, rate))

    def command(self) -> str:
        """What runs the same world again."""
        words = [f"goqueue sim --seed {self.seed}"]
        words += [f"--nodes {self.nodes}"] if self.nodes else []
        words += [f"--steps {self.steps}"] if self.steps is not None else []
        words += [f"--minutes {self.seconds / 60:g}"] if self.seconds is not None else []
        words += [f"--faults {','.join(self.faults) or 'none'}"] if self.faults is not None else []
        words += [f"--spare {spelled(self.spared, self.strikes)}"] if self.spared or self.strikes else []
        words += [f"--without {','.join(self.without)}"] if self.without else []
        words += [f"--off {','.join(self.off)}"] if self.off else []
        words += [f"--plant {self.plant}"] if self.plant else []
        return " ".join(words)


def spelled(calamities: tuple[int, ...], strikes: tuple[int, ...]) -> str:
    """Numbers of calamities, and of strikes behind a letter, as `--spare` takes them: 3,5,s7-9."""
    return ",".join([*_spans(calamities, ""), *_spans(strikes, "s")])


def _spans(numbers: tuple[int, ...], letter: str) -> list[str]:
    spans: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1] = spans[-1][0], number
        else:
            spans.append((number, number))
    return [f"{letter}{first}" if first == last else f"{letter}{first}-{last}" for first, last in spans]


def read_spared(text: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """What `spelled` has written; None where that is something else."""
    calamities: list[int] = []
    strikes: list[int] = []
    for word in text.split(","):
        numbers = calamities if not word.startswith("s") else strikes
        first, dash, last = word.removeprefix("s").partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            return None
        numbers += range(int(first), int(last or first) + 1)
    return tuple(calamities), tuple(strikes)


def live_through(
    case: Case,
    report: Callable[[str], None] | None = None,
    capture: str | None = None,
    watch: Watcher | None = None,
    end: End | None = None,
) -> Verdict:
    """Run the world of a case, with its bug if it has one; with an `end`, no further than that."""
    with planted(case.plant) if case.plant else nullcontext():
        return run_world(case.seed, options=case.options(), report=report, capture=capture, watch=watch, end=end)


def of_seed(case: Case, seed: int) -> Case:
    """The same case of another seed."""
    return attrs.evolve(case, seed=seed)
