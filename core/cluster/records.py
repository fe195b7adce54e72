"""The records of the metadata log: everything that nodes agree on is a sequence of these."""

from attrs import define, field

from goqueue.core.codec import Codec


@define
class TopicCreated:
    """A topic exists from here on; `config` is JSON text of the settings that differ from the defaults."""

    name: str
    topic_id: int
    partitions: int
    config: str
    created_ms: int


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


@define
class TopicRemoved:
    """The folder of a deleted topic is gone, so its name can be used again."""

    name: str
    topic_id: int


MetadataRecord = TopicCreated | TopicAltered | TopicDeleted | MetadataSnapshot | TopicRemoved

METADATA_CODEC = Codec({1: TopicCreated, 2: TopicAltered, 3: TopicDeleted, 4: MetadataSnapshot, 5: TopicRemoved})
