"""What an operator may choose for one log, with the defaults that suit most topics."""

from enum import StrEnum

from attrs import define

HOUR_MS = 3_600_000
UNLIMITED = -1
# The end of the year 9999: what comes later has no date that all could read.
TIME_MS_MAX = 253_402_300_799_999


class Fsync(StrEnum):
    """When appended batches are forced to the disk."""

    EVERY = "every"
    INTERVAL = "interval"
    NONE = "none"


class Cleanup(StrEnum):
    """What may be removed from a log: old segments, superseded records, or both."""

    DELETE = "delete"
    COMPACT = "compact"
    COMPACT_DELETE = "compact_delete"

    @property
    def deletes(self) -> bool:
        """Whether whole segments go by age and size."""
        return self is not Cleanup.COMPACT

    @property
    def compacts(self) -> bool:
        """Whether records go that a later one of their key supersedes."""
        return self is not Cleanup.DELETE


class Validation(StrEnum):
    """How far a client's batch is looked into before it is appended: its header alone, or every record."""

    HEADERS = "headers"
    FULL = "full"


class TimestampAction(StrEnum):
    """What becomes of a message whose timestamp is out of bounds."""

    REFUSE = "refuse"
    REPLACE = "replace"


@define
class LogConfig:
    """The settings of one log; sizes in bytes, wall-clock spans in milliseconds, `UNLIMITED` switches a bound off."""

    segment_bytes: int = 1 << 30
    segment_age_ms: int = 168 * HOUR_MS
    index_interval_bytes: int = 4096
    batch_bytes_max: int = 16 << 20
    fsync: Fsync = Fsync.EVERY
    fsync_interval_ns: int = 1_000_000_000
    retention_ms: int = 168 * HOUR_MS
    retention_bytes: int = UNLIMITED
    cleanup: Cleanup = Cleanup.DELETE
    compaction_lag_ms: int = 0
    tombstone_retention_ms: int = 24 * HOUR_MS
    dirty_ratio: float = 0.5
    checkpoint_bytes: int = 64 << 20
    validation: Validation = Validation.HEADERS
    # How far from the wall clock the timestamps of clients may lie, in the past and in the future.
    timestamp_before_ms: int = UNLIMITED
    timestamp_after_ms: int = HOUR_MS
    timestamp_action: TimestampAction = TimestampAction.REFUSE

    def __attrs_post_init__(self) -> None:
        problems = self.problems()
        if problems:
            raise ValueError("; ".join(problems))

    def latest_ms(self, wall_ms: int) -> int:
        """The latest timestamp that is taken at this time, or believed of what is in the log."""
        ahead_ms = self.timestamp_after_ms
        return TIME_MS_MAX if ahead_ms == UNLIMITED else min(wall_ms + ahead_ms, TIME_MS_MAX)

    def problems(self) -> list[str]:
        """Every setting that is out of bounds, a sentence each; empty when the settings can be used."""
        found = [
            f"{name} must be at least {least}, not {getattr(self, name)}"
            for name, least in _LEAST.items()
            if getattr(self, name) < least
        ]
        if self.segment_bytes > SEGMENT_BYTES_MAX:
            found.append(f"segment_bytes must be at most {SEGMENT_BYTES_MAX}, not {self.segment_bytes}")
        if not 0.0 <= self.dirty_ratio <= 1.0:
            found.append(f"dirty_ratio must be between 0 and 1, not {self.dirty_ratio}")
        return found


# Positions in an index entry take 32 bits.
SEGMENT_BYTES_MAX = (1 << 32) - 1

_LEAST = {
    "segment_bytes": 1,
    "segment_age_ms": 1,
    "index_interval_bytes": 0,
    "batch_bytes_max": 61,
    "fsync_interval_ns": 1,
    "retention_ms": UNLIMITED,
    "retention_bytes": UNLIMITED,
    "compaction_lag_ms": 0,
    "tombstone_retention_ms": 0,
    "checkpoint_bytes": 1,
    "timestamp_before_ms": UNLIMITED,
    "timestamp_after_ms": UNLIMITED,
}
