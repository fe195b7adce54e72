"""When to ask another broker who leads: the one that was asked may be cut off from all others, and know no better.

Looks that follow each other and say the same are a row. A row that has gone on for `FRUITLESS_NS` brought nothing, and
the next look is another broker's. A single look says nothing: most of them are made while a leader is only slow.
"""

from attrs import define, field

SECOND_NS = 1_000_000_000
FRUITLESS_NS = 2 * SECOND_NS
# Looks that are further apart are no row.
APART_NS = 1 * SECOND_NS


@define
class _Row:
    leaders: list[str]
    begun: int
    last: int


@define
class Looks:
    """The looks of one producer, by topic."""

    _rows: dict[str, _Row] = field(factory=dict)

    def is_fruitless(self, now: int, topic: str, leaders: list[str]) -> bool:
        """Take note of what a look has found; whether another broker is to be asked the next time."""
        row = self._rows.get(topic)
        if row is None or row.leaders != leaders or now > row.last + APART_NS:
            self._rows[topic] = _Row(leaders, now, now)
            return False
        row.last = now
        if now < row.begun + FRUITLESS_NS:
            return False
        row.begun = now
        return True
