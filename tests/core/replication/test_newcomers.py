"""A replica that is added may hear of it before its leader does, and follow a leader that does not count it yet."""

import pytest
from attrs import evolve

from tests.core.replication.replicated import Cluster


@pytest.mark.parametrize("values", [[], [b"1", b"2"]])
def test_a_replica_that_is_added_joins_though_it_followed_before_its_leader_knew_of_it(values: list[bytes]) -> None:
    """Nothing is published later, so that nothing else would make it say how far it is."""
    cluster = Cluster("a", "b", "c")
    cluster.place = evolve(cluster.place, replicas=["a", "b"], isr=["a", "b"])
    cluster.agree("a", None, "a", "b")
    leader = cluster.site("a")
    if values:
        leader.publish(*values)
    cluster.pass_time(1_000)
    cluster.place = evolve(cluster.place, replicas=["a", "b", "c"], adding=["c"], version=cluster.place.version + 1)
    cluster.tell("c")
    cluster.pass_time(1_000)
    assert cluster.site("c").log().next_offset == len(values)
    assert leader.wishes == []
    cluster.tell()
    cluster.pass_time(3_000)
    assert {tuple(wish.isr) for wish in leader.wishes} == {("a", "b", "c")}
