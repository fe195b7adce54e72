"""Every metric there is: its name, what it means, and where its numbers come from.

Names are `goqueue_`, the room that it is about, what is counted and in which unit; counters end in `_total`. There are
no labels for partitions, whose number has no bound, and none for groups beyond what `MeasureGroups` counts one by one.
docs/operations.md lists what is here, and a test compares.
"""

from collections.abc import Callable, Iterable, Iterator

from attrs import define

from goqueue.core.records.batch import Lane
from goqueue.core.requests.cluster import ClusterFigures
from goqueue.core.requests.delays import DelaysMeasured
from goqueue.core.requests.groups import GroupMeasure, GroupsMeasured, TopicMeasure
from goqueue.core.requests.histogram import Histogram
from goqueue.core.requests.nodes import NodeReply
from goqueue.core.requests.queues import QueueMeasure, WorkMeasured
from goqueue.core.requests.topics import TopicReply
from goqueue.storage.meters import StoreMeters
from goqueue.transports.buffer_budget import BufferBudget
from goqueue.transports.metrics.meters import BrokerMeters, Consumed
from goqueue.transports.peers.meters import PeerMeters

PREFIX = "goqueue_"
COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"

# Labels, and the number that they stand beside.
Sample = tuple[tuple[tuple[str, str], ...], int | float]


@define
class Sources:
    """Where numbers come from."""

    node: NodeReply
    groups: GroupsMeasured
    work: WorkMeasured
    delays: DelaysMeasured
    broker: BrokerMeters
    store: StoreMeters
    connections: int
    buffers: BufferBudget
    cluster: ClusterFigures
    peers: PeerMeters


@define
class Metric:
    """One metric; a histogram is read as a whole, anything else as samples."""

    name: str
    kind: str
    meaning: str
    read: Callable[[Sources], Iterable[Sample] | Histogram]


def _one(read: Callable[[Sources], int]) -> Callable[[Sources], Iterable[Sample]]:
    return lambda sources: [((), read(sources))]


def _by_topic(read: Callable[[TopicReply], int]) -> Callable[[Sources], Iterable[Sample]]:
    return lambda sources: [((("topic", topic.name),), read(topic)) for topic in sources.node.streams]


def _end_offsets(topic: TopicReply) -> int:
    return sum(end for _, end in topic.offsets.values())


def _start_offsets(topic: TopicReply) -> int:
    return sum(start for start, _ in topic.offsets.values())


def _published_bytes(sources: Sources) -> Iterator[Sample]:
    totals = dict.fromkeys((topic.name for topic in sources.node.streams), 0)
    for stream, size in sources.store.appended_bytes.items():
        # The ledger and the schedule of a partition lie beneath it, and hold what the broker writes itself.
        folder, _, place = stream.partition("/")
        topic, _, partition = place.partition("/")
        if folder == "logs" and partition.isdigit() and topic in totals:
            totals[topic] += size
    for topic, size in totals.items():
        yield (("topic", topic),), size


def _consumed(read: Callable[[Consumed], int]) -> Callable[[Sources], Iterable[Sample]]:
    none = Consumed()
    return _with_meters(lambda meters, topic: read(meters.consumed.get(topic, none)))


def _with_meters(read: Callable[[BrokerMeters, str], int]) -> Callable[[Sources], Iterable[Sample]]:
    return lambda sources: [
        ((("topic", topic.name),), read(sources.broker, topic.name)) for topic in sources.node.streams
    ]


def _by_label(label: str, read: Callable[[GroupsMeasured], dict[str, int]]) -> Callable[[Sources], Iterable[Sample]]:
    return lambda sources: [(((label, name),), number) for name, number in read(sources.groups).items()]


def _by_name(label: str, read: Callable[[NodeReply], dict[str, int]]) -> Callable[[Sources], Iterable[Sample]]:
    return lambda sources: [(((label, name),), number) for name, number in sorted(read(sources.node).items())]


def _by_group(read: Callable[[GroupMeasure], int]) -> Callable[[Sources], Iterable[Sample]]:
    return lambda sources: [((("group", group.group),), read(group)) for group in sources.groups.groups]


def _by_group_and_topic(read: Callable[[TopicMeasure], int | float]) -> Callable[[Sources], Iterable[Sample]]:
    return lambda sources: [
        ((("group", group.group), ("topic", topic.topic)), read(topic))
        for group in sources.groups.groups
        for topic in group.topics
    ]


def _named(label: str, counts: dict[str, int]) -> list[Sample]:
    return [(((label, name),), count) for name, count in counts.items()]


def _by_queue(read: Callable[[QueueMeasure], int]) -> Callable[[Sources], Iterable[Sample]]:
    return lambda sources: [
        ((("group", queue.group), ("topic", queue.topic)), read(queue)) for queue in sources.work.queues
    ]


def _unlisted(sources: Sources) -> int:
    return sum(sources.groups.states.values()) - len(sources.groups.groups)


METRICS: tuple[Metric, ...] = (
    Metric("broker_build_info", GAUGE, "Always 1; the labels say which node and release this is.",
           lambda sources: [((("node", sources.node.node_id), ("version", sources.node.version)), 1)]),
    Metric("broker_messages_published_total", COUNTER, "Messages acknowledged since the topic was made.",
           _by_topic(_end_offsets)),
    Metric("broker_bytes_published_total", COUNTER, "Bytes of batches taken since the start.", _published_bytes),
    Metric("broker_messages_failed_total", COUNTER, "Messages whose publishing was refused, by code.",
           lambda sources: [((("code", code),), count) for code, count in sorted(sources.broker.failed.items())]),
    Metric("broker_timestamps_replaced_total", COUNTER,
           "Messages whose timestamp was out of bounds and was replaced since the start.",
           _one(lambda sources: sources.node.timestamps_replaced)),
    Metric("broker_messages_consumed_total", COUNTER, "Messages given to readers since the start.",
           _consumed(lambda consumed: consumed.messages)),
    Metric("broker_bytes_consumed_total", COUNTER,
           "Bytes given to readers: batches as they are stored, or by REST keys, values and headers.",
           _consumed(lambda consumed: consumed.bytes)),
    Metric("broker_publish_latency_seconds", HISTOGRAM, "From a publish to its answer, a request each.",
           lambda sources: sources.broker.publish_latency),
    Metric("broker_fetch_latency_seconds", HISTOGRAM, "From a fetch that does not wait for news to its answer.",
           lambda sources: sources.broker.fetch_latency),
    Metric("broker_priority_messages_published_total", COUNTER, "Messages acknowledged since the start, by priority.",
           lambda sources: [((("priority", lane.name.lower()),), sources.broker.prioritized[lane]) for lane in Lane]),
    Metric("broker_messages_acked_total", COUNTER, "Messages that members of shared groups acknowledged.",
           lambda sources: _named("topic", sources.work.acked_by)),
    Metric("broker_messages_nacked_total", COUNTER, "Messages that they asked to be tried again.",
           _one(lambda sources: sources.work.nacked)),
    Metric("broker_messages_rejected_total", COUNTER, "Messages that they gave up.",
           _one(lambda sources: sources.work.rejected)),
    Metric("broker_ack_latency_seconds", HISTOGRAM, "From a message's lease to its acknowledgement.",
           lambda sources: sources.work.ack_latency),
    Metric("broker_delayed_messages_pending", GAUGE, "Messages that are kept back.",
           lambda sources: _named("topic", sources.delays.pending)),
    Metric("broker_delayed_messages_fired_total", COUNTER, "Messages that were delivered after having been kept back.",
           _one(lambda sources: sources.delays.delivered)),
    Metric("broker_delayed_messages_cancelled_total", COUNTER, "Messages that were cancelled while they were.",
           _one(lambda sources: sources.delays.cancelled)),
    Metric("broker_delayed_messages_lateness_seconds", HISTOGRAM, "From when a message was due to its being appended.",
           lambda sources: sources.delays.lateness),
    Metric(
        "broker_requests_total", COUNTER, "Requests of clients, by name.",
        _by_name("request", lambda node: node.requests),
    ),
    Metric(
        "broker_requests_refused_total", COUNTER, "Requests of clients that were refused as a whole, by code.",
        _by_name("code", lambda node: node.refusals),
    ),
    Metric("broker_active_connections", GAUGE, "Connections of clients.", _one(lambda sources: sources.connections)),
    Metric("broker_buffered_bytes", GAUGE, "Memory that clients hold: answers not taken yet, requests not whole yet.",
           _one(lambda sources: sources.buffers.held_bytes)),
    Metric("broker_buffered_bytes_max", GAUGE, "The bound of that.",
           _one(lambda sources: sources.buffers.bytes_max)),
    Metric("broker_answers_waiting", GAUGE, "Answers that wait for memory.",
           _one(lambda sources: sources.buffers.waiting_count)),
    Metric("broker_answers_shed_total", COUNTER, "Requests that were refused because there was no memory in time.",
           _one(lambda sources: sources.buffers.shed_count)),
    Metric("broker_clients_cut_total", COUNTER, "Streams and connections that were ended because they took nothing.",
           _one(lambda sources: sources.buffers.cut_count)),
    Metric("broker_topics", GAUGE, "Topics.", _one(lambda sources: sources.node.topics)),
    Metric("storage_bytes_written_total", COUNTER, "Bytes of batches written, the broker's own included.",
           _one(lambda sources: sources.store.bytes_written)),
    Metric("storage_bytes_read_total", COUNTER, "Bytes of batches read from files, cached or not.",
           _one(lambda sources: sources.store.bytes_read)),
    Metric("storage_fsync_total", COUNTER, "Attempts to force a segment to the disk.",
           _one(lambda sources: sources.store.syncs)),
    Metric("storage_fsync_errors_total", COUNTER, "Those that failed.",
           _one(lambda sources: sources.store.sync_errors)),
    Metric("storage_fsync_latency_seconds", HISTOGRAM, "How long those took that did not fail.",
           lambda sources: sources.store.sync_latency),
    Metric("storage_segments_active", GAUGE, "Segments of a topic.", _by_topic(lambda topic: topic.segments)),
    Metric("storage_log_size_bytes", GAUGE, "Bytes in a topic's segments.", _by_topic(lambda topic: topic.size_bytes)),
    Metric("storage_log_end_offset", GAUGE, "The offsets that the next messages get, all partitions added up.",
           _by_topic(_end_offsets)),
    Metric("storage_log_start_offset", GAUGE, "The offsets of the first messages, all partitions added up.",
           _by_topic(_start_offsets)),
    Metric("consumer_groups", GAUGE, "Groups, by state.", _by_label("state", lambda groups: groups.states)),
    Metric("consumer_groups_unlisted", GAUGE, "Groups that have no samples of their own below, for there are too many.",
           _one(_unlisted)),
    Metric("consumer_group_members", GAUGE, "Members of a group.", _by_group(lambda group: group.members)),
    Metric("consumer_group_generation", GAUGE, "How often a group's partitions were divided anew.",
           _by_group(lambda group: group.generation)),
    Metric("consumer_assigned_partitions", GAUGE, "Partitions that a group's members have.",
           _by_group(lambda group: group.assigned)),
    Metric("consumer_committed_offset", GAUGE, "Offsets that a group has committed to, all partitions added up.",
           _by_group_and_topic(lambda topic: topic.committed)),
    Metric("consumer_lag_messages", GAUGE, "Messages that a group has yet to read, all partitions added up.",
           _by_group_and_topic(lambda topic: topic.lag)),
    Metric("consumer_lag_seconds", GAUGE, "How long ago the oldest message was appended that a group has yet to read.",
           _by_group_and_topic(lambda topic: topic.lag_ms / 1000)),
    Metric("consumer_rebalances_total", COUNTER, "Rebalances, by what made them necessary.",
           _by_label("reason", lambda groups: groups.rebalances)),
    Metric("consumer_rebalance_latency_seconds", HISTOGRAM,
           "From what makes a rebalance necessary until all partitions are handed over.",
           lambda sources: sources.groups.latency),
    Metric("consumer_polls_total", COUNTER, "Polls of members that were answered.",
           _one(lambda sources: sources.groups.polls + sources.work.polls)),
    Metric("consumer_polls_empty_total", COUNTER, "Those that brought nothing.",
           _one(lambda sources: sources.groups.polls_empty + sources.work.polls_empty)),
    Metric("consumer_heartbeats_total", COUNTER, "Heartbeats of members, watches included.",
           _one(lambda sources: sources.groups.heartbeats)),
    Metric("consumer_expired_groups_total", COUNTER, "Groups that were forgotten, as nobody had used them for long.",
           _one(lambda sources: sources.groups.expired_groups)),
    Metric("consumer_expired_offsets_total", COUNTER, "Offsets that were forgotten, with a group or alone.",
           _one(lambda sources: sources.groups.expired_offsets)),
    Metric("consumer_groups_max", GAUGE, "How many groups are kept at most.",
           _one(lambda sources: sources.groups.groups_max)),
    Metric("consumer_offsets", GAUGE, "Committed offsets that are kept.",
           _one(lambda sources: sources.groups.offsets)),
    Metric("consumer_offsets_max", GAUGE, "How many committed offsets are kept at most.",
           _one(lambda sources: sources.groups.offsets_max)),
    Metric("consumer_session_timeouts_total", COUNTER, "Members that were not heard of for a session.",
           _one(lambda sources: sources.groups.session_timeouts)),
    Metric("consumer_in_flight", GAUGE, "Messages that members of a shared group have, all partitions added up.",
           _by_queue(lambda queue: queue.in_flight)),
    Metric("consumer_retries_pending", GAUGE, "Messages of a shared group that are about to be tried again.",
           _by_queue(lambda queue: queue.waiting)),
    Metric("consumer_visibility_timeout_total", COUNTER, "Leases of a shared group that ended without a word.",
           lambda sources: _named("group", sources.work.timed_out_by)),
    Metric("consumer_dlq_total", COUNTER, "Messages of a shared group that became dead letters.",
           lambda sources: _named("group", sources.work.buried_by)),
    Metric("consumer_expired_total", COUNTER, "Messages whose time was over before a shared group had dealt with them.",
           _one(lambda sources: sources.work.expired)),
    Metric("cluster_nodes", GAUGE, "Nodes of the cluster, dead ones included.",
           _one(lambda sources: sources.cluster.nodes_total)),
    Metric("cluster_nodes_healthy", GAUGE, "Nodes that are not taken for dead.",
           _one(lambda sources: sources.cluster.nodes_healthy)),
    Metric("cluster_is_controller", GAUGE, "1 on the node that decides for all.",
           _one(lambda sources: int(sources.cluster.is_controller))),
    Metric("cluster_controller_elections_total", COUNTER, "Controllers that this node has seen begin.",
           _one(lambda sources: sources.cluster.controller_elections_total)),
    Metric("cluster_partitions", GAUGE, "Partitions of all topics.",
           _one(lambda sources: sources.cluster.partition_count)),
    Metric("cluster_leaders_per_node", GAUGE, "Partitions that a node leads.",
           lambda sources: _named("node", sources.cluster.leaders_per_node)),
    Metric("cluster_isr_size", GAUGE, "Replicas in sync, all partitions added up.",
           _one(lambda sources: sources.cluster.isr_size)),
    Metric("cluster_isr_shrinks_total", COUNTER, "Replicas that fell out of sync.",
           _one(lambda sources: sources.cluster.isr_shrinks_total)),
    Metric("cluster_isr_expands_total", COUNTER, "Replicas that came into sync.",
           _one(lambda sources: sources.cluster.isr_expands_total)),
    Metric("cluster_under_replicated_partitions", GAUGE, "Partitions that lack a replica in sync.",
           _one(lambda sources: sources.cluster.under_replicated_partitions)),
    Metric("cluster_offline_partitions", GAUGE, "Partitions that nobody leads.",
           _one(lambda sources: sources.cluster.offline_partitions)),
    Metric("cluster_leader_elections_total", COUNTER, "Leaders of partitions that were elected.",
           _one(lambda sources: sources.cluster.leader_elections_total)),
    Metric("cluster_unclean_leader_elections_total", COUNTER, "Those of them that were not eligible.",
           _one(lambda sources: sources.cluster.unclean_leader_elections_total)),
    Metric("cluster_leader_election_latency_seconds_total", COUNTER,
           "How long partitions were without a leader, added up.",
           lambda sources: [((), sources.cluster.leader_election_latency_ms_sum / 1000)]),
    Metric("cluster_replication_lag", GAUGE,
           "Messages that the last follower of a topic's partitions lacks, of those that this node leads.",
           lambda sources: _named("topic", sources.cluster.replication_lag)),
    Metric("cluster_high_watermark", GAUGE, "Up to where readers see a topic, all partitions added up.",
           _by_topic(_end_offsets)),
    Metric("cluster_bytes_replicated_total", COUNTER, "Bytes of batches that this node has copied from leaders.",
           _one(lambda sources: sources.cluster.bytes_replicated_total)),
    Metric("cluster_peer_letters_sent_total", COUNTER, "Letters to other nodes.",
           _one(lambda sources: sources.peers.letters_sent)),
    Metric("cluster_peer_letters_received_total", COUNTER, "Letters from other nodes.",
           _one(lambda sources: sources.peers.letters_received)),
    Metric("cluster_peer_letters_dropped_total", COUNTER, "Letters without a way, or without room before one.",
           _one(lambda sources: sources.peers.letters_dropped)),
    Metric("cluster_peer_letters_refused_total", COUNTER, "Letters of peers that could not be true, or not be meant.",
           _one(lambda sources: sources.peers.letters_refused)),
    Metric("cluster_peer_bytes_sent_total", COUNTER, "Bytes of letters to other nodes, as they travel.",
           _one(lambda sources: sources.peers.bytes_sent)),
    Metric("cluster_peer_bytes_received_total", COUNTER, "Bytes from other nodes.",
           _one(lambda sources: sources.peers.bytes_received)),
    Metric("cluster_peer_connections_opened_total", COUNTER, "Connections with other nodes that came to be.",
           _one(lambda sources: sources.peers.connections_opened)),
    Metric("cluster_peer_connections_refused_total", COUNTER, "Attempts that came to nothing, either way.",
           _one(lambda sources: sources.peers.connections_refused)),
)  # fmt: skip
