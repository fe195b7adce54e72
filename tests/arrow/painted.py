"""What a picture paints, read out of its SVG: the axes by their marks, and figures by their corners.

Nothing here knows how a picture was made.
"""

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

from attrs import define

SVG = "{http://www.w3.org/2000/svg}"


@define
class Axes:
    """How many pixels from the left a time is, and how many from above a value."""

    left: float
    right: float
    begin: int
    end: int
    zero: float
    pixels_each: float

    def x(self, at: int) -> float:
        return self.left + (at - self.begin) / (self.end - self.begin) * (self.right - self.left)

    def y(self, value: float) -> float:
        return self.zero - value * self.pixels_each


def axes_of(root: ET.Element, begin: int, end: int) -> Axes:
    """The axes, by the marks and the lines that somebody sees."""
    grid = next(one.get("d", "") for one in root.iter(f"{SVG}path") if one.get("class") == "grid")
    left, right = (float(number) for number in re.findall(r"M([\d.]+) [\d.]+H([\d.]+)", grid)[0])
    heights = [float(y) for y in re.findall(r"M[\d.]+ ([\d.]+)H", grid)]
    marks = [one.text or "" for one in root.iter(f"{SVG}text") if one.get("class") == "dim end"]
    numbers = [float(mark.split()[0].replace(",", "")) for mark in marks[: len(heights)]]
    return Axes(left, right, begin, end, heights[0], (heights[0] - heights[-1]) / (numbers[-1] - numbers[0]))


def corners(path: str) -> list[list[tuple[float, float]]]:
    """The figures of a path that goes across and up and down alone."""
    figures: list[list[tuple[float, float]]] = []
    x = y = 0.0
    for command, first, second in re.findall(r"([MHVZ])(-?[\d.]*) ?(-?[\d.]*)", path):
        if command == "M":
            x, y = float(first), float(second)
            figures.append([])
        elif command != "Z":
            x, y = (float(first), y) if command == "H" else (x, float(first))
        figures[-1].append((x, y))
    return figures


def painted(path: str, left: float, right: float) -> list[tuple[float, float, float]]:
    """What is painted between two places: columns of a width, each from a height up to another."""
    figures = corners(path)
    places = sorted({left, right, *(x for figure in figures for x, _ in figure if left < x < right)})
    columns = []
    for begin, end in pairwise(places):
        middle = (begin + end) / 2
        crossed = []
        for figure in figures:
            for (x0, y0), (x1, y1) in pairwise([*figure, figure[0]]):
                if y0 == y1 and min(x0, x1) < middle < max(x0, x1):
                    crossed.append(y0)
        crossed.sort(reverse=True)
        assert len(crossed) % 2 == 0, "a figure is not closed"
        columns += [(end - begin, low, high) for low, high in zip(crossed[::2], crossed[1::2], strict=True)]
    return columns
