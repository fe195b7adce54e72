"""Ctrl-C and SIGTERM noted, for a command that has something to finish before it ends; a second one ends it at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from attrs import define

from goqueue.cli.endings import INTERRUPTED, TERMINATED

STATUS: dict[int, int] = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: TERMINATED}


@define
class Signals:
    """The signal that came and asks for an end, 0 while there is none."""

    number: int = 0

    def note(self, number: int, _frame: FrameType | None) -> None:
        """Take a signal; a second one ends the process."""
        self.number = number
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def noted(*numbers: int) -> Iterator[Signals]:
    """Signals that are noted for as long as the block lasts."""
    signals = Signals()
    before = [signal.signal(number, signals.note) for number in numbers]
    try:
        yield signals
    finally:
        for number, taken in zip(numbers, before, strict=True):
            signal.signal(number, taken)
