"""The JSON that comes in and goes out, as types: the names and kinds of fields are the contract with clients.

What comes in is a `Draft`, what goes out a `View`. A field that a draft does not have is refused by name, and null in
an optional one is as if it were left out: `decoding.py`. Optional fields of an answer that do not apply are left out.

A bound of a field stands in its type, from where both the check and the OpenAPI document come. Where the core checks it
and says better what is wrong, the type tells it to the document alone (`extra_json_schema`), with the core's numbers.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from goqueue.core.cluster.durations import LENGTH_MAX, PATTERN
from goqueue.core.cluster.plan import NAME_BYTES_MAX, PARTITIONS_MAX
from goqueue.core.cluster.topic_settings import SETTINGS
from goqueue.core.requests.refusals import Outcome

MESSAGES_MAX = 100_000


def config_schema(settings: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What the document says of a set of settings: all that there are; null takes one back to its default."""
    kinds = {key: {"anyOf": [schema, {"type": "null"}]} for key, schema in settings.items()}
    return {"properties": kinds, "additionalProperties": False}


Count = Annotated[int, Meta(ge=0, le=(1 << 31) - 1)]
Hours = Annotated[int, Meta(ge=-1, le=1_000_000, extra_json_schema={"not": {"const": 0}})]
Amount = Annotated[int, Meta(ge=-1, le=(1 << 62))]
NAME_SCHEMA = {"pattern": r"^(?!__)(?!\.{1,2}$)[A-Za-z0-9._-]+$", "minLength": 1, "maxLength": NAME_BYTES_MAX}
TopicName = Annotated[str, Meta(extra_json_schema=NAME_SCHEMA)]
PartitionCount = Annotated[int, Meta(ge=1, le=PARTITIONS_MAX)]
ReplicaCount = Annotated[int, Meta(ge=1, le=(1 << 31) - 1)]
Priority = Literal["critical", "high", "normal", "low", "background"]
Encoding = Literal["utf-8", "base64"]
Acks = Literal["none", "leader", "all"]
SPAN_SCHEMA = {"pattern": PATTERN, "maxLength": LENGTH_MAX}
# What is wrong with a span or a moment is said where it is read.
Span = Annotated[str, Meta(extra_json_schema=SPAN_SCHEMA)]
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Config = dict[str, int | float | str | bool | None]
TopicConfig = Annotated[Config, Meta(extra_json_schema=config_schema({k: each.schema for k, each in SETTINGS.items()}))]


class Draft(Struct, forbid_unknown_fields=True):
    """What comes in; see the module."""


class TopicDraft(Draft):
    """A topic to be made; what is left out has a default.

    `partitions` is another name of `num_partitions`. With `if_not_exists` a topic that is there already is no conflict:
    it stays as it is, and the answer is 200.
    """

    name: TopicName
    num_partitions: PartitionCount | None = None
    partitions: PartitionCount | None = None
    replication_factor: ReplicaCount | None = None
    retention_hours: Hours | None = None
    retention_bytes: Amount | None = None
    config: TopicConfig = {}
    if_not_exists: bool = False


class ConfigDraft(Draft):
    """Settings to be changed; null takes one back to its default."""

    config: TopicConfig


class MessageDraft(Draft):
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


class MessagesDraft(Draft):
    """Messages for one topic."""

    messages: Annotated[list[MessageDraft], Meta(min_length=1, max_length=MESSAGES_MAX)]
    acks: Acks = "all"


class TopicMade(Struct):
    """A topic that was made, or that was there already: then `created` is false."""

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
    """One topic; `id` tells it from any other of its name."""

    name: str
    id: str
    partitions: int
    total_messages: int
    total_size_bytes: int
    partition_offsets: dict[str, Reach]
    config: dict[str, Any]


class TopicsView(Struct):
    """All topics: their names, or with `details` each of them."""

    topics: list[str | TopicView]


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
    # Replicas that are not in sync and may lead all the same, and why nobody leads where that is so.
    elr: list[str] = []
    why_offline: str = ""


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
