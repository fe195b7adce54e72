"""What an operator asks of `goqueue serve`, checked as a whole: all problems are found in one go, each with its flag.

A listener without a host is bound to loopback, so a broker never listens to the world by accident. What this release
cannot do is refused with a sentence and not ignored.
"""

import re
import ssl
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from attrs import define

from goqueue.core.cluster.durations import parse_duration_ms
from goqueue.core.errors import GoQueueError
from goqueue.storage.capture import Capture, CaptureLimits

OFF = "off"
LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")
LOOPBACK = "127.0.0.1"
NODE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
GRACE_MS_MAX = 24 * 3_600_000
_SHIFTS = {"": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}
_SIZE = re.compile(r"([0-9]{1,12}) ?(KiB|MiB|GiB|TiB)?")
_SIZE_MIN = 64 << 10
ALONE = "this release runs alone, without other nodes; leave it unset"

Address = tuple[str, int]


class Flag:
    """One option and the variable of the environment that stands for it."""

    def __init__(self, name: str, default: str, meaning: str, *, hidden: bool = False, variable: str = "") -> None:
        self.name = name
        self.default = default
        self.meaning = meaning
        self.hidden = hidden
        self.variable = variable or "GOQUEUE_" + name.upper().replace("-", "_")

    @property
    def label(self) -> str:
        """How a problem names it."""
        return f"--{self.name} ({self.variable})"

    @property
    def key(self) -> str:
        """Its name among the values that click hands over."""
        return self.name.replace("-", "_")

    def option(self) -> click.Option:
        """It as click knows it; what it may be is decided here and not there."""
        return click.Option(
            [f"--{self.name}"], envvar=self.variable, default=self.default, help=self.meaning, hidden=self.hidden,
            show_default=bool(self.default), show_envvar=True, metavar="TEXT",
        )  # fmt: skip


HTTP = Flag("http", ":8080", "Where REST and gRPC are served.", variable="GOQUEUE_HTTP_ADDR")
GRPC = Flag("grpc", ":9000", "A second such port, where clients of gRPC look; or off.", variable="GOQUEUE_GRPC_ADDR")
METRICS = Flag("metrics", ":9090", "Where /metrics and health are served; or off.", variable="GOQUEUE_METRICS_ADDR")
NODE = Flag("node-id", "node-1", "The name of this node.")
FOLDER = Flag("data-dir", "./goqueue-data", "Where data is kept.")
CERT = Flag("tls-cert", "", "The file with the certificate chain of both ports; SIGHUP reads it again.")
KEY = Flag("tls-key", "", "The file with the key to it.")
GRACE = Flag("grace", "10s", "How long a stop may take, as in 30s.")
LEVEL = Flag("log-level", "info", f"One of {', '.join(LEVELS)}.")
FORMAT = Flag("log-format", "text", f"One of {', '.join(FORMATS)}.")
INTERNAL = Flag("internal", "", "For other nodes.", hidden=True, variable="GOQUEUE_INTERNAL_ADDR")
PEERS = Flag("peers", "", "Other nodes.", hidden=True)
CAPTURE = Flag("capture", "", "Write all that the node is told into this folder; SIGUSR1 begins and ends it.")
CAPTURE_BYTES = Flag("capture-bytes", "1GiB", "How large all captures in the folder may be together.")
CAPTURE_FILE_BYTES = Flag("capture-file-bytes", "64MiB", "How large a file of a capture grows.")
CAPTURE_RECORDS = Flag(
    "capture-records",
    "off",
    "Whether captures keep the records of batches, and all that came out, in words: on or off.",
)
CAPTURES = (CAPTURE, CAPTURE_BYTES, CAPTURE_FILE_BYTES, CAPTURE_RECORDS)
FLAGS = (HTTP, GRPC, METRICS, NODE, FOLDER, CERT, KEY, GRACE, *CAPTURES, LEVEL, FORMAT, INTERNAL, PEERS)


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
    tls_files: tuple[str, str] | None
    grace_ns: int
    log_level: str
    log_format: str
    capture: CaptureSettings

    def tls(self) -> ssl.SSLContext | None:
        """The keys as the files have them at the moment. Raises OSError, of which SSLError is one."""
        if self.tls_files is None:
            return None
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(*self.tls_files)
        return context


def parse_size(text: str) -> int | None:
    """Bytes in a size such as `64MiB`; None when it is none."""
    matched = _SIZE.fullmatch(text.strip())
    return int(matched[1]) << _SHIFTS[matched[2] or ""] if matched else None


def read_settings(values: dict[str, str]) -> ServeSettings:
    """The settings that options amount to. Raises WrongSettings with all that is wrong with them."""
    reading = _Reading(values)
    settings = ServeSettings(
        reading.text(NODE),
        values[FOLDER.key],
        reading.address(HTTP) or (LOOPBACK, 0),
        reading.address(GRPC, may_be_off=True),
        reading.address(METRICS, may_be_off=True),
        reading.tls_files(),
        reading.grace_ns(),
        reading.word(LEVEL, LEVELS),
        reading.word(FORMAT, FORMATS),
        reading.capture(),
    )
    reading.check_ports((HTTP, settings.http), (GRPC, settings.grpc), (METRICS, settings.metrics))
    for flag in (INTERNAL, PEERS):
        if values[flag.key]:
            reading.problem(flag, ALONE)
    try:
        settings.tls()
    except OSError as error:
        files = " and ".join(settings.tls_files or ())
        reading.problem(CERT, f"{files} cannot be used: {error.strerror or error}")
    if reading.problems:
        raise WrongSettings(reading.problems)
    return settings


class _Reading:
    """Values on their way to settings, and what is wrong with them."""

    def __init__(self, values: dict[str, str]) -> None:
        self.problems: list[str] = []
        self._values = values

    def problem(self, flag: Flag, sentence: str) -> None:
        self.problems.append(f"{flag.label}: {sentence}")

    def text(self, flag: Flag) -> str:
        text = self._values[flag.key]
        if not NODE_ID.fullmatch(text):
            self.problem(flag, f"{text!r} is no name; up to 100 letters, digits, dots, dashes and underscores are")
        return text

    def word(self, flag: Flag, words: Iterable[str]) -> str:
        word = self._values[flag.key].lower()
        if word not in words:
            self.problem(flag, f"{word!r} is none of {', '.join(words)}")
        return word

    def address(self, flag: Flag, *, may_be_off: bool = False) -> Address | None:
        text = self._values[flag.key]
        if may_be_off and text.lower() == OFF:
            return None
        host, colon, port = text.rpartition(":")
        if not colon or not (port.isascii() and port.isdigit()) or len(port) > 5 or int(port) > 65535:
            self.problem(flag, f"{text!r} is no address; write it like {flag.default} or 0.0.0.0{flag.default}")
            return None
        return host.strip("[]") or LOOPBACK, int(port)

    def check_ports(self, *ports: tuple[Flag, Address | None]) -> None:
        """No two flags may ask for one port; port 0 is another one each time."""
        taken: dict[Address, Flag] = {}
        for flag, address in ports:
            if address is None or not address[1]:
                continue
            if address in taken:
                self.problem(flag, f"port {address[1]} is that of --{taken[address].name} already")
            taken.setdefault(address, flag)

    def tls_files(self) -> tuple[str, str] | None:
        cert, key = self._values[CERT.key], self._values[KEY.key]
        if bool(cert) != bool(key):
            given, missing = (CERT, KEY) if cert else (KEY, CERT)
            self.problem(missing, f"it is needed beside --{given.name}")
            return None
        return (cert, key) if cert else None

    def capture(self) -> CaptureSettings:
        limits = CaptureLimits(self.size(CAPTURE_FILE_BYTES), self.size(CAPTURE_BYTES))
        return CaptureSettings(self._values[CAPTURE.key], limits, self.word(CAPTURE_RECORDS, ("on", OFF)) == "on")

    def size(self, flag: Flag) -> int:
        size = parse_size(self._values[flag.key])
        if size is None or size < _SIZE_MIN:
            self.problem(
                flag, f"{self._values[flag.key]!r} is no size of at least 64 KiB; write it like {flag.default}"
            )
        return size or 0

    def grace_ns(self) -> int:
        text = self._values[GRACE.key]
        try:
            grace_ms = parse_duration_ms(text[:40])
        except ValueError as error:
            self.problem(GRACE, str(error))
            return 0
        if grace_ms > GRACE_MS_MAX:
            self.problem(GRACE, f"{text!r} is longer than a day")
        return grace_ms * 1_000_000
