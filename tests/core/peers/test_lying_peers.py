"""Nodes go on whatever a peer says to them: a message that cannot be true is refused, and nothing else comes of it.

A liar knows what the nodes know, and says what the codec can read, under any name: true messages with something
changed, messages that are drawn, entries of a leader that it is not. No exception leaves a node, its invariants hold,
and what it holds to be agreed stays.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from goqueue.core.cluster.applied import entry_of
from goqueue.core.cluster.apply import ClusterState
from goqueue.core.cluster.fits import misfit
from goqueue.core.cluster.records import MetadataRecord, PartitionPlaced, PartitionsAdded, TopicCreated
from goqueue.core.cluster.remote_offsets import Ends
from goqueue.core.errors import BatchError
from goqueue.core.peers.codec import LETTERS
from goqueue.core.peers.faults import PeerFaults
from goqueue.core.quorum.entries import Entry, Voters, encode_voters
from goqueue.core.quorum.messages import Append, Beat, Outdated, QuorumLetter
from goqueue.core.quorum.quorum import Quorum
from goqueue.core.records.batch import stamp
from goqueue.core.records.build import encode
from goqueue.core.replication.messages import Kept, Pull, Pulled, PullPart
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import Side
from goqueue.core.requests.metadata import ExtendProducerIds
from goqueue.core.requests.topics import CreateTopic, TopicReply
from goqueue.core.routing.messages import Abandoned, Answered, Forwarded, Inquiry, Missing
from tests.core.driven_cluster import DrivenCluster
from tests.core.grouped_cluster import GroupedCluster
from tests.core.peers.lied_to import Lied
from tests.core.test_clustered_nodes import read

_LIES = 120
# Requests and what is agreed are most of what there is to lie about.
_KINDS = (*LETTERS, *[QuorumLetter] * 4, *[Forwarded] * 8, *[Answered] * 4)


def busy() -> GroupedCluster:
    """Three nodes with messages, a group and a queue."""
    cluster = GroupedCluster()
    for partition in range(3):
        cluster.publish(b"a", b"b", partition=partition)
    cluster.read("n1", cluster.join("n1"))
    cluster.poll("n3", cluster.share("n2"))
    return cluster


def founding() -> DrivenCluster:
    """Three nodes that have yet to elect their first controller."""
    return DrivenCluster(3)


def bereaved() -> DrivenCluster:
    """A node whose peers are gone, so that it asks for votes in vain."""
    cluster = busy()
    for name in ("n2", "n3"):
        cluster.kill(name)
    cluster.advance(2_500)
    return cluster


def begun_again() -> DrivenCluster:
    """A node has just begun again."""
    cluster = busy()
    cluster.kill("n2")
    cluster.start("n2")
    return cluster


def joining() -> DrivenCluster:
    """A fourth node comes, and knows nothing yet."""
    cluster = busy()
    cluster.add("n4", [])
    cluster.meet("n4")
    return cluster


def alone() -> DrivenCluster:
    """A node that founded a cluster of one."""
    cluster = DrivenCluster(1)
    cluster.advance(3_000)
    return cluster


_NAMES = ("n1", "n2", "n3", "stranger")


def lied_to(
    cluster: DrivenCluster,
    seed: int,
    *,
    leads: float,
    kinds: tuple[type, ...] = _KINDS,
    names: tuple[str, ...] = _NAMES,
) -> Lied:
    """Let a liar speak to all nodes for a while."""
    lied = Lied(cluster, seed)
    cluster.advance(100)
    lied.learn()
    random, living = lied.liar.random, cluster.living()
    for number in range(_LIES):
        to = random.choice(living)
        sender = random.choice([name for name in names if name != to])
        if random.random() < leads:
            lied.lead(to, sender)
        else:
            lied.tell(to, sender, lied.liar.lie(kinds))
        if random.random() < 0.2:
            lied.ask(to)
        if number % 10 == 0:
            lied.learn()
            cluster.advance(random.choice((1, 20, 200, 2_500)))
    return lied


@pytest.mark.parametrize("leads", [0.05, 0.4], ids=["of all kinds", "mostly of leaders"])
@pytest.mark.parametrize(
    "begin", [busy, founding, bereaved, begun_again, joining, alone], ids=lambda begin: begin.__name__
)
def test_nodes_go_on_whatever_they_are_told(begin: Callable[[], DrivenCluster], leads: float) -> None:
    for seed in range(3):
        cluster = begin()
        lied = lied_to(cluster, seed, leads=leads)
        for name in cluster.living():
            cluster.node(name).check()
            assert lied.serves(name), f"{name} does not answer any more"
        assert sum(cluster.node(name).faults.count for name in cluster.living()) > 0


# What does not claim to lead, and orders nothing: those who do are believed. So is who uses another's name.
_CLAIMS_NOTHING = (Pull, Pulled, Kept, Answered, Abandoned, Inquiry, Missing, Ends)


def _has_controller(cluster: DrivenCluster) -> bool:
    return bool(cluster.controller())


def test_what_was_acknowledged_is_still_there_when_the_liar_has_gone() -> None:
    for seed in range(4):
        cluster = busy()
        lied_to(cluster, seed, leads=0, kinds=_CLAIMS_NOTHING, names=("stranger",))
        cluster.until(partial(_has_controller, cluster))
        for partition in range(3):
            cluster.publish(b"c", partition=partition)
            values = read(cluster, "n1", "orders", partition)
            assert values[:2] == [b"a", b"b"]
            assert values[-1] == b"c"


# --- single lies


def told(cluster: DrivenCluster, to: str, sender: str, message: object) -> str:
    """What a node says of a message that it was told."""
    lied = Lied(cluster, 1)
    cluster.node(to).faults.take()
    lied.tell(to, sender, message)
    return cluster.node(to).faults.take().get(sender, "")


def of_quorum(sender: str, message: Any) -> QuorumLetter:  # noqa: ANN401 - any of the quorum's
    return QuorumLetter(f"disk-of-{sender}", "", message)


def roles(cluster: DrivenCluster) -> tuple[str, str, str, Quorum]:
    """The controller, two that follow it, and what the first of those knows."""
    leader = cluster.controller()
    follower, other = (name for name in cluster.living() if name != leader)
    return leader, follower, other, cluster.node(follower)._agreement._quorum


def test_a_second_leader_of_one_term_is_refused_by_all_and_the_first_stays() -> None:
    cluster = busy()
    leader, follower, liar, quorum = roles(cluster)
    beat = of_quorum(liar, Beat(quorum.term, 1, 10_000))
    assert f"{liar}/disk-of-{liar} says that it leads term {quorum.term}" in told(cluster, follower, liar, beat)
    assert "in which this node leads" in told(cluster, leader, liar, beat)
    cluster.advance(5_000)
    assert cluster.controller() == leader


def test_a_leader_cannot_change_what_is_agreed() -> None:
    cluster = busy()
    _, follower, liar, quorum = roles(cluster)
    index, before = quorum.agreed - 1, quorum.log.term_at(quorum.agreed - 2) or 0
    entry = Entry(index, quorum.term + 5, b"noop", b"")
    append = of_quorum(liar, Append(quorum.term + 5, 1, index, before, quorum.agreed, [entry]))
    assert "is agreed, and would become one of" in told(cluster, follower, liar, append)


@pytest.mark.parametrize("term", [-1, (1 << 31) - 1, 1 << 31, (1 << 63) - 1])
def test_a_term_that_no_disk_can_hold_is_refused(term: int) -> None:
    cluster = busy()
    _, follower, liar, quorum = roles(cluster)
    before = quorum.term
    assert "which cannot be" in told(cluster, follower, liar, of_quorum(liar, Outdated(term)))
    assert quorum.term == before


def test_entries_that_nobody_could_read_are_refused_and_not_written() -> None:
    cluster = busy()
    _, follower, liar, quorum = roles(cluster)
    log, term = quorum.log, quorum.term + 1
    voters = encode_voters(Voters(["a", "a"]))
    for kind, content, why in (
        (None, b"\xff\xff", "end inside a varint"),
        (b"magic", b"", "unknown to this release"),
        (b"voters", voters, "names 2 voters"),
        (b"snapshot", b"", "expected|is unknown|truncated|ends|varint"),
    ):
        entry = Entry(log.end, term, kind, content)
        said = told(cluster, follower, liar, of_quorum(liar, Append(term, 1, log.end, log.last_term, 0, [entry])))
        assert re.search(why, said), said
        assert log.term_at(entry.index) is None


def test_an_entry_that_does_not_fit_the_state_is_passed_over_as_a_whole() -> None:
    cluster = busy()
    _, follower, liar, quorum = roles(cluster)
    log, term = quorum.log, quorum.term + 1
    state = cluster.node(follower)._agreement.state
    records: list[MetadataRecord] = [
        PartitionsAdded("orders", 4),
        PartitionPlaced("orders", 3, ["n1"], ["n2"], "n2", 1, 1),
    ]
    entry = Entry(log.end, term, *entry_of(records))
    said = told(cluster, follower, liar, of_quorum(liar, Append(term, 1, log.end, log.last_term, log.end + 1, [entry])))
    assert f"entry {entry.index} of the metadata is passed over: the place of orders/3 cannot be" in said
    assert state.topics["orders"].partitions == 3
    cluster.node(follower).check()


@pytest.mark.parametrize("name", ["../../etc", "a/b", "", ".", "x" * 300])
def test_a_topic_whose_folder_would_lie_elsewhere_is_never_made(name: str) -> None:
    assert misfit(ClusterState(), [TopicCreated(name, 1, 1, "{}", 0)]) != ""


def test_an_answer_of_another_kind_than_was_asked_for_is_none() -> None:
    cluster = busy()
    leader = cluster.controller()
    asker = next(name for name in cluster.living() if name != leader)
    cluster.isolate(leader)
    to = cluster.ask(asker, CreateTopic("more"))
    peering = cluster.node(asker)._peering
    assert peering is not None
    [number] = peering.dispatch._outgoing._peers[leader].once
    life = cluster.members[leader].incarnation
    said = told(cluster, asker, leader, Answered(cluster.members[asker].incarnation, life, number, None))
    assert said == "a Answered was refused: a NoneType is no answer to a CreateTopic"
    assert to not in cluster.members[asker].answers
    cluster.heal()
    cluster.until(lambda: isinstance(cluster.members[asker].answers.get(to), TopicReply))


def test_what_is_no_request_is_not_carried_out() -> None:
    cluster = busy()
    life = cluster.members["n1"].incarnation
    requests: tuple[Any, ...] = (None, [], ExtendProducerIds())
    for request in requests:
        message: Any = Forwarded(1, life, 1, 1, True, Caller(), request)
        assert "is no request that nodes pass on" in told(cluster, "n1", "n2", message)


def test_a_batch_of_a_later_epoch_than_its_leaders_is_not_taken() -> None:
    cluster = busy()
    leader = cluster.leader("orders", 0)
    follower = next(name for name in cluster.living() if name != leader)
    replica = cluster.node(follower).led.replicas["logs/orders/0"]
    before = replica.log.next_offset
    batch = encode([(0, None, b"later", ())])
    stamp(batch, before, 1 << 30)
    with pytest.raises(BatchError, match="a batch of epoch 1073741824 came in 1"):
        replica.replicate(cluster.now, [batch], 1)
    assert replica.log.next_offset == before


def test_how_much_a_follower_may_ask_for_is_bounded() -> None:
    cluster = busy()
    follower, leader = "stranger", cluster.leader("orders", 0)
    for number in ((1 << 63) - 1, -5):
        part = PullPart(1, 0, Side.DATA, 1, number, -1, -1)
        assert "no log reaches to the offset" in told(cluster, leader, follower, Pull(1, 1, 1, 1, 1, 1, [part]))


def test_faults_are_counted_and_one_sentence_a_peer_is_kept() -> None:
    faults = PeerFaults()
    for number in range(1000):
        faults.note(f"n{number % 100}", f"lie {number}")
    assert faults.count == 1000
    untold = faults.take()
    assert len(untold) == 16
    assert untold["n3"] == "lie 903"
    assert faults.take() == {}
