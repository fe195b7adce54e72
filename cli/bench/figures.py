"""What a figure is: a value, what stands next to it, and the bars that it should clear.

Every benchmark answers with the same six fields for each figure, null where one does not apply, so that one program can
read them all. Not here: how anything is measured, or printed.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from attrs import define, field

if TYPE_CHECKING:
    from goqueue.cli.bench.workbench import Workbench

Field: TypeAlias = Literal["value", "limit", "ratio", "p50_ms", "p99_ms"]


@define
class Figure:
    """What was measured; `limit` is the bare loop's in the same unit unless `note` names another.

    `parts` are what a figure has besides, by name, and stand beside the six fields.
    """

    value: float
    unit: str
    limit: float | None = None
    ratio: float | None = None
    p50_ms: float | None = None
    p99_ms: float | None = None
    note: str = ""
    parts: dict[str, float] = field(factory=dict)

    def fields(self) -> dict[str, float | str | None]:
        """The six fields of a benchmark's answer, and the parts."""
        return {
            "value": _rounded(self.value),
            "unit": self.unit,
            "limit": _rounded(self.limit),
            "ratio": _rounded(self.ratio),
            "p50_ms": _rounded(self.p50_ms),
            "p99_ms": _rounded(self.p99_ms),
            **{name: _rounded(number) for name, number in self.parts.items()},
        }


def _rounded(number: float | None) -> float | None:
    """Four digits that count: more would be noise."""
    return None if number is None else float(f"{number:.4g}")


@define
class Bar:
    """What a field of a figure, or one of its parts, should reach or stay below."""

    field: Field | str
    least: float | None = None
    below: float | None = None

    def cleared(self, figure: Figure) -> bool:
        """Whether the figure is good enough."""
        number = figure.parts[self.field] if self.field in figure.parts else getattr(figure, self.field)
        if number is None:
            return False
        return (self.least is None or number >= self.least) and (self.below is None or number < self.below)

    def __str__(self) -> str:
        sign, number = (">=", self.least) if self.least is not None else ("<", self.below)
        return f"{self.field} {sign} {number:,}"


@define
class Entry:
    """A figure that can be taken: its key, what it means, what it needs, and how.

    `shared` names the logs that it reads, by records a batch; `disk_bytes` is the room it takes besides.
    """

    key: str
    title: str
    measure: "Callable[[Workbench], Figure]"
    bars: Sequence[Bar] = ()
    shared: Sequence[int] = ()
    disk_bytes: int = field(default=0, kw_only=True)
