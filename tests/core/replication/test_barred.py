"""Nodes that are taken for dead, or are about to stop, are asked for as members of an ISR only when they are back."""

from tests.core.replication.replicated import Cluster


def test_one_that_caught_up_while_it_was_barred_is_asked_for_once_it_is_freed() -> None:
    cluster = Cluster("a", "b", "c")
    cluster.agree("a")
    cluster.settle()
    leader = cluster.site("a")
    leader.replication.bar(cluster.now, ["c"])
    cluster.agree(None, ["a", "b"])
    leader.publish(b"1", b"2")
    cluster.pass_time(3_000)
    assert cluster.site("c").log().next_offset == 2
    assert not any("c" in wish.isr for wish in leader.wishes)
    leader.wishes = []
    cluster.pass_time(1_000)
    assert leader.wishes == [], "nothing happens that would have anybody look"
    leader.replication.bar(cluster.now, [])
    cluster.pump()
    assert [wish.isr for wish in leader.wishes] == [["a", "b", "c"]]
