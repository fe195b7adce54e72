"""Worlds in which one node becomes several while clients work, and some leave for good."""

import pytest

from goqueue.core.cluster.apply import Placement
from goqueue.core.quorum.entries import VOTERS, encode_voters
from goqueue.fuzz.case import Case
from goqueue.fuzz.checkers.checker import Sight
from goqueue.fuzz.checkers.placements import Placements
from goqueue.fuzz.healing import Healing
from goqueue.fuzz.history import History, Violation
from goqueue.fuzz.insight import agreed_state, are_voters_agreed, electorates, leads, voters
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants.clusters import short_worlds
from goqueue.fuzz.sim import run_world
from goqueue.fuzz.world import World

_S = 1_000_000_000
PLACE = (1, 0)


def growing(nodes: int = 3, calamities: tuple[str, ...] = ()) -> Options:
    """Little traffic, and an operator."""
    options = Case(1, nodes=nodes, faults=(), off=("members", "eager_members", "workers")).options()
    options.grows, options.founders, options.replicas_max, options.min_insync = True, 1, 3, 1
    options.seconds, options.calamities, options.calamity_ns = 25, calamities, 4 * _S
    options.publishers = options.readers = options.laborers = options.wire_trouble_ns = 0
    options.p_topic_change = 0.0
    options.fsyncs, options.think_ns = ("every",), 200_000_000
    return options


def test_partitions_of_one_node_get_replicas_on_those_that_join_and_leave_those_that_go() -> None:
    world = World(2, growing())
    world.begin()
    most: dict[int, None] = {}
    while world.step(25 * _S):
        most.update((len(p.replicas), None) for t in world.sight.topics().values() for p in t.placements.values())
    assert max(most) == 3
    assert world.counts["node that has left"] > 0
    Healing(world).run()
    world.close()


def test_nodes_that_have_left_stay_away_or_come_back() -> None:
    counts: dict[str, int] = {}
    for seed in (3, 4):
        world = World(seed, growing())
        world.begin()
        while world.step(25 * _S):
            pass
        Healing(world).run()
        node = world.sight.node()
        assert node is not None
        assert sorted(agreed_state(node).nodes) == [process.node_id for process in world.present()]
        counts["away"] = counts.get("away", 0) + 3 - len(world.present())
        counts["back"] = counts.get("back", 0) + world.counts.get("node that has come back", 0)
        world.close()
    assert counts["away"] > 0
    assert counts["back"] > 0


def test_five_nodes_keep_their_promises_while_the_cluster_grows_and_shrinks() -> None:
    verdict = run_world(3, options=growing(5, ("kill", "isolate")))
    assert verdict.violation is None, verdict.place
    assert verdict.counts["request Reassign"] > 0


def test_some_clusters_grow_and_none_of_these_loses_a_disk_besides() -> None:
    drawn = [Case(seed, nodes=3).options() for seed in range(200)]
    grown = [options for options in drawn if options.grows]
    assert 5 < len(grown) < 40
    assert all("wipe" not in options.calamities and options.founders == 1 for options in grown)
    assert not any(Case(seed, nodes=3, faults=()).options().grows for seed in range(200))


# --- what checkers make of it


def test_what_was_counted_by_the_voters_before_is_agreed_until_others_are() -> None:
    world = World(1, short_worlds())
    world.begin()
    while not (found := [one.node for one in world.processes if one.node is not None and leads(one.node)]):
        assert world.step(10 * _S)
    node = found[0]
    while not are_voters_agreed(node):
        assert world.step(10 * _S)
    before = voters(node)
    assert electorates(node) == [before]
    quorum = node._agreement._quorum
    quorum.propose(VOTERS, encode_voters(quorum.membership.without_voter(before[-1])))
    assert electorates(node) == [before, before[:-1]]
    world.close()


@pytest.mark.parametrize("removing", [["b"], []])
def test_whom_a_move_leaves_may_be_the_only_one_next(removing: list[str]) -> None:
    checker = Placements(Sight(History()))
    checker._follow(PLACE, "t/0", Placement(["a", "b"], ["b"], "b", 1, 1, [], removing), is_unclean=False)
    ended = Placement(["a"], ["a"], "a", 2, 2)
    if removing:
        checker._follow(PLACE, "t/0", ended, is_unclean=False)
    else:
        with pytest.raises(Violation, match="none of those who had all"):
            checker._follow(PLACE, "t/0", ended, is_unclean=False)
