"""Connections that have not begun: bounded in number, and no host's many keep those of other hosts out.

When there is no room, the oldest of the host that has most gives way. Whoever means to speak needs some milliseconds to
begin, so it is served beside somebody who only holds connections open.
"""

from attrs import define, field
from trio import CancelScope


@define(eq=False)
class Newcomer:
    """One connection that has not begun; its scope is cancelled when it has to go."""

    host: str
    scope: CancelScope = field(factory=CancelScope)
    # Whether it had to go for others.
    is_driven_out: bool = False


class Newcomers:
    """All of them, the oldest first."""

    def __init__(self, count_max: int) -> None:
        self._count_max = count_max
        self._present: dict[Newcomer, None] = {}

    def enter(self, host: str) -> Newcomer:
        """One more has come."""
        newcomer = Newcomer(host)
        self._present[newcomer] = None
        if len(self._present) > self._count_max:
            self._drive_out()
        return newcomer

    def leave(self, newcomer: Newcomer) -> None:
        """It has begun, or has gone."""
        self._present.pop(newcomer, None)

    def dismiss(self) -> None:
        """All of them have to go."""
        for each in self._present:
            each.scope.cancel()

    def _drive_out(self) -> None:
        counts: dict[str, int] = {}
        for each in self._present:
            counts[each.host] = counts.get(each.host, 0) + 1
        most = max(counts.values())
        oldest = next(each for each in self._present if counts[each.host] == most)
        del self._present[oldest]
        oldest.is_driven_out = True
        oldest.scope.cancel()
