"""How far a topic of a running cluster reaches, for jobs that go on where they stopped."""

from goqueue.spark.live.bootstrap import bootstrap_of
from goqueue.spark.live.cluster import Cluster


def live_bounds(bootstrap: str, topic: str) -> dict[int, tuple[int, int]]:
    """The first offset that is still there, and the end that readers see, by partition.

    Raises UnreadableError for what is no address, ClientError.
    """
    with Cluster(bootstrap_of(bootstrap)) as cluster:
        return {reach.partition: (reach.first, reach.end) for reach in cluster.reaches(topic)}


def live_identity(bootstrap: str, topic: str) -> str:
    """The id of a topic, which no other of its name has. Raises as `live_bounds` does."""
    with Cluster(bootstrap_of(bootstrap)) as cluster:
        return cluster.identity(topic)
