"""The records of the metadata log: everything that nodes agree on is a sequence of these."""

from attrs import define, field

from goqueue.core.codec import Codec
from goqueue.core.verbs import Side


@define
class TopicCreated:
    """A topic exists from here on; `config` is JSON text of the settings that differ from the defaults."""

    name: str
    topic_id: int
    partitions: int
    config: str
    created_ms: int
    # Which streams its partitions have besides the data.
    sides: list[Side] = field(factory=list)


@define
class SideAdded:
    """Every partition of a topic has a stream more from here on."""

    name: str
    side: Side


@define
class TopicAltered:
    """A topic's settings are these from here on."""

    name: str
    config: str


@define
class TopicDeleted:
    """A topic is no more; its folder is still to be removed."""

    name: str
    topic_id: int


@define
class MetadataSnapshot:
    """Everything that the records before it added up to; those may be removed."""

    next_topic_id: int
    topics: list[bytes] = field(factory=list)
    removing: dict[str, int] = field(factory=dict)
    next_producer_id: int = 0


@define
class TopicRemoved:
    """The folder of a deleted topic is gone, so its name can be used again."""

    name: str
    topic_id: int


@define
class ProducerIds:
    """The producer ids from `first` up to `next` are one node's to hand out, and nobody else's ever again."""

    first: int
    next: int


MetadataRecord = TopicCreated | TopicAltered | TopicDeleted | MetadataSnapshot | TopicRemoved | ProducerIds | SideAdded

_KINDS = {
    1: TopicCreated,
    2: TopicAltered,
    3: TopicDeleted,
    4: MetadataSnapshot,
    5: TopicRemoved,
    6: ProducerIds,
    7: SideAdded,
}

METADATA_CODEC = Codec(_KINDS, version=3)
