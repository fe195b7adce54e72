"""Which address a client tries first when any broker will do, and which ones it spares for a while.

An address at which nobody answered is spared for `SPARED_NS`: others are tried before it, and what could be sent
straight to it goes by way of another broker. It is never left out where there is nothing else to try.
"""

from collections.abc import Iterable

SECOND_NS = 1_000_000_000
SPARED_NS = 5 * SECOND_NS
ADDRESSES_MAX = 32


class Addresses:
    """The addresses that a client was given and those that it learned, in the order in which they are tried."""

    __slots__ = ("_failed_at", "_order")

    def __init__(self, given: Iterable[str]) -> None:
        self._order = [*dict.fromkeys(given)]
        # When nobody answered there.
        self._failed_at: dict[str, int] = {}
        assert self._order

    def __len__(self) -> int:
        return len(self._order)

    def learn(self, address: str) -> None:
        """There is a broker at this address; it is tried after all others."""
        if address not in self._order and len(self._order) < ADDRESSES_MAX:
            self._order.append(address)

    def order(self, now: int) -> list[str]:
        """All addresses, those that are spared behind the others."""
        return sorted(self._order, key=lambda address: self.is_spared(now, address))

    def is_spared(self, now: int, address: str) -> bool:
        """Whether nobody answered at this address lately."""
        failed_at = self._failed_at.get(address)
        return failed_at is not None and now < failed_at + SPARED_NS

    def failed(self, now: int, address: str) -> None:
        """Nobody answered there."""
        self._failed_at[address] = now

    def answered(self, address: str) -> None:
        """A broker answered there."""
        self._failed_at.pop(address, None)

    def prefer(self, address: str) -> None:
        """Try this one first from here on."""
        if address in self._order:
            self._order.remove(address)
            self._order.insert(0, address)

    def turn_from(self, address: str) -> None:
        """Try this one last from here on."""
        if address in self._order:
            self._order.remove(address)
            self._order.append(address)
