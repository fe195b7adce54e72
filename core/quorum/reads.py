"""Reads that must see whatever was agreed before they were asked.

A leader that was replaced does not know it. So a read waits until a majority has answered something that was sent after
it was asked: then this node led at that moment, and all that was agreed before is in its log (Ongaro's thesis, 6.4).
While a majority has answered so lately that none of them may vote for another yet, there is nothing to wait for.
"""

from collections import deque

from attrs import define, field

READS_MAX = 10_000


@define(eq=False)
class Reads:
    """The reads that wait, in the order of the stamps that must be answered first."""

    _waiting: deque[tuple[int, int]] = field(factory=deque)
    # Those that nothing was sent after yet.
    _fresh: list[int] = field(factory=list)

    def __len__(self) -> int:
        return len(self._waiting) + len(self._fresh)

    def ask(self, number: int) -> None:
        """A read has come."""
        self._fresh.append(number)

    @property
    def wants_beat(self) -> bool:
        """Whether something must be sent for a read to be answered."""
        return bool(self._fresh)

    def sent(self, stamp: int) -> None:
        """A letter went to all."""
        self._waiting.extend((stamp, number) for number in self._fresh)
        self._fresh.clear()

    def heard(self, stamp: int) -> list[int]:
        """A majority has answered that stamp or a later one: the reads that are confirmed by it."""
        confirmed: list[int] = []
        while self._waiting and self._waiting[0][0] <= stamp:
            confirmed.append(self._waiting.popleft()[1])
        return confirmed

    def take_all(self) -> list[int]:
        """Every read that waits; none does any more."""
        numbers = [number for _, number in self._waiting] + self._fresh
        self._waiting.clear()
        self._fresh.clear()
        return numbers
