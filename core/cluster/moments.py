"""Moments as people write them, in RFC 3339: `2026-01-31T12:00:00Z`, with a fraction or another zone."""

import re

_MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EPOCH_DAYS = 719_162


def parse_moment_ms(text: str) -> int:
    """Milliseconds since 1970 of a moment, 0 for one before; ValueError with a sentence when it is none."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise _error(text)
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction, sign, zone_hour, zone_minute = found.groups()[6:]
    zone_min = int(zone_hour or 0) * 60 + int(zone_minute or 0)
    is_day = year >= 1 and 1 <= month <= 12 and 1 <= day <= _days_in(year, month)
    if not is_day or hour > 23 or minute > 59 or second > 59 or int(zone_minute or 0) > 59 or zone_min >= 24 * 60:
        raise _error(text)
    local_min = (_days_since_1970(year, month, day) * 24 + hour) * 60 + minute
    utc_min = local_min + zone_min if sign == "-" else local_min - zone_min
    return max((utc_min * 60 + second) * 1000 + int((fraction or "")[:3].ljust(3, "0")), 0)


def moment_text(at_ms: int) -> str:
    """How a moment is written, from milliseconds since 1970, in UTC and to the millisecond."""
    assert at_ms >= 0
    days, within_ms = divmod(at_ms, 24 * 3_600_000)
    # No year is longer than 366 days, so this is the year or one before it.
    year = 1970 + days // 366
    while _days_since_1970(year + 1, 1, 1) <= days:
        year += 1
    month = 1
    while month < 12 and _days_since_1970(year, month + 1, 1) <= days:
        month += 1
    day = days - _days_since_1970(year, month, 1) + 1
    seconds, milliseconds = divmod(within_ms, 1000)
    hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z"


def _error(text: str) -> ValueError:
    return ValueError(f"{text[:60]!r} is no moment; write it like 2026-01-31T12:00:00Z")


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days_in(year: int, month: int) -> int:
    return 29 if month == 2 and _is_leap(year) else _MONTH_DAYS[month - 1]


def _days_since_1970(year: int, month: int, day: int) -> int:
    before = year - 1
    years = before * 365 + before // 4 - before // 100 + before // 400
    return years + sum(_days_in(year, each) for each in range(1, month)) + day - 1 - _EPOCH_DAYS
