"""Connections that were not greeted yet: few at a time, and no host's many keep those of other hosts out.

When there is no room, the oldest of the host that has most gives way. A node needs some milliseconds to be greeted, so
one that calls beside somebody who only holds connections open is served.
"""

from attrs import define, field
from trio import CancelScope


@define(eq=False)
class Stranger:
    """One connection that was not greeted yet; its scope is cancelled when it has to go."""

    host: str
    scope: CancelScope = field(factory=CancelScope)


class Strangers:
    """All of them, the oldest first."""

    def __init__(self, count_max: int) -> None:
        self._count_max = count_max
        self._present: dict[Stranger, None] = {}
        # How many had to go.
        self.driven_out = 0

    def __len__(self) -> int:
        return len(self._present)

    def enter(self, host: str) -> Stranger:
        """One more has come."""
        stranger = Stranger(host)
        self._present[stranger] = None
        if len(self._present) > self._count_max:
            self._drive_out()
        return stranger

    def leave(self, stranger: Stranger) -> None:
        """It has been greeted, or has gone."""
        self._present.pop(stranger, None)

    def _drive_out(self) -> None:
        counts: dict[str, int] = {}
        for each in self._present:
            counts[each.host] = counts.get(each.host, 0) + 1
        most = max(counts.values())
        oldest = next(each for each in self._present if counts[each.host] == most)
        del self._present[oldest]
        self.driven_out += 1
        oldest.scope.cancel()
