"""Nodes that are reached elsewhere when they begin again: others find them by what they register with."""

import attrs
import pytest

from goqueue.fuzz.case import Case
from goqueue.fuzz.converging import Converging
from goqueue.fuzz.healing import Healing
from goqueue.fuzz.options import Options
from goqueue.fuzz.rehousing import rehouse
from goqueue.fuzz.sim import run_world
from goqueue.fuzz.world import World

_S = 1_000_000_000
PLAIN = (
    "members",
    "eager_members",
    "workers",
    "stewards",
    "meddlers",
    "forgets",
    "founders",
    "grows",
    "p_topic_change",
    "groups_max",
    "offsets_max",
)


def moving(*, is_wired: bool) -> Options:
    """Three nodes with a publisher and a reader, and nodes that are restarted elsewhere."""
    options = Case(5, nodes=3, faults=(), off=PLAIN).options()
    options.calamities, options.calamity_ns, options.calamity_lasts_s = ("address",), 2 * _S, (0.5, 1.0)
    options.seconds, options.replicas_max, options.min_insync, options.fsyncs = 12, 3, 1, ("every",)
    options.publishers, options.readers, options.laborers, options.p_topic_change = 1, 1, 0, 0.0
    options.letter_ns_max, options.think_ns = 2_000_000, 200_000_000
    options.peer_bytes, options.wire = is_wired, "grpc" if is_wired else ""
    return options


@pytest.mark.parametrize("is_wired", [False, True])
def test_nodes_and_programs_find_a_node_at_its_new_address(is_wired: bool) -> None:
    verdict = run_world(11, options=moving(is_wired=is_wired))
    assert verdict.violation is None, verdict.place
    assert verdict.counts["address that changed"] > 1
    assert verdict.counts["handed to a reader"] > 0


def test_nobody_is_at_the_address_that_a_node_had_before() -> None:
    world = World(1, moving(is_wired=True))
    process = world.processes[1]
    assert world.wires is not None
    before = world.wires.fabric.named("node-2")
    assert before is not None
    ip = before.ip
    rehouse(process)
    assert world.machine_at("node-2") is None
    assert world.machine_at("node-2-at-1") is process
    assert world.wires.fabric.called("node-2") is None
    assert world.wires.fabric.called("node-2-at-1") is world.wires.fabric.named("node-2")
    assert before.ip != ip
    world.close()


def test_a_node_that_others_know_at_another_address_is_found_at_the_end() -> None:
    world = World(1, moving(is_wired=False))
    world.begin()
    while world.step(3 * _S):
        pass
    healing = Healing(world)
    healing.run()
    converging = Converging(world, healing._ask)
    assert not converging._unrest()
    process = world.processes[1]
    assert process.cluster is not None
    process.cluster = attrs.evolve(process.cluster, grpc="elsewhere:9000")
    assert "believes node-2 to be reached" in converging._unrest()
    world.close()
