"""A node whose process seems to have ended, and lives: its links were reset and its port refuses on its behalf.

What the others conclude from that makes them faster, and must cost nothing that was acknowledged.
"""

from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.requests.messages import Fetch, Fetched, NewRecord, Publish, Published, PublishReply
from goqueue.core.requests.refusals import Refusal
from tests.core.driven_cluster import DrivenCluster
from tests.core.test_clustered_nodes import publish, read, with_topic

MS = 1_000_000
OPTIONS = ClusterOptions([])
MESSAGE = Publish("orders", [NewRecord(None, b"unheard", partition=0)])


def shut_out(cluster: DrivenCluster, victim: str) -> None:
    """Have all others take a node that lives for ended, and nothing pass between."""
    cluster.isolate(victim)
    for other in cluster.living():
        if other != victim:
            cluster.node(other).peer_lost(cluster.now, victim)
            cluster.node(other).peer_gone(cluster.now, victim)


def led_by_another_than_the_controller() -> tuple[DrivenCluster, str, str]:
    """A cluster, who leads its partition, and a node that neither leads nor decides."""
    cluster = with_topic()
    if cluster.leader("orders") == cluster.controller():
        decider = cluster.controller()
        cluster.kill(decider)
        cluster.start(decider)
        cluster.until(lambda: cluster.controller() != "" and cluster.leader("orders") not in ("", cluster.controller()))
    leader = cluster.leader("orders")
    other = next(name for name in cluster.living() if name not in (leader, cluster.controller()))
    return cluster, leader, other


def test_a_leader_that_seems_to_have_ended_leads_no_longer_than_any_that_is_cut_off() -> None:
    cluster, leader, other = led_by_another_than_the_controller()
    publish(cluster, other, b"before")
    cluster.until(lambda: len(read(cluster, leader)) == 1)
    shut_out(cluster, leader)
    begun = cluster.now
    unheard = cluster.ask(leader, MESSAGE)
    publish(cluster, other, b"after")
    assert cluster.now - begun < 1_000 * MS, "nobody waits for the leader's silence"
    # It may tell readers of what was there before, for as long as it may lead.
    told = cluster.answer(leader, Fetch("orders", 0, 0))
    assert isinstance(told, Fetched)
    assert told.next_offset == 1
    cluster.run(begun + OPTIONS.dead_ns)
    refused = cluster._answered(leader, cluster.ask(leader, Fetch("orders", 0, 0)), cluster.now + 10_000 * MS)
    assert isinstance(refused, Refusal)
    reply = cluster.members[leader].answers.get(unheard)
    assert not (isinstance(reply, PublishReply) and any(isinstance(one, Published) for one in reply.results))
    cluster.heal()
    cluster.until(lambda: cluster.leader("orders") != "")
    cluster.advance(5_000)
    assert read(cluster, other)[:2] == [b"before", b"after"]


def test_nobody_is_elected_while_a_controller_may_rely_on_its_voters() -> None:
    cluster = with_topic()
    controller = cluster.controller()
    others = [name for name in cluster.living() if name != controller]
    cluster.advance(1_000)
    shut_out(cluster, controller)
    begun = cluster.now
    cluster.until(lambda: any(cluster.node(name).is_controller for name in others))
    assert cluster.now - begun >= OPTIONS.election_ns - 2 * OPTIONS.quorum_heartbeat_ns
    assert not cluster.node(controller).is_controller
