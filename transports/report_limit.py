"""Sentences for an operator about what strangers do: one a second, however many strangers there are.

A sentence that is kept back is counted, and the next one that is reported says how many there were. Time comes in, so
that a test can make it pass.
"""

from collections.abc import Callable

PAUSE_S = 1.0


class ReportLimit:
    """Hands sentences to `report` with pauses in between."""

    __slots__ = ("_due_s", "_kept_back", "_now", "_report")

    def __init__(self, report: Callable[[str], None], now: Callable[[], float]) -> None:
        self._report = report
        self._now = now
        self._due_s = 0.0
        self._kept_back = 0

    def say(self, sentence: str) -> None:
        """Report a sentence, or count it if one was reported a moment ago."""
        now = self._now()
        if now < self._due_s:
            self._kept_back += 1
            return
        self._due_s = now + PAUSE_S
        kept_back, self._kept_back = self._kept_back, 0
        self._report(f"{sentence} (and {kept_back} more of the kind since the last)" if kept_back else sentence)
