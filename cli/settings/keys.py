"""All keys of a broker's settings: what each holds, its default, and the flag and variable that stand for it.

Names that users know from elsewhere are kept, so the table holds keys whose time has not come: of these one value is
taken, the one that describes what this release does, and others are refused with a sentence. Keys under `producer`, and
two of `consumer`, are checked and used by nothing in a broker.
"""

from typing import Any, Generic, TypeVar

from attrs import define

from goqueue.cli.settings import kinds
from goqueue.cli.settings.kinds import DAY_MS, NUMBER, Kind
from goqueue.core.work.settings import SPAN_MS_MAX

ALONE = "this release runs alone, without other nodes"
LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
GRACE_MS_MAX = DAY_MS
_CAPTURE_MIN = 64 << 10
_COUNT_MAX = 1_000_000

T = TypeVar("T")


@define
class Key(Generic[T]):
    """One setting."""

    name: str
    kind: Kind[T]
    default: str
    meaning: str
    # The option of `goqueue serve`, without its dashes, and the variable; "" for what only a file says.
    flag: str = ""
    variable: str = ""
    is_hidden: bool = False

    @property
    def label(self) -> str:
        """How a problem names it that the file is not to blame for."""
        return f"--{self.flag} ({self.variable})" if self.flag else self.name

    @property
    def option(self) -> str:
        """Its name among the values that click hands over."""
        return self.flag.replace("-", "_")


def _flag(
    flag: str, name: str, kind: Kind[T], default: str, meaning: str, *, variable: str = "", is_hidden: bool = False
) -> Key[T]:
    """A key with a flag; its variable is named after the flag unless it has a name of its own."""
    variable = variable or "GOQUEUE_" + flag.upper().replace("-", "_")
    return Key(name, kind, default, meaning, flag, variable, is_hidden)


HTTP = _flag(
    "http", "broker.listeners.http", kinds.address(":8080"), ":8080", "Where REST and gRPC are served.",
    variable="GOQUEUE_HTTP_ADDR",
)  # fmt: skip
GRPC = _flag(
    "grpc", "broker.listeners.grpc", kinds.address(":9000", may_be_off=True), ":9000",
    "A second such port, where clients of gRPC look; or off.", variable="GOQUEUE_GRPC_ADDR",
)  # fmt: skip
METRICS = _flag(
    "metrics", "metrics.listen", kinds.address(":9090", may_be_off=True), ":9090",
    "Where /metrics and health are served; or off.", variable="GOQUEUE_METRICS_ADDR",
)  # fmt: skip
NODE = _flag("node-id", "broker.nodeId", kinds.name(), "node-1", "The name of this node.")
FOLDER = _flag("data-dir", "broker.dataDir", kinds.path(), "./goqueue-data", "Where data is kept.")
CERT = _flag(
    "tls-cert", "broker.tls.cert", kinds.path(may_be_empty=True), "",
    "The file with the certificate chain of both ports; SIGHUP reads it again.",
)  # fmt: skip
KEY = _flag("tls-key", "broker.tls.key", kinds.path(may_be_empty=True), "", "The file with the key to it.")
GRACE = _flag("grace", "broker.grace", kinds.span(0, GRACE_MS_MAX), "10s", "How long a stop may take, as in 30s.")
CAPTURE = _flag(
    "capture", "capture.folder", kinds.path(may_be_empty=True), "",
    "Write all that the node is told into this folder; SIGUSR1 begins and ends it.",
)  # fmt: skip
CAPTURE_BYTES = _flag(
    "capture-bytes", "capture.bytes", kinds.size(_CAPTURE_MIN, None, "1GiB"), "1GiB",
    "How large all captures in the folder may be together.",
)  # fmt: skip
CAPTURE_FILE_BYTES = _flag(
    "capture-file-bytes", "capture.fileBytes", kinds.size(_CAPTURE_MIN, None, "64MiB"), "64MiB",
    "How large a file of a capture grows.",
)  # fmt: skip
CAPTURE_RECORDS = _flag(
    "capture-records", "capture.records", kinds.switch(), "off",
    "Whether captures keep the records of batches, and all that came out, in words: on or off.",
)  # fmt: skip
LEVEL = _flag("log-level", "logging.level", kinds.one_of(*LEVELS), "info", f"One of {', '.join(LEVELS)}.")
FORMAT = _flag("log-format", "logging.format", kinds.one_of(*FORMATS), "text", f"One of {', '.join(FORMATS)}.")
INTERNAL = _flag(
    "internal", "broker.listeners.internal", kinds.fixed(":7000", f"{ALONE}, and does not listen there", kinds.OFF),
    ":7000", "For other nodes.", variable="GOQUEUE_INTERNAL_ADDR", is_hidden=True,
)  # fmt: skip
PEERS = _flag("peers", "cluster.peers", kinds.nobody(f"{ALONE}; leave it empty"), "", "Other nodes.", is_hidden=True)

# In the order in which `goqueue serve --help` lists them.
FLAGGED: tuple[Key[Any], ...] = (
    HTTP, GRPC, METRICS, NODE, FOLDER, CERT, KEY, GRACE, CAPTURE, CAPTURE_BYTES, CAPTURE_FILE_BYTES, CAPTURE_RECORDS,
    LEVEL, FORMAT, INTERNAL, PEERS,
)  # fmt: skip

SEGMENT_SIZE = Key(
    "storage.segmentSize", kinds.size(64 << 10, 2 << 30, "1GiB"), "1073741824",
    "How large a segment of a new topic grows.",
)  # fmt: skip
INDEX_INTERVAL = Key(
    "storage.indexIntervalBytes",
    kinds.size(256, 16 << 20, "4KiB"),
    "4096",
    "How many bytes apart the entries of a new topic's indexes are.",
)
FSYNC_MODE = Key(
    "storage.fsync.mode", kinds.one_of("every", "interval", "none"), "every",
    "When batches of a new topic are forced to the disk.",
)  # fmt: skip
FSYNC_INTERVAL = Key(
    "storage.fsync.intervalMs", kinds.whole(1, DAY_MS), "1000", "How often, where the mode is interval.",
)  # fmt: skip
PARTITIONS = Key(
    "defaults.topic.partitions", kinds.whole(1, 10_000), "6", "The partitions of a topic that is made without a number."
)
REPLICATION = Key(
    "defaults.topic.replicationFactor", kinds.fixed("1", f"{ALONE}, so there is one copy", written=NUMBER), "1",
    "The copies of a topic.",
)  # fmt: skip
RETENTION_HOURS = Key(
    "defaults.topic.retention.hours", kinds.whole(1, _COUNT_MAX, unlimited=True), "168",
    "How long messages of a new topic are kept.",
)  # fmt: skip
RETENTION_BYTES = Key(
    "defaults.topic.retention.bytes", kinds.whole(0, 1 << 59, unlimited=True), "-1",
    "How large a partition of a new topic grows before its oldest segments go.",
)  # fmt: skip
VISIBILITY_TIMEOUT = Key(
    "defaults.delivery.visibilityTimeout", kinds.span(1, SPAN_MS_MAX), "30s",
    "How long a message of a new topic is leased to who received it.",
)  # fmt: skip
RETRIES = Key(
    "defaults.delivery.maxRetries", kinds.whole(0, 999), "3", "How often a message of a new topic is tried again."
)
HAS_DLQ = Key(
    "defaults.delivery.dlqEnabled", kinds.truth(), "true", "Whether messages of a new topic become dead letters."
)
SESSION_TIMEOUT = Key(
    "consumer.sessionTimeout", kinds.span(1_000, 1_800_000), "30s",
    "How long a member of a group may be silent that does not say itself.",
)  # fmt: skip
HEARTBEAT_INTERVAL = Key(
    "consumer.heartbeatInterval", kinds.span(100, 600_000), "3s", "How often a member says that it is there."
)
METRICS_ENABLED = Key("metrics.enabled", kinds.truth(), "true", "Whether /metrics is served at all.")

# All keys, in the order of the file.
KEYS: tuple[Key[Any], ...] = (
    NODE, FOLDER, HTTP, GRPC, INTERNAL, CERT, KEY, GRACE,
    SEGMENT_SIZE, INDEX_INTERVAL, FSYNC_MODE, FSYNC_INTERVAL,
    PARTITIONS, REPLICATION, RETENTION_HOURS, RETENTION_BYTES,
    VISIBILITY_TIMEOUT, RETRIES, HAS_DLQ,
    SESSION_TIMEOUT, HEARTBEAT_INTERVAL,
    Key("consumer.maxPollRecords", kinds.whole(1, _COUNT_MAX), "500", "How many messages a poll brings at most."),
    Key(
        "consumer.rebalanceProtocol", kinds.one_of("cooperative", "eager"), "cooperative",
        "How a member takes part in a rebalance.",
    ),
    Key("producer.batchSize", kinds.size(0, 1 << 30, "16KiB"), "16384", "How large a batch grows."),
    Key("producer.lingerMs", kinds.whole(0, 60_000), "5", "How long a batch waits for more."),
    Key("producer.acks", kinds.one_of("none", "leader", "all"), "all", "What a message waits for."),
    PEERS,
    Key("cluster.discovery", kinds.fixed("static", ALONE), "static", "How other nodes are found."),
    Key("cluster.quorum", kinds.fixed("majority", ALONE), "majority", "How many nodes have to agree."),
    METRICS_ENABLED, METRICS,
    LEVEL, FORMAT,
    CAPTURE, CAPTURE_BYTES, CAPTURE_FILE_BYTES, CAPTURE_RECORDS,
)  # fmt: skip
