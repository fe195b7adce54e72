"""The state of a work queue, and the only code that changes it: records are applied, live and after a restart alike.

Every offset below the reach is settled, ready, waiting for a retry, leased, held behind another of its key, or doomed,
which is a dead letter that was not moved yet. Two things happen without a record, as they follow from others: a retry
whose time has come is ready, and so is the next of a key when the one before it is done with.

That a retry is ready is therefore unknown to a ledger that is replayed, until its time has come once more; a lease may
take what to it still waits.

A message that has expired enters by the same records: whoever reads it leases it, and dooms or settles it under that
lease before anybody was given it.

What is of a lane is known of all that is below the reach, and kept with it. So a ledger that is replayed needs to read
no batch for it.
"""

from array import array
from collections.abc import Callable
from typing import Any

from attrs import define, field

from goqueue.core.clock import Clock
from goqueue.core.errors import ProtocolError
from goqueue.core.queues.chains import Chains
from goqueue.core.queues.leases import Lease, Leases
from goqueue.core.queues.records import (
    WORK_CODEC,
    Cut,
    Delivered,
    Doomed,
    Extended,
    LeaseRecord,
    Opened,
    Record,
    Restarted,
    Returned,
    Settled,
    Snapshot,
    packed,
    packed_runs,
    unpacked,
    unpacked_runs,
    unpacked_triples,
)
from goqueue.core.queues.window import DOOMED, HELD, LEASED, READY, SETTLED, WAITING, Window
from goqueue.core.timers.wheel import Wheel


@define
class Ledger:
    """What became of the messages of one partition in one group."""

    _clock: Clock
    window: Window = field(factory=Window)
    leases: Leases = field(factory=Leases)
    chains: Chains = field(factory=Chains)
    # Why each dead letter is one, in order of offsets only by chance.
    reasons: dict[int, str] = field(factory=dict)
    last_lease: int = 0
    # Runs that wait for a retry by their first offset: when, and where they end.
    _retries: Wheel[int] = field(factory=Wheel)
    _retry_ends: dict[int, int] = field(factory=dict)

    def apply(self, now: int, record: Record) -> None:
        """Take one record into the state."""
        _APPLY[type(record)](self, now, record)

    def _delivered(self, now: int, record: Delivered) -> None:
        window = self.window
        leased, held = unpacked_runs(record.leased), unpacked_runs(record.held)
        if record.reach > window.reach:
            window.extend(record.reach)
        for run in held:
            window.mark(*run, HELD)
        if leased:
            for run in leased:
                self._stir(*run)
                window.mark(*run, LEASED)
            self.leases.add(now, record.lease, record.member, record.span_ms, sorted(leased))
            self.last_lease = max(self.last_lease, record.lease)
        if record.keys:
            offsets = [offset for runs in (leased, held) for run in runs for offset in range(*run)]
            found = zip(offsets, unpacked(record.keys), record.has_key, strict=True)
            for offset, key, has_key in sorted(found):
                if has_key and self.chains.key(offset) is None:
                    self.chains.add(offset, key)

    def _settled(self, now: int, record: Settled) -> None:
        for lease, start, end in unpacked_triples(record.runs):
            if lease:
                self.leases.close(lease, [(start, end)])
            else:
                self._forsake(start, end)
            self._leave(start, end, SETTLED)

    def _returned(self, now: int, record: Returned) -> None:
        runs = unpacked_runs(record.runs)
        self.leases.close(record.lease, runs)
        left_ms = min(max(record.until_ms - self._clock.wall_ms(now), 0), record.delay_ms)
        for start, end in runs:
            if record.failed:
                self.window.fail(start, end)
            if left_ms:
                self._wait(start, end, now + left_ms * 1_000_000)
            else:
                self.window.mark(start, end, READY)

    def _doomed(self, now: int, record: Doomed) -> None:
        runs = unpacked_runs(record.runs)
        self.leases.close(record.lease, runs)
        for start, end in runs:
            if record.failed:
                self.window.fail(start, end)
            self._leave(start, end, DOOMED)
            self.reasons.update(dict.fromkeys(range(start, end), record.reason))

    def _extended(self, now: int, record: Extended) -> None:
        self.leases.extend(now, record.lease, unpacked_runs(record.runs), record.span_ms)

    def _opened(self, now: int, record: Opened) -> None:
        if record.reach > self.window.reach:
            self.window.open(record.reach, unpacked_triples(record.lanes))

    def _restarted(self, now: int, record: Restarted) -> None:
        self.window = Window(record.floor, record.floor)
        self.leases, self.chains, self.reasons = Leases(), Chains(), {}
        self._retries, self._retry_ends = Wheel(now), {}

    def _cut(self, now: int, record: Cut) -> None:
        window = self.window
        end = window.reach
        if record.reach >= end:
            return
        start = max(record.reach, window.floor)
        if start < end:
            self._forsake(start, end)
            self._leave(start, end, SETTLED)
        for first in [first for first in self._retry_ends if first >= record.reach]:
            self._retries.drop(first)
            del self._retry_ends[first]
        window.cut(record.reach)

    # --- settling

    def _leave(self, start: int, end: int, status: int) -> None:
        """A run is not delivered any more, and what was held behind it may be."""
        if self.reasons and status == SETTLED:
            for offset in range(start, end) if end - start <= len(self.reasons) else [*self.reasons]:
                if start <= offset < end:
                    self.reasons.pop(offset, None)
        self.window.mark(start, end, status)
        for freed in self.chains.leave(start, end):
            self.window.mark(freed, freed + 1, READY)

    def _forsake(self, start: int, end: int) -> None:
        """Close whatever leases have of a run: its messages are gone."""
        if not any(self.window.runs(LEASED, start, end)):
            return
        for lease in self.leases.all():
            runs = [(max(first, start), min(last, end)) for first, last in lease.open_runs()]
            gone = [run for run in runs if run[0] < run[1]]
            if gone:
                self.leases.close(lease.number, gone)

    # --- waiting

    def _wait(self, start: int, end: int, due: int) -> None:
        assert start not in self._retries
        self.window.mark(start, end, WAITING)
        self._retries.set(start, due)
        self._retry_ends[start] = end

    def _ring(self, start: int) -> None:
        self._retries.drop(start)
        for run in [*self.window.runs(WAITING, start, self._retry_ends.pop(start))]:
            self.window.mark(*run, READY)

    def _stir(self, start: int, end: int) -> None:
        """Make ready what waited with a run that was leased: in a replay, its time may be still to come."""
        if any(self.window.runs(WAITING, start, end)):
            for first, last in [*self._retry_ends.items()]:
                if first < end and start < last:
                    self._ring(first)

    def ring(self, now: int) -> None:
        """Make ready what has waited long enough."""
        for start in self._retries.due(now):
            self._ring(start)

    def retry_deadline(self) -> int | None:
        """When `ring` has something to do."""
        return self._retries.deadline()

    # --- snapshots

    def snapshot(self, now: int) -> Snapshot:
        """Everything, as one record."""
        window, wall_ms = self.window, self._clock.wall_ms(now)
        waits: list[int] = []
        for start, end in self._retry_ends.items():
            left_ms = max((self._retries.time(start) or 0) - now, 0) // 1_000_000
            waits += (start, end, wall_ms + left_ms, left_ms)
        numbers = [*window.pages]
        reasons = [*dict.fromkeys(self.reasons.values())]
        doomed = [each for offset, reason in self.reasons.items() for each in (offset, reasons.index(reason))]
        return Snapshot(
            window.floor,
            window.reach,
            self.last_lease,
            numbers,
            [window.kept(number) for number in numbers],
            [packed([*window.failures.get(number, ())]) for number in numbers],
            [_lease_bytes(lease) for lease in self.leases.all()],
            packed(waits),
            packed(doomed),
            reasons,
            packed([each for pair in self.chains.all() for each in pair]),
        )

    def _restored(self, now: int, record: Snapshot) -> None:
        self._restarted(now, Restarted(0))
        window = self.window = Window(record.floor, record.reach)
        for number, page, failures in zip(record.numbers, record.pages, record.failures, strict=True):
            window.restore(number, page, array("H", unpacked(failures)) if failures else None)
        self.last_lease = record.last_lease
        for content in record.leases:
            lease = WORK_CODEC.decode(content)
            if not isinstance(lease, LeaseRecord):
                raise ProtocolError(f"a {type(lease).__name__} stands where a snapshot has a lease")
            self.leases.add(now, lease.lease, lease.member, lease.span_ms, unpacked_runs(lease.runs))
        wall_ms, waits, doomed = self._clock.wall_ms(now), unpacked(record.waits), unpacked(record.doomed)
        for start, end, until_ms, left_ms in zip(waits[::4], waits[1::4], waits[2::4], waits[3::4], strict=True):
            self._retries.set(start, now + min(max(until_ms - wall_ms, 0), left_ms) * 1_000_000)
            self._retry_ends[start] = end
        self.reasons = {offset: record.reasons[at] for offset, at in zip(doomed[::2], doomed[1::2], strict=True)}
        keys = unpacked(record.keys)
        for offset, key in zip(keys[::2], keys[1::2], strict=True):
            self.chains.add(offset, key)

    # --- what must hold

    def check(self) -> None:
        """Assert the invariants."""
        window = self.window
        window.check()
        self.leases.check()
        self.chains.check()
        self._retries.check()
        assert self._retry_ends.keys() == {start for start in self._retry_ends if start in self._retries}
        assert len(self._retries) == len(self._retry_ends)
        leased = [run for lease in self.leases.all() for run in lease.open_runs()]
        assert sum(end - start for start, end in leased) == window.counts[LEASED]
        assert all(window.status(offset) == LEASED for run in leased for offset in range(*run))
        waiting = {offset for start, end in self._retry_ends.items() for offset in range(start, end)}
        assert waiting >= self._offsets(WAITING), "something waits that no time will make ready"
        assert self.reasons.keys() == self._offsets(DOOMED)
        heads, held = self.chains.heads(), self._offsets(HELD)
        assert held == {offset for offset, _ in self.chains.all()} - heads
        assert all(window.status(offset) in (READY, WAITING, LEASED) for offset in heads)

    def _offsets(self, status: int) -> set[int]:
        window = self.window
        return {offset for run in window.runs(status, window.floor, window.reach) for offset in range(*run)}


def _lease_bytes(lease: Lease) -> bytes:
    record = LeaseRecord(lease.number, lease.member, lease.span_ms, packed_runs(lease.open_runs()))
    return WORK_CODEC.encode(record)


_APPLY: dict[type, Callable[[Ledger, int, Any], None]] = {
    Delivered: Ledger._delivered,
    Settled: Ledger._settled,
    Returned: Ledger._returned,
    Doomed: Ledger._doomed,
    Extended: Ledger._extended,
    Opened: Ledger._opened,
    Restarted: Ledger._restarted,
    Cut: Ledger._cut,
    Snapshot: Ledger._restored,
}
