"""Moments as people write them: what the standard library reads in them, and nothing that is none."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.cluster.moments import parse_moment_ms

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ZONES = st.integers(-24 * 60 + 1, 24 * 60 - 1).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(timezones=ZONES))
def test_a_moment_is_the_milliseconds_since_1970_whatever_its_zone(moment: datetime) -> None:
    since = moment - EPOCH
    assert parse_moment_ms(moment.isoformat()) == max(since // timedelta(milliseconds=1), 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:01.5z", 1500),
        ("1970-01-01T00:00:00.0019999Z", 1),
        ("2000-02-29T00:00:00Z", 951_782_400_000),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1969-12-31T23:00:00-01:00", 0),
        ("0001-01-01T00:00:00+23:59", 0),
    ],
)
def test_examples(text: str, expected: int) -> None:
    assert parse_moment_ms(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "now", "2026-01-31", "2026-01-31T12:00:00", "2026-01-31 12:00:00Z", "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-04-31T00:00:00Z",
        "0000-01-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-01-31T24:00:00Z", "2026-01-31T00:60:00Z",
        "2026-01-31T00:00:60Z", "2026-01-31T00:00:00+24:00", "2026-01-31T00:00:00+01:60", "2026-01-31T00:00:00.Z",
        "2026-01-31T00:00:00Z\n", "\uff12026-01-31T00:00:00Z",
    ],
)  # fmt: skip
def test_what_is_no_moment_is_refused_with_an_example_of_one(text: str) -> None:
    with pytest.raises(ValueError, match="write it like 2026-01-31T12:00:00Z"):
        parse_moment_ms(text)
