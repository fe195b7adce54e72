"""Spans of time as people write them: `30s`, `5m`, `1h30m`, `250ms`."""

import re

_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PART = re.compile(r"([0-9]{1,18})(ms|s|m|h|d)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
# A longer text says nothing that a shorter one could not; as JSON schemas and documents tell it, so is its form.
LENGTH_MAX = 40
PATTERN = "^([0-9]{1,18}(ms|s|m|h|d))+$"


def parse_duration_ms(text: str) -> int:
    """Milliseconds in a span; ValueError with a sentence when it is none."""
    if len(text) > LENGTH_MAX:
        raise ValueError(f"{text[:LENGTH_MAX]!r}… is no span of time; one has at most {LENGTH_MAX} characters")
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is no span of time; write it like 30s, 5m, 1h30m or 250ms")
    return sum(int(count) * _UNITS_MS[unit] for count, unit in _PART.findall(text))


def format_duration(span_ms: int) -> str:
    """The shortest spelling in one unit that says a span exactly."""
    for unit in ("d", "h", "m", "s"):
        if span_ms and span_ms % _UNITS_MS[unit] == 0:
            return f"{span_ms // _UNITS_MS[unit]}{unit}"
    return f"{span_ms}ms"
