"""A leader opens the streams of a partition one after another, and asks for nobody before it knows them all."""

from goqueue.core.requests.messages import Side
from tests.core.replication.replicated import Cluster

SIDES = (Side.DATA, Side.LEDGER)


def test_a_follower_joins_only_when_all_streams_are_open_and_it_has_all_of_them() -> None:
    cluster = Cluster("a", "b", sides=SIDES)
    cluster.agree("a", ["a"], "a")
    leader = cluster.site("a")
    leader.publish(b"1", b"2")
    cluster.pump()
    cluster.restart("a")
    opening = leader.streams.pop(Side.DATA)
    cluster.agree("a", ["a"])
    cluster.pass_time(3_000)
    assert cluster.site("b").log(Side.LEDGER).next_offset == leader.log(Side.LEDGER).next_offset
    assert leader.wishes == [], "what the log of messages has is not known yet"
    leader.streams[Side.DATA] = opening
    cluster.tell("a")
    cluster.pass_time(3_000)
    assert cluster.site("b").log().next_offset == 2
    assert {tuple(wish.isr) for wish in leader.wishes} == {("a", "b")}
