"""Points and spans of time as users give them: aware datetimes and timedeltas, never a bare number of unknown unit."""

import time
from datetime import UTC, datetime, timedelta

from goqueue.core.delays.publishing import DUE_MS_MAX
from goqueue.core.log.config import TIME_MS_MAX
from goqueue.core.requests.messages import Due

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
SPAN_MS_MAX = (1 << 53) - 1
# Some 6,300 years: nothing is due after the year 9999.
DELAY_MS_MAX = 200_000_000_000_000
_FIRST_MS = (datetime.min.replace(tzinfo=UTC) - EPOCH) // MILLISECOND


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
    """Milliseconds since 1970 as a moment in UTC; what no date is left for is the first or the last there is."""
    return EPOCH + timedelta(milliseconds=min(max(milliseconds, _FIRST_MS), TIME_MS_MAX))


def nanoseconds_of(span: timedelta, name: str, *, least: timedelta = timedelta(0)) -> int:
    """A span of time in nanoseconds; refuses what is no timedelta, or too short."""
    if not isinstance(span, timedelta):
        raise TypeError(f"{name} is a timedelta, such as timedelta(milliseconds=5), not {span!r}")
    if span < least:
        raise ValueError(f"{name} is at least {least}, not {span}")
    return (span // timedelta(microseconds=1)) * 1000


def span_ms(span: timedelta, name: str, least: int = 0, most: int = SPAN_MS_MAX) -> int:
    """A span in whole milliseconds; raises ValueError or TypeError."""
    if not isinstance(span, timedelta):
        raise TypeError(f"{name} is a timedelta, not {type(span).__name__}")
    milliseconds = span // MILLISECOND
    if not least <= milliseconds <= most:
        raise ValueError(f"{name} is from {least * MILLISECOND} to {most * MILLISECOND}, not {span}")
    return milliseconds


def due_of(delay: timedelta | None, deliver_at: datetime | None) -> tuple[Due, int]:
    """A delay in milliseconds, or a time in milliseconds since 1970; raises ValueError or TypeError."""
    if delay is not None and deliver_at is not None:
        raise ValueError("a message is delivered after a delay or at a time, not both")
    if deliver_at is not None:
        due_ms = milliseconds_of(deliver_at, "deliver_at")
        if not 0 <= due_ms <= DUE_MS_MAX:
            raise ValueError(f"deliver_at is from 1970 to 9999, not {deliver_at.isoformat(sep=' ')}")
        return Due.AT, due_ms
    assert delay is not None
    return Due.AFTER, span_ms(delay, "delay", most=DELAY_MS_MAX)
