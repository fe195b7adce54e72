"""The way of one message through a cluster, as the captures of its nodes tell it."""

from goqueue.core.capture.following import Witness
from goqueue.core.capture.replay import Replayer
from goqueue.core.capture.timeline import Kind, Place, Step, merged
from goqueue.core.verbs import CreateTopic, Fetch, Fetched, NewRecord, Publish, Published, PublishReply
from tests.core.capture.test_captured_clusters import Notes, recorded_cluster
from tests.core.capture.traffic import VOCABULARY
from tests.core.driven_cluster import DrivenCluster


def started() -> tuple[DrivenCluster, list[Notes]]:
    """Three nodes that know each other, and a topic with a message in it."""
    cluster, notes = recorded_cluster()
    cluster.until(
        lambda: cluster.controller() != "" and all(len(cluster.node(one).peers()) == 2 for one in cluster.living())
    )
    cluster.answer("n1", CreateTopic("orders", 1, 3))
    cluster.until(lambda: cluster.leader("orders") != "")
    published(cluster, "n1", b"first")
    return cluster, notes


def published(cluster: DrivenCluster, node: str, value: bytes) -> int:
    """Publish a message through a node; its offset."""
    reply = cluster.answer(node, Publish("orders", [NewRecord(b"k", value)]))
    assert isinstance(reply, PublishReply)
    [result] = reply.results
    assert isinstance(result, Published)
    return result.offset


def followed(notes: list[Notes], place: Place) -> list[Step]:
    """What the nodes' captures say of a message."""
    return merged([_of_one(one, place) for one in notes])


def _of_one(notes: Notes, place: Place) -> list[Step]:
    notes.cut()
    witness = Witness(place)
    replayer = Replayer(VOCABULARY, witness.heard)
    for first, content, block in notes.files:
        assert (replayer.begin(content, first) or (replayer.feed(block) if block else None)) is None
    assert not witness.is_full
    return witness.steps


def kinds(steps: list[Step], node: str) -> list[Kind]:
    """What happened on one node."""
    return [step.kind for step in steps if step.node == node]


def test_x() -> None:
    cluster, notes = started()
    leader = cluster.leader("orders")
    origin, other = [one for one in cluster.living() if one != leader]
    offset = published(cluster, origin, b"followed")
    reply = cluster.answer(origin, Fetch("orders", 0, offset))
    assert isinstance(reply, Fetched)
    cluster.advance(1_000)
    steps = followed(notes, Place("orders", 0, offset))
    for s in steps:
        print(s)
    assert 0
