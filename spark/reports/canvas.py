"""Drawing as text: the elements of SVG that plots are made of, their colours, and a frame with axes.

A picture stands alone: its style is in it, light or dark as the reader's system is, and it needs no script, font or
file. What a pointer rests on says its values, by `<title>`; what a screen reader reads is the title and a sentence on
what is shown. Coordinates have one decimal, which is a tenth of a pixel.
"""

from collections.abc import Callable, Sequence
from html import escape
from typing import Final

from attrs import define, field

from goqueue.spark.reports.units import worded_day

WIDTH: Final = 760
# Beyond so many, colours are not told apart.
TONES: Final = 8

_LIGHT = ["#0b6bb5", "#d1570b", "#138a5e", "#b14f97", "#b58900", "#4aa3c7", "#7a5cc4", "#7d8590"]
_DARK = ["#5aaef0", "#ff9450", "#4cc795", "#e58ccb", "#e3bd3c", "#8fd3ee", "#b39bf2", "#a0a8b2"]


def _colours(tones: Sequence[str], ink: str, dim: str, grid: str) -> str:
    named = [("ink", ink), ("dim", dim), ("grid", grid), *((f"t{index}", tone) for index, tone in enumerate(tones))]
    return ".gq{" + ";".join(f"--{name}:{colour}" for name, colour in named) + "}"


STYLE: Final = (
    _colours(_LIGHT, "#1f2328", "#656d76", "#d5dbe1")
    + "@media(prefers-color-scheme:dark){"
    + _colours(_DARK, "#e6edf3", "#98a2ad", "#3a424b")
    + "}.gq text{font:11px system-ui,sans-serif;fill:var(--ink)}.gq .dim{fill:var(--dim)}.gq .title{font-weight:600;"
    + "font-size:13px}.gq .grid{stroke:var(--grid);fill:none}.gq .end{text-anchor:end}.gq .mid{text-anchor:middle}"
    + ".gq .over{fill:transparent}.gq .over:hover{fill:var(--dim);fill-opacity:.18}"
    + "".join(
        f".gq .l{i}{{stroke:var(--t{i});fill:none;stroke-width:1.6}}.gq .f{i}{{fill:var(--t{i})}}" for i in range(TONES)
    )
)


@define
class Canvas:
    """A picture on its way: elements one after another, and what it says to those who do not see it."""

    title: str
    height: int
    said: list[str] = field(factory=list)
    _elements: list[str] = field(factory=list)

    def text(self, x: float, y: float, words: str, style: str = "") -> None:
        """Words from a point on, or up to it or around it as the style says."""
        self._elements.append(f'<text x="{short(x)}" y="{short(y)}"{_class(style)}>{escape(words)}</text>')

    def path(self, steps: str, style: str) -> None:
        """Lines or areas, by SVG's own commands."""
        if steps:
            self._elements.append(f'<path d="{steps}"{_class(style)}/>')

    def box(self, x: float, y: float, width: float, height: float, style: str, words: str = "") -> None:
        """A rectangle, that says `words` to a pointer."""
        shape = f'<rect x="{short(x)}" y="{short(y)}" width="{short(width)}" height="{short(height)}"{_class(style)}'
        self._elements.append(f"{shape}><title>{escape(words)}</title></rect>" if words else f"{shape}/>")

    def shade(self, steps: str, darkness: float) -> None:
        """Areas in the first colour, from 0, which is not seen, to 1."""
        self._elements.append(f'<path d="{steps}" class="f0" fill-opacity="{darkness:.3g}"/>')

    def svg(self) -> str:
        """The whole picture."""
        title, said = escape(self.title), escape(" ".join(self.said))
        head = f'<svg xmlns="http://www.w3.org/2000/svg" class="gq" viewBox="0 0 {WIDTH} {self.height}" role="img"'
        head += f' aria-label="{escape(self.title, quote=True)}"'
        head += f"><title>{title}</title><desc>{said}</desc><style>{STYLE}</style>"
        return head + "".join(self._elements) + "</svg>"

    def legend(self, names: Sequence[str], top: float) -> float:
        """A patch of colour and a name each, as many in a line as fit; the y below it."""
        x = 8.0
        for tone, name in enumerate(names):
            width = 20 + 6.4 * len(name)
            if x + width > WIDTH and x > 8:
                x, top = 8.0, top + 16
            self.box(x, top - 9, 10, 10, tint(tone))
            self.text(x + 14, top, name)
            x += width + 8
        return top + 16 if names else top


@define
class Frame:
    """Where points come to lie: `left` to `right` from one time or number to another, `bottom` up to `top`."""

    left: float
    right: float
    top: float
    bottom: float
    begin: float
    end: float
    place: Callable[[float], float]

    def x(self, at: float) -> float:
        """How far to the right something is."""
        return self.left + (at - self.begin) / ((self.end - self.begin) or 1) * (self.right - self.left)

    def y(self, value: float) -> float:
        """How far down a value is."""
        return self.bottom - self.place(value) * (self.bottom - self.top)

    def ruled(self, canvas: Canvas, rules: Sequence[tuple[float, str]], columns: Sequence[tuple[int, str]]) -> None:
        """Marks at the left with lines across, and moments below."""
        lines = "".join(f"M{short(self.left)} {short(self.y(value))}H{short(self.right)}" for value, _ in rules)
        ticks = "".join(f"M{short(self.x(at))} {short(self.bottom)}v4" for at, _ in columns)
        canvas.path(lines + ticks, "grid")
        for value, words in rules:
            canvas.text(self.left - 6, self.y(value) + 4, words, "dim end")
        for at, words in columns:
            last = self.x(at) > self.right - 24
            canvas.text(self.right if last else self.x(at), self.bottom + 16, words, "dim end" if last else "dim mid")

    def dated(self, canvas: Canvas) -> None:
        """The day, and that hours are of no place in particular."""
        canvas.text(self.right, self.bottom + 30, f"{worded_day(int(self.begin))} UTC", "dim end")


def short(number: float) -> str:
    """A coordinate to a tenth, and not a sign longer than that needs."""
    return f"{number:.1f}".removesuffix(".0")


def tint(tone: int) -> str:
    """The style of what is filled with the colour of that number."""
    return f"f{tone % TONES}"


def stroke(tone: int) -> str:
    """The style of a line of the colour of that number."""
    return f"l{tone % TONES}"


def _class(style: str) -> str:
    return f' class="{style}"' if style else ""
