"""Settings of topics: what each takes, what each refuses and with which words, and the log that follows from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.cluster.topic_settings import SETTINGS, full_config, log_config, setting, settings_problems
from goqueue.core.log.config import UNLIMITED, Cleanup, Fsync, LogConfig, TimestampAction, Validation


def problem(key: str, value: object) -> str:
    """What is said of one setting; empty when it can be used."""
    return settings_problems({key: value}).get(key, "")


def test_the_defaults_are_those_of_a_log() -> None:
    assert log_config({}) == LogConfig(batch_bytes_max=16 << 20, segment_age_ms=7 * 86_400_000)
    assert full_config({}) == {key: known.default for key, known in SETTINGS.items()}


def test_every_setting_reaches_the_log() -> None:
    config = {
        "retention_hours": 2, "retention_bytes": "1000000", "segment_bytes": 1 << 20, "segment_age": "1h",
        "cleanup": "compact_delete", "min_compaction_lag": "5s", "tombstone_retention": "1m", "dirty_ratio": 0.25,
        "fsync": "interval", "fsync_interval": "50ms", "max_message_bytes": 2048, "index_interval_bytes": 512,
        "message_timestamp_before_max": "1d", "message_timestamp_after_max": -1, "message_timestamp_action": "replace",
    }  # fmt: skip
    assert settings_problems(dict(config)) == {}
    assert log_config(config) == LogConfig(  # type: ignore[arg-type]
        segment_bytes=1 << 20,
        segment_age_ms=3_600_000,
        index_interval_bytes=512,
        batch_bytes_max=2048,
        fsync=Fsync.INTERVAL,
        fsync_interval_ns=50_000_000,
        retention_ms=7_200_000,
        retention_bytes=1_000_000,
        cleanup=Cleanup.COMPACT_DELETE,
        compaction_lag_ms=5_000,
        tombstone_retention_ms=60_000,
        dirty_ratio=0.25,
        validation=Validation.FULL,
        timestamp_before_ms=86_400_000,
        timestamp_after_ms=UNLIMITED,
        timestamp_action=TimestampAction.REPLACE,
    )


def test_minus_one_means_without_end() -> None:
    config = log_config({"retention_hours": -1, "retention_bytes": "-1"})
    assert (config.retention_ms, config.retention_bytes) == (UNLIMITED, UNLIMITED)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("nonsense", 1, "no such setting; the known ones are partitioner, retention_hours"),
        ("partitioner", "md5", "expected one of murmur3, murmur2, crc32, round_robin, sticky, found 'md5'"),
        ("partitioner", None, "expected one of"),
        ("partitioner", ["murmur2"], "expected one of"),
        ("retention_hours", 0, "expected a number from 1 to 1000000, found 0"),
        ("retention_hours", 1.5, "expected a whole number, found 1.5"),
        ("retention_hours", True, "expected a whole number, found True"),
        ("retention_hours", "many", "expected a whole number, found 'many'"),
        ("retention_hours", "--5", "expected a whole number, found '--5'"),
        ("retention_hours", "²", "expected a whole number, found '²'"),
        ("retention_hours", "1" * 5_000, "expected a whole number"),
        ("retention_bytes", -2, "expected a number from 0"),
        ("segment_bytes", 65_535, "expected a number from 65536 to 2147483648, found 65535"),
        ("segment_bytes", -1, "expected a number from 65536"),
        ("segment_age", "0s", "expected a span of time from 1ms"),
        ("segment_age", "365001d", "expected a span of time from 1ms to 365000d, found '365001d'"),
        ("segment_age", 5, "expected a span of time such as '30s', found 5"),
        ("segment_age", "soon", "'soon' is no span of time"),
        ("fsync", "sometimes", "expected one of every, interval, none"),
        ("fsync_interval", "0ms", "expected a span of time from 1ms"),
        ("dirty_ratio", 1.1, "expected a number from 0 to 1, found 1.1"),
        ("dirty_ratio", float("nan"), "expected a number from 0 to 1"),
        ("dirty_ratio", False, "expected a number from 0 to 1"),
        ("max_message_bytes", 1023, "expected a number from 1024"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_sentence(key: str, value: object, said: str) -> None:
    assert said in problem(key, value)


plain_values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
spans = st.builds("{}{}".format, st.integers(0, 10**18), st.sampled_from(["ms", "s", "m", "h", "d"]))
words = st.sampled_from(["murmur2", "round_robin", "every", "none", "compact", "delete"])


@given(st.dictionaries(st.sampled_from(sorted(SETTINGS)), plain_values | spans | words | st.integers(-1, 1 << 31)))
def test_what_is_not_refused_makes_a_log(config: dict[str, object]) -> None:
    """A setting that is agreed on and then makes no log would kill the node at every start."""
    problems = settings_problems(config)
    usable = {key: value for key, value in config.items() if key not in problems}
    assert log_config(usable).problems() == []  # type: ignore[arg-type]
    assert settings_problems(usable) == {}
    for key in usable:
        setting(usable, key)  # type: ignore[arg-type]
