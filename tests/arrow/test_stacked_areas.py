"""What a picture of stacked areas paints, read out of its SVG: in each slot each series as high as its value is.

The scale comes from the marks at the axis and the figures from their corners, so nothing here knows how they were made.
"""

from xml.etree import ElementTree as ET

from hypothesis import example, given
from hypothesis import strategies as st

from goqueue.spark.reports.canvas import TONES
from goqueue.spark.reports.plots import Points, stacked
from goqueue.spark.reports.units import COUNT
from tests.arrow.painted import SVG, axes_of, painted

NOON = 1_772_366_400_000_000
# A coordinate is written with one decimal, and a height is the difference of two.
ROUNDING = 0.101
SLOTS = 9

values = st.none() | st.just(0.0) | st.integers(0, 99_999).map(float) | st.floats(0, 99_999)
drawn = st.lists(
    st.dictionaries(st.integers(0, SLOTS - 1), values, min_size=1, max_size=SLOTS), min_size=1, max_size=TONES
)


@given(drawn, st.sampled_from([1000, 1_000_000, 1_800_000_000, 86_400_000_000]))
@example([{0: 5.0, 5: 5.0}, {0: 7.0, 5: 7.0}], 1_000_000)
@example([{0: 1.0, 7: 3.0}, {2: 1.0}], 1000)
@example([{4: 2.0}], 1_800_000_000)
def test_every_slot_of_every_series_is_painted_as_high_as_its_value_and_nothing_else_is(
    found: list[dict[int, float | None]], slot: int
) -> None:
    series: dict[str, Points] = {
        f"series {number}": [(NOON + index * slot, of[index]) for index in sorted(of)]
        for number, of in enumerate(found)
    }
    root = ET.fromstring(stacked("t", series, COUNT, slot))
    paths = {one.get("class"): one.get("d", "") for one in root.iter(f"{SVG}path")}
    indexes = [index for of in found for index in of]
    axes = axes_of(root, NOON + min(indexes) * slot, NOON + (max(indexes) + 1) * slot)
    for index in range(min(indexes), max(indexes) + 1):
        left, right = axes.x(NOON + index * slot), axes.x(NOON + (index + 1) * slot)
        floor = 0.0
        for number, of in enumerate(found):
            value = of.get(index) or 0.0
            columns = painted(paths.get(f"f{number}", ""), left, right)
            area = sum(width * (low - high) for width, low, high in columns)
            assert abs(area - value * axes.pixels_each * (right - left)) <= ROUNDING * (right - left + 2 * 200)
            for width, low, high in columns:
                if width > 2 * ROUNDING and low - high > 2 * ROUNDING:
                    assert abs(low - axes.y(floor)) <= ROUNDING
                    assert abs(high - axes.y(floor + value)) <= ROUNDING
            floor += value


def test_the_sum_of_those_that_have_no_colour_of_their_own_is_painted_as_one() -> None:
    series: dict[str, Points] = {f"{number}": [(NOON, 1.0), (NOON + 3000, 2.0)] for number in range(TONES + 3)}
    root = ET.fromstring(stacked("t", series, COUNT, 1000))
    paths = {one.get("class"): one.get("d", "") for one in root.iter(f"{SVG}path")}
    axes = axes_of(root, NOON, NOON + 4000)
    for at, each in ((NOON, 1.0), (NOON + 1000, 0.0), (NOON + 2000, 0.0), (NOON + 3000, 2.0)):
        heights = [
            sum(
                low - high
                for width, low, high in painted(paths[f"f{tone}"], axes.x(at), axes.x(at + 1000))
                if width > 1
            )
            for tone in range(TONES)
        ]
        assert [round(height / axes.pixels_each, 1) for height in heights] == [each] * (TONES - 1) + [each * 4]
