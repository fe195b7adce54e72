"""Settings to try: which there are, and what is wrong with those that are not."""

import pytest

from goqueue.core.broker.node_options import NodeOptions
from goqueue.core.capture.alterations import (
    NODE_SETTINGS,
    UnknownAlteration,
    known_names,
    parse_alterations,
    whose,
)
from goqueue.core.clock import Clock
from goqueue.core.cluster.options import ClusterOptions
from goqueue.core.node import Node


def test_settings_are_told_apart_by_what_they_are_set_on() -> None:
    parsed = parse_alterations(
        {
            "topic.a.b.dirty_ratio": "0.25", "topic.*.visibility_timeout": "5s", "group.billing.key_ordered": "true",
            "group.billing.max_attempts": "7", "node.replica_lag_ms": "250",
        }
    )  # fmt: skip
    assert parsed.topics == {"a.b": {"dirty_ratio": 0.25}, "*": {"visibility_timeout": "5s"}}
    assert parsed.groups == {"billing": {"key_ordered": True, "max_attempts": 7}}
    assert parsed.node == {"replica_lag_ms": 250}
    assert parsed
    assert not parse_alterations({})


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("retention_bytes", "5", "retention_bytes cannot be altered; topic.NAME.KEY, group.NAME.KEY, node."),
        ("topic.retention_bytes", "5", "topic.retention_bytes cannot be altered"),
        ("topic.orders.colour", "red", "topic.orders.colour: no such setting; the known ones are partitioner"),
        ("topic.orders.segment_bytes", "5", "expected a number from 65536"),
        ("topic.orders.visibility_timeout", "soon", "topic.orders.visibility_timeout: "),
        ("group.billing.max_attempts", "0", "expected a whole number from 1 to 1000"),
        ("group.billing.max_attempts", "[]", "expected a whole number from 1 to 1000"),
        ("node.colour", "1", "node.colour cannot be altered"),
        ("node.recent_bytes", "-1", "node.recent_bytes: expected a whole number, found '-1'"),
    ],
)
def test_what_cannot_be_set_is_named(name: str, text: str, said: str) -> None:
    with pytest.raises(UnknownAlteration) as raised:
        parse_alterations({name: text})
    assert said in str(raised.value)


def test_what_spells_a_number_is_one_where_numbers_are_taken() -> None:
    parsed = parse_alterations({"topic.orders.max_attempts": "10", "topic.orders.lane_weights": "90/5/3/1/1"})
    assert parsed.topics == {"orders": {"max_attempts": 10, "lane_weights": "90/5/3/1/1"}}


def test_what_was_there_to_be_changed_is_known_by_name() -> None:
    node = Node(NodeOptions("n1"), Clock(0, 0), 0)
    alterations = parse_alterations({"topic.orders.max_attempts": "10", "node.recent_bytes": "1"})
    alterations.begin(node)
    assert alterations.met == {"node.recent_bytes"}
    assert [whose(name) for name in ("node.recent_bytes", "topic.a.b.max_attempts")] == [
        "node.recent_bytes",
        "topic.a.b",
    ]


def test_every_name_that_can_be_set_is_known_and_taken_apart() -> None:
    names = known_names()
    assert len(names) == len(set(names))
    for name in names:
        with pytest.raises(UnknownAlteration) as raised:
            parse_alterations({name: "\0"})
        assert "cannot be altered" not in str(raised.value)
        assert "no such setting" not in str(raised.value)


def test_every_setting_of_a_node_reaches_it() -> None:
    cluster = ClusterOptions(["n1", "n2"])
    node = Node(NodeOptions("n1", cluster=cluster), Clock(0, 0), 0)
    parse_alterations({f"node.{key}": str(at) for at, key in enumerate(NODE_SETTINGS, 1)}).begin(node)
    assert (node.options.recent_bytes, node.options.session_timeout_ms) == (1, 2)
    assert (cluster.replica_lag_ns, cluster.request_ns) == (3_000_000, 4_000_000)


def test_a_node_that_is_alone_has_no_settings_of_a_cluster() -> None:
    node = Node(NodeOptions("n1"), Clock(0, 0), 0)
    parse_alterations({"node.replica_lag_ms": "1", "node.request_timeout_ms": "1"}).begin(node)
    assert node.options.cluster is None
