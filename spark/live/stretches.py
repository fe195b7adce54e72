"""What to read of a running cluster: stretches of offsets, one a task, decided once so that a second try is the same.

A stretch lies within one partition. Long ones are cut by what their bytes should be: the partition's size, spread
evenly over its offsets.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from attrs import define

from goqueue.spark.live.bootstrap import Bootstrap
from goqueue.spark.live.cluster import Cluster, Reach
from goqueue.spark.records.edges import EARLIEST, LATEST, Edge, Edges, Moment, check_named, check_start, note_missing
from goqueue.spark.records.landmarks import PIECE_BYTES
from goqueue.spark.records.wanted import ENDLESS, Wanted
from goqueue.transports.client.errors import TopicNotFound


@define
class Stretch:
    """The offsets [first, end) of one partition; the cluster's `bootstrap` begins with the partition's leader.

    They are read of the topic with the id `topic_id` and of no other of its name.
    """

    bootstrap: Bootstrap
    topic: str
    partition: int
    first: int
    end: int
    topic_id: str


def stretches(
    bootstrap: Bootstrap,
    topics: Sequence[str],
    wanted: Wanted,
    starting: Edges,
    ending: Edges,
    *,
    partitions: Sequence[int] = (),
    skip_missing: bool = False,
    restart: bool = False,
) -> list[Stretch]:
    """What lies between the edges now, of some topics or of all; `partitions` must be there if topics are named.

    With `restart` a topic that is another one than the edges name is read whole. Raises ClientError, UnreadableError.
    """
    found = []
    with Cluster(bootstrap) as cluster:
        for reach in reaches(cluster, topics, wanted, partitions, starting, ending, skip_missing=skip_missing):
            place, ids = (reach.topic, reach.partition), {reach.topic: reach.topic_id}
            first = beginning(cluster, reach, starting.met_by(ids, restart=restart), skip_missing=skip_missing)
            ending.met_by(ids, restart=False)
            first = max(first, wanted.first_offset)
            end = min(reach.end, wanted.end_offset, offset_at(cluster, reach, ending.of(*place)))
            if wanted.since_ms > 0 and first < end:
                first = max(first, cluster.find(*place, min(wanted.since_ms, ENDLESS - 1)))
            if not wanted.is_nothing:
                found += pieces(bootstrap, reach, first, end)
    return found


def reaches(
    cluster: Cluster,
    topics: Sequence[str],
    wanted: Wanted,
    partitions: Sequence[int] = (),
    *edges: Edges,
    skip_missing: bool = False,
) -> Iterator[Reach]:
    """The partitions that are wanted, of these topics or of all. Raises ClientError, UnreadableError."""
    for topic in topics or cluster.topics():
        if not wanted.has_topic(topic):
            continue
        try:
            found = cluster.reaches(topic)
        except TopicNotFound:
            # One that nobody named may go at any time.
            if topics and not skip_missing:
                raise
            continue
        if topics:
            # Of another topic the partitions that were named need not be there.
            topic_id = found[0].topic_id if found else ""
            meant = [each for each in edges if each.ids.get(topic, topic_id) == topic_id]
            check_named(topic, [each.partition for each in found], partitions, *meant)
        yield from (each for each in found if wanted.has_partition(topic, each.partition))


def beginning(cluster: Cluster, reach: Reach, starting: Edges, *, skip_missing: bool) -> int:
    """The offset at which reading a partition begins, which is there. Raises ClientError, UnreadableError."""
    place = reach.topic, reach.partition
    edge = starting.of(*place)
    first = offset_at(cluster, reach, edge)
    if isinstance(edge, int) and first < reach.first:
        note_missing(*place, first, reach.first, skip=skip_missing)
    check_start(*place, edge, reach.end, is_named=place in starting.named)
    return max(first, reach.first)


def offset_at(cluster: Cluster, reach: Reach, edge: Edge) -> int:
    """The offset that an edge comes to in a partition. Raises ClientError."""
    if isinstance(edge, int):
        return edge
    if isinstance(edge, Moment):
        return cluster.find(reach.topic, reach.partition, edge.ms)
    return {EARLIEST: reach.first, LATEST: reach.end}[edge]


def pieces(bootstrap: Bootstrap, reach: Reach, first: int, end: int, piece_bytes: int = PIECE_BYTES) -> list[Stretch]:
    """A range of a partition, cut where it is long."""
    if first >= end:
        return []
    share = (end - first) / max(1, reach.end - reach.first)
    count = min(end - first, max(1, round(reach.size_bytes * share / piece_bytes)))
    borders = [first + (end - first) * number // count for number in range(count + 1)]
    leader = bootstrap.led_by(reach.leader)
    return [
        Stretch(leader, reach.topic, reach.partition, one, other, reach.topic_id) for one, other in pairwise(borders)
    ]
