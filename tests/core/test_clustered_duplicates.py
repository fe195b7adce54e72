"""A duplicate is as good as an acknowledgement: a leader that dies after it takes nothing away that it stood for."""

from goqueue.core.client.failure import PASSING
from goqueue.core.records.build import encode
from goqueue.core.requests.messages import PublishBatch, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from tests.core.driven_cluster import DrivenCluster
from tests.core.test_clustered_nodes import read, with_topic

COUNT = 8


def batch_of(sequence: int) -> PublishBatch:
    """One record of a producer."""
    entries = [(1_700_000_000_000, None, b"%d" % sequence, ())]
    content = encode(entries, producer_id=1 << 62, producer_epoch=0, base_sequence=sequence)
    return PublishBatch("orders", 0, content)


def result_of(reply: Reply) -> Published | Refusal:
    """What became of a batch."""
    if isinstance(reply, Refusal):
        return reply
    assert isinstance(reply, PublishReply)
    return reply.results[0]


def send_until_settled(cluster: DrivenCluster, name: str, sequence: int) -> Published | Refusal:
    """Send a batch until something is said of it that does not pass."""
    while True:
        result = result_of(cluster.answer(name, batch_of(sequence)))
        if isinstance(result, Published) or str(result.code) not in PASSING:
            return result
        cluster.advance(100)


def test_a_leader_that_is_alone_calls_nothing_a_duplicate_that_only_it_has() -> None:
    cluster = with_topic()
    leader = cluster.leader("orders")
    cluster.isolate(leader)
    for sequence in range(COUNT):
        cluster.ask(leader, batch_of(sequence))
    again = cluster.ask(leader, batch_of(0))
    cluster.advance(1_000)
    assert again not in cluster.members[leader].answers
    cluster.kill(leader)
    cluster.heal()
    [other, *_] = cluster.living()
    cluster.until(lambda: cluster.leader("orders") not in ("", leader), 10_000)
    assert isinstance(send_until_settled(cluster, other, 0), Published)
    assert read(cluster, other) == [b"0"]


def test_what_was_called_a_duplicate_outlives_the_leader() -> None:
    cluster = with_topic()
    leader = cluster.leader("orders")
    for sequence in range(COUNT):
        cluster.ask(leader, batch_of(sequence))
    result = send_until_settled(cluster, leader, 0)
    assert isinstance(result, Refusal)
    assert result.code is Code.DUPLICATE
    cluster.kill(leader)
    [other, *_] = cluster.living()
    cluster.until(lambda: cluster.leader("orders") not in ("", leader), 10_000)
    assert read(cluster, other)[:1] == [b"0"]
    for sequence in range(COUNT):
        send_until_settled(cluster, other, sequence)
    assert read(cluster, other) == [b"%d" % sequence for sequence in range(COUNT)]
