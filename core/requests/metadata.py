"""What a node itself asks the controller for, beside what clients and operators ask."""

from functools import partial

from attrs import define

from goqueue.core.requests.messages import Side
from goqueue.core.requests.row import NOTHING, Audience, Operation, Request, Resource, Route, Row, ServiceName
from goqueue.core.requests.topics import TopicReply


@define
class MakeOwnTopic(Request):
    """A topic of the broker's own is needed."""

    name: str
    partitions: int
    config: dict[str, object]


@define
class AddSide(Request):
    """The partitions of a topic need a stream more; answered None once all are open."""

    name: str
    side: Side


@define
class FinishDelete(Request):
    """The folder of a deleted topic is gone, of one node where there are several: last part of a deletion."""

    name: str
    node_id: str = ""


@define
class ExtendProducerIds(Request):
    """Ids run low: the controller's own request for a block of them."""


_row = partial(
    Row, audience=Audience.PEER, service=ServiceName.METADATA, resource=Resource.TOPIC, route=Route.CONTROLLER
)
ROWS = (
    _row(MakeOwnTopic, 240, TopicReply, Operation.ACT, "name"),
    _row(AddSide, 241, NOTHING, Operation.ACT, "name"),
    _row(FinishDelete, 242, NOTHING, Operation.ACT, "name"),
    # The controller asks itself.
    _row(ExtendProducerIds, None, NOTHING, Operation.ACT, "", audience=Audience.INTERNAL),
)
"""The rows of this area."""
