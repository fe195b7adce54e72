"""How fast replicas may catch up that are not in sync."""

from attrs import define

_SECOND_NS = 1_000_000_000


@define(eq=False)
class Throttle:
    """How many bytes may go to replicas that are not in sync: so many a second, and at most a second's at once."""

    bytes_per_s: int
    _level: int = 0
    _filled_at: int = 0

    def allowance(self, now: int) -> int | None:
        """What may be sent at this moment; None for as much as there is."""
        if self.bytes_per_s <= 0:
            return None
        gained = (now - self._filled_at) * self.bytes_per_s // _SECOND_NS
        if gained > 0:
            self._level = min(self._level + gained, self.bytes_per_s)
            self._filled_at = now
        return self._level

    def spend(self, size: int) -> None:
        """So much was sent; a debt is paid before anything else is."""
        self._level -= size
