"""What a node itself asks the controller for, beside what clients and operators ask."""

from attrs import define

from goqueue.core.verbs import Side


@define
class MakeOwnTopic:
    """A topic of the broker's own is needed."""

    name: str
    partitions: int
    config: dict[str, object]


@define
class AddSide:
    """The partitions of a topic need a stream more; answered None once all are open."""

    name: str
    side: Side


@define
class FinishDelete:
    """The folder of a deleted topic is gone, of one node where there are several: last part of a deletion."""

    name: str
    node_id: str = ""


@define
class ExtendProducerIds:
    """Ids run low: the controller's own request for a block of them."""


@define
class Summarize:
    """The log has grown long beside what it adds up to: the controller's own request for one record that says all."""
