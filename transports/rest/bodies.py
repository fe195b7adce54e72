"""The JSON that comes in and goes out, as types: the names and kinds of fields are the contract with clients.

What comes in is a `Draft`, what goes out a `View`. Unknown fields are ignored; `decoding.py` names the wrong one.
Optional fields of an answer that do not apply are left out.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from goqueue.core.verbs import Outcome

Count = Annotated[int, Meta(ge=0, le=(1 << 31) - 1)]
Amount = Annotated[int, Meta(ge=-1, le=(1 << 62))]
# For the document only: what is wrong with a name is said better where it is decided.
TopicName = Annotated[str, Meta(extra_json_schema={"pattern": "^[A-Za-z0-9._-]+$", "minLength": 1, "maxLength": 200})]
PartitionCount = Annotated[int, Meta(ge=0, le=(1 << 31) - 1, extra_json_schema={"minimum": 1, "maximum": 10_000})]
Priority = Literal["critical", "high", "normal", "low", "background"]
Encoding = Literal["utf-8", "base64"]
Acks = Literal["none", "leader", "all"]
# For the document as well: what is wrong with a span or a moment is said where it is read.
Span = Annotated[str, Meta(extra_json_schema={"pattern": "^([0-9]+(ms|s|m|h|d))+$"})]
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Config = dict[str, int | float | str | bool | None]


class TopicDraft(Struct):
    """A topic to be made; what is left out has a default."""

    name: TopicName
    num_partitions: PartitionCount | None = None
    replication_factor: Count | None = None
    retention_hours: Amount | None = None
    retention_bytes: Amount | None = None
    config: Config = {}


class ConfigDraft(Struct):
    """Settings to be changed; null takes one back to its default."""

    config: Config


class MessageDraft(Struct):
    """One message. With `encoding` base64 key and value are base64, with `headers_encoding` the headers' values.

    With `delay` or `deliverAt` it is kept back; after `ttl` work queues deliver it no more.
    """

    value: str | None
    key: str | None = None
    partition: Count | None = None
    headers: dict[str, str | None] = {}
    priority: Priority = "normal"
    encoding: Encoding = "utf-8"
    headers_encoding: Encoding = "utf-8"
    delay: Span | None = None
    deliverAt: Moment | None = None  # noqa: N815 - clients know it by this name
    ttl: Span | None = None


class OneMessageDraft(MessageDraft):
    """One message by itself, with what its publishing waits for."""

    acks: Acks = "all"


class MessagesDraft(Struct):
    """Messages for one topic."""

    messages: list[MessageDraft]
    acks: Acks = "all"


class TopicMade(Struct):
    """A topic that was made."""

    name: str
    partitions: int
    created: bool = True


class TopicGone(Struct):
    """A topic that was removed."""

    name: str
    deleted: bool = True


class Reach(Struct):
    """The first offset of a partition, and the one that the next message gets."""

    earliest: int
    latest: int


class TopicView(Struct):
    """One topic."""

    name: str
    partitions: int
    total_messages: int
    total_size_bytes: int
    partition_offsets: dict[str, Reach]
    config: dict[str, Any]


class TopicsView(Struct):
    """All topics."""

    topics: list[TopicView]


class PartitionView(Struct):
    """One partition: where it lives and how far it reaches."""

    id: int
    leader: str
    replicas: list[str]
    isr: list[str]
    earliest: int
    latest: int
    high_watermark: int
    size_bytes: int


class PartitionsView(Struct):
    """The partitions of a topic."""

    partitions: list[PartitionView]


class PublishedView(Struct):
    """What became of one message; the last four say why it was refused, with offset -1, and what was done of it."""

    partition: int
    offset: int
    priority: Priority
    delayed: bool = False
    deliverAt: str | UnsetType = UNSET  # noqa: N815 - clients know it by this name
    trace_id: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    code: str | UnsetType = UNSET
    field: str | UnsetType = UNSET
    outcome: Outcome | UnsetType = UNSET


class PublishedViews(Struct):
    """What became of each message, in the order sent."""

    results: list[PublishedView]


class MessageView(Struct):
    """One message as it was published."""

    offset: int
    timestamp: str | None
    key: str | None
    value: str | None
    headers: dict[str, str | None]
    priority: Priority
    encoding: Literal["base64"] | UnsetType = UNSET
    headers_encoding: Literal["base64"] | UnsetType = UNSET


class MessagesView(Struct):
    """Messages of a partition, and the offset to go on at."""

    messages: list[MessageView]
    next_offset: int


class StreamEnd(Struct):
    """Why a stream of messages ended before its time, and where to go on."""

    error: str
    code: str
    field: str
    next_offset: int


class HealthView(Struct):
    """How the node is."""

    status: Literal["ok", "degraded", "fail"]
    timestamp: str


class AliveView(Struct):
    """That the node is alive."""

    status: Literal["pass", "fail"]
    uptime: str
    message: str


class CheckView(Struct):
    """One thing that must hold before the node takes requests."""

    status: Literal["pass", "fail"]
    message: str
    latency: str


class BrokerView(Struct):
    """The node at a glance."""

    node_id: str
    topic_count: int
    total_size: int


class ReadyView(Struct):
    """Whether the node takes requests."""

    status: Literal["pass", "fail"]
    checks: dict[str, CheckView]
    broker: BrokerView | UnsetType = UNSET


class VersionView(Struct):
    """Which release this is."""

    version: str
    node_id: str
    api: str = "v1"


class TopicStats(Struct):
    """What one topic holds."""

    partitions: int
    messages: int
    size_bytes: int


class StatsView(Struct):
    """What the node holds."""

    node_id: str
    uptime: str
    topics: int
    total_size_bytes: int
    topic_stats: dict[str, TopicStats]
