"""What the services of a node ask of the node itself."""

from functools import partial

from attrs import define

from goqueue.core.requests.messages import Side
from goqueue.core.requests.row import NOTHING, Audience, Operation, Request, Resource, Route, Row, ServiceName


@define
class RollSide(Request):
    """The next batch of a stream begins a segment, so that all before it can be removed. Answered None."""

    topic: str
    partition: int
    side: Side


@define
class TrimSide(Request):
    """Whatever lies in whole segments before an offset may go. Answered None."""

    topic: str
    partition: int
    side: Side
    offset: int


@define
class AskNode(Request):
    """Have one other node carry out a request with what it has; it is passed on to no third one."""

    node: str
    request: Request


_row = partial(Row, audience=Audience.INTERNAL, service=ServiceName.PARTITIONS, resource=Resource.TOPIC)
ROWS = (
    _row(RollSide, None, NOTHING, Operation.ACT, "topic"),
    _row(TrimSide, None, NOTHING, Operation.ACT, "topic"),
    _row(AskNode, None, object, Operation.ACT, "node", service=ServiceName.ROUTING, route=Route.NODE),
)
"""The rows of this area."""
