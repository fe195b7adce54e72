"""The page that Prometheus reads: every line well formed, every metric described, every number as it was counted."""

import re
from pathlib import Path

import httpx
import pytest
import trio

from goqueue.core.records.batch import Lane
from goqueue.core.requests.cluster import ClusterFigures
from goqueue.core.requests.delays import DelaysMeasured
from goqueue.core.requests.groups import GroupMeasure, GroupsMeasured, TopicMeasure
from goqueue.core.requests.histogram import BOUNDS_S, Histogram
from goqueue.core.requests.nodes import NodeReply
from goqueue.core.requests.queues import QueueMeasure, WorkMeasured
from goqueue.core.requests.topics import TopicReply
from goqueue.storage.meters import StoreMeters
from goqueue.transports.metrics.meters import BrokerMeters
from goqueue.transports.metrics.page import MetricsPage
from goqueue.transports.metrics.table import COUNTER, METRICS, PREFIX, Metric
from goqueue.transports.peers.meters import PeerMeters
from tests.transports.port.port_client import client_of
from tests.transports.rest.rest_client import Served, orders, publish, run

ROOT = Path(__file__).parents[3]
LINE = re.compile(
    r"# (HELP goqueue_\w+ .+|TYPE goqueue_\w+ (counter|gauge|histogram))"
    r'|goqueue_\w+(\{\w+="(\\.|[^"\\])*"(,\w+="(\\.|[^"\\])*")*\})? [0-9.e+-]+'
)
PAGE = "/topics/orders/partitions/0/messages"


def page(
    *topics: TopicReply,
    broker: BrokerMeters | None = None,
    store: StoreMeters | None = None,
    groups: GroupsMeasured | None = None,
    work: WorkMeasured | None = None,
    delays: DelaysMeasured | None = None,
    cluster: ClusterFigures | None = None,
    peers: PeerMeters | None = None,
) -> dict[str, str]:
    """The samples of a page for a node with these topics."""
    node = NodeReply("node-1", "1", 0, len(topics), 0, list(topics))
    groups = groups or GroupsMeasured({}, [], {}, Histogram(), 0, 0, 0, 0)
    made = MetricsPage(broker or BrokerMeters(), store or StoreMeters(), lambda: 3, peers)
    cluster = cluster or ClusterFigures(1, 1, True, 0, 0, 0, 0, {"node-1": 0}, 0, 0, 0, 0, 0, 0, 0)
    return samples(made.written(node, groups, work or WorkMeasured([]), delays or DelaysMeasured({}), cluster).decode())


def samples(written: str) -> dict[str, str]:
    """Names with their labels, and their numbers."""
    lines = written.splitlines()
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    return dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))


def test_what_the_documentation_lists_is_what_the_page_serves() -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    listed = re.findall(r"^\| `(goqueue_\w+)` \| (\w+) \|", text, re.MULTILINE)
    assert listed == [(PREFIX + metric.name, metric.kind) for metric in METRICS]


def test_names_keep_to_the_conventions() -> None:
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    for metric in METRICS:
        assert re.fullmatch(r"(broker|storage|consumer|cluster)_[a-z_]+", metric.name)


# What `promtool check metrics` finds fault with: its rules, as far as names and texts can break them.
RESERVED = ("_bucket", "_count", "_sum")
TYPES = {"counter", "gauge", "histogram", "summary"}
ABBREVIATIONS = {"s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d"}
NO_BASE_UNITS = re.compile(
    r"(milli|micro|nano|kilo|mega|giga|tera|peta|kibi|mebi|gibi|tebi|pebi)?(seconds|bytes|grams|meters|joules|volts)"
    r"|minutes|hours|days|weeks|months|years|percent|bits|pounds|inches|fahrenheit"
)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_promtool_has_nothing_to_say_of_a_name(metric: Metric) -> None:
    words = metric.name.split("_")
    assert metric.name.endswith("_total") == (metric.kind == COUNTER)
    assert not metric.name.endswith(RESERVED)
    assert not TYPES & {*words}
    assert not ABBREVIATIONS & {*words}
    for word in words:
        if NO_BASE_UNITS.fullmatch(word):
            assert word in ("seconds", "bytes")
    assert metric.meaning.strip()
    assert "\n" not in metric.meaning


def test_every_sample_comes_after_the_meaning_and_the_kind_of_its_metric(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client)
            await publish(client, "a")
            lines = (await client.get("/metrics")).text.splitlines()
        told: dict[str, list[str]] = {}
        current = ""
        for line in lines:
            if line.startswith("# "):
                _, what, current, _ = line.split(" ", 3)
                told.setdefault(current, []).append(what)
            else:
                name = re.match(r"\w+", line)
                assert name is not None
                assert name[0] in {current, *(current + end for end in RESERVED)}
        assert {tuple(each) for each in told.values()} == {("HELP", "TYPE")}
        assert list(told) == [PREFIX + metric.name for metric in METRICS]

    run(scenario, tmp_path)


def test_a_distribution_is_cumulative_and_a_bound_belongs_to_what_lies_below_it() -> None:
    histogram = Histogram()
    for span_ns in (0, 500_000, 500_001, 3_000_000_000, 9_000_000_000):
        histogram.observe(span_ns)
    found = page(broker=BrokerMeters(publish_latency=histogram))
    name = "goqueue_broker_publish_latency_seconds"
    counts = [int(found[f'{name}_bucket{{le="{bound:g}"}}']) for bound in BOUNDS_S]
    assert (counts[0], counts[1], counts[-2], counts[-1]) == (2, 3, 3, 4)
    assert found[f'{name}_bucket{{le="+Inf"}}'] == found[f"{name}_count"] == "5"
    assert float(found[f"{name}_sum"]) == pytest.approx(12.001, abs=1e-5)


def test_a_cluster_is_counted_and_what_went_between_its_nodes() -> None:
    figures = ClusterFigures(3, 2, False, 12, 4, 1, 30, {"a": 5, "b": 6}, 2, 9, 1, 7, 6, 8, 1500, 77, {"t": 3})
    found = page(cluster=figures, peers=PeerMeters(letters_sent=70, letters_dropped=2, bytes_received=900))
    expected = {
        "nodes": "3", "partitions": "12", "nodes_healthy": "2", "is_controller": "0", 'leaders_per_node{node="b"}': "6",
        "under_replicated_partitions": "4", "offline_partitions": "1", "isr_shrinks_total": "7",
        "leader_election_latency_seconds_total": "1.5", 'replication_lag{topic="t"}': "3",
        "bytes_replicated_total": "77", "peer_letters_sent_total": "70",
        "peer_letters_dropped_total": "2", "peer_bytes_received_total": "900",
    }  # fmt: skip
    assert {name: found[f"goqueue_cluster_{name}"] for name in expected} == expected


def test_labels_are_escaped() -> None:
    found = page(TopicReply('a"b\\c\nd', 1, {}, 0, {0: (2, 5)}, 10, 1))
    assert found['goqueue_storage_log_end_offset{topic="a\\"b\\\\c\\nd"}'] == "5"


def test_topics_that_are_gone_are_forgotten() -> None:
    broker, store = BrokerMeters(), StoreMeters()
    for topic in ("here", "gone"):
        broker.count_consumed(topic, 2, 20)
        store.appended(f"logs/{topic}/0", 100)
    store.appended("meta", 7)
    here = TopicReply("here", 1, {}, 0, {0: (0, 2)}, 100, 1)
    found = page(here, broker=broker, store=store)
    assert found['goqueue_broker_bytes_consumed_total{topic="here"}'] == "20"
    assert found['goqueue_broker_bytes_published_total{topic="here"}'] == "100"
    assert found["goqueue_storage_bytes_written_total"] == "207"
    assert not [name for name in found if "gone" in name]
    assert list(broker.consumed) == ["here"]


def test_groups_are_shown_one_by_one_and_those_beyond_the_bound_as_a_number() -> None:
    latency = Histogram()
    latency.observe(2_000_000)
    groups = GroupsMeasured(
        {"empty": 4, "stable": 1},
        [GroupMeasure("billing", 7, 2, 6, [TopicMeasure("orders", 40, 3, 61_500)]), GroupMeasure("audit", 1, 0, 0, [])],
        {"member_joined": 5, "session_expired": 2},
        latency,
        *(100, 2, 50, 20),
    )
    found = page(groups=groups)
    expected = {
        'consumer_groups{state="empty"}': "4",
        'consumer_groups{state="stable"}': "1",
        "consumer_groups_unlisted": "3",
        'consumer_group_members{group="billing"}': "2",
        'consumer_group_members{group="audit"}': "0",
        'consumer_group_generation{group="billing"}': "7",
        'consumer_assigned_partitions{group="billing"}': "6",
        'consumer_committed_offset{group="billing",topic="orders"}': "40",
        'consumer_lag_messages{group="billing",topic="orders"}': "3",
        'consumer_lag_seconds{group="billing",topic="orders"}': "61.5",
        'consumer_rebalances_total{reason="member_joined"}': "5",
        'consumer_rebalances_total{reason="session_expired"}': "2",
        "consumer_rebalance_latency_seconds_sum": "0.002",
        "consumer_rebalance_latency_seconds_count": "1",
        "consumer_heartbeats_total": "100",
        "consumer_session_timeouts_total": "2",
        "consumer_polls_total": "50",
        "consumer_polls_empty_total": "20",
    }
    assert {name.removeprefix(PREFIX): count for name, count in found.items()}.items() >= expected.items()


def test_work_queues_and_delays_are_shown_by_group_and_topic() -> None:
    ack_latency, lateness = Histogram(), Histogram()
    ack_latency.observe(3_000_000)
    lateness.observe(1_000_000)
    work = WorkMeasured(
        [QueueMeasure("billing", "orders", 7, 100, 3, 0, 2), QueueMeasure("audit", "orders", 0, 1, 0, 0, 0)],
        acked=50, nacked=5, rejected=4, expired=6, polls=11, polls_empty=9, ack_latency=ack_latency,
        acked_by={"orders": 50}, buried_by={"billing": 8}, timed_out_by={"billing": 12},
    )  # fmt: skip
    delays = DelaysMeasured({"orders": 30}, delivered=20, cancelled=10, lateness=lateness)
    broker = BrokerMeters()
    broker.count_prioritized(Lane.HIGH, 13)
    found = page(broker=broker, work=work, delays=delays)
    expected = {
        'broker_messages_acked_total{topic="orders"}': "50",
        "broker_messages_nacked_total": "5",
        "broker_messages_rejected_total": "4",
        "broker_ack_latency_seconds_count": "1",
        "broker_ack_latency_seconds_sum": "0.003",
        'broker_delayed_messages_pending{topic="orders"}': "30",
        "broker_delayed_messages_fired_total": "20",
        "broker_delayed_messages_cancelled_total": "10",
        "broker_delayed_messages_lateness_seconds_count": "1",
        'broker_priority_messages_published_total{priority="high"}': "13",
        'broker_priority_messages_published_total{priority="background"}': "0",
        'consumer_in_flight{group="billing",topic="orders"}': "7",
        'consumer_in_flight{group="audit",topic="orders"}': "0",
        'consumer_retries_pending{group="billing",topic="orders"}': "3",
        'consumer_visibility_timeout_total{group="billing"}': "12",
        'consumer_dlq_total{group="billing"}': "8",
        "consumer_expired_total": "6",
        "consumer_polls_total": "11",
        "consumer_polls_empty_total": "9",
    }
    assert {name.removeprefix(PREFIX): count for name, count in found.items()}.items() >= expected.items()


def test_what_a_broker_writes_for_itself_is_not_published() -> None:
    store = StoreMeters()
    for place in ("0", "0/ledger", "0/schedule", "12"):
        store.appended(f"logs/orders/{place}", 100)
    found = page(TopicReply("orders", 13, {}, 0, {0: (0, 2)}, 100, 1), store=store)
    assert found['goqueue_broker_bytes_published_total{topic="orders"}'] == "200"
    assert found["goqueue_storage_bytes_written_total"] == "400"


def test_groups_of_a_broker_are_counted_and_looking_makes_none(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client, config={"fsync": "every"})
            assert "goqueue_consumer_groups_unlisted 0" in (await client.get("/metrics")).text
            topics = (await client.get("/topics/__groups")).status_code
            assert topics == 404
            await publish(client, "a", "b", "c")
            wanted = {"client_id": "till", "topics": ["orders"]}
            member_id = (await client.post("/groups/billing/join", json=wanted)).json()["member_id"]
            polled = await client.get("/groups/billing/poll", params={"member_id": member_id, "max_messages": 2})
            assert len(polled.json()["messages"]) == 2
            done = {"member_id": member_id, "offsets": {"orders": {"0": 1}}}
            await client.post("/groups/billing/commit", json=done)
            found = samples((await client.get("/metrics")).text)
        both = '{group="billing",topic="orders"}'
        assert found[f"goqueue_consumer_lag_messages{both}"] == "2"
        assert found[f"goqueue_consumer_committed_offset{both}"] == "1"
        assert found['goqueue_consumer_group_members{group="billing"}'] == "1"
        assert found['goqueue_consumer_groups{state="stable"}'] == "1"
        assert found["goqueue_consumer_polls_total"] == "1"

    run(scenario, tmp_path)


def test_lag_is_told_in_seconds_before_and_after_a_start(tmp_path: Path) -> None:
    both = '{group="billing",topic="orders"}'

    async def lag(client: httpx.AsyncClient) -> float:
        return float(samples((await client.get("/metrics")).text)[f"goqueue_consumer_lag_seconds{both}"])

    async def commit(client: httpx.AsyncClient, offset: int) -> None:
        answered = await client.post("/groups/billing/commit", json={"offsets": {"orders": {"0": offset}}})
        assert answered.json()["committed"]

    async def before(served: Served) -> None:
        async with served.client() as client:
            await orders(client, config={"fsync": "every"})
            begun = trio.current_time()
            await publish(client, "a", "b", "c")
            await commit(client, 1)
            await trio.sleep(0.02)
            assert 0.019 <= await lag(client) <= trio.current_time() - begun
            await commit(client, 3)
            assert await lag(client) == 0
            await publish(client, "d")

    async def after(served: Served) -> None:
        async with served.client() as client:
            while f"goqueue_consumer_lag_seconds{both}" not in (await client.get("/metrics")).text:
                # The groups are read as soon as somebody asks for one.
                await client.get("/groups/billing")
            assert await lag(client) > 0
            await commit(client, 4)
            assert await lag(client) == 0

    run(before, tmp_path)
    run(after, tmp_path)


def test_publishing_and_reading_are_counted(tmp_path: Path) -> None:
    async def scenario(served: Served) -> None:
        async with served.client() as client:
            await orders(client, config={"fsync": "every"})
            await publish(client, "abc", "de", "f")
            refused = await client.post("/topics/orders/messages", json={"messages": [{"value": "x", "partition": 9}]})
            assert refused.json()["results"][0]["code"] == "partition_not_found"
            await client.get(PAGE, params={"limit": 2})
            async with client.stream("GET", PAGE, params={"follow": "true", "limit": "1"}) as response:
                await response.aread()
        async with client_of(served, "http/2") as client:
            answered = await client.get("/admin/metrics")
            assert answered.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        found = samples(answered.text)
        topic = '{topic="orders"}'
        assert found[f"goqueue_broker_messages_published_total{topic}"] == "3"
        assert found[f"goqueue_broker_messages_consumed_total{topic}"] == "3"
        assert found[f"goqueue_broker_bytes_consumed_total{topic}"] == str(5 + 3)
        assert found['goqueue_broker_messages_failed_total{code="partition_not_found"}'] == "1"
        assert found["goqueue_broker_publish_latency_seconds_count"] == "2"
        assert found['goqueue_broker_priority_messages_published_total{priority="normal"}'] == "3"
        assert found["goqueue_broker_active_connections"] == "1"
        assert found[f"goqueue_storage_segments_active{topic}"] == "1"
        size = int(found[f"goqueue_storage_log_size_bytes{topic}"])
        assert int(found[f"goqueue_broker_bytes_published_total{topic}"]) == size > 61
        assert int(found["goqueue_storage_bytes_written_total"]) > size
        assert (
            int(found["goqueue_storage_fsync_total"]) == int(found["goqueue_storage_fsync_latency_seconds_count"]) > 0
        )
        assert found["goqueue_storage_fsync_errors_total"] == "0"

    run(scenario, tmp_path)
