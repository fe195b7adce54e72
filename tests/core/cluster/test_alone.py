"""A node that is alone, asked about the cluster."""

import pytest

from goqueue.core.requests.cluster import (
    ClusterFigures,
    ClusterReply,
    DescribeCluster,
    DescribeReassignments,
    Drain,
    ElectLeaders,
    ForgetNode,
    MeasureCluster,
    Reassign,
)
from goqueue.core.requests.messages import NewRecord, Publish, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import AddPartitions
from tests.core.driven_node import DrivenNode


def test_it_is_one_of_one() -> None:
    driven = DrivenNode().with_topic(partitions=3)
    reply = driven.answer(DescribeCluster())
    assert isinstance(reply, ClusterReply)
    assert (reply.controller, reply.voters, reply.partitions, reply.offline_count) == ("node-1", ["node-1"], 3, 0)
    assert [(one.node_id, one.leaders) for one in reply.nodes] == [("node-1", 3)]
    figures = driven.answer(MeasureCluster())
    assert isinstance(figures, ClusterFigures)
    assert (figures.nodes_total, figures.is_controller, figures.partition_count) == (1, True, 3)


@pytest.mark.parametrize(
    "request_", [Reassign([]), DescribeReassignments(), Drain("node-1"), ElectLeaders(), ForgetNode("other")]
)
def test_what_needs_others_is_refused(request_: Request) -> None:
    reply = DrivenNode().answer(request_)
    assert isinstance(reply, Refusal)
    assert reply.code is Code.INVALID
    assert "alone" in reply.message


def test_partitions_are_added_all_the_same() -> None:
    driven = DrivenNode().with_topic(partitions=1)
    assert driven.answer(AddPartitions("orders", 3)) is None
    reply = driven.answer(Publish("orders", [NewRecord(None, b"value", partition=2)]))
    assert isinstance(reply, PublishReply)
    assert isinstance(reply.results[0], Published)
