"""What a member is to be given of what was read for it. Nothing here changes anything.

What was read and is not there (it was compacted away, or is no message) needs no delivery. The reach moves over what
was read only from where it stands, and only up to the first message that finds no room: so it never passes over
anything that was neither delivered nor held nor absent.
"""

from collections.abc import Sequence

from attrs import define

from goqueue.core.work.ledger import Ledger
from goqueue.core.work.records import Delivered, packed, packed_runs
from goqueue.core.work.settings import WorkSettings
from goqueue.core.work.window import HELD, READY, Run, join


@define
class Offers:
    """Runs that were read whole, in order, the offsets found in them, and the hashes of their keys, None without key.

    A run that was read in part, for want of room in an answer, ends after the last message that was read.
    """

    read: list[Run]
    offsets: Sequence[int]
    keys: Sequence[int | None] = ()


def plan_delivery(
    ledger: Ledger, settings: WorkSettings, offers: Offers, room: int
) -> tuple[Delivered | None, list[Run]]:
    """The delivery, its lease and member still to be named, and what turned out not to be there any more."""
    if len(offers.read) == 1 and not settings.key_ordered and room >= len(offers.offsets):
        start, end = offers.read[0]
        if start == ledger.window.reach and len(offers.offsets) == end - start > 0:
            return Delivered(0, "", 0, end, packed_runs([(start, end)]), b"", b"", b""), []
    return _Delivery(ledger, settings, offers, room).plan()


@define
class _Delivery:
    """A delivery in the making."""

    ledger: Ledger
    settings: WorkSettings
    offers: Offers
    room: int

    def plan(self) -> tuple[Delivered | None, list[Run]]:
        window = self.ledger.window
        assert not self.settings.key_ordered or len(self.offers.keys) == len(self.offers.offsets)
        keys = self.offers.keys or (None,) * len(self.offers.offsets)
        found = dict(zip(self.offers.offsets, keys, strict=True))
        leased: list[int] = []
        held: list[int] = []
        gone: list[Run] = []
        reach = window.reach
        for start, end in self.offers.read:
            self._again(start, min(end, window.reach), found, leased, gone)
            if start <= reach < end:
                reach = self._fresh(reach, end, found, leased, held)
        if reach == window.reach and not leased:
            return None, gone
        delivered = Delivered(0, "", 0, reach, _runs(leased), _runs(held), b"", b"")
        if self.settings.key_ordered:
            keyed = [found[offset] for offsets in (leased, held) for offset in offsets]
            delivered.keys = packed([key or 0 for key in keyed])
            delivered.has_key = bytes([key is not None for key in keyed])
        return delivered, gone

    def _again(self, start: int, end: int, found: dict[int, int | None], leased: list[int], gone: list[Run]) -> None:
        """Take what is ready, in its order."""
        for run in self.ledger.window.runs(READY, start, end):
            for offset in range(*run):
                if offset not in found:
                    join(gone, offset, offset + 1)
                elif len(leased) < self.room:
                    leased.append(offset)

    def _fresh(self, reach: int, end: int, found: dict[int, int | None], leased: list[int], held: list[int]) -> int:
        """Take what was never looked at, up to where there is no room; how far that is."""
        key_ordered, chains = self.settings.key_ordered, self.ledger.chains
        held_room = self.settings.held_max - self.ledger.window.counts[HELD]
        met: set[int] = set()
        for offset in sorted(offset for offset in found if reach <= offset < end):
            key = found[offset] if key_ordered else None
            if key is not None and (key in met or key in chains):
                if len(held) >= held_room:
                    return offset
                held.append(offset)
            elif len(leased) >= self.room:
                return offset
            else:
                leased.append(offset)
                if key is not None:
                    met.add(key)
        return end


def _runs(offsets: list[int]) -> bytes:
    runs: list[Run] = []
    for offset in offsets:
        join(runs, offset, offset + 1)
    return packed_runs(runs)
