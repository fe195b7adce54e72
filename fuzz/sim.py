"""`python -m goqueue.fuzz.sim --seed N`: run a world and say whether it kept its promises.

`--seeds A..B` runs many and stops at the first that does not. A violation prints the seed, the options drawn from it,
and the command that runs it again.
"""

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable
from random import Random

from attrs import define

from goqueue.fuzz.healing import Healing
from goqueue.fuzz.options import Options, draw_options
from goqueue.fuzz.world import World


@define
class Verdict:
    """What came of one world."""

    seed: int
    options: Options
    digest: str
    steps: int
    lives: int
    acknowledged: int
    simulated_ms: int
    violation: str | None

    def as_json(self) -> dict[str, object]:
        """The same for programs."""
        return {
            "seed": self.seed, "digest": self.digest, "steps": self.steps, "lives": self.lives,
            "acknowledged": self.acknowledged, "simulated_ms": self.simulated_ms, "options": self.options.text(),
            "violation": self.violation,
        }  # fmt: skip


def run_world(
    seed: int,
    steps: int | None = None,
    options: Options | None = None,
    report: Callable[[str], None] | None = None,
) -> Verdict:
    """Live through one world."""
    options = options if options is not None else draw_options(Random(f"{seed}/options"))
    if steps is not None:
        options.steps = steps
    world = World(seed, options, report)
    violation = None
    try:
        world.begin()
        while world.steps < options.steps and world.step():
            pass
        Healing(world).run()
    except Exception as error:  # noqa: BLE001 - a broken promise or a broken product: either is what this is here to find
        violation = f"{type(error).__name__}: {error} ({_place(error)})"
    return Verdict(
        seed, options, world.digest, world.steps, world.disk.life, world.acknowledged, world.now // 1_000_000, violation
    )


def _place(error: BaseException) -> str:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    lines = [line for _, line in traceback.walk_tb(error.__traceback__)]
    calls = [f"{frame.f_code.co_qualname}:{line}" for frame, line in zip(frames, lines, strict=True)]
    return " > ".join(calls[-6:])


def _say(verdict: Verdict, steps: int | None) -> None:
    print(f"violation in seed {verdict.seed}, at step {verdict.steps}: {verdict.violation}")
    print(f"options: {verdict.options.text()}")
    more = "" if steps is None else f" --steps {steps}"
    print(f"again: python -m goqueue.fuzz.sim --seed {verdict.seed}{more}")


def main(arguments: list[str] | None = None) -> int:
    """The command; 1 when a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m goqueue.fuzz.sim", description="Run simulated worlds.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="the world to run")
    which.add_argument("--seeds", metavar="A..B", help="the worlds to run, B not among them")
    parser.add_argument("--steps", type=int, help="how long trouble lasts")
    parser.add_argument("--trace", action="store_true", help="print what happens as it happens")
    parser.add_argument("--json", action="store_true", help="print one JSON object a world")
    chosen = parser.parse_args(arguments)
    first, last = (chosen.seed, chosen.seed + 1) if chosen.seeds is None else map(int, chosen.seeds.split(".."))
    begun, acknowledged = time.monotonic(), 0
    for count, seed in enumerate(range(first, last), 1):
        verdict = run_world(seed, chosen.steps, report=print if chosen.trace else None)
        acknowledged += verdict.acknowledged
        if chosen.json:
            print(json.dumps(verdict.as_json()), flush=True)
        if verdict.violation is not None:
            if not chosen.json:
                _say(verdict, chosen.steps)
            return 1
        if not chosen.json and (count % 100 == 0 or seed == last - 1):
            rate = count / max(time.monotonic() - begun, 1e-9)
            print(
                f"{count} worlds kept {acknowledged} acknowledgements, {rate:.0f} a second; {verdict.digest}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
