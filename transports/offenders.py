"""Addresses whose connections were ended for a flood lately.

Each connection has allowances for what costs its sender nothing (`http2/floods.py`), and they begin full. So a client
that comes again as often as it is ended would have a full allowance each time. From an address that offended, further
connections begin with little of it until a minute has passed without an offence. Honest clients behind the same address
go on, since what they need comes back with time.
"""

from goqueue.transports.http2.limits import SECOND_NS

REMEMBERED_NS = 60 * SECOND_NS
OFFENDERS_MAX = 10_000


class Offenders:
    """The addresses, the one that offended last at the end."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._until)

    def note(self, now: int, host: str) -> None:
        """A connection from this address was ended for a flood."""
        self._until.pop(host, None)
        if len(self._until) >= OFFENDERS_MAX:
            del self._until[next(iter(self._until))]
        self._until[host] = now + REMEMBERED_NS

    def has(self, now: int, host: str) -> bool:
        """Whether this address offended in the last minute."""
        until = self._until.get(host)
        if until is not None and until <= now:
            del self._until[host]
            return False
        return until is not None
