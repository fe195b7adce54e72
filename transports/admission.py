"""How many bytes of publishes may be unanswered: what bounds memory when a disk stalls.

A request weighs what it holds in memory until it is answered; one that holds next to nothing weighs nothing and waits
for nobody, so that a broker full of publishes is still read from. The bound is passed by one request at most, since who
has waited for room may take it whole.
"""

import trio


class Admission:
    """Room for so many bytes."""

    __slots__ = ("_bytes_max", "_waiting", "held_bytes")

    def __init__(self, bytes_max: int) -> None:
        assert bytes_max > 0
        self._bytes_max = bytes_max
        self.held_bytes = 0
        self._waiting = trio.lowlevel.ParkingLot()

    def take(self, size: int) -> None:
        """These bytes are held from here on."""
        self.held_bytes += size

    def release(self, size: int) -> None:
        """These bytes are held no more."""
        self.held_bytes -= size
        assert self.held_bytes >= 0
        if self._waiting and self.is_roomy:
            self._waiting.unpark_all()

    @property
    def is_roomy(self) -> bool:
        """Whether `room` would not wait."""
        return self.held_bytes < self._bytes_max

    async def room(self) -> None:
        """Wait until fewer bytes are held than the bound; no checkpoint while that is so."""
        while not self.is_roomy:
            await self._waiting.park()
