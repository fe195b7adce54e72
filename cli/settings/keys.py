"""All keys of a broker's settings: what each holds, its default, and the flag and variable that stand for it.

Names that users know from elsewhere are kept. Keys under `producer`, and two of `consumer`, are checked and used by
nothing in a broker; what has one value only is refused with a sentence where it is another.
"""

from typing import Any

from goqueue.cli.settings import kinds
from goqueue.cli.settings.cluster_keys import CLUSTER_KEYS, FLAGGED_CLUSTER, INSECURE, INTERNAL
from goqueue.cli.settings.key import Key, flagged
from goqueue.cli.settings.kinds import DAY_MS
from goqueue.core.cluster.plan import AUTOMATIC
from goqueue.core.cluster.queue_settings import SPAN_MS_MAX
from goqueue.core.groups.bounds import RETENTION_MS_MAX

LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
GRACE_MS_MAX = DAY_MS
_CAPTURE_MIN = 64 << 10
_COUNT_MAX = 1_000_000

HTTP = flagged(
    "http", "broker.listeners.http", kinds.address(":8080"), ":8080", "Where REST and gRPC are served.",
    variable="GOQUEUE_HTTP_ADDR",
)  # fmt: skip
GRPC = flagged(
    "grpc", "broker.listeners.grpc", kinds.address(":9000", may_be_off=True), ":9000",
    "A second such port, where clients of gRPC look; or off.", variable="GOQUEUE_GRPC_ADDR",
)  # fmt: skip
METRICS = flagged(
    "metrics", "metrics.listen", kinds.address(":9090", may_be_off=True), ":9090",
    "Where /metrics and health are served; or off.", variable="GOQUEUE_METRICS_ADDR",
)  # fmt: skip
NODE = flagged("node-id", "broker.nodeId", kinds.name(), "node-1", "The name of this node.")
FOLDER = flagged("data-dir", "broker.dataDir", kinds.path(), "./goqueue-data", "Where data is kept.")
RESERVE = flagged(
    "disk-reserve", "storage.reserve", kinds.size(0, 1 << 40, "16MiB"), "16MiB",
    "How much of the disk is kept from messages, for what the broker itself writes; 0 for nothing.",
)  # fmt: skip
CERT = flagged(
    "tls-cert", "broker.tls.cert", kinds.path(may_be_empty=True), "",
    "The file with the certificate chain of both ports; SIGHUP reads it again.",
)  # fmt: skip
KEY = flagged("tls-key", "broker.tls.key", kinds.path(may_be_empty=True), "", "The file with the key to it.")
GRACE = flagged("grace", "broker.grace", kinds.span(0, GRACE_MS_MAX), "10s", "How long a stop may take, as in 30s.")
CAPTURE = flagged(
    "capture", "capture.folder", kinds.path(may_be_empty=True), "",
    "Write all that the node is told into this folder; SIGUSR1 begins and ends it.",
)  # fmt: skip
CAPTURE_BYTES = flagged(
    "capture-bytes", "capture.bytes", kinds.size(_CAPTURE_MIN, None, "1GiB"), "1GiB",
    "How large all captures in the folder may be together.",
)  # fmt: skip
CAPTURE_FILE_BYTES = flagged(
    "capture-file-bytes", "capture.fileBytes", kinds.size(_CAPTURE_MIN, None, "64MiB"), "64MiB",
    "How large a file of a capture grows.",
)  # fmt: skip
CAPTURE_RECORDS = flagged(
    "capture-records", "capture.records", kinds.switch(), "off",
    "Whether captures keep the records of batches, and all that came out, in words: on or off.",
)  # fmt: skip
LEVEL = flagged("log-level", "logging.level", kinds.one_of(*LEVELS), "info", f"One of {', '.join(LEVELS)}.")
FORMAT = flagged("log-format", "logging.format", kinds.one_of(*FORMATS), "text", f"One of {', '.join(FORMATS)}.")
LOG_FILE = flagged(
    "log-file", "logging.file", kinds.path(may_be_empty=True), "",
    "The file to log to, in place of standard error; it is turned over at 16 MiB.",
)  # fmt: skip
ALLOWED_HOSTS = flagged(
    "allowed-hosts", "http.allowedHosts", kinds.hosts(), "",
    "Names by which clients of HTTP call this broker, besides loopback, its addresses and the machine's name: "
    "mq.example.com,.example.org; * for any.",
)  # fmt: skip
CORS_ORIGINS = flagged(
    "cors-origins", "http.corsOrigins", kinds.origins(), "",
    "Origins of web pages that may use this broker, as in https://console.example.com; * for any.",
)  # fmt: skip
GROUPS = flagged("groups-max", "groups.max", kinds.whole(1, _COUNT_MAX), "10000", "How many groups are kept.")
GROUP_OFFSETS = flagged(
    "groups-max-offsets", "groups.maxOffsets", kinds.whole(1, 100_000_000), "1000000",
    "How many committed offsets are kept, of all groups together.",
)  # fmt: skip
OFFSETS_RETENTION = flagged(
    "offsets-retention", "groups.offsetsRetention", kinds.span(1_000, RETENTION_MS_MAX), "7d",
    "How long a group without members, or an offset that nobody renews, is kept after its last use.",
)  # fmt: skip
# In the order in which `goqueue serve --help` lists them.
FLAGGED: tuple[Key[Any], ...] = (
    HTTP, GRPC, METRICS, ALLOWED_HOSTS, CORS_ORIGINS, NODE, FOLDER, RESERVE, CERT, KEY, GRACE,
    GROUPS, GROUP_OFFSETS, OFFSETS_RETENTION, CAPTURE, CAPTURE_BYTES, CAPTURE_FILE_BYTES, CAPTURE_RECORDS,
    LEVEL, FORMAT, LOG_FILE, *FLAGGED_CLUSTER,
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
    "defaults.topic.replicationFactor", kinds.whole_or("auto", AUTOMATIC, 1, 100), "auto",
    "The copies of a topic that is made without a number; auto: three, or one a node where there are fewer.",
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

BUFFER = Key(
    "limits.bufferBytes", kinds.size(4 << 20, 1 << 40, "64MiB"), "67108864",
    "How much memory all clients together may hold: answers being made or not taken yet, and requests not whole yet.",
)  # fmt: skip
CONNECTION_BUFFER = Key(
    "limits.connectionBufferBytes", kinds.size(1 << 20, 1 << 40, "16MiB"), "16777216",
    "How much of that is for answers on one connection.",
)  # fmt: skip

# All keys, in the order of the file.
KEYS: tuple[Key[Any], ...] = (
    NODE, FOLDER, HTTP, GRPC, INTERNAL, CERT, KEY, GRACE, INSECURE,
    ALLOWED_HOSTS, CORS_ORIGINS,
    SEGMENT_SIZE, INDEX_INTERVAL, RESERVE, FSYNC_MODE, FSYNC_INTERVAL,
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
    GROUPS, GROUP_OFFSETS, OFFSETS_RETENTION,
    BUFFER, CONNECTION_BUFFER,
    *CLUSTER_KEYS,
    METRICS_ENABLED, METRICS,
    LEVEL, FORMAT, LOG_FILE,
    CAPTURE, CAPTURE_BYTES, CAPTURE_FILE_BYTES, CAPTURE_RECORDS,
)  # fmt: skip

# What the environment says and no flag does.
HIDDEN: tuple[Key[Any], ...] = tuple(key for key in KEYS if key.variable and not key.flag)
