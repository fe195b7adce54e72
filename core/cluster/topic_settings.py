"""What may be set on a topic: the known keys, what each accepts, and the settings of a log that follow from them.

Settings travel and are stored as they were given (a number, or text); only keys that differ from the default are
kept, so that a later release may choose better defaults.
"""

import re
from collections.abc import Callable

from attrs import define, evolve

from goqueue.core.cluster.durations import LENGTH_MAX, PATTERN, format_duration, parse_duration_ms
from goqueue.core.cluster.queue_settings import DELAY_MS_MAX, SPAN_MS_MAX
from goqueue.core.log.config import (
    HOUR_MS,
    UNLIMITED,
    Cleanup,
    Fsync,
    LogConfig,
    TimestampAction,
    Validation,
)
from goqueue.core.log.thresholds import OF_BROKERS, Thresholds
from goqueue.core.records.batch import Lane

Value = int | float | str | bool

# A thousand years: beyond anybody's wish, and far from where sums of times leave 64 bits.
_SPAN_MS_MAX = 365_000 * 24 * HOUR_MS
_NUMBER = re.compile(r"-?[0-9]{1,20}")
_TOPIC = re.compile(r"(?!__)[A-Za-z0-9._-]{0,200}")
_WEIGHT_MAX = 1_000
_SIDE_BATCH_BYTES = 64 << 20


@define
class Kind:
    """What a key may hold: what turns a value into its meaning, or raises ValueError with a sentence; a JSON schema."""

    parse: Callable[[object], Value]
    schema: dict[str, object]


@define
class Setting:
    """One key: its default, and what it may hold."""

    default: Value
    kind: Kind

    @property
    def schema(self) -> dict[str, object]:
        """What it may hold, as a JSON schema."""
        return self.kind.schema

    def parse(self, value: object) -> Value:
        """What a value means; ValueError with a sentence if it cannot be meant."""
        return self.kind.parse(value)


def _whole(least: int, most: int = 1 << 62, *, unlimited: bool = False) -> Kind:
    def parse(value: object) -> Value:
        number = int(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value
        if isinstance(number, bool) or not isinstance(number, int):
            raise ValueError(f"expected a whole number, found {value!r}")
        if unlimited and number == UNLIMITED:
            return number
        if not least <= number <= most:
            raise ValueError(f"expected a number from {least} to {most}, found {number}")
        return number

    numbers: dict[str, object] = {"type": "integer", "minimum": least, "maximum": most}
    # Written as text a number is understood as well, as command lines have it.
    kinds = [numbers, {"type": "string", "pattern": f"^{_NUMBER.pattern}$"}]
    return Kind(parse, {"anyOf": [*kinds, {"const": UNLIMITED}] if unlimited else kinds})


def _fraction(value: object) -> Value:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(f"expected a number from 0 to 1, found {value!r}")
    return value


def _span(least_ms: int, most_ms: int = _SPAN_MS_MAX, *, unlimited: bool = False) -> Kind:
    def parse(value: object) -> Value:
        if unlimited and value in (UNLIMITED, str(UNLIMITED)) and not isinstance(value, float):
            return UNLIMITED
        if not isinstance(value, str):
            raise ValueError(f"expected a span of time such as '30s', found {value!r}")
        span_ms = parse_duration_ms(value)
        if not least_ms <= span_ms <= most_ms:
            bounds = f"{format_duration(least_ms)} to {format_duration(most_ms)}"
            raise ValueError(f"expected a span of time from {bounds}, found {value!r}")
        return span_ms

    spans: dict[str, object] = {"type": "string", "pattern": PATTERN, "maxLength": LENGTH_MAX}
    return Kind(parse, {"anyOf": [spans, {"enum": [UNLIMITED, str(UNLIMITED)]}]} if unlimited else spans)


def _one_of(*words: str) -> Kind:
    def parse(value: object) -> Value:
        if value not in words:
            raise ValueError(f"expected one of {', '.join(words)}, found {value!r}")
        return str(value)

    return Kind(parse, {"type": "string", "enum": [str(each) for each in words]})


def _flag(value: object) -> Value:
    if value not in (True, False, "true", "false") or (isinstance(value, int | float) and not isinstance(value, bool)):
        raise ValueError(f"expected true or false, found {value!r}")
    return value in (True, "true")


def _name(value: object) -> Value:
    if not isinstance(value, str) or not _TOPIC.fullmatch(value):
        raise ValueError(f"expected the name of a topic, or nothing, found {value!r}")
    return value


def _weights(value: object) -> Value:
    shares = value.split("/") if isinstance(value, str) else []
    if len(shares) != len(Lane) or not all(share.isascii() and share.isdigit() for share in shares):
        raise ValueError(f"expected five numbers such as '50/25/15/7/3', found {value!r}")
    if not all(1 <= int(share) <= _WEIGHT_MAX for share in shares):
        raise ValueError(f"expected each weight to be from 1 to {_WEIGHT_MAX}, found {value!r}")
    assert isinstance(value, str)
    return value


_FRACTION = Kind(_fraction, {"type": "number", "minimum": 0, "maximum": 1})
_FLAG = Kind(_flag, {"enum": [True, False, "true", "false"]})
_NAME = Kind(_name, {"type": "string", "pattern": f"^{_TOPIC.pattern}$"})
_WEIGHTS = Kind(_weights, {"type": "string", "pattern": "^[0-9]{1,4}(/[0-9]{1,4}){4}$"})

SETTINGS: dict[str, Setting] = {
    "partitioner": Setting("murmur3", _one_of("murmur3", "murmur2", "crc32", "round_robin", "sticky")),
    "retention_hours": Setting(168, _whole(1, 1_000_000, unlimited=True)),
    "retention_bytes": Setting(UNLIMITED, _whole(0, unlimited=True)),
    "segment_bytes": Setting(1 << 30, _whole(1 << 16, 1 << 31)),
    "segment_age": Setting("7d", _span(1)),
    "index_interval_bytes": Setting(4096, _whole(256, 1 << 24)),
    "cleanup": Setting("delete", _one_of(*Cleanup)),
    "min_compaction_lag": Setting("0s", _span(0)),
    "tombstone_retention": Setting("24h", _span(0)),
    "dirty_ratio": Setting(0.5, _FRACTION),
    "fsync": Setting("every", _one_of(*Fsync)),
    "fsync_interval": Setting("1s", _span(1)),
    "max_message_bytes": Setting(16 << 20, _whole(1 << 10, 1 << 30)),
    "validation": Setting("headers", _one_of(*Validation)),
    "message_timestamp_before_max": Setting(UNLIMITED, _span(0, unlimited=True)),
    "message_timestamp_after_max": Setting("1h", _span(0, unlimited=True)),
    "message_timestamp_action": Setting("refuse", _one_of(*TimestampAction)),
    # Of a topic that was given more partitions, those that its keys go to; 0 for all.
    "key_partitions": Setting(0, _whole(0, 10_000)),
    "min_insync_replicas": Setting(1, _whole(1, 100)),
    "unclean_leader_election": Setting(False, _FLAG),
    "visibility_timeout": Setting("30s", _span(1, SPAN_MS_MAX)),
    "max_attempts": Setting(4, _whole(1, 1_000)),
    "retry_backoff": Setting("1s", _span(1, DELAY_MS_MAX)),
    "retry_backoff_max": Setting("10m", _span(1, DELAY_MS_MAX)),
    "dlq": Setting(True, _FLAG),
    "dlq_topic": Setting("", _NAME),
    "message_ttl": Setting("0s", _span(0)),
    "lane_weights": Setting("50/25/15/7/3", _WEIGHTS),
    "starvation_after": Setting("30s", _span(1)),
}


def settings_problems(config: dict[str, object]) -> dict[str, str]:
    """What is wrong with some settings, by key; empty when all can be used."""
    problems = {}
    for key, value in config.items():
        if key not in SETTINGS:
            problems[key] = f"no such setting; the known ones are {', '.join(SETTINGS)}"
            continue
        try:
            SETTINGS[key].parse(value)
        except ValueError as error:
            problems[key] = str(error)
    return problems


def setting(config: dict[str, Value], key: str) -> Value:
    """What a setting means for a topic, its default included."""
    known = SETTINGS[key]
    return known.parse(config.get(key, known.default))


def full_config(config: dict[str, Value]) -> dict[str, object]:
    """Every setting with its value as it was given, defaults included."""
    return {key: config.get(key, known.default) for key, known in SETTINGS.items()}


def log_config(config: dict[str, Value], thresholds: Thresholds = OF_BROKERS) -> LogConfig:
    """Return the settings of a topic's logs on a node that has these thresholds."""

    def number(key: str) -> int:
        value = setting(config, key)
        assert isinstance(value, int)
        return value

    hours, cleanup = number("retention_hours"), Cleanup(str(setting(config, "cleanup")))
    # Compaction opens every batch sooner or later.
    validation = Validation.FULL if cleanup.compacts else Validation(str(setting(config, "validation")))
    return LogConfig(
        segment_bytes=min(number("segment_bytes"), thresholds.segment_bytes),
        segment_age_ms=number("segment_age"),
        index_interval_bytes=min(number("index_interval_bytes"), thresholds.index_interval_bytes),
        batch_bytes_max=number("max_message_bytes"),
        fsync=Fsync(str(setting(config, "fsync"))),
        fsync_interval_ns=number("fsync_interval") * 1_000_000,
        retention_ms=UNLIMITED if hours == UNLIMITED else hours * HOUR_MS,
        retention_bytes=number("retention_bytes"),
        cleanup=cleanup,
        compaction_lag_ms=number("min_compaction_lag"),
        tombstone_retention_ms=number("tombstone_retention"),
        dirty_ratio=float(setting(config, "dirty_ratio")),
        checkpoint_bytes=thresholds.checkpoint_bytes,
        validation=validation,
        timestamp_before_ms=number("message_timestamp_before_max"),
        timestamp_after_ms=number("message_timestamp_after_max"),
        timestamp_action=TimestampAction(str(setting(config, "message_timestamp_action"))),
    )


def side_config(config: dict[str, Value], thresholds: Thresholds) -> LogConfig:
    """The settings of the other streams of a topic's partitions: as durable as the data, and kept until trimmed.

    Segments are small, since only whole ones are trimmed.
    """
    return evolve(
        log_config(config, thresholds),
        segment_bytes=thresholds.side_segment_bytes,
        batch_bytes_max=_SIDE_BATCH_BYTES,
        retention_ms=UNLIMITED,
        retention_bytes=UNLIMITED,
        cleanup=Cleanup.DELETE,
        # What is delayed bears the time at which it is due.
        timestamp_before_ms=UNLIMITED,
        timestamp_after_ms=UNLIMITED,
    )
