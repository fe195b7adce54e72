"""The metadata of several nodes on the files of a storage: cut back, begun anew, found again after a crash."""

from goqueue.core.cluster.agreement import METADATA_STREAM
from goqueue.core.requests.topics import CreateTopic, DeleteTopic, TopicReply
from goqueue.storage.node_disk import Opening
from goqueue.storage.vote import read_vote
from tests.core.driven_cluster import DrivenCluster
from tests.core.log.batches import WALL_MS


def started() -> DrivenCluster:
    """Three nodes with a controller."""
    cluster = DrivenCluster(3)
    cluster.until(lambda: bool(cluster.controller()))
    return cluster


def entries(cluster: DrivenCluster, name: str) -> list[tuple[int, int, bytes]]:
    """What is in a node's log, as far as its disk would have it after a crash."""
    member = cluster.members[name]
    assert member.node is None
    agreement = cluster.node(cluster.living()[0])._agreement
    assert agreement.log is not None
    opening = Opening(member.disk, METADATA_STREAM, agreement.log.config, WALL_MS, distrust=False)
    opening.run()
    assert opening.error is None
    assert opening.vote == read_vote(member.disk)
    return [(entry.index, entry.term, entry.content) for entry in opening.entries]


def test_a_log_that_nobody_followed_is_cut_back_on_the_disk() -> None:
    cluster = started()
    old = cluster.controller()
    cluster.isolate(old)
    cluster.ask(old, CreateTopic("lost", 1))
    cluster.until(lambda: any(cluster.node(name).is_controller for name in cluster.living() if name != old))
    [new] = [name for name in cluster.living() if name != old and cluster.node(name).is_controller]
    assert isinstance(cluster.answer(new, CreateTopic("orders", 1)), TopicReply)
    cluster.heal()
    cluster.until(lambda: "orders" in cluster.node(old)._agreement.state.topics)
    cluster.advance(1000)
    assert "lost" not in cluster.node(old)._agreement.state.topics
    cluster.kill(old)
    mine = entries(cluster, old)
    cluster.kill(new)
    other = entries(cluster, new)
    assert mine == other[: len(mine)]
    assert len(mine) >= len(other) - 1


def test_a_node_that_was_away_for_long_begins_its_log_anew_and_finds_it_again() -> None:
    cluster = started()
    away = next(name for name in cluster.living() if name != cluster.controller())
    cluster.kill(away)
    for _ in range(350):
        cluster.answer(cluster.controller(), CreateTopic("orders", 1))
        cluster.answer(cluster.controller(), DeleteTopic("orders"))
        cluster.advance(20)
    cluster.answer(cluster.controller(), CreateTopic("last", 1))
    log = cluster.node(cluster.controller())._agreement.log
    assert log is not None
    assert log.start_offset > 0, "the log was not summed up"
    cluster.start(away)
    cluster.until(lambda: "last" in cluster.node(away)._agreement.state.topics)
    cluster.advance(1000)
    cluster.kill(away)
    assert entries(cluster, away)[0][0] == log.start_offset
    cluster.start(away)
    cluster.until(lambda: "last" in cluster.node(away)._agreement.state.topics)
    assert cluster.node(away)._agreement.state.topics.keys() == {"last"}


def test_a_cluster_that_stopped_as_a_whole_goes_on() -> None:
    cluster = started()
    cluster.answer(cluster.controller(), CreateTopic("orders", 1))
    term = cluster.node(cluster.controller())._agreement.term
    names = cluster.living()
    for name in names:
        cluster.kill(name)
    for name in names:
        cluster.start(name)
    cluster.until(lambda: bool(cluster.controller()))
    agreement = cluster.node(cluster.controller())._agreement
    assert agreement.term > term
    assert [*agreement.state.topics] == ["orders"]
