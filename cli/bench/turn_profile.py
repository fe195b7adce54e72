"""Where the CPU time of a single publish goes, by function: for whoever wants to make it less.

cProfile takes its own time for every call, so the figures are too large, those of small functions most; they say where
to look and not what is gained. Functions that are not called at least every other publish are left out: a broker's
start, and what it does once a second.
"""

import cProfile
import pstats
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from attrs import define

from goqueue.cli.bench.turn_one import batches, crowd, node_with_topic, publish
from goqueue.cli.bench.turn_serve import served_topic
from goqueue.cli.bench.workbench import Workbench

_ROWS_MAX = 25
# Waiting is no CPU time.
_WAITS = frozenset({"<method 'poll' of 'select.epoll' objects>"})
_TREE = str(Path(__file__).parents[2])
_LIBRARIES = re.compile(r".*lib/python3[^/]*/(site-packages/)?")

Place: TypeAlias = tuple[str, int, str]
Timings: TypeAlias = Mapping[Place, tuple[int, int, float, float, object]]


@define
class Row:
    """A function: how often it is called, and how long it takes without and with what it calls, a publish."""

    function: str
    calls: float
    own_us: float
    all_us: float


def profiled(key: str, bench: Workbench) -> str:
    """A table for a figure."""
    if key == "serve_one":
        timings, count = _served(bench)
    else:
        timings, count = _in_process(bench, is_crowded=key == "turn_one_crowded")
    rows = _rows(timings, count)
    lines = [
        f"{key}: the {len(rows)} functions that take most of {count:,} publishes, by what they take themselves",
        "",
    ]
    lines.append(f"{'own us':>8} {'all us':>8} {'calls':>6}  function")
    lines += [f"{row.own_us:8.2f} {row.all_us:8.2f} {row.calls:6.1f}  {row.function}" for row in rows]
    return "\n".join(lines) + "\n"


def _in_process(bench: Workbench, *, is_crowded: bool) -> tuple[Timings, int]:
    profile = cProfile.Profile()
    with node_with_topic(bench) as node:
        if is_crowded:
            crowd(node, bench)
        for done in range(bench.sizes.turn_blocks):
            requests = batches(bench.sizes.turns)
            profile.runcall(publish, node, requests)
            if not is_crowded:
                bench.advanced((done + 1) / bench.sizes.turn_blocks)
    return _timings(pstats.Stats(profile)), bench.sizes.turns * bench.sizes.turn_blocks


def _served(bench: Workbench) -> tuple[Timings, int]:
    count = bench.sizes.singles * bench.sizes.broker_rounds
    with bench.folder() as folder:
        path = folder / "broker.prof"
        with served_topic(bench, folder, path) as (_, send):
            send(count)
        # The broker has ended, and written it. What `served_topic` has sent before is in it as well.
        return _timings(pstats.Stats(str(path))), count + bench.sizes.singles // 4


def _timings(stats: pstats.Stats) -> Timings:
    found: Timings = stats.stats  # type: ignore[attr-defined]
    return found


def _rows(timings: Timings, count: int) -> list[Row]:
    rows = [
        Row(_named(place), calls / count, 1e6 * own / count, 1e6 * whole / count)
        for place, (_, calls, own, whole, _) in timings.items()
        if 2 * calls >= count and place[2] not in _WAITS
    ]
    return sorted(rows, key=lambda row: -row.own_us)[:_ROWS_MAX]


def _named(place: Place) -> str:
    """Where a function is, as short as it is clear."""
    path, line, name = place
    if path == "~":
        return name
    short = _LIBRARIES.sub("", path.removeprefix(_TREE).lstrip("/"))
    return f"{short}:{line} {name}"
