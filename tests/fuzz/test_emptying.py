"""The folder of one partition is lost while its node is down: the node copies it anew, and nothing is lost."""

import pytest

from goqueue.fuzz.case import Case
from goqueue.fuzz.options import Options
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
)


def losing(*calamities: str) -> Options:
    """Three nodes of which all have everything, and that are down for long enough to be found dead."""
    options = Case(5, nodes=3, faults=(), off=PLAIN).options()
    options.calamities, options.calamity_ns, options.calamity_lasts_s = calamities, 3 * _S, (3.0, 4.0)
    options.seconds, options.replicas_max, options.min_insync, options.fsyncs = 20, 3, 1, ("every",)
    options.publishers = options.readers = options.laborers = options.wire_trouble_ns = 0
    options.p_topic_change = 0.0
    options.letter_ns_max, options.think_ns = 2_000_000, 200_000_000
    return options


@pytest.mark.parametrize("calamities", [("empty",), ("empty", "kill", "crash")])
def test_nothing_is_lost_while_another_replica_has_everything(calamities: tuple[str, ...]) -> None:
    verdict = run_world(12, options=losing(*calamities))
    assert verdict.violation is None, verdict.place
    assert verdict.counts["folder that was emptied"] > 0


def test_a_folder_is_spared_while_its_node_may_have_what_no_other_has() -> None:
    world = World(12, losing())
    world.begin()
    while world.step(6 * _S):
        pass
    process = world.processes[1]
    process.die(crash=False, down_ns=10 * _S)
    assert world.emptying._spare_folders(process) == []
    while world.step(11 * _S):
        pass
    assert ("t0", "logs/t0/0") in world.emptying._spare_folders(process)
    for other in world.processes:
        if other is not process:
            other.die(crash=False, down_ns=10 * _S)
    assert world.emptying._spare_folders(process) == []
    world.close()
