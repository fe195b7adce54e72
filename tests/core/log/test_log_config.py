"""The settings of a log: what may be chosen, and that each setting out of bounds is named."""

from collections.abc import Callable

import pytest

from goqueue.core.log.config import SEGMENT_BYTES_MAX, UNLIMITED, Cleanup, Fsync, LogConfig


def test_the_defaults_can_be_used() -> None:
    config = LogConfig()
    assert config.problems() == []
    assert config.fsync is Fsync.EVERY
    assert config.cleanup is Cleanup.DELETE


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: LogConfig(segment_bytes=0), "segment_bytes must be at least 1, not 0"),
        (lambda: LogConfig(segment_bytes=SEGMENT_BYTES_MAX + 1), "segment_bytes must be at most 4294967295"),
        (lambda: LogConfig(segment_age_ms=0), "segment_age_ms must be at least 1, not 0"),
        (lambda: LogConfig(index_interval_bytes=-1), "index_interval_bytes must be at least 0"),
        (lambda: LogConfig(batch_bytes_max=60), "batch_bytes_max must be at least 61"),
        (lambda: LogConfig(fsync_interval_ns=0), "fsync_interval_ns must be at least 1"),
        (lambda: LogConfig(retention_ms=-2), "retention_ms must be at least -1, not -2"),
        (lambda: LogConfig(retention_bytes=-2), "retention_bytes must be at least -1"),
        (lambda: LogConfig(compaction_lag_ms=-1), "compaction_lag_ms must be at least 0"),
        (lambda: LogConfig(tombstone_retention_ms=-1), "tombstone_retention_ms must be at least 0"),
        (lambda: LogConfig(checkpoint_bytes=0), "checkpoint_bytes must be at least 1"),
        (lambda: LogConfig(dirty_ratio=-0.1), "dirty_ratio must be between 0 and 1"),
        (lambda: LogConfig(dirty_ratio=1.1), "dirty_ratio must be between 0 and 1"),
        (lambda: LogConfig(dirty_ratio=float("nan")), "dirty_ratio must be between 0 and 1"),
    ],
)
def test_a_setting_out_of_bounds_is_refused_by_name(build: Callable[[], LogConfig], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        build()


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(ValueError, match=r"segment_bytes .*; retention_ms .*; dirty_ratio "):
        LogConfig(segment_bytes=0, retention_ms=-5, dirty_ratio=2.0)


def test_the_bounds_themselves_can_be_used() -> None:
    config = LogConfig(
        segment_bytes=SEGMENT_BYTES_MAX,
        segment_age_ms=1,
        index_interval_bytes=0,
        batch_bytes_max=61,
        fsync_interval_ns=1,
        retention_ms=UNLIMITED,
        retention_bytes=UNLIMITED,
        compaction_lag_ms=0,
        tombstone_retention_ms=0,
        dirty_ratio=1.0,
        checkpoint_bytes=1,
    )
    assert config.problems() == []
    assert LogConfig(retention_ms=0, retention_bytes=0, dirty_ratio=0.0).problems() == []


@pytest.mark.parametrize(
    ("cleanup", "deletes", "compacts"),
    [(Cleanup.DELETE, True, False), (Cleanup.COMPACT, False, True), (Cleanup.COMPACT_DELETE, True, True)],
)
def test_a_cleanup_deletes_compacts_or_does_both(cleanup: Cleanup, deletes: bool, compacts: bool) -> None:
    assert (cleanup.deletes, cleanup.compacts) == (deletes, compacts)


def test_words_in_a_file_name_the_choices() -> None:
    assert [*map(str, Fsync)] == ["every", "interval", "none"]
    assert [*map(str, Cleanup)] == ["delete", "compact", "compact_delete"]
