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
from goqueue.fuzz.drawing.single import draw_options
from goqueue.fuzz.healing import Healing
from goqueue.fuzz.knobs import turned
from goqueue.fuzz.options import Options
from goqueue.fuzz.progress import NoProgress
from goqueue.fuzz.waiting import who_waits
from goqueue.fuzz.watchdog import Patience, StandsStill
from goqueue.fuzz.world import Watcher, World
from goqueue.storage.capture import Capture

_S = 1_000_000_000


@define
class End:
    """Where a world ends that is run for what comes before: at that moment, and healed or not."""

    at_ns: int
    is_healed: bool


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
    # The module in which it was found, be it of the product or of who looks on.
    module: str = ""
    calamities: list[Calamity] = field(factory=list)
    # How much of what struck by chance there was, who asked anything, and whether all was healed already.
    strikes: int = 0
    clients: list[str] = field(factory=list)
    is_healed: bool = False
    # Where nothing goes on any more: who waits for whom, and where the code was that did not come to an end.
    waits: list[str] = field(factory=list)
    stack: str = field(default="", eq=False)

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
    end: End | None = None,
) -> Verdict:
    """Live through one world, of one node where no options are given.

    With a folder for it, everything that its processes are told is captured there.
    """
    options = options if options is not None else draw_options(Random(f"{seed}/options"))
    if steps is not None:
        options.steps = steps
    if capture is not None:
        # A capture is replayed by the product as it is.
        options.page_bits = Options().page_bits
    with turned(options):
        return _run(World(seed, options, report, _capturing(capture, options)), watch, end)


def _capturing(folder: str | None, options: Options) -> Callable[[str], Capture] | None:
    return None if folder is None else partial(_capture, folder, options.nodes)


def _run(world: World, watch: Watcher | None, end: End | None) -> Verdict:
    if watch is not None:
        watch.begin(world)
        world.watch = watch
    violation, place, module, stack, waits = None, "", "", "", list[str]()
    was_collecting = gc.isenabled()
    # A world is short: what it leaves is cheaper to collect once than over and over while it lasts.
    gc.disable()
    try:
        with Patience(world.watchdog):
            _live(world, end)
    except _EndedEarly:
        pass
    except StandsStill as error:
        # Where exactly it was interrupted is another place each time.
        violation, place, stack = f"{StandsStill.__name__}: {error}", "Patience._tick", error.stack
    except Exception as error:  # noqa: BLE001 - a broken promise or a broken product: either is what this is here to find
        violation, place = f"{type(error).__name__}: {error}", _place(error)
        module = [frame for frame, _ in traceback.walk_tb(error.__traceback__)][-1].f_globals["__name__"]
        waits = who_waits(world) if world.is_healed or isinstance(error, NoProgress) else []
    finally:
        world.close()
        if was_collecting:
            gc.enable()
    strikes, clients = world.chance.strikes, [client.name for client in world.clients]
    lives = max(process.life for process in world.processes)
    return Verdict(
        world.seed, world.options, world.digest, world.steps, lives, world.witness.acknowledged,
        world.now // 1_000_000, world.counts, violation, place, module, world.calamities, strikes, clients,
        world.is_healed, waits, stack,
    )  # fmt: skip


class _EndedEarly(Exception):
    """The world has come as far as it was to."""


def _live(world: World, end: End | None) -> None:
    """Both phases of a world, or as much of them as is wanted."""
    world.begin()
    options = world.options
    until = options.seconds * _S or None
    if end is not None:
        if end.is_healed:
            world.later(end.at_ns, _end_early)
        else:
            until = min(until or end.at_ns, end.at_ns)
    while (not options.steps or world.steps < options.steps) and world.step(until):
        pass
    if end is None or end.is_healed:
        Healing(world).run()


def _end_early(_: object) -> None:
    raise _EndedEarly


def _capture(folder: str, nodes: int, node_id: str) -> Capture:
    """Where the processes of a node are taken down: in a cluster each node has a folder of its own."""
    return Capture(folder if nodes == 1 else f"{folder}/{node_id}", in_place=True)


def _place(error: BaseException) -> str:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    lines = [line for _, line in traceback.walk_tb(error.__traceback__)]
    calls = [f"{frame.f_code.co_qualname}:{line}" for frame, line in zip(frames, lines, strict=True)]
    return " > ".join(calls[-6:])
