"""What the checker of contents makes of batches that compaction has thinned out, where one name is of two topics."""

import pytest
from attrs import define

from goqueue.core.node import Node
from goqueue.core.records.batch import read_header
from goqueue.core.records.build import encode, rebuild
from goqueue.core.records.record import iterate
from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.topics import CreateTopic, DeleteTopic, TopicReply
from goqueue.fuzz.checkers.checker import Sight
from goqueue.fuzz.checkers.contents import Contents
from goqueue.fuzz.history import Asked, History, TopicTerms, Violation
from goqueue.storage.simulated import SimulatedDisk
from tests.core.log.batches import WALL_MS
from tests.core.test_clustered_nodes import with_topic

PLAIN, COMPACTED = TopicTerms(), TopicTerms(compacts=True)


@define
class Member:
    """One of several brokers."""

    node_id: str
    node: Node | None
    disk: SimulatedDisk
    boots: int = 0
    vain_turns: int = 0
    is_retired: bool = False


def thinned() -> Fetched:
    """Two messages of one key, of which compaction has left the second."""
    batch = encode([(WALL_MS, b"key", b"p0:0", ()), (WALL_MS, b"key", b"p0:1", ())])
    return Fetched(bytes(rebuild(read_header(batch), [*iterate(batch)][1:])), 2, 2, 0)


def replaced() -> tuple[Contents, list[int]]:
    """A topic that another has replaced, and the ids of both."""
    cluster = with_topic()
    sight = Sight(History())
    sight.processes = [Member(name, cluster.node(name), SimulatedDisk()) for name in cluster.living()]
    sight.topics()
    assert cluster.answer("n1", DeleteTopic("orders")) is None
    assert isinstance(cluster.answer("n1", CreateTopic("orders", 1, 3)), TopicReply)
    ids = sight.ids_since("orders", 0)
    assert len(ids) == 2
    return Contents(sight), ids


def judge(checker: Contents, topic_id: int | None, least_id: int) -> None:
    """Judge what a fetch brought that was asked of a topic, or of any from one on."""
    checker.answered(Asked(1, "c0", Fetch("orders", 0, 0), topic_id, least_id=least_id), thinned())


def test_a_batch_with_gaps_may_be_of_the_compacted_one_of_two_topics() -> None:
    checker, [first, second] = replaced()
    checker.history.terms |= {first: COMPACTED, second: PLAIN}
    judge(checker, None, first)


@pytest.mark.parametrize("is_certain", [True, False])
def test_a_batch_with_gaps_is_none_where_no_compacted_topic_can_have_it(is_certain: bool) -> None:
    checker, [first, second] = replaced()
    checker.history.terms |= {first: COMPACTED, second: PLAIN}
    with pytest.raises(Violation, match="records are claimed"):
        judge(checker, second if is_certain else None, second)
