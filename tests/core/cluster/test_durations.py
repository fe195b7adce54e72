"""Spans of time as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.cluster.durations import format_duration, parse_duration_ms


@pytest.mark.parametrize(
    ("text", "span_ms"),
    [
        ("0s", 0), ("250ms", 250), ("30s", 30_000), ("5m", 300_000), ("1h30m", 5_400_000), ("7d", 604_800_000),
        ("1d2h3m4s5ms", 93_784_005), ("90m", 5_400_000), ("1s1s", 2_000),
    ],
)  # fmt: skip
def test_a_span_is_the_sum_of_its_parts(text: str, span_ms: int) -> None:
    assert parse_duration_ms(text) == span_ms


@pytest.mark.parametrize(
    "text", ["", "5", "s", "-5s", "5 s", "5s ", "1.5h", "5w", "5S", "5sx", "٣s", "1" * 5_000 + "s"]
)
def test_anything_else_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="is no span of time"):
        parse_duration_ms(text)


@pytest.mark.parametrize(
    ("span_ms", "text"),
    [
        (0, "0ms"),
        (250, "250ms"),
        (30_000, "30s"),
        (90_000, "90s"),
        (5_400_000, "90m"),
        (7_200_000, "2h"),
        (86_400_000, "1d"),
    ],
)
def test_the_largest_unit_that_is_exact_is_chosen(span_ms: int, text: str) -> None:
    assert format_duration(span_ms) == text


@given(st.integers(0, 1 << 50))
def test_what_is_spelled_is_read_back(span_ms: int) -> None:
    assert parse_duration_ms(format_duration(span_ms)) == span_ms
