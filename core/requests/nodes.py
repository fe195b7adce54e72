"""Requests about the node that is asked, and their answers."""

from attrs import define, field

from goqueue.core.requests.row import Audience, Operation, Repeat, Request, Resource, Row, ServiceName
from goqueue.core.requests.topics import TopicReply


@define
class DescribeNode(Request):
    """This node: how it is and what it holds."""


@define
class NodeReply:
    """This node at a glance."""

    node_id: str
    version: str
    uptime_ns: int
    topics: int
    size_bytes: int
    streams: list["TopicReply"]
    checks: list["Check"] = field(factory=list)
    timestamps_replaced: int = 0
    # Of clients, since the node began: requests by name, and refusals by code.
    requests: dict[str, int] = field(factory=dict)
    refusals: dict[str, int] = field(factory=dict)


@define
class Check:
    """One thing that must hold before clients are sent to a node; the problem is empty where it holds."""

    name: str
    problem: str = ""


ROWS = (
    Row(
        DescribeNode,
        106,
        NodeReply,
        Operation.DESCRIBE,
        "",
        audience=Audience.CLIENT,
        service=ServiceName.NODE,
        resource=Resource.CLUSTER,
        repeat=Repeat.ALWAYS,
        changes=False,
    ),
)
"""The rows of this area."""
