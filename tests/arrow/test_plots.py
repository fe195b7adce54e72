"""Pictures: sound SVG, honest scales, gaps that stay gaps, and bounds whatever comes in."""

import random
import re
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from goqueue.spark.reports.canvas import TONES
from goqueue.spark.reports.plots import POINTS_MAX, ROWS_MAX, Points, Span, bars, heat, line, stacked, thinned, timeline
from goqueue.spark.reports.units import (
    BYTES,
    COUNT,
    NANOSECONDS,
    SHARE,
    decades,
    marks,
    per_second,
    time_marks,
    worded_time,
)

NOON = 1_772_366_400_000_000
SECOND = 1_000_000
SVG = "{http://www.w3.org/2000/svg}"


def ramp(count: int, step: int = SECOND) -> Points:
    return [(NOON + index * step, float(index)) for index in range(count)]


def texts(svg: str) -> list[str]:
    """Every word that is seen, without those that are only hovered over."""
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]


def paths(svg: str, style: str) -> list[str]:
    return [one.get("d", "") for one in ET.fromstring(svg).iter(f"{SVG}path") if one.get("class") == style]


PICTURES: dict[str, Callable[[str], str]] = {
    "line": lambda name: line(name, {name: ramp(9)}, NANOSECONDS, SECOND),
    "log": lambda name: line(name, {name: ramp(9)}, NANOSECONDS, SECOND, log=True),
    "stacked": lambda name: stacked(name, {name: ramp(9)}, BYTES, SECOND),
    "bars": lambda name: bars(name, [(name, 1.0), ("b", None)], SHARE, {name: 0.5}),
    "timeline": lambda name: timeline(name, [(name, [Span(NOON, NOON + SECOND, "up", name)])], ["up"]),
    "heat": lambda name: heat(name, [(name, ramp(9))], COUNT, SECOND),
}


@pytest.mark.parametrize("kind", PICTURES)
def test_a_picture_is_sound_whatever_things_are_called(kind: str) -> None:
    for name in ("orders", "<script>\"&'</script>", ""):
        root = ET.fromstring(PICTURES[kind](name))
        assert root.get("role") == "img"
        assert root.get("aria-label") == name
        assert (root.findtext(f"{SVG}title") or "") == name
        assert root.find(f"{SVG}desc") is not None
        assert not list(root.iter(f"{SVG}script"))


@pytest.mark.parametrize("kind", PICTURES)
def test_a_picture_is_a_few_kilobytes_and_asks_nothing_of_a_network(kind: str) -> None:
    svg = PICTURES[kind]("orders")
    assert len(svg) < 8000
    assert "http" not in svg.replace("http://www.w3.org/2000/svg", "")
    assert "prefers-color-scheme:dark" in svg


@pytest.mark.parametrize(
    "svg",
    [
        line("t", {}, COUNT, 1),
        line("t", {"a": []}, COUNT, 1),
        line("t", {"a": [(NOON, None)]}, COUNT, 1),
        line("t", {"a": [(NOON, 0.0), (NOON + 1, -1.0)]}, COUNT, 1, log=True),
        stacked("t", {}, COUNT, 1),
        bars("t", [], COUNT),
        bars("t", [("a", None)], COUNT),
        timeline("t", [("a", [])], []),
        heat("t", [], COUNT, 1),
        heat("t", [("a", [(NOON, 0.0)])], COUNT, 1),
    ],
)
def test_nothing_to_show_is_said(svg: str) -> None:
    assert "Nothing to show: no facts of this kind were read." in texts(svg)


def test_a_line_breaks_where_nothing_is_known_and_a_lone_point_is_seen() -> None:
    points = [(NOON, 1.0), (NOON + 1, 2.0), (NOON + 2, None), (NOON + 3, 3.0), (NOON + 4, None)]
    (path,) = paths(line("t", {"a": points}, COUNT, 1), "l0")
    assert re.fullmatch(r"M[\d.]+ [\d.]+L[\d.]+ [\d.]+M[\d.]+ [\d.]+h2", path)


def test_a_logarithmic_scale_says_so_and_leaves_zero_out() -> None:
    svg = line("t", {"a": [(NOON, 0.0), (NOON + 1, 1e6), (NOON + 2, 1e8)]}, NANOSECONDS, 1, log=True)
    assert "duration, logarithmic; slots of 1 us" in texts(svg)
    assert {"1 ms", "10 ms", "100 ms"} <= set(texts(svg))
    (path,) = paths(svg, "l0")
    assert path.count("L") == 1


def test_a_plain_scale_begins_at_zero_and_goes_below_it_if_a_value_does() -> None:
    assert "0" in texts(line("t", {"a": [(NOON, 900.0), (NOON + 1, 1000.0)]}, COUNT, 1))
    assert {"-20 ms", "0 ns", "60 ms"} <= set(texts(line("t", {"a": [(NOON, -2e7), (NOON + 1, 6e7)]}, NANOSECONDS, 1)))


def test_more_series_than_colours_are_summed_or_said_to_be_left_out() -> None:
    series = {f"topic-{index}": [(NOON, 1.0), (NOON + SECOND, 1.0)] for index in range(TONES + 3)}
    assert f"{4} others" in texts(stacked("t", series, COUNT, SECOND))
    # Eleven of them, one on another.
    assert {"10", "15"} <= set(texts(stacked("t", series, COUNT, SECOND)))
    assert "3 more are not drawn" in texts(line("t", series, COUNT, SECOND))


def test_rows_beyond_the_bound_are_said_to_be_left_out() -> None:
    rows = [(f"row {index}", ramp(3)) for index in range(ROWS_MAX + 2)]
    assert "2 more rows are not drawn" in texts(heat("t", rows, COUNT, SECOND))
    assert "2 more bars are not drawn" in texts(bars("t", [(name, 1.0) for name, _ in rows], COUNT))
    spans = [(name, [Span(NOON, NOON + 1, "up")]) for name, _ in rows]
    assert "2 more rows are not drawn" in texts(timeline("t", spans, ["up"]))


@pytest.mark.parametrize("seed", range(3))
def test_pictures_stay_small_however_much_comes_in(seed: int) -> None:
    chance = random.Random(seed)
    many = [(NOON + index * 1000, chance.random()) for index in range(50_000)]
    spans = [Span(at, at + chance.randrange(3000), chance.choice("ab")) for at, _ in many]
    assert len(line("t", {"a": many}, COUNT, 1)) < 16_000
    assert len(timeline("t", [("a", spans)], ["a", "b"])) < 60_000


def test_thinning_keeps_the_extremes_and_the_ends_of_time() -> None:
    points: list[tuple[int, float | None]] = [(at, 1.0) for at in range(10_000)]
    points[4321] = (4321, 99.0)
    points[7654] = (7654, -5.0)
    kept = thinned(points)
    assert len(kept) <= POINTS_MAX + 2
    assert {(4321, 99.0), (7654, -5.0)} <= set(kept)
    assert kept == sorted(kept)


def test_thinning_keeps_a_gap_that_is_wider_than_a_point() -> None:
    points: list[tuple[int, float | None]] = [(at, None if 4000 <= at < 6000 else 1.0) for at in range(10_000)]
    gaps = [at for at, value in thinned(points) if value is None]
    assert gaps
    assert min(gaps) >= 4000
    assert max(gaps) < 6000


def test_a_bar_says_what_it_was_meant_to_be() -> None:
    svg = bars("t", [("high", 0.5)], SHARE, {"high": 0.4})
    assert "high: 50 % (meant to be 40 %)." in (ET.fromstring(svg).findtext(f"{SVG}desc") or "")


def test_spans_say_when_and_what_and_near_ones_are_counted() -> None:
    near = [NOON + 50 * SECOND + index for index in range(3)]
    spans = [
        Span(NOON, NOON + 2 * SECOND, "n1", "n1 leads"),
        *(Span(at, at, "n2") for at in near),
        Span(NOON + 100 * SECOND, NOON + 100 * SECOND, "n1"),
    ]
    titles = [one.text or "" for one in ET.fromstring(timeline("t", [("a", spans)], ["n1", "n2"])).iter(f"{SVG}title")]
    assert "n1 leads, 12:00:00.000 to 12:00:02.000, 2.000 s" in titles
    assert any(title.startswith("3 times n2, 12:00:50.000") for title in titles)


def test_a_hovered_moment_says_all_values_there() -> None:
    svg = line("t", {"a": ramp(3), "b": [(NOON, 7.0)]}, COUNT, SECOND)
    titles = [one.text for one in ET.fromstring(svg).iter(f"{SVG}title")]
    assert "12:00:00.000\na: 0\nb: 7" in titles
    assert "12:00:02.000\na: 2\nb: -" in titles


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        (COUNT.worded(1_234_567), "1.23 M"),
        (COUNT.worded(123_456), "123,456"),
        (COUNT.worded(0), "0"),
        (COUNT.worded(0.5), "0.5"),
        (COUNT.worded(None), "-"),
        (COUNT.worded(float("nan")), "-"),
        (BYTES.worded(999), "999 B"),
        (BYTES.worded(1_500_000), "1.5 MB"),
        (BYTES.worded(999_900), "1 MB"),
        (NANOSECONDS.worded(1), "1 ns"),
        (NANOSECONDS.worded(2_340_000), "2.34 ms"),
        (NANOSECONDS.worded(90e9), "1.5 min"),
        (NANOSECONDS.worded(-5e6), "-5 ms"),
        (SHARE.worded(0.1234), "12.3 %"),
        (per_second(BYTES).worded(2e6), "2 MB/s"),
        (per_second(COUNT).worded(20), "20 /s"),
        (worded_time(NOON + 61_234_567), "12:01:01.234"),
    ],
)
def test_amounts_are_written_with_three_digits_and_a_unit(said: str, wanted: str) -> None:
    assert said == wanted


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, 1.0), (0.0, 9.99), (5.0, 7.0), (-3.0, 4.0), (-9.0, -1.0), (0.0, 0.0), (0.0, 3e12), (0.0, 2e-7)],
)
def test_marks_are_few_and_enclose_all_and_zero(low: float, high: float) -> None:
    found = marks(low, high)
    assert found[0] <= min(low, 0.0) + 1e-9 * abs(low)
    assert found[-1] >= high * 0.999
    assert 2 <= len(found) <= 12
    assert any(abs(mark) < 1e-12 for mark in found)


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (3.0, 40.0), (1.0, 1e9), (0.002, 7e15)])
def test_decades_enclose_and_are_few(low: float, high: float) -> None:
    found = decades(low, high)
    assert found[0] <= low
    assert found[-1] >= high
    assert 2 <= len(found) <= 8


@pytest.mark.parametrize(
    "span", [1000, SECOND, 90 * SECOND, 3600 * SECOND, 86_400 * SECOND * 40, 86_400 * SECOND * 4000]
)
def test_moments_on_an_axis_are_within_it_round_and_few(span: int) -> None:
    found = time_marks(NOON + 1, NOON + span)
    assert len(found) <= 8
    assert all(NOON < at <= NOON + span for at, _ in found)
    assert len({words for _, words in found}) == len(found)
