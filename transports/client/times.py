"""Points and spans of time as users give them: aware datetimes and timedeltas, never a bare number of unknown unit."""

import time
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)


def wall_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def milliseconds_of(moment: datetime, name: str) -> int:
    """A moment in milliseconds since 1970; refuses one that does not say in which time zone it is meant."""
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise ValueError(
            f"{name} is {moment.isoformat(sep=' ')} without a time zone; "
            "say which one is meant, such as datetime.now(timezone.utc) or moment.astimezone()"
        )
    return (moment - EPOCH) // MILLISECOND


def moment_of(milliseconds: int) -> datetime:
    """Milliseconds since 1970 as a moment in UTC."""
    return EPOCH + timedelta(milliseconds=milliseconds)


def nanoseconds_of(span: timedelta, name: str, *, least: timedelta = timedelta(0)) -> int:
    """A span of time in nanoseconds; refuses what is no timedelta, or too short."""
    if not isinstance(span, timedelta):
        raise TypeError(f"{name} is a timedelta, such as timedelta(milliseconds=5), not {span!r}")
    if span < least:
        raise ValueError(f"{name} is at least {least}, not {span}")
    return (span // timedelta(microseconds=1)) * 1000
