"""What an operator asks of `goqueue serve`, from all sources and checked as a whole.

All problems are found in one go, each with its flag or its line of the file. A listener without a host is bound to
loopback, so a broker never listens to the world by accident. What this release cannot do is refused with a sentence and
not ignored. Keys and sources are in goqueue.cli.settings.
"""

import socket
import ssl
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import define

from goqueue.cli.serve_cluster import EVERYWHERE, ClusterSettings, cluster_settings
from goqueue.cli.settings.cluster_keys import INTERNAL, PEER_CERT
from goqueue.cli.settings.document import read_file
from goqueue.cli.settings.environment import unknown_variables
from goqueue.cli.settings.key import Key
from goqueue.cli.settings.keys import (
    ALLOWED_HOSTS,
    BUFFER,
    CAPTURE,
    CAPTURE_BYTES,
    CAPTURE_FILE_BYTES,
    CAPTURE_RECORDS,
    CERT,
    CONNECTION_BUFFER,
    CORS_ORIGINS,
    FOLDER,
    FORMAT,
    FSYNC_INTERVAL,
    FSYNC_MODE,
    GRACE,
    GROUP_OFFSETS,
    GROUPS,
    GRPC,
    HAS_DLQ,
    HEARTBEAT_INTERVAL,
    HTTP,
    INDEX_INTERVAL,
    KEY,
    KEYS,
    LEVEL,
    LOG_FILE,
    METRICS,
    METRICS_ENABLED,
    NODE,
    OFFSETS_RETENTION,
    PARTITIONS,
    REPLICATION,
    RESERVE,
    RETENTION_BYTES,
    RETENTION_HOURS,
    RETRIES,
    SEGMENT_SIZE,
    SESSION_TIMEOUT,
    VISIBILITY_TIMEOUT,
)
from goqueue.cli.settings.kinds import LOOPBACK, Address
from goqueue.cli.settings.sources import DEFAULT, Given, Settings
from goqueue.core.cluster.durations import format_duration
from goqueue.core.cluster.topic_settings import Value
from goqueue.core.errors import GoQueueError
from goqueue.core.groups.bounds import GroupBounds
from goqueue.storage.capture import Capture, CaptureLimits
from goqueue.transports.rest.web_access import WebAccess

# What a topic is made with that does not say otherwise: the setting of the topic, and the key.
_TOPIC_SETTINGS: dict[str, Key[Any]] = {
    "segment_bytes": SEGMENT_SIZE,
    "index_interval_bytes": INDEX_INTERVAL,
    "fsync": FSYNC_MODE,
    "fsync_interval": FSYNC_INTERVAL,
    "retention_hours": RETENTION_HOURS,
    "retention_bytes": RETENTION_BYTES,
    "visibility_timeout": VISIBILITY_TIMEOUT,
    "max_attempts": RETRIES,
    "dlq": HAS_DLQ,
}
_SPANS = ("fsync_interval", "visibility_timeout")


class WrongSettings(GoQueueError):
    """Settings that cannot be meant, or cannot be had; each problem on a line of its own."""

    def __init__(self, problems: list[str]) -> None:
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"cannot serve like this:{lines}")
        self.problems = problems


@define
class CaptureSettings:
    """What is captured: from the start into a folder, or from a signal on into that or the data's own."""

    folder: str
    limits: CaptureLimits
    keeps_records: bool

    def begun(self, data_dir: str, report: Callable[[str], None]) -> Capture:
        """A capture that has not started yet."""
        folder = self.folder or str(Path(data_dir, "captures"))
        return Capture(folder, self.limits, report, keeps_records=self.keeps_records)


@define
class ServeSettings:
    """All of them, as they will be used; None for a port that is off."""

    node_id: str
    data_dir: str
    http: Address
    grpc: Address | None
    metrics: Address | None
    # Names besides those that the broker knows itself, and origins of web pages: see WebAccess.
    allowed_hosts: list[str]
    cors_origins: list[str]
    tls_files: tuple[str, str] | None
    grace_ns: int
    log_level: str
    log_format: str
    log_file: str
    capture: CaptureSettings
    has_metrics: bool
    reserve_bytes: int
    partitions_default: int
    replication_default: int
    # What a new topic gets besides what its maker says.
    topic_config: dict[str, Value]
    session_timeout_ms: int
    groups: GroupBounds
    # What all clients, and the answers on one connection, may hold.
    buffer_bytes: int
    connection_buffer_bytes: int
    # None for a broker that is alone.
    cluster: ClusterSettings | None
    # How a problem with a port names the setting.
    labels: dict[str, str]

    def tls(self) -> ssl.SSLContext | None:
        """The keys as the files have them at the moment. Raises OSError, of which SSLError is one."""
        if self.tls_files is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*self.tls_files)
        return context

    def access(self) -> WebAccess:
        """Which web pages may use the ports, and which names are the broker's own."""
        own = [socket.gethostname(), *(address[0] for address in (self.http, self.grpc, self.metrics) if address)]
        if self.cluster is not None and self.cluster.advertise:
            own.append(self.cluster.advertise)
        return WebAccess([*self.allowed_hosts, *(name for name in own if name not in EVERYWHERE)], self.cors_origins)


def gather_settings(given: Mapping[str, Given], file: str, environment: Mapping[str, str]) -> Settings:
    """The settings from all sources: what this command was given, and a file unless that is ""."""
    document = read_file(file, [key.name for key in KEYS], environment) if file else None
    settings = Settings(given, document)
    entries = document.entries.values() if document is not None else ()
    settings.warnings += unknown_variables(environment, [name for entry in entries for name in entry.variables])
    _check_together(settings)
    return settings


def serve_settings(settings: Settings) -> ServeSettings:
    """What `goqueue serve` does with them. Raises WrongSettings with all that is wrong."""
    limits = CaptureLimits(settings[CAPTURE_FILE_BYTES], settings[CAPTURE_BYTES])
    served = ServeSettings(
        node_id=settings[NODE],
        data_dir=settings[FOLDER],
        http=settings[HTTP] or (LOOPBACK, 0),
        grpc=settings[GRPC],
        metrics=settings[METRICS] if settings[METRICS_ENABLED] else None,
        allowed_hosts=settings[ALLOWED_HOSTS],
        cors_origins=settings[CORS_ORIGINS],
        tls_files=(settings[CERT], settings[KEY]) if settings[CERT] and settings[KEY] else None,
        grace_ns=settings[GRACE] * 1_000_000,
        log_level=settings[LEVEL],
        log_format=settings[FORMAT],
        log_file=settings[LOG_FILE],
        capture=CaptureSettings(settings[CAPTURE], limits, settings[CAPTURE_RECORDS]),
        has_metrics=settings[METRICS_ENABLED],
        reserve_bytes=settings[RESERVE],
        partitions_default=settings[PARTITIONS],
        replication_default=settings[REPLICATION],
        topic_config=_topic_config(settings),
        session_timeout_ms=settings[SESSION_TIMEOUT],
        groups=GroupBounds(settings[GROUPS], settings[GROUP_OFFSETS], settings[OFFSETS_RETENTION]),
        buffer_bytes=settings[BUFFER],
        connection_buffer_bytes=settings[CONNECTION_BUFFER],
        cluster=cluster_settings(settings),
        labels={key.name: settings.of(key).label for key in (HTTP, GRPC, METRICS, INTERNAL)},
    )
    try:
        served.tls()
    except OSError as error:
        files = " and ".join(served.tls_files or ())
        settings.problem(CERT, f"{files} cannot be used: {error.strerror or error}")
    _check_cluster(settings, served)
    if settings.problems:
        raise WrongSettings(settings.problems)
    return served


def _check_cluster(settings: Settings, served: ServeSettings) -> None:
    cluster = served.cluster
    if cluster is None:
        if served.replication_default > 1:
            settings.problem(REPLICATION, "a broker alone keeps one copy: give it peers, or leave this at auto")
        return
    try:
        cluster.tls()
    except OSError as error:
        files = ", ".join(cluster.tls_files or ())
        settings.problem(PEER_CERT, f"one of {files} cannot be used: {error.strerror or error}")


def _topic_config(settings: Settings) -> dict[str, Value]:
    """What was set; defaults stay away, so that a topic follows those of its release."""
    config: dict[str, Value] = {
        name: settings[key] for name, key in _TOPIC_SETTINGS.items() if settings.of(key).source != DEFAULT
    }
    for name in _SPANS:
        if name in config:
            config[name] = format_duration(int(config[name]))
    if "max_attempts" in config:
        # The first attempt is no retry.
        config["max_attempts"] = settings[RETRIES] + 1
    return config


def _check_together(settings: Settings) -> None:
    """What is right by itself and wrong beside something else."""
    cert, key = settings[CERT], settings[KEY]
    if bool(cert) != bool(key):
        given, missing = (CERT, KEY) if cert else (KEY, CERT)
        settings.problem(missing, f"it is needed beside --{given.flag}")
    if settings[HEARTBEAT_INTERVAL] >= settings[SESSION_TIMEOUT]:
        timeout = settings.of(SESSION_TIMEOUT).text
        settings.problem(HEARTBEAT_INTERVAL, f"it has to be shorter than the session timeout, {timeout}")
    if settings[CONNECTION_BUFFER] > settings[BUFFER]:
        settings.problem(CONNECTION_BUFFER, f"it can be no more than {BUFFER.name}, {settings.of(BUFFER).text}")
    # No two listeners may ask for one port; port 0 is another one each time.
    taken: dict[Address, Key[Address | None]] = {}
    for listener in (HTTP, GRPC, METRICS):
        address = settings[listener]
        if address is None or not address[1] or (listener is METRICS and not settings[METRICS_ENABLED]):
            continue
        if address in taken:
            settings.problem(listener, f"port {address[1]} is that of --{taken[address].flag} already")
        taken.setdefault(address, listener)
