"""Worlds of several nodes: the promises hold, and a world is what its case says, wherever it is run."""

import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner

from goqueue.cli.main import goqueue
from goqueue.core.ready import Letter
from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.options import CALAMITIES
from goqueue.fuzz.plants.clusters import short_worlds
from goqueue.fuzz.shrinking import Shrinking
from goqueue.fuzz.timeline import timeline_of
from goqueue.fuzz.world import World
from goqueue.storage.capture import core_vocabulary
from goqueue.storage.capture_files import list_captures, replay

SHORT_S = 8
SEEDS = (0, 2, 3, 5)
_S = 1_000_000_000


@pytest.mark.parametrize("seed", SEEDS)
def test_three_nodes_keep_their_promises(seed: int) -> None:
    verdict = live_through(Case(seed, nodes=3, seconds=SHORT_S))
    assert verdict.violation is None, verdict.place
    assert verdict.counts["letter"] > 100


def test_five_nodes_keep_their_promises() -> None:
    verdict = live_through(Case(1, nodes=5, seconds=SHORT_S))
    assert verdict.violation is None, verdict.place


def test_the_same_case_gives_the_same_world() -> None:
    case = Case(7, nodes=3, seconds=4)
    first = live_through(case)
    assert live_through(case) == first
    assert live_through(attrs.evolve(case, seed=8)).digest != first.digest


def test_the_world_does_not_hang_on_the_hash_seed(pytestconfig: pytest.Config) -> None:
    command = [sys.executable, "-m", "goqueue", "sim", "--nodes", "3", "--minutes", "0.08", "--seed", "4", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(pytestconfig.rootpath)}
    outputs = [
        subprocess.run(
            command,
            cwd=pytestconfig.rootpath,
            env={**environment, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert "digest" in outputs[0]
    assert outputs[0] == outputs[1]


def test_what_each_node_is_told_is_replayed_alike(tmp_path: Path) -> None:
    live_through(Case(3, nodes=3, seconds=4), capture=str(tmp_path))
    folders = sorted(tmp_path.iterdir())
    assert [folder.name for folder in folders] == ["node-1", "node-2", "node-3"]
    for folder in folders:
        assert replay(list_captures(str(folder)), core_vocabulary()).divergence is None


# --- what befalls a world


def calamities_of(case: Case) -> list[str]:
    """What befalls the world of a case."""
    world = World(case.seed, case.options())
    world.close()
    return [calamity.text() for calamity in world.calamities]


def test_a_case_has_the_faults_that_it_says_and_no_others() -> None:
    assert calamities_of(Case(1, nodes=3, faults=())) == []
    kinds = {text.split()[1] for seed in range(5) for text in calamities_of(Case(seed, nodes=3, faults=("kill",)))}
    assert kinds == {"kill"}
    options = Case(1, nodes=3, faults=("loss",)).options()
    assert options.calamities == ()
    assert options.p_letter_double == 0.0


def test_one_calamity_can_be_spared_and_the_others_stay() -> None:
    case = Case(1, nodes=3, faults=CALAMITIES)
    everything = calamities_of(case)
    assert len(everything) > 3
    case.spared = (1,)
    assert calamities_of(case) == [text for text in everything if not text.startswith("#1 ")]


def test_a_command_says_all_that_makes_a_case() -> None:
    case = Case(5, nodes=3, seconds=90, faults=("kill", "rift"), spared=(1, 4), off=("consumers",), plant="")
    command = "goqueue sim --seed 5 --nodes 3 --minutes 1.5 --faults kill,rift --spare 1,4 --off consumers"
    assert case.command() == command


# --- letters


def quiet_world() -> World:
    """Three machines on which nothing has started."""
    return World(1, short_worlds())


def rest(world: World, seconds: float) -> None:
    """Let time pass."""
    until = world.now + int(seconds * _S)
    while world.step(until):
        pass


def started_world() -> World:
    """The same with processes that have started."""
    world = quiet_world()
    for process in world.processes:
        process.start()
    return world


def test_a_letter_does_not_pass_a_cut_and_the_other_direction_stays() -> None:
    world = started_world()
    one, two, _ = world.processes
    arrived: list[tuple[str, object]] = []
    for process in (one, two):
        process.take_letter = lambda sender, letter: arrived.append((sender, letter))  # type: ignore[method-assign]
        process.kick = lambda *_: None  # type: ignore[method-assign]
    world.post.cut([(one.node_id, two.node_id)])
    world.post.send(one, Letter(two.node_id, "lost"))
    world.post.send(two, Letter(one.node_id, "heard"))
    rest(world, 0.05)
    assert ("node-2", "heard") in arrived
    assert ("node-1", "lost") not in arrived
    world.post.mend([(one.node_id, two.node_id)])
    world.post.send(one, Letter(two.node_id, "after"))
    rest(world, 0.05)
    assert ("node-1", "after") in arrived


def test_a_node_whose_port_refuses_seems_to_have_ended_and_costs_nothing_that_was_promised() -> None:
    verdict = live_through(Case(3, nodes=3, seconds=25, faults=("refuse",)))
    assert verdict.violation is None
    assert verdict.counts["process that seems to have ended"] > 0


def test_a_letter_never_reaches_the_next_life() -> None:
    world = started_world()
    one, two, _ = world.processes
    arrived: list[object] = []
    world.post.send(one, Letter(two.node_id, "for the dead"))
    two.die(crash=False, down_ns=0)
    two.take_letter = lambda sender, letter: arrived.append(letter)  # type: ignore[method-assign]
    rest(world, 0.2)
    assert two.is_up
    assert "for the dead" not in arrived


# --- what is said of a violation


def test_a_violation_is_told_node_by_node() -> None:
    case = Case(0, plant="acknowledge-before-sync")
    verdict = live_through(case)
    assert verdict.violation is not None
    table = timeline_of(case, verdict)
    assert [*table.splitlines()[0].split()] == ["time", "node-1", "node-2", "node-3"]
    assert "controller, term 1" in table
    assert "leads t0/0, epoch 1" in table


def test_a_smaller_world_breaks_the_same_promise() -> None:
    case = Case(0, plant="acknowledge-before-sync")
    verdict = live_through(case)
    said: list[str] = []
    shrinking = Shrinking(case, verdict, said.append)
    shrinking.run()
    assert said
    assert shrinking.found.violation is not None
    assert len(shrinking.found.calamities) < len(verdict.calamities)
    assert live_through(shrinking.case).violation == shrinking.found.violation


def test_the_command_takes_a_plant_and_says_how_to_see_it_again() -> None:
    result = CliRunner().invoke(goqueue, ["sim", "--seed", "0", "--plant", "acknowledge-before-sync"])
    assert result.exit_code == 1
    assert "again: goqueue sim --seed 0 --plant acknowledge-before-sync --trace" in result.output
