"""One world from its beginning to its verdict: what a seed comes to.

Not here: how a verdict is shown (`command.py`, `report.py`), and what happens in a world (`world.py`).
"""

import gc
import traceback
from collections.abc import Callable
from functools import partial
from random import Random

import attrs
from attrs import define

from goqueue.fuzz.healing import Healing
from goqueue.fuzz.options import Options, draw_options
from goqueue.fuzz.world import World
from goqueue.storage.capture import Capture


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
    counts: dict[str, int]
    violation: str | None
    place: str

    def as_json(self) -> dict[str, object]:
        """The same for programs."""
        return {field.name: getattr(self, field.name) for field in attrs.fields(Verdict)} | {
            "options": attrs.asdict(self.options)
        }


def run_world(
    seed: int,
    steps: int | None = None,
    options: Options | None = None,
    report: Callable[[str], None] | None = None,
    capture: str | None = None,
) -> Verdict:
    """Live through one world; with a folder for it, everything that its processes are told is captured there."""
    options = options if options is not None else draw_options(Random(f"{seed}/options"))
    if steps is not None:
        options.steps = steps
    make_capture = partial(Capture, capture, in_place=True) if capture is not None else None
    world = World(seed, options, report, make_capture)
    violation, place = None, ""
    was_collecting = gc.isenabled()
    # A world is short: what it leaves is cheaper to collect once than over and over while it lasts.
    gc.disable()
    try:
        world.begin()
        while world.steps < options.steps and world.step():
            pass
        Healing(world).run()
    except Exception as error:  # noqa: BLE001 - a broken promise or a broken product: either is what this is here to find
        violation, place = f"{type(error).__name__}: {error}", _place(error)
    finally:
        world.close()
        if was_collecting:
            gc.enable()
    return Verdict(
        seed, options, world.digest, world.steps, world.disk.life, world.witness.acknowledged,
        world.now // 1_000_000, world.counts, violation, place,
    )  # fmt: skip


def _place(error: BaseException) -> str:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    lines = [line for _, line in traceback.walk_tb(error.__traceback__)]
    calls = [f"{frame.f_code.co_qualname}:{line}" for frame, line in zip(frames, lines, strict=True)]
    return " > ".join(calls[-6:])
