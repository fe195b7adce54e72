"""Receipts that were shown and are not answered yet: by whom a message was acknowledged, handed back or given up.

A ledger says what became of a message, not who wanted it so. Requests say who, and not whether it was done. Here the
two meet: a record closes a run of a lease, and the request that showed receipts for it is why.
"""

from collections.abc import Callable, Iterator
from typing import Any

from attrs import define, field

from goqueue.core.errors import ProtocolError
from goqueue.core.queues.receipts import read_stem
from goqueue.core.requests.queues import ReceiptRun
from goqueue.spark.facts.holdings import Held, Holdings, Piece
from goqueue.spark.facts.listening import Errand

# Of leases that nobody here knows nothing is kept: how many bounds those that are.
_SHOWN_MAX = 1 << 16


@define(eq=False)
class Done:
    """What was done for a request: a piece of a lease, and until when that was extended if it was."""

    holdings: Holdings
    held: Held
    piece: Piece
    due_ms: int | None = None


@define(eq=False)
class Showing:
    """A request that shows receipts: the leases that it names, and what was done for it so far."""

    errand: Errand
    leases: list[tuple[int, int]] = field(factory=list)
    done: list[Done] = field(factory=list)


@define(eq=False)
class _Shown:
    showing: Showing
    first: int
    end: int


class Claims:
    """All requests that show receipts, by the leases that they name: a receipt's home and the lease's number."""

    def __init__(self) -> None:
        self._showings: dict[Errand, Showing] = {}
        self._by_lease: dict[tuple[int, int], list[_Shown]] = {}

    def add(self, errand: Errand, find: Callable[[int], Holdings | None]) -> None:
        """A request came; `find` knows the queues here by the home of their receipts."""
        showing = Showing(errand)
        for run in errand.request.receipts:
            for holdings, held in self.leases_of(run, find):
                if len(self._by_lease) < _SHOWN_MAX:
                    key = holdings.home, held.number
                    shown = _Shown(showing, run.first_offset, run.first_offset + run.count)
                    self._by_lease.setdefault(key, []).append(shown)
                    showing.leases.append(key)
        if showing.leases:
            self._showings[errand] = showing

    @staticmethod
    def leases_of(run: ReceiptRun, find: Callable[[int], Holdings | None]) -> Iterator[tuple[Holdings, Held]]:
        """The lease that receipts name, if it is one, is one of a queue here, and has something open."""
        try:
            stem = read_stem(run.stem)
        except ProtocolError:
            return
        holdings = find(stem.home)
        held = None if holdings is None else holdings.leases.get(stem.lease)
        if holdings is not None and held is not None:
            yield holdings, held

    def pop(self, errand: Errand) -> Showing | None:
        """A request that is answered, or that nobody waits for any more."""
        showing = self._showings.pop(errand, None)
        for key in dict.fromkeys(showing.leases) if showing is not None else ():
            left = [shown for shown in self._by_lease[key] if shown.showing is not showing]
            if left:
                self._by_lease[key] = left
            else:
                del self._by_lease[key]
        return showing

    def all(self) -> list[Showing]:
        """The requests that wait for their answer."""
        return [*self._showings.values()]

    def why(self, holdings: Holdings, held: Held, first: int, kinds: tuple[type, ...]) -> Showing | None:
        """The request of one of some kinds that closed a run, if one did: none did once the lease was over."""
        ends = held.ends(first)
        for shown in self._by_lease.get((holdings.home, held.number), ()):
            errand: Any = shown.showing.errand
            if type(errand.request) in kinds and shown.first <= first < shown.end:
                if errand.at is None or errand.at < ends:
                    return shown.showing
        return None
