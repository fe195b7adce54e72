"""The verbs of a work queue: who is given what, and what became of it. One queue for a group and a partition.

It is asked in three steps, because it holds no messages: `wanted` says what to read, whoever asked reads it, and
`lease` is told what was found. Between the two somebody else may have been given the same, so only `lease` decides.
What a verb changes leaves as records through `take`; a reply that promises durability waits for these.

A failure is a time-out, a nack, or the end of a member that had it. After a failure the message waits, twice as long
each time, or is doomed when it failed as often as it may. A message that is released was not tried: it keeps its
attempt. Whoever moves dead letters asks for `dead`, and says `buried` when they are where they belong; what is dead and
not buried is asked for again after a restart, so the move must bear repeating.

Receipts come as runs and are answered together (`proving`); only where it was not done is each answered on its own.
"""

from collections.abc import Sequence
from random import Random

from attrs import define, field

from goqueue.core.clock import Clock
from goqueue.core.cluster.queue_settings import DELAY_MS_MAX, SPAN_MS_MAX, WorkSettings
from goqueue.core.partition.lane_runs import Run
from goqueue.core.partition.lanes import LaneIndex
from goqueue.core.queues.counts import Counts, Tally
from goqueue.core.queues.dealing import Dealer
from goqueue.core.queues.leases import Lease
from goqueue.core.queues.ledger import Ledger
from goqueue.core.queues.plan import Offers, plan_delivery
from goqueue.core.queues.proving import Answer, prove
from goqueue.core.queues.receipts import Seal
from goqueue.core.queues.records import (
    WORK_CODEC,
    Cut,
    Delivered,
    Doomed,
    Extended,
    Record,
    Restarted,
    Returned,
    Settled,
    packed_runs,
    packed_triples,
    unpacked_runs,
    unpacked_triples,
)
from goqueue.core.queues.shares import Shares
from goqueue.core.queues.window import DOOMED, HELD, LEASED, READY, WAITING, join
from goqueue.core.requests.queues import LeaseRun, ReceiptRun
from goqueue.core.timers.backoff import Backoff

EPOCH_BITS = 32
# Why a message is given up; what was said by whoever rejected it stands behind a colon.
TOO_OFTEN = "max_attempts"
REJECTED = "rejected"
EXPIRED = "expired"
# A record of settled runs takes in the next one up to this size: it is copied each time.
_SETTLED_BYTES = 1 << 12


@define
class Grant:
    """What a member was given, in the order in which it is to be delivered; `until` is when the lease ends."""

    lease: int
    runs: list[LeaseRun]
    until: int


@define
class WorkQueue:
    """The work queue of a group on a partition; `epoch` is that of no other queue before or after it.

    With an index of lanes it chooses among them, and delivers nothing that the index does not know of yet.
    """

    _clock: Clock
    _random: Random
    seal: Seal
    _epoch: int
    settings: WorkSettings
    _lanes: LaneIndex | None = None
    _dealer: Dealer | None = field(default=None, init=False)
    ledger: Ledger = field(init=False)
    tally: Tally = field(factory=Tally, init=False)
    _records: list[Record] = field(factory=list, init=False)
    _count: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        assert 0 < self._epoch < 1 << 63 - EPOCH_BITS
        self.ledger = Ledger(self._clock)
        self.configure(self.settings)

    def configure(self, settings: WorkSettings) -> None:
        """Go on by other settings."""
        before, self.settings = self.settings, settings
        ways = settings.lane_weights, settings.starvation_ms
        if self._lanes is not None and (self._dealer is None or ways != (before.lane_weights, before.starvation_ms)):
            self._dealer = Dealer(self._lanes, Shares(settings.lane_weights, settings.starvation_ms * 1_000_000))

    def deal_by(self, lanes: LaneIndex) -> None:
        """Choose among lanes by another index."""
        self._lanes, self._dealer = lanes, None
        self.configure(self.settings)

    # --- records

    def replay(self, now: int, content: bytes) -> None:
        """Take in a record that was kept; ProtocolError when it is none."""
        record: Record = WORK_CODEC.decode(content)
        self.ledger.apply(now, record)
        assert self.ledger.last_lease >> EPOCH_BITS != self._epoch, "a lease of this epoch was given by another"

    def take(self) -> list[bytes]:
        """The records that came of the calls since the last one, in order."""
        contents = [WORK_CODEC.encode(record) for record in self._records]
        self._records = []
        return contents

    def snapshot(self, now: int) -> bytes:
        """A record of everything; what was kept before it may be dropped once it is durable."""
        assert not self._records, "records are taken before a snapshot is made"
        return WORK_CODEC.encode(self.ledger.snapshot(now))

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
        dealer = None if self.settings.key_ordered else self._dealer
        if dealer is not None and dealer.chooses(window):
            return dealer.wanted(now, window, count)
        runs = window.ready(count)
        count -= _length(runs)
        end = window.reach + count
        if dealer is not None:
            end = min(end, dealer.end(window))
        if end > window.reach and window.counts[HELD] < self.settings.held_max:
            join(runs, window.reach, end)
        return runs

    def lease(self, now: int, member: str, offers: Offers, span_ms: int = 0) -> Grant | None:
        """Give a member what was found of what it wanted, as far as it is still to be had.

        None is given also where all that was found has expired, or waits for its key: there may be more to want then.
        """
        assert 0 <= span_ms <= SPAN_MS_MAX
        self.wake(now)
        dealer = None if self.settings.key_ordered else self._dealer
        for opened in dealer.opening(self.ledger.window, offers) if dealer is not None else ():
            self._keep(now, opened)
        plan = plan_delivery(self.ledger, self.settings, offers, self.room(member))
        self._settle_runs(now, plan.gone)
        if plan.delivered is None:
            return None
        grant = self._deliver(now, member, plan.delivered, plan.expired, span_ms or self.settings.visibility_ms)
        if grant is not None and dealer is not None:
            dealer.dealt(now, self._clock.wall_ms(now), self.ledger.window, grant.runs, offers)
        return grant

    def _deliver(self, now: int, member: str, delivered: Delivered, expired: list[Run], span_ms: int) -> Grant | None:
        """Lease what was planned, and give up what of it has expired."""
        number = delivered.lease = self._epoch << EPOCH_BITS | self._count + 1
        delivered.member, delivered.span_ms = member, span_ms
        self._keep(now, delivered)
        runs = unpacked_runs(delivered.leased)
        self._count += bool(runs)
        if expired:
            self.tally.expired += _length(expired)
            self._give_up(now, number, expired, False, EXPIRED)
            runs = [part for run in runs for part in self.ledger.window.runs(LEASED, *run)]
        lease = self.ledger.leases.get(number)
        if lease is None:
            return None
        self.tally.delivered += lease.left
        return Grant(number, self._lease_runs(lease, runs), lease.until)

    def _lease_runs(self, lease: Lease, runs: list[Run]) -> list[LeaseRun]:
        """Runs of a lease as runs of one attempt each."""
        until_ms, stems = self._clock.wall_ms(lease.until), dict[int, str]()
        found: list[LeaseRun] = []
        for run in runs:
            for start, end, failures in self.ledger.window.by_failures(*run):
                attempt = failures + 1
                if attempt not in stems:
                    stems[attempt] = self.seal.stem(lease.number, attempt, lease.member)
                last = found[-1] if found else None
                if last is not None and last.attempt == attempt and last.first_offset + last.count == start:
                    last.count += end - start
                else:
                    found.append(LeaseRun(start, end - start, attempt, stems[attempt], until_ms))
        return found

    # --- receipts

    def ack(self, now: int, receipts: Sequence[ReceiptRun]) -> Answer:
        """Settle messages."""
        answer, found = self._open(now, receipts)
        if found:
            self._observe(now, found)
            self._keep(now, Settled(packed_triples([(lease, *run) for lease, runs in found for run in runs])))
        return answer

    def nack(self, now: int, receipts: Sequence[ReceiptRun], delay_ms: int | None = None) -> Answer:
        """Have messages tried again, after a while or what their attempts ask for; or never, after too many."""
        assert delay_ms is None or 0 <= delay_ms <= DELAY_MS_MAX
        answer, found = self._open(now, receipts)
        for lease, runs in found:
            self.tally.nacked += _length(runs)
            at, dead = self._fail(now, lease, runs, delay_ms)
            answer.at = max(answer.at, at)
            answer.dead += dead
        return answer

    def reject(self, now: int, receipts: Sequence[ReceiptRun], reason: str) -> Answer:
        """Have messages never tried again."""
        answer, found = self._open(now, receipts)
        for lease, runs in found:
            self.tally.rejected += _length(runs)
            self._give_up(now, lease, runs, True, f"{REJECTED}:{reason}" if reason else REJECTED)
            answer.dead += _length(runs)
        return answer

    def extend(self, now: int, receipts: Sequence[ReceiptRun], span_ms: int) -> Answer:
        """Let messages be leased for a span from now, longer or shorter than they were."""
        assert 0 <= span_ms <= SPAN_MS_MAX
        answer, found = self._open(now, receipts)
        for lease, runs in found:
            self.tally.extended += _length(runs)
            self._keep(now, Extended(lease, packed_runs(runs), span_ms))
            answer.at = now + span_ms * 1_000_000
        return answer

    def release(self, now: int, receipts: Sequence[ReceiptRun]) -> Answer:
        """Take back messages that were not begun."""
        answer, found = self._open(now, receipts)
        for lease, runs in found:
            self.tally.released += _length(runs)
            self._keep(now, Returned(lease, packed_runs(runs), False, 0, 0))
        return answer

    def _open(self, now: int, receipts: Sequence[ReceiptRun]) -> tuple[Answer, list[tuple[int, list[Run]]]]:
        """What to answer, and the open runs that receipts stand for, by lease."""
        self.wake(now)
        return prove(self.ledger, self.seal, receipts)

    def _observe(self, now: int, found: list[tuple[int, list[Run]]]) -> None:
        """Count what is acknowledged, and how long it took."""
        for number, runs in found:
            lease, count = self.ledger.leases.get(number), _length(runs)
            assert lease is not None
            self.tally.acked += count
            self.tally.ack_latency.observe(now - lease.since, count)

    # --- failing

    def _fail(self, now: int, lease: int, runs: list[Run], delay_ms: int | None = None) -> tuple[int, int]:
        """Runs of a lease came to nothing: those that failed equally often wait together.

        When the last of them is tried again, 0 when none is, and how many are dead letters instead.
        """
        at = dead = 0
        by_failures: dict[int, list[Run]] = {}
        for run in runs:
            for start, end, failures in self.ledger.window.by_failures(*run):
                join(by_failures.setdefault(failures, []), start, end)
        for failures, failed in sorted(by_failures.items()):
            if failures + 1 >= self.settings.max_attempts:
                self._give_up(now, lease, failed, True, TOO_OFTEN)
                dead += _length(failed)
                continue
            wait_ms = self._backoff_ms(failures + 1) if delay_ms is None else delay_ms
            self._keep(now, Returned(lease, packed_runs(failed), True, wait_ms, self._clock.wall_ms(now) + wait_ms))
            at = max(at, now + wait_ms * 1_000_000)
        return at, dead

    def _give_up(self, now: int, lease: int, runs: list[Run], failed: bool, reason: str) -> None:
        """Runs of a lease are dead letters, or dropped where there are none."""
        if self.settings.dlq:
            self._keep(now, Doomed(lease, packed_runs(runs), failed, reason))
        else:
            self._keep(now, Settled(packed_triples([(lease, *run) for run in runs])))

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

    def cut(self, now: int, end: int) -> None:
        """The partition ends at an offset: what was known of messages beyond it is of others that were lost."""
        if end < self.ledger.window.reach:
            self._keep(now, Cut(end))

    def restart(self, now: int, floor: int) -> None:
        """Forget everything, and go on at an offset."""
        assert floor >= 0
        self._keep(now, Restarted(floor))

    def _settle_runs(self, now: int, runs: list[Run]) -> None:
        """Settle runs whoever has them."""
        if runs:
            self._keep(now, Settled(packed_triples([(0, *run) for run in runs])))

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
                self.tally.timed_out += _length(runs)
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

    def lane_counts(self) -> list[tuple[int, int]]:
        """How many messages are ready, also beyond the reach, and in flight, by lane; nothing without an index."""
        return [] if self._dealer is None else self._dealer.counts(self.ledger.window)

    def check(self) -> None:
        """Assert the invariants."""
        self.ledger.check()
        if self._dealer is not None:
            self._dealer.shares.check()
        for record in self._records:
            assert not isinstance(record, Settled) or unpacked_triples(record.runs)


def _length(runs: list[Run]) -> int:
    return sum(end - start for start, end in runs)


def _ordered_runs(offsets: list[int]) -> list[Run]:
    """Offsets in any order, some maybe twice, as runs."""
    runs: list[Run] = []
    for offset in sorted({*offsets}):
        join(runs, offset, offset + 1)
    return runs
