"""What a member is to be given of what was read for it. Nothing here changes anything.

What was read and is not there (it was compacted away, or is no message) needs no delivery. The reach moves over what
was read only from where it stands, and only up to the first message that finds no room: so it never passes over
anything that was neither delivered nor held nor absent.

What has expired is leased like the rest, for whoever plans to give it up under that lease, and takes no room. In a
queue ordered by key it holds nobody of its key up, unless one before it is in play: then it waits like any other.
"""

from collections.abc import Sequence

from attrs import define, field

from goqueue.core.cluster.queue_settings import WorkSettings
from goqueue.core.partition.lane_runs import Run
from goqueue.core.queues.ledger import Ledger
from goqueue.core.queues.records import Delivered, packed, packed_runs
from goqueue.core.queues.window import HELD, READY, join, runs_of


@define
class Offers:
    """Runs that were read whole, in the order of delivery, and the offsets found in them, in order within each run.

    Where order by key is asked for, `keys` are the hashes of their keys, None without key. A run that was read in part,
    for want of service in an answer, ends after the last message that was read. `expired` are those of the offsets that
    are not to be delivered any more. `stamps` are the batches, first offset, the one after the last and time in
    milliseconds, by which the wait of what is delivered is measured; whoever measures nothing leaves them out.
    """

    read: list[Run]
    offsets: Sequence[int]
    keys: Sequence[int | None] = ()
    expired: Sequence[int] = ()
    stamps: Sequence[tuple[int, int, int]] = ()


@define
class Plan:
    """A delivery, its lease and member still to be named; what of it has expired; what turned out not to be there."""

    delivered: Delivered | None
    expired: list[Run]
    gone: list[Run]


def plan_delivery(ledger: Ledger, settings: WorkSettings, offers: Offers, room: int) -> Plan:
    """What of some offers is to be delivered, to a member with room for so many."""
    count = len(offers.offsets)
    if len(offers.read) == 1 and not settings.key_ordered and not offers.expired and room >= count:
        start, end = offers.read[0]
        if start == ledger.window.reach and count == end - start > 0:
            return Plan(Delivered(0, "", 0, end, packed_runs([(start, end)]), b"", b"", b""), [], [])
    return _Delivery(ledger, settings, offers, room, frozenset(offers.expired)).plan()


@define
class _Delivery:
    """A delivery in the making; `room` is what is left of it."""

    ledger: Ledger
    settings: WorkSettings
    offers: Offers
    room: int
    expired: frozenset[int]
    leased: list[int] = field(factory=list)
    held: list[int] = field(factory=list)
    gone: list[Run] = field(factory=list)

    def plan(self) -> Plan:
        window, key_ordered = self.ledger.window, self.settings.key_ordered
        assert not key_ordered or len(self.offers.keys) == len(self.offers.offsets)
        keys = self.offers.keys or (None,) * len(self.offers.offsets)
        found = dict(zip(self.offers.offsets, keys, strict=True))
        reach = window.reach
        for start, end in self.offers.read:
            self._again(start, min(end, window.reach), found)
            if start <= reach < end:
                reach = self._fresh(reach, end, found)
        expired = runs_of(sorted(self.expired.intersection(self.leased))) if self.expired else []
        if reach == window.reach and not self.leased:
            return Plan(None, expired, self.gone)
        delivered = Delivered(0, "", 0, reach, _packed(self.leased), _packed(self.held), b"", b"")
        if key_ordered:
            keyed = [None if offset in self.expired else found[offset] for offset in self.leased]
            keyed += [found[offset] for offset in self.held]
            delivered.keys = packed([key or 0 for key in keyed])
            delivered.has_key = bytes([key is not None for key in keyed])
        return Plan(delivered, expired, self.gone)

    def _again(self, start: int, end: int, found: dict[int, int | None]) -> None:
        """Take what is ready, in its order."""
        for run in self.ledger.window.runs(READY, start, end):
            for offset in range(*run):
                if offset not in found:
                    join(self.gone, offset, offset + 1)
                else:
                    self._lease(offset)

    def _lease(self, offset: int) -> bool:
        """Take an offset, if there is room; what has expired needs none."""
        if offset not in self.expired:
            if self.room <= 0:
                return False
            self.room -= 1
        self.leased.append(offset)
        return True

    def _fresh(self, reach: int, end: int, found: dict[int, int | None]) -> int:
        """Take what was never looked at, up to where there is no room; how far that is."""
        key_ordered, chains = self.settings.key_ordered, self.ledger.chains
        held_room = self.settings.held_max - self.ledger.window.counts[HELD]
        met: set[int] = set()
        for offset in sorted(offset for offset in found if reach <= offset < end):
            key = found[offset] if key_ordered else None
            if key is not None and (key in met or key in chains):
                if len(self.held) >= held_room:
                    return offset
                self.held.append(offset)
            elif not self._lease(offset):
                return offset
            elif key is not None and offset not in self.expired:
                met.add(key)
        return end


def _packed(offsets: list[int]) -> bytes:
    runs: list[Run] = []
    for offset in offsets:
        join(runs, offset, offset + 1)
    return packed_runs(runs)
