"""One world from its beginning to its verdict: what a seed comes to.

Not here: how a verdict is shown (`command.py`, `report.py`), and what happens in a world (`world.py`).
"""

import gc
import traceback
from collections.abc import Callable
from functools import partial
from random import Random

import attrs
from attrs import define, field

from goqueue.fuzz.calamities import Calamity
from goqueue.fuzz.healing import Healing
from goqueue.fuzz.options import Options, draw_options
from goqueue.fuzz.world import Watcher, World
from goqueue.storage.capture import Capture

_S = 1_000_000_000


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
    calamities: list[Calamity] = field(factory=list)

    def as_json(self) -> dict[str, object]:
        """The same for programs."""
        return attrs.asdict(self)


def run_world(
    seed: int,
    steps: int | None = None,
    options: Options | None = None,
    report: Callable[[str], None] | None = None,
    capture: str | None = None,
    watch: Watcher | None = None,
) -> Verdict:
    """Live through one world, of one node where no options are given.

    With a folder for it, everything that its processes are told is captured there.
    """
    options = options if options is not None else draw_options(Random(f"{seed}/options"))
    if steps is not None:
        options.steps = steps
    world = World(seed, options, report, None if capture is None else partial(_capture, capture, options.nodes))
    if watch is not None:
        watch.begin(world)
        world.watch = watch
    violation, place = None, ""
    was_collecting = gc.isenabled()
    # A world is short: what it leaves is cheaper to collect once than over and over while it lasts.
    gc.disable()
    try:
        world.begin()
        until = options.seconds * _S or None
        while (not options.steps or world.steps < options.steps) and world.step(until):
            pass
        Healing(world).run()
    except Exception as error:  # noqa: BLE001 - a broken promise or a broken product: either is what this is here to find
        violation, place = f"{type(error).__name__}: {error}", _place(error)
    finally:
        world.close()
        if was_collecting:
            gc.enable()
    lives = max(process.life for process in world.processes)
    return Verdict(
        seed, options, world.digest, world.steps, lives, world.witness.acknowledged,
        world.now // 1_000_000, world.counts, violation, place, world.calamities,
    )  # fmt: skip


def _capture(folder: str, nodes: int, node_id: str) -> Capture:
    """Where the processes of a node are taken down: in a cluster each node has a folder of its own."""
    return Capture(folder if nodes == 1 else f"{folder}/{node_id}", in_place=True)


def _place(error: BaseException) -> str:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    lines = [line for _, line in traceback.walk_tb(error.__traceback__)]
    calls = [f"{frame.f_code.co_qualname}:{line}" for frame, line in zip(frames, lines, strict=True)]
    return " > ".join(calls[-6:])
