"""Simulated worlds, captured: whatever a disk does to a node, told again it comes out the same."""

from pathlib import Path
from random import Random

import pytest

from goqueue.fuzz.drawing.single import draw_options
from goqueue.fuzz.world import World
from goqueue.storage.capture import Capture, CaptureLimits
from goqueue.storage.capture_files import list_captures, replay
from tests.core.capture.traffic import VOCABULARY

STEPS = 1500


@pytest.mark.parametrize("seed", [1, 3, 5, 7])
def test_every_life_of_a_world_is_identical_when_it_is_told_again(tmp_path: Path, seed: int) -> None:
    limits = CaptureLimits(100_000, 1 << 30)

    def make_capture(node_id: str) -> Capture:
        return Capture(str(tmp_path), limits, in_place=True)

    options = draw_options(Random(f"{seed}/options"))
    options.p_kill = max(options.p_kill, 0.01)
    world = World(seed, options, None, make_capture)
    try:
        world.begin()
        while world.steps < STEPS and world.step():
            pass
    finally:
        world.close()
    found = list_captures(str(tmp_path))
    outcome = replay(found, VOCABULARY)
    assert outcome.is_identical, outcome
    assert outcome.events > STEPS
    assert len({one.run for one in found}) > 1, "the node lived only once"
