"""A follower that was taken for dead and has caught up is in sync again, though nothing is published any more."""

from tests.core.driven_cluster import DrivenCluster
from tests.core.test_clustered_nodes import partitions_of, publish, with_topic


def in_sync(cluster: DrivenCluster, name: str) -> list[str]:
    return sorted(partitions_of(cluster, name)[0].isr)


def test_a_follower_that_caught_up_while_it_was_taken_for_dead_is_taken_in_once_it_lives() -> None:
    cluster = with_topic()
    leader = cluster.leader("orders")
    for follower in [name for name in cluster.living() if name != leader]:
        cluster.isolate(follower)
        cluster.until(lambda follower=follower: follower not in in_sync(cluster, leader))  # type: ignore[misc]
        publish(cluster, leader, *[b"%d" % number for number in range(50)])
        cluster.heal()
        cluster.advance(10_000)
        assert in_sync(cluster, leader) == sorted(cluster.living())
