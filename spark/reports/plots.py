"""Five pictures for reports: lines, bars, stacked areas, a timeline and a heat map, each one SVG as a string.

What is drawn is bounded whatever comes in: a line has a few hundred points, of which the extremes of each pixel stay, a
picture a few dozen rows, and what is left out is said in the picture. Nothing is smoothed. Scales begin at zero, but
for a logarithmic one, which says that it is one. A value that is None, or a series without points, is a gap and no
zero; a picture of nothing says so.

Times are microseconds since 1970. The numbers are in the unit's smallest step: bytes, nanoseconds, shares of 1.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

from attrs import define

from goqueue.spark.reports.canvas import TONES, WIDTH, Canvas, Frame, short, stroke, tint
from goqueue.spark.reports.units import NANOSECONDS, Unit, decades, marks, time_marks, worded_time

Points: TypeAlias = Sequence[tuple[int, float | None]]
Series: TypeAlias = Mapping[str, Points]
Place: TypeAlias = Callable[[float], float]

POINTS_MAX: Final = 360
ROWS_MAX: Final = 32
SPANS_MAX: Final = 240
_SLICES = 40
_LEFT = 72
_BODY = 180
_NOTHING = "Nothing to show: no facts of this kind were read."


@define
class Span:
    """A stretch of a timeline's row; of no length, it is a mark. `tone` is one of the timeline's tones."""

    begin: int
    end: int
    tone: str
    words: str = ""


def line(title: str, series: Series, unit: Unit, slot: int, *, log: bool = False) -> str:
    """Values over time, a line each, of slots of so many microseconds; with `log`, values of zero and less are gaps."""
    shown = _first_of(series, TONES)
    points = {name: thinned(_positive(of) if log else of) for name, of in shown.items()}
    values = [value for of in points.values() for _, value in of if value is not None]
    if not values:
        return _empty(title)
    canvas = Canvas(title, 0)
    frame = _framed(canvas, points, slot, _left_out(series, shown))
    frame.place, rules = _scale(min(values), max(values), unit, log=log)
    _axes(canvas, frame, unit, rules, slot, log=log)
    for tone, of in enumerate(points.values()):
        canvas.path(_trace(frame, of), stroke(tone))
    _slices(canvas, frame, points, unit)
    _tell(canvas, points, unit)
    return canvas.svg()


def stacked(title: str, series: Series, unit: Unit, slot: int) -> str:
    """Shares of a sum over time: areas on each other, each value holding for its slot; gaps count as zero.

    A slot is so many microseconds long, and no two points of a series are nearer to each other.
    """
    shown = _summed(series)
    times = sorted({at for of in shown.values() for at, _ in of})
    if not times:
        return _empty(title)
    assert all(after - at >= slot for at, after in pairwise(times)), "slots must not overlap"
    canvas = Canvas(title, 0)
    frame = _framed(canvas, shown, slot, [])
    floor = dict.fromkeys(times, 0.0)
    layers: list[tuple[dict[int, float], dict[int, float]]] = []
    for of in shown.values():
        values = {at: value or 0.0 for at, value in of}
        assert min(values.values(), default=0) >= 0, "areas below zero do not add up"
        roof = {at: floor[at] + values.get(at, 0.0) for at in times}
        layers.append((floor, roof))
        floor = roof
    frame.place, rules = _scale(0, max(floor.values()), unit)
    _axes(canvas, frame, unit, rules, slot)
    for tone, (low, high) in enumerate(layers):
        canvas.path(_area(frame, low, high, slot), tint(tone))
    _slices(canvas, frame, shown, unit)
    _tell(canvas, shown, unit)
    return canvas.svg()


def bars(
    title: str, values: Iterable[tuple[str, float | None]], unit: Unit, wanted: Mapping[str, float] | None = None
) -> str:
    """A bar from zero for each name, the number behind it; `wanted` puts a mark where a value was meant to be."""
    rows = list(values)
    known = [value for _, value in rows if value is not None]
    if not known:
        return _empty(title)
    marked = wanted or {}
    left = min(max(len(name) for name, _ in rows) * 6.4 + 16, 280.0)
    canvas = Canvas(title, 0)
    top = _headed(canvas, [], _rest(len(rows), "bars"))
    high, low = max(*known, *marked.values(), 0), min(*known, 0)
    frame = Frame(left, WIDTH - 96, top, top, low, high if high > low else low + 1, float)
    for index, (name, value) in enumerate(rows[:ROWS_MAX]):
        y = top + 20 * index
        canvas.text(left - 6, y + 12, _clipped(name, 42), "end")
        said = f"{name}: {unit.worded(value)}"
        if value is not None:
            begin, end = sorted((frame.x(0), frame.x(value)))
            canvas.box(begin, y + 2, max(end - begin, 0.5), 14, tint(0), said)
        if name in marked:
            canvas.path(f"M{short(frame.x(marked[name]))} {short(y)}v18", stroke(1))
            said += f" (meant to be {unit.worded(marked[name])})"
        canvas.text(frame.x(max(value or 0, marked.get(name, 0), 0)) + 8, y + 13, unit.worded(value), "dim")
        canvas.said.append(said + ".")
    canvas.height = int(top + 20 * min(len(rows), ROWS_MAX) + 8)
    return canvas.svg()


def timeline(title: str, rows: Sequence[tuple[str, Sequence[Span]]], tones: Sequence[str]) -> str:
    """What was the case when: a row a thing, in it stretches of time in the colours of their tones."""
    spans = [span for _, of in rows for span in of]
    if not spans:
        return _empty(title)
    colours = {name: index for index, name in enumerate(tones)}
    canvas = Canvas(title, 0)
    top = _headed(canvas, tones, _rest(len(rows), "rows"))
    left = min(max(len(name) for name, _ in rows) * 6.4 + 16, 240.0)
    height = 18 * min(len(rows), ROWS_MAX)
    begin, end = min(span.begin for span in spans), max(span.end for span in spans)
    frame = Frame(left, WIDTH - 16, top, top + height, begin, end, float)
    frame.ruled(canvas, [], time_marks(begin, end))
    frame.dated(canvas)
    for index, (name, of) in enumerate(rows[:ROWS_MAX]):
        y = top + 18 * index
        canvas.text(left - 6, y + 12, _clipped(name, 36), "end")
        joined = _joined(of, max((end - begin) // (WIDTH - 200), 1))
        # Of what overlaps, the later tone is seen.
        for span in sorted(joined, key=lambda span: colours[span.tone]):
            x = frame.x(span.begin)
            said = f"{span.words or span.tone}, {_stretch(span)}"
            canvas.box(x, y + 2, max(frame.x(span.end) - x, 1.5), 13, tint(colours[span.tone]), said)
        canvas.said.append(f"{name}: {len(of)} spans.")
    canvas.height = int(top + height + 38)
    return canvas.svg()


def heat(title: str, rows: Sequence[tuple[str, Points]], unit: Unit, slot: int) -> str:
    """Values over time, a row a thing, the more the darker, from none to the highest of all; slots in microseconds."""
    times = sorted({at for _, of in rows for at, _ in of})
    high = max((value for _, of in rows for _, value in of if value is not None), default=0.0)
    if not times or high <= 0:
        return _empty(title)
    begin, end = times[0], times[-1] + slot
    canvas = Canvas(title, 0)
    top = _headed(canvas, [], [f"darkest: {unit.worded(high)} in {_width(slot)}", *_rest(len(rows), "rows")])
    left = min(max(len(name) for name, _ in rows) * 6.4 + 16, 240.0)
    height = 18 * min(len(rows), ROWS_MAX)
    frame = Frame(left, WIDTH - 16, top, top + height, begin, end, float)
    frame.ruled(canvas, [], time_marks(begin, end))
    frame.dated(canvas)
    for index, (name, of) in enumerate(rows[:ROWS_MAX]):
        y = top + 18 * index
        canvas.text(left - 6, y + 12, _clipped(name, 36), "end")
        peak = max((value or 0.0, at) for at, value in of) if of else (0.0, begin)
        for step, boxes in _shades(frame, of, high, slot).items():
            canvas.shade("".join(f"M{short(x)} {short(y + 1)}h{short(w)}v16h-{short(w)}z" for x, w in boxes), step / 8)
        said = f"{name}: highest {unit.worded(peak[0])} at {worded_time(peak[1])}"
        canvas.box(left, y, frame.right - left, 18, "over", said)
        canvas.said.append(said + ".")
    canvas.height = int(top + height + 38)
    return canvas.svg()


def thinned(points: Points, limit: int = POINTS_MAX) -> list[tuple[int, float | None]]:
    """At most about so many points: of each stretch the lowest and the highest, a gap only where all of it is one."""
    if len(points) <= limit:
        return list(points)
    width = -(-len(points) * 2 // limit)
    kept: list[tuple[int, float | None]] = []
    for start in range(0, len(points), width):
        known = [(value, at) for at, value in points[start : start + width] if value is not None]
        if not known:
            kept.append((points[start][0], None))
            continue
        ends = {min(known), max(known)}
        kept += sorted((at, value) for value, at in ends)
    return kept


def _width(slot: int) -> str:
    """How long a slot is, for a person."""
    return NANOSECONDS.worded(slot * 1000)


def _positive(points: Points) -> Points:
    return [(at, value if value is not None and value > 0 else None) for at, value in points]


def _first_of(series: Series, limit: int) -> Series:
    return dict(list(series.items())[:limit])


def _left_out(series: Series, shown: Series) -> list[str]:
    return [f"{len(series) - len(shown)} more are not drawn"] if len(series) > len(shown) else []


def _rest(count: int, noun: str) -> list[str]:
    return [f"{count - ROWS_MAX} more {noun} are not drawn"] if count > ROWS_MAX else []


def _summed(series: Series) -> Series:
    """As many as there are colours, the last of which is all others together."""
    if len(series) <= TONES:
        return series
    names = list(series)
    sums: dict[int, float] = {}
    for name in names[TONES - 1 :]:
        for at, value in series[name]:
            sums[at] = sums.get(at, 0.0) + (value or 0.0)
    return {**_first_of(series, TONES - 1), f"{len(names) - TONES + 1} others": sorted(sums.items())}


def _empty(title: str) -> str:
    canvas = Canvas(title, 64, [_NOTHING])
    canvas.text(8, 18, title, "title")
    canvas.text(8, 42, _NOTHING, "dim")
    return canvas.svg()


def _headed(canvas: Canvas, names: Sequence[str], remarks: Sequence[str]) -> float:
    canvas.text(8, 18, canvas.title, "title")
    top = canvas.legend(names, 38)
    for remark in remarks:
        canvas.text(8, top, remark, "dim")
        top += 16
    return top - 4


def _framed(canvas: Canvas, series: Series, slot: int, remarks: Sequence[str]) -> Frame:
    top = _headed(canvas, list(series), remarks) + 12
    canvas.height = int(top + _BODY + 38)
    times = [at for of in series.values() for at, _ in of]
    return Frame(_LEFT, WIDTH - 16, top, top + _BODY, min(times), max(times) + slot, float)


def _scale(low: float, high: float, unit: Unit, *, log: bool = False) -> tuple[Place, list[tuple[float, str]]]:
    rules = decades(low, high) if log else marks(low, high)
    begin, end = rules[0], rules[-1]
    worded = [(value, unit.rounded(value) if log else unit.worded(value)) for value in rules]
    if log:
        span = math.log(end / begin)
        return lambda value: math.log(value / begin) / span, worded
    return lambda value: (value - begin) / (end - begin), worded


def _axes(
    canvas: Canvas, frame: Frame, unit: Unit, rules: Sequence[tuple[float, str]], slot: int, *, log: bool = False
) -> None:
    frame.ruled(canvas, rules, time_marks(int(frame.begin), int(frame.end)))
    frame.dated(canvas)
    words = f"{unit.name}, logarithmic" if log else unit.name
    canvas.text(frame.left - 60, frame.bottom + 30, f"{words}; slots of {_width(slot)}", "dim")


def _trace(frame: Frame, points: Points) -> str:
    steps: list[str] = []
    alone = False
    for index, (at, value) in enumerate(points):
        if value is None:
            continue
        begins = index == 0 or points[index - 1][1] is None
        alone = begins and (index + 1 == len(points) or points[index + 1][1] is None)
        # A line needs two ends: a point between gaps would not be seen.
        end = "h2" if alone else ""
        steps.append(f"{'M' if begins else 'L'}{short(frame.x(at))} {short(frame.y(value))}{end}")
    return "".join(steps)


def _area(frame: Frame, low: Mapping[int, float], high: Mapping[int, float], slot: int) -> str:
    """What lies between two heights, slot by slot; those that meet are one figure, and no figure spans a gap."""
    figures: list[list[int]] = []
    for at in low:
        if high[at] <= low[at]:
            continue
        if figures and figures[-1][-1] + slot == at:
            figures[-1].append(at)
        else:
            figures.append([at])
    return "".join(_figure(frame, low, high, slot, figure) for figure in figures)


def _figure(frame: Frame, low: Mapping[int, float], high: Mapping[int, float], slot: int, times: Sequence[int]) -> str:
    """Along the roof of slots that follow one another, and back along the floor."""
    roof = "".join(f"V{short(frame.y(high[at]))}H{short(frame.x(at + slot))}" for at in times)
    floor = "".join(f"V{short(frame.y(low[at]))}H{short(frame.x(at))}" for at in reversed(times))
    return f"M{short(frame.x(times[0]))} {short(frame.y(low[times[0]]))}{roof}{floor}Z"


def _slices(canvas: Canvas, frame: Frame, series: Series, unit: Unit) -> None:
    """Where a pointer rests, it reads the values of that moment; of several moments in one, the highest."""
    times = sorted({at for of in series.values() for at, _ in of})
    width = -(-len(times) // _SLICES)
    begins = times[::width]
    found = {name: _highest(of, begins) for name, of in series.items()}
    ends = [*begins[1:], frame.end]
    for index, (begin, end) in enumerate(zip(begins, ends, strict=True)):
        said = [f"{name}: {unit.worded(values[index])}" for name, values in found.items()]
        x = frame.x(begin)
        words = "\n".join([worded_time(begin), *said])
        canvas.box(x, frame.top, max(frame.x(end) - x, 3), frame.bottom - frame.top, "over", words)


def _highest(points: Points, begins: Sequence[int]) -> list[float | None]:
    found: list[float | None] = [None] * len(begins)
    slot = 0
    for at, value in points:
        while slot + 1 < len(begins) and at >= begins[slot + 1]:
            slot += 1
        before = found[slot]
        if value is not None and (before is None or value > before):
            found[slot] = value
    return found


def _tell(canvas: Canvas, series: Series, unit: Unit) -> None:
    for name, of in series.items():
        known = [value for _, value in of if value is not None]
        if known:
            canvas.said.append(f"{name}: from {unit.worded(min(known))} to {unit.worded(max(known))}.")


def _joined(spans: Sequence[Span], pixel: int) -> list[Span]:
    """Spans by tone and in order; of a tone, what a pixel cannot tell apart is one, or what is near if many."""
    counted = [(span, 1) for span in sorted(spans, key=lambda span: (span.begin, span.end))]
    while True:
        counted = _near(counted, pixel)
        if len(counted) <= SPANS_MAX:
            return [span for span, _ in counted]
        pixel *= 2


def _near(counted: Sequence[tuple[Span, int]], pixel: int) -> list[tuple[Span, int]]:
    """Spans, each with how many it stands for, joined to the one of their tone that began less than a pixel before."""
    by_tone: dict[str, list[tuple[Span, int]]] = {}
    for span, count in counted:
        of_tone = by_tone.setdefault(span.tone, [])
        last, before = of_tone[-1] if of_tone else (None, 0)
        if last and span.end - last.begin < pixel:
            words = f"{before + count} times {span.tone}"
            of_tone[-1] = Span(last.begin, max(last.end, span.end), last.tone, words), before + count
        else:
            of_tone.append((span, count))
    return [one for of_tone in by_tone.values() for one in of_tone]


def _stretch(span: Span) -> str:
    if span.end == span.begin:
        return worded_time(span.begin)
    return f"{worded_time(span.begin)} to {worded_time(span.end)}, {(span.end - span.begin) / 1e6:,.3f} s"


def _shades(frame: Frame, points: Points, high: float, slot: int) -> dict[int, list[tuple[float, float]]]:
    """Boxes by darkness in eighths: neighbours of one darkness are one box."""
    shades: dict[int, list[tuple[float, float]]] = {}
    before: tuple[int, float] | None = None
    for at, value in points:
        if not value or value < 0:
            continue
        shade = math.ceil(value / high * 8)
        left, right = frame.x(at), frame.x(at + slot)
        boxes = shades.setdefault(shade, [])
        if before and before == (shade, left):
            boxes[-1] = (boxes[-1][0], right - boxes[-1][0])
        else:
            boxes.append((left, right - left))
        before = (shade, right)
    return shades


def _clipped(words: str, limit: int) -> str:
    return words if len(words) <= limit else words[: limit - 1] + "…"
