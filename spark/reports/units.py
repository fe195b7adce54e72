"""How quantities are written and where an axis has its marks.

Numbers have three digits that count, and a unit after them. Bytes are in thousands, as disks and networks are sold.
Times are UTC, and arrive as microseconds since 1970, as facts have them.
"""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from attrs import define

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = 1_000_000


@define
class Unit:
    """What a number counts: steps from the largest down, each a size and what is written behind it."""

    name: str
    steps: Sequence[tuple[float, str]]

    def worded(self, value: float | None) -> str:
        """A value for people, `-` where there is none."""
        if value is None or math.isnan(value):
            return "-"
        size, suffix = next((step for step in self.steps if abs(value) >= step[0] * 0.9995), self.steps[-1])
        return f"{_digits(value / size)}{suffix}"

    def rounded(self, value: float) -> str:
        """A power of ten, in the largest step that is one as well."""
        fits = (step for step in self.steps if value >= step[0] and math.log10(step[0]).is_integer())
        size, suffix = next(fits, self.steps[-1])
        return f"{_digits(value / size)}{suffix}"


COUNT: Final = Unit("messages", [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1, "")])
BYTES: Final = Unit("bytes", [(1e12, " TB"), (1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1, " B")])
NANOSECONDS: Final = Unit(
    "duration", [(86_400e9, " d"), (3600e9, " h"), (60e9, " min"), (1e9, " s"), (1e6, " ms"), (1e3, " us"), (1, " ns")]
)
SHARE: Final = Unit("share", [(0.01, " %")])


def per_second(unit: Unit) -> Unit:
    """The same as a rate."""
    steps = [(size, f"{suffix}/s" if suffix else " /s") for size, suffix in unit.steps]
    return Unit(f"{unit.name} per second", steps)


def counting(name: str) -> Unit:
    """Numbers of something."""
    return Unit(name, COUNT.steps)


def _digits(value: float) -> str:
    size = abs(value)
    if size >= 99.95 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}" if size >= 0.001 else f"{value:.1e}"


def marks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers, about so many, that enclose two numbers and zero."""
    low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        return [0.0, 1.0]
    raw = max(high, -low) / count
    scale = 10.0 ** math.floor(math.log10(raw))
    step = next(scale * factor for factor in (1, 2, 5, 10) if scale * factor >= raw * 0.9999)
    begin, end = math.floor(low / step * 0.9999), math.ceil(high / step * 0.9999)
    return [step * index for index in range(begin, end + 1)]


def decades(low: float, high: float) -> list[float]:
    """Powers of ten that enclose two positive numbers."""
    assert 0 < low <= high, "a logarithm has neither zero nor less"
    begin = math.floor(math.log10(low) + 1e-9)
    end = max(math.ceil(math.log10(high) - 1e-9), begin + 1)
    skip = math.ceil((end - begin) / 6)
    return [10.0**power for power in range(begin, end + skip, skip)]


_TIME_STEPS: Final = [
    *(1000 * step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(_SECOND * step for step in (1, 2, 5, 10, 15, 30)),
    *(60 * _SECOND * step for step in (1, 2, 5, 10, 15, 30)),
    *(3600 * _SECOND * step for step in (1, 2, 3, 6, 12)),
    *(86_400 * _SECOND * step for step in (1, 2, 7, 14, 28, 91, 182, 364)),
]


def time_step(span_us: int, count: int) -> int:
    """A round stretch of time in microseconds, of which about `count` or fewer fit into a span."""
    return next((step for step in _TIME_STEPS if step * count >= span_us), -(-span_us // count))


def time_marks(begin_us: int, end_us: int, count: int = 7) -> list[tuple[int, str]]:
    """Round moments within two times, and how an axis writes them."""
    step = time_step(max(end_us - begin_us, 1), count)
    first = -(-begin_us // step) * step
    return [(at, _mark(at, step)) for at in range(first, end_us + 1, step)]


def _mark(at_us: int, step: int) -> str:
    if step % (86_400 * _SECOND) == 0:
        return worded_day(at_us)
    moment = _EPOCH + timedelta(microseconds=at_us)
    if step % (60 * _SECOND) == 0:
        return f"{moment:%H:%M}"
    return f"{moment:%H:%M:%S}" if step % _SECOND == 0 else f"{moment:%S}.{at_us % _SECOND // 1000:03}"


def worded_time(at_us: int) -> str:
    """A moment of a day, to the millisecond."""
    moment = _EPOCH + timedelta(microseconds=at_us)
    return f"{moment:%H:%M:%S}.{at_us % _SECOND // 1000:03}"


def worded_day(at_us: int) -> str:
    """The day of a moment."""
    return f"{_EPOCH + timedelta(microseconds=at_us):%Y-%m-%d}"
