"""Times and spans as they are written: RFC 3339 in UTC and spans such as `1h2m3s` in JSON, dates in headers."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from functools import lru_cache

from goqueue.core.records.batch import NO_TIMESTAMP
from goqueue.transports.rest.errors import invalid

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# The last millisecond that RFC 3339 can write; producers may claim later ones.
LAST_MS = (datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC) - EPOCH) // timedelta(milliseconds=1) + 999
_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


def written_time(timestamp_ms: int) -> str | None:
    """A time in milliseconds since 1970; null for none or one before, and the year 9999 for whatever lies beyond."""
    if timestamp_ms <= NO_TIMESTAMP:
        return None
    moment = EPOCH + timedelta(milliseconds=min(timestamp_ms, LAST_MS))
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03}Z"


def read_time(text: str, field: str) -> int:
    """Milliseconds since 1970 of a time in RFC 3339; times before are taken for 1970."""
    # In a query a plus that was not escaped arrives as a space.
    written = text.replace(" ", "+")
    error = invalid(f"{field} must be a time such as 2026-01-31T12:00:00Z, not {text[:60]!r}", field)
    if not _RFC_3339.fullmatch(written):
        raise error
    try:
        moment = datetime.fromisoformat(written.upper())
        return max(0, (moment - EPOCH) // timedelta(milliseconds=1))
    except (ValueError, OverflowError):
        raise error from None


@lru_cache(4)
def http_date(second: int) -> bytes:
    """A time in seconds since 1970 as headers of HTTP have it."""
    return formatdate(second, usegmt=True).encode()


def written_span(span_ns: int) -> str:
    """A span of time to the second, such as `1h2m3s`."""
    seconds = span_ns // 1_000_000_000
    hours, minutes = seconds // 3600, seconds // 60 % 60
    return (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes or hours else "") + f"{seconds % 60}s"
