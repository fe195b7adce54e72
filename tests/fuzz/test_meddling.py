"""Worlds in which somebody changes what others rely on: nodes are forgotten and come back, partitions are added."""

from goqueue.core.requests.cluster import ElectLeaders, ElectReply
from goqueue.fuzz.case import Case
from goqueue.fuzz.checkers.placements import Placements
from goqueue.fuzz.healing import Healing
from goqueue.fuzz.history import Asked
from goqueue.fuzz.options import Options
from goqueue.fuzz.sim import run_world
from goqueue.fuzz.world import World

_S = 1_000_000_000
PLAIN = ("letters_overtake", "encodes", "p_split", "members", "eager_members", "workers", "founders", "stewards")


def meddled(seed: int, faults: tuple[str, ...]) -> Options:
    """Three nodes, of which some die for longer than it takes to forget them."""
    options = Case(seed, nodes=3, seconds=15, faults=faults, off=PLAIN).options()
    options.meddlers, options.calamity_lasts_s, options.calamity_ns = 1, (6.0, 8.0), 2 * _S
    return options


def test_nodes_that_are_forgotten_vote_and_have_replicas_again() -> None:
    options = meddled(32001, ("kill", "isolate"))
    options.forgets, options.replicas_max = True, 3
    verdict = run_world(32001, options=options)
    assert verdict.violation is None, verdict.place
    assert verdict.counts["request ForgetNode"] > 0


def test_a_partition_that_has_too_few_replicas_for_its_messages_is_at_rest_once_it_is_given_more() -> None:
    """Both nodes are forgotten that have the other replicas, and the one that is left loses its power."""
    options = meddled(32013, ("kill", "isolate", "crash"))
    options.forgets, options.replicas_max, options.min_insync, options.founders = True, 3, 2, 1
    options.seconds, options.topics = 25, 2
    verdict = run_world(32013, options=options)
    assert verdict.violation is None, verdict.place
    assert verdict.counts["request ForgetNode"] > 0


def test_partitions_are_added_while_clients_work() -> None:
    options = meddled(32002, ())
    options.adds_partitions, options.topics, options.partitions_max, options.replicas_max = True, 1, 3, 2
    world = World(32002, options)
    world.begin()
    counts: dict[int, None] = {}
    while world.step(options.seconds * _S):
        counts.update((topic.partitions, None) for topic in world.sight.topics().values() if topic.name == "t0")
    Healing(world).run()
    world.close()
    assert len(counts) > 1


def test_of_a_topic_nothing_is_promised_once_an_operator_gives_messages_up() -> None:
    world = World(1, meddled(1, ()))
    world.begin()
    while "t0" not in world.sight.topic_ids():
        assert world.step(15 * _S)
    topic_id = world.sight.topic_ids()["t0"]
    checker = next(one for one in world.checkers if isinstance(one, Placements))
    asked = Asked(1, "x0", ElectLeaders("t0", 0, unclean=True), topic_id)
    checker.asked(asked)
    assert topic_id not in world.history.given_up
    checker.answered(asked, ElectReply(0, "node-1"))
    world.close()
    assert topic_id in world.history.given_up
    assert (topic_id, 0) in world.history.rotten
