"""The verbs of a work queue: who is given what, and what became of it. One queue for a group and a partition.

It is asked in three steps, because it holds no messages: `wanted` says what to read, whoever asked reads it, and
`lease` is told what was found. Between the two somebody else may have been given the same, so only `lease` decides.
What a verb changes leaves as records through `take`; a reply that promises durability waits for these.

A failure is a time-out, a nack, or the end of a member that had it. After a failure the message waits, twice as long
each time, or is doomed when it failed as often as it may. A message that is released was not tried: it keeps its
attempt. Whoever moves dead letters asks for `dead`, and says `buried` when they are where they belong; what is dead and
not buried is asked for again after a restart, so the move must bear repeating.

Receipts are answered one by one, and acted on together: those that follow each other in a lease become one run.
"""

from array import array
from collections.abc import Iterable, Sequence
from enum import Enum
from random import Random

from attrs import define, field

from goqueue.core.client.backoff import Backoff
from goqueue.core.clock import Clock
from goqueue.core.errors import ProtocolError
from goqueue.core.work.leases import Lease
from goqueue.core.work.ledger import Ledger
from goqueue.core.work.plan import Offers, plan_delivery
from goqueue.core.work.receipts import STEM_LETTERS, Seal, read_offset, read_stem, spelled_offset
from goqueue.core.work.records import (
    WORK_CODEC,
    Doomed,
    Extended,
    Record,
    Restarted,
    Returned,
    Settled,
    packed,
    packed_runs,
    unpacked,
)
from goqueue.core.work.settings import DELAY_MS_MAX, SPAN_MS_MAX, WorkSettings
from goqueue.core.work.window import DOOMED, HELD, LEASED, READY, SETTLED, WAITING, Run, join

EPOCH_BITS = 32
TOO_OFTEN = "max_attempts"
_SNAPSHOT_BYTES_MIN = 1 << 16
# A record of settled runs takes in the next one up to this size: it is copied each time.
_SETTLED_BYTES = 1 << 12


class Outcome(Enum):
    """What a receipt was answered."""

    DONE = "done"
    # The message is settled already, by this receipt or another one.
    SETTLED = "settled"
    # The lease is over, and the message is on its way to somebody else.
    STALE = "stale"
    FORGED = "forged"


@define
class Grant:
    """What a member was given: a lease, its offsets in order, and which attempt each of them is."""

    lease: int
    offsets: "range | array[int]"
    attempts: list[int]
    until: int


@define
class Counts:
    """How many messages are where; those beyond the reach are not among them."""

    in_flight: int
    ready: int
    waiting: int
    held: int
    doomed: int


@define
class _Held:
    """The lease of some receipts, if it has anything open, and which offsets of it they stand for."""

    lease: Lease | None
    attempt: int
    offsets: list[int] = field(factory=list)


@define
class WorkQueue:
    """The work queue of a group on a partition; `epoch` is higher than that of any queue before it."""

    _clock: Clock
    _random: Random
    seal: Seal
    _epoch: int
    settings: WorkSettings
    ledger: Ledger = field(init=False)
    _records: list[Record] = field(factory=list, init=False)
    _count: int = field(default=0, init=False)
    # Bytes of records since the last snapshot, and how large that was.
    _grown: int = field(default=0, init=False)
    _snapshot_bytes: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        assert 0 < self._epoch < 1 << 63 - EPOCH_BITS
        self.ledger = Ledger(self._clock)

    # --- records

    def replay(self, now: int, content: bytes) -> None:
        """Take in a record that was kept; ProtocolError when it is none."""
        record: Record = WORK_CODEC.decode(content)
        self.ledger.apply(now, record)
        assert self.ledger.last_lease >> EPOCH_BITS < self._epoch, "a lease is from the future"
        self._grown += len(content)

    def take(self) -> list[bytes]:
        """The records that came of the calls since the last one, in order."""
        contents = [WORK_CODEC.encode(record) for record in self._records]
        self._records = []
        self._grown += sum(map(len, contents))
        return contents

    @property
    def wants_snapshot(self) -> bool:
        """Whether replaying takes longer than it should."""
        return self._grown > max(_SNAPSHOT_BYTES_MIN, 2 * self._snapshot_bytes)

    def snapshot(self, now: int) -> bytes:
        """A record of everything; what was kept before it may be dropped once it is durable."""
        assert not self._records, "records are taken before a snapshot is made"
        content = WORK_CODEC.encode(self.ledger.snapshot(now))
        self._grown, self._snapshot_bytes = 0, len(content)
        return content

    def _keep(self, now: int, record: Record) -> None:
        self.ledger.apply(now, record)
        last = self._records[-1] if self._records else None
        if isinstance(record, Settled) and isinstance(last, Settled) and len(last.runs) < _SETTLED_BYTES:
            last.runs += record.runs
        else:
            self._records.append(record)

    # --- giving

    def room(self, member: str) -> int:
        """How many messages more a member may have."""
        return max(self.settings.max_in_flight - self.ledger.leases.in_flight(member), 0)

    def wanted(self, now: int, member: str, count: int) -> list[Run]:
        """What to read for a member: what is to be delivered again, then what was never looked at."""
        self.wake(now)
        window = self.ledger.window
        count = min(count, self.room(member))
        if count <= 0:
            return []
        runs = window.ready(count)
        count -= sum(end - start for start, end in runs)
        if count and window.counts[HELD] < self.settings.held_max:
            join(runs, window.reach, window.reach + count)
        return runs

    def lease(self, now: int, member: str, offers: Offers, span_ms: int = 0) -> Grant | None:
        """Give a member what was found of what it wanted, as far as it is still to be had."""
        assert 0 <= span_ms <= SPAN_MS_MAX
        self.wake(now)
        number = self._epoch << EPOCH_BITS | self._count + 1
        delivered, gone = plan_delivery(self.ledger, self.settings, offers, self.room(member))
        if gone:
            self._settle_runs(now, gone)
        if delivered is None:
            return None
        delivered.lease, delivered.member = number, member
        delivered.span_ms = span_ms or self.settings.visibility_ms
        self._keep(now, delivered)
        lease = self.ledger.leases.get(number)
        if lease is None:
            return None
        self._count += 1
        window = self.ledger.window
        if window.failures:
            attempts = [window.failed(offset) + 1 for offset in lease.offsets]
        else:
            attempts = [1] * len(lease.offsets)
        return Grant(number, lease.offsets, attempts, lease.until)

    def receipts(self, grant: Grant) -> list[str]:
        """The receipts of what was given."""
        stems = {attempt: self.seal.stem(grant.lease, attempt) for attempt in dict.fromkeys(grant.attempts)}
        pairs = zip(grant.attempts, grant.offsets, strict=True)
        return [stems[attempt] + spelled_offset(offset) for attempt, offset in pairs]

    # --- receipts

    def ack(self, now: int, receipts: Sequence[str]) -> list[Outcome]:
        """Settle messages."""
        outcomes, found = self._open(now, receipts)
        if found:
            self._keep(now, Settled(packed([each for lease, runs in found for run in runs for each in (lease, *run)])))
        return outcomes

    def nack(self, now: int, receipts: Sequence[str], delay_ms: int | None = None) -> list[Outcome]:
        """Have messages tried again, after a while or what their attempts ask for; or never, after too many."""
        assert delay_ms is None or 0 <= delay_ms <= DELAY_MS_MAX
        outcomes, found = self._open(now, receipts)
        for lease, runs in found:
            self._fail(now, lease, runs, delay_ms)
        return outcomes

    def reject(self, now: int, receipts: Sequence[str], reason: str) -> list[Outcome]:
        """Have messages never tried again."""
        outcomes, found = self._open(now, receipts)
        for lease, runs in found:
            self._keep(now, Doomed(lease, packed_runs(runs), True, reason))
        return outcomes

    def extend(self, now: int, receipts: Sequence[str], span_ms: int) -> list[Outcome]:
        """Let messages be leased for a span from now, longer or shorter than they were."""
        assert 0 <= span_ms <= SPAN_MS_MAX
        outcomes, found = self._open(now, receipts)
        for lease, runs in found:
            self._keep(now, Extended(lease, packed_runs(runs), span_ms))
        return outcomes

    def release(self, now: int, receipts: Sequence[str]) -> list[Outcome]:
        """Take back messages that were not begun."""
        outcomes, found = self._open(now, receipts)
        for lease, runs in found:
            self._keep(now, Returned(lease, packed_runs(runs), False, 0, 0))
        return outcomes

    def _open(self, now: int, receipts: Iterable[str]) -> tuple[list[Outcome], list[tuple[int, list[Run]]]]:
        """What each receipt is to be answered, and the open runs that they stand for, by lease."""
        self.wake(now)
        outcomes: list[Outcome] = []
        stems: dict[str, _Held | None] = {}
        window = self.ledger.window
        for text in receipts:
            stem = text[:STEM_LETTERS]
            held = stems[stem] if stem in stems else stems.setdefault(stem, self._held(stem))
            try:
                offset = read_offset(text[STEM_LETTERS:])
            except ProtocolError:
                held = None
            if held is None:
                outcomes.append(Outcome.FORGED)
            elif held.lease is None or held.lease.at(offset) < 0:
                outcomes.append(self._past(offset))
            elif held.attempt == window.failed(offset) + 1:
                held.offsets.append(offset)
                outcomes.append(Outcome.DONE)
            else:
                outcomes.append(Outcome.FORGED)
        live = [(held.lease, held.offsets) for held in stems.values() if held is not None and held.offsets]
        return outcomes, [(lease.number, _ordered_runs(offsets)) for lease, offsets in live if lease is not None]

    def _held(self, letters: str) -> "_Held | None":
        """What the receipts of a stem may stand for; None for one that was made up."""
        try:
            stem = read_stem(letters)
        except ProtocolError:
            return None
        return _Held(self.ledger.leases.get(stem.lease), stem.attempt) if self.seal.is_genuine(stem) else None

    def _past(self, offset: int) -> Outcome:
        """What a genuine receipt is answered whose lease has no such message any more."""
        window = self.ledger.window
        is_settled = offset < window.reach and window.status(offset) == SETTLED
        return Outcome.SETTLED if is_settled else Outcome.STALE

    # --- failing

    def _fail(self, now: int, lease: int, runs: list[Run], delay_ms: int | None = None) -> None:
        """Runs of a lease came to nothing: those that failed equally often wait together."""
        by_failures: dict[int, list[Run]] = {}
        for run in runs:
            for start, end, failures in self.ledger.window.by_failures(*run):
                join(by_failures.setdefault(failures, []), start, end)
        for failures, failed in sorted(by_failures.items()):
            content = packed_runs(failed)
            if failures + 1 >= self.settings.max_attempts:
                self._keep(now, Doomed(lease, content, True, TOO_OFTEN))
                continue
            wait_ms = self._backoff_ms(failures + 1) if delay_ms is None else delay_ms
            self._keep(now, Returned(lease, content, True, wait_ms, self._clock.wall_ms(now) + wait_ms))

    def _backoff_ms(self, failures: int) -> int:
        settings = self.settings
        backoff = Backoff(self._random, settings.backoff_ms * 1_000_000, settings.backoff_max_ms * 1_000_000)
        return max(backoff.delay_ns(failures) // 1_000_000, 1)

    def leave(self, now: int, member: str) -> None:
        """A member goes and hands back what it has; none of it counts as tried."""
        for lease in self.ledger.leases.of(member):
            self._keep(now, Returned(lease.number, packed_runs(lease.open_runs()), False, 0, 0))

    def lose(self, now: int, member: str) -> None:
        """A member is gone without a word: all that it has failed."""
        for lease in self.ledger.leases.of(member):
            self._fail(now, lease.number, lease.open_runs())

    # --- dead letters, retention, positions

    def dead(self, count: int) -> list[tuple[int, str, int]]:
        """The first dead letters that are not buried: offset, reason, and how often it was tried."""
        window, reasons = self.ledger.window, self.ledger.reasons
        found: list[tuple[int, str, int]] = []
        if not window.counts[DOOMED]:
            return found
        for start, end in window.runs(DOOMED, window.floor, window.reach):
            offsets = range(start, min(end, start + count - len(found)))
            found += [(offset, reasons[offset], window.failed(offset)) for offset in offsets]
            if len(found) >= count:
                break
        return found

    def buried(self, now: int, offsets: Sequence[int]) -> None:
        """Dead letters are where they belong; what is no dead letter is passed over."""
        window = self.ledger.window
        dead = [each for each in offsets if window.floor <= each < window.reach and window.status(each) == DOOMED]
        self._settle_runs(now, _ordered_runs(dead))

    def trim(self, now: int, start: int) -> None:
        """The partition begins at an offset: whatever lay before it is gone."""
        window = self.ledger.window
        if start > window.reach:
            self.restart(now, start)
        elif start > window.floor:
            self._settle_runs(now, [(window.floor, start)])

    def restart(self, now: int, floor: int) -> None:
        """Forget everything, and go on at an offset."""
        assert floor >= 0
        self._keep(now, Restarted(floor))

    def _settle_runs(self, now: int, runs: list[Run]) -> None:
        """Settle runs whoever has them."""
        if runs:
            self._keep(now, Settled(packed([each for run in runs for each in (0, *run)])))

    # --- time

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        leases, retries = self.ledger.leases.deadline(), self.ledger.retry_deadline()
        return leases if retries is None else retries if leases is None else min(leases, retries)

    def wake(self, now: int) -> None:
        """End the leases whose time is over, and make ready what has waited long enough."""
        leases: list[Lease] = self.ledger.leases.over(now)
        for lease in leases:
            # A tick later than its last nanosecond at most: the wheel says that it is over.
            runs = lease.over(now)
            if runs:
                self._fail(now, lease.number, runs)
            self.ledger.leases.watch(lease)
        self.ledger.ring(now)

    # --- looking

    @property
    def floor(self) -> int:
        """Below this everything is settled."""
        return self.ledger.window.floor

    def counts(self) -> Counts:
        """How many messages are where."""
        counts = self.ledger.window.counts
        return Counts(counts[LEASED], counts[READY], counts[WAITING], counts[HELD], counts[DOOMED])

    def check(self) -> None:
        """Assert the invariants."""
        self.ledger.check()
        settled = [record for record in self._records if isinstance(record, Settled)]
        assert all(len(unpacked(record.runs)) % 3 == 0 for record in settled)


def _ordered_runs(offsets: list[int]) -> list[Run]:
    """Offsets in any order, some maybe twice, as runs."""
    offsets.sort()
    if offsets and offsets[-1] - offsets[0] == len(offsets) - 1 == len({*offsets}) - 1:
        return [(offsets[0], offsets[-1] + 1)]
    runs: list[Run] = []
    for offset in sorted({*offsets}):
        join(runs, offset, offset + 1)
    return runs
