"""Messages under a lease, as a member of a shared group holds them: what came, what was begun, what is still open.

A part of what was leased is whole batches, and the runs of offsets in them that are meant, in the order in which they
are to be worked on. It waits as bytes until its turn comes; then messages are made of it, some dozens at a time, each
knowing its grant, which is what a run is called here. From then on whoever hands them out says which of them were
begun, and each of them is settled once.

How long a lease lasts is told by the broker's clock; from how that stood when the part was sent follows the span, and
with it the end by our own clock. Past half of that span nothing is begun any more: it is handed back, so that nobody
fails for having waited in a queue here.

A record that is missing from a run, as none should be, counts as settled; at the broker its lease runs out.

Invariants: a grant is here as long as something of it is open; what is open and not begun is in an arrival that waits
or in the hands of whoever hands out.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from attrs import define, field

from goqueue.core.client.credit import Credit
from goqueue.core.client.decoding import Make, decode, made_of
from goqueue.core.client.fetching import Origin
from goqueue.core.errors import BatchError
from goqueue.core.records.batch import Header, Lane, validate
from goqueue.core.records.record import Record, iterate
from goqueue.core.requests.queues import LeasedBatches, LeaseRun, ReceiptRun

T = TypeVar("T")

MS = 1_000_000
# Messages are made a batch at a time, until there are so many.
CHUNK = 64
# All of a batch is decoded in one go where one of so many records is wanted.
DENSE = 8


@define(eq=False)
class Grant:
    """So many messages that were leased together; times are ours, in nanoseconds, but for `until_ms`."""

    topic: str
    partition: int
    stem: str
    first: int
    count: int
    attempt: int
    until_ms: int
    span_ns: int
    half: int
    until: int
    # What each of them counts for in the credit.
    bytes_each: int
    # A byte for each, not 0 once it is settled.
    settled: bytearray
    left: int

    def settle(self, offset: int) -> None:
        """This message is not open any more."""
        at = offset - self.first
        assert at >= 0
        assert not self.settled[at]
        self.settled[at] = 1
        self.left -= 1

    def open_offsets(self) -> list[int]:
        """What is not settled."""
        first = self.first
        return [first + at for at, settled in enumerate(self.settled) if not settled]


@define(eq=False)
class Claim(Origin):
    """What the messages of a grant and a lane have in common; `owner` is whom they are settled with."""

    grant: Grant
    owner: Any


@define(eq=False)
class Arrival:
    """A part that came: its bytes, its grants, and how far messages were made of them."""

    source: bytes
    grants: list[Grant]
    # The next message to be made is of this grant, at this offset or behind it.
    turn: int = 0
    offset: int = 0
    _places: list[int] = field(factory=list)
    _headers: list[Header] = field(factory=list)
    _bases: list[int] = field(factory=list)
    # The records of the batch that was taken apart last, and where it is.
    _place: int = -1
    # Which messages could not be read at the last attempt, and of which grant.
    unreadable: "tuple[Grant, range] | None" = None
    _records: dict[int, Record] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        if self.grants:
            self.offset = self.grants[0].first

    @property
    def is_over(self) -> bool:
        """Whether nothing is left of it."""
        return self.turn >= len(self.grants)

    def index(self) -> None:
        """Find the batches, once; raises BatchError."""
        if self._headers or self.is_over:
            return
        at, found = 0, []
        while at < len(self.source):
            header = validate(self.source, at, compacted=True)
            found.append((header.base_offset, at, header))
            at += header.size
        found.sort()
        self._bases = [base for base, _, _ in found]
        self._places = [place for _, place, _ in found]
        self._headers = [header for _, _, header in found]

    def batch_at(self, offset: int) -> tuple[int, Header] | None:
        """Place and header of the batch that this offset is in."""
        at = bisect_right(self._bases, offset) - 1
        if at < 0 or self._headers[at].last_offset < offset:
            return None
        return self._places[at], self._headers[at]

    def record(self, place: int, header: Header, offset: int) -> Record | None:
        """One record of a batch."""
        if self._place != place:
            batch = self.source[place : place + header.size]
            self._records = {} if header.is_control else {record.offset: record for record in iterate(batch)}
            self._place = place
        return self._records.get(offset)

    def advance(self, offset: int) -> None:
        """Messages were made up to this offset of the grant whose turn it is."""
        grant = self.grants[self.turn]
        if offset < grant.first + grant.count:
            self.offset = offset
            return
        self.turn += 1
        if not self.is_over:
            self.offset = self.grants[self.turn].first

    def rest(self) -> list[tuple[Grant, range]]:
        """What no messages were made of."""
        left: list[tuple[Grant, range]] = []
        for turn in range(self.turn, len(self.grants)):
            grant = self.grants[turn]
            left.append((grant, range(self.offset if turn == self.turn else grant.first, grant.first + grant.count)))
        return left


@define(eq=False)
class Grants(Generic[T]):
    """All that one member holds; what it hands out is what `make` makes of records, settled with `owner`."""

    make: Make[Claim, T]
    credit: Credit
    owner: Any = None
    held: dict[Grant, None] = field(factory=dict)
    _arrived: deque[Arrival] = field(factory=deque)
    _claims: dict[tuple[Grant, Lane], Claim] = field(factory=dict)

    def received(self, now: int, part: LeasedBatches, now_ms: int) -> None:
        """A part came that the broker sent when its clock stood at `now_ms`."""
        source = bytes(part.batches)
        count = sum(run.count for run in part.leases)
        each = len(source) // count if count else 0
        grants = [self._grant(now, now_ms, part, run, each) for run in part.leases if run.count > 0]
        self.credit.arrived(count, len(source), each * count)
        self.held.update(dict.fromkeys(grants))
        if grants:
            self._arrived.append(Arrival(source, grants))

    def _grant(self, now: int, now_ms: int, part: LeasedBatches, run: LeaseRun, each: int) -> Grant:
        span_ns = max(run.until_ms - now_ms, 0) * MS
        return Grant(
            part.topic, part.partition, run.stem, run.first_offset, run.count, run.attempt, run.until_ms,
            span_ns, now + span_ns // 2, now + span_ns, each, bytearray(run.count), run.count,
        )  # fmt: skip

    # --- handing out

    def next(self) -> list[T]:
        """The next messages in their order, and none when nothing is left; raises BatchError for damaged bytes.

        What is damaged stays, for `take_damaged`.
        """
        self._claims.clear()
        while self._arrived:
            arrival = self._arrived[0]
            arrival.index()
            chunk: list[T] = []
            while not arrival.is_over and len(chunk) < CHUNK:
                try:
                    made = self._made(arrival)
                except BatchError:
                    if chunk:
                        return chunk
                    raise
                chunk = chunk + made if chunk else made
            if arrival.is_over:
                self._arrived.popleft()
            if chunk:
                return chunk
        return []

    def _made(self, arrival: Arrival) -> list[T]:
        """Messages of one batch and one grant."""
        grant, start = arrival.grants[arrival.turn], arrival.offset
        end = grant.first + grant.count
        found = arrival.batch_at(start)
        if found is None:
            self._miss(grant, range(start, end))
            arrival.advance(end)
            return []
        place, header = found
        stop, claim = min(header.next_offset, end), self._claim(grant, header.lane)
        arrival.unreadable = grant, range(start, stop)
        is_dense = header.record_count == header.last_offset_delta + 1 and not header.is_control
        if is_dense and (stop - start) * DENSE >= header.record_count:
            made = decode(arrival.source, place, header, claim, self.make)
            if stop - start < len(made):
                made = made[start - header.base_offset : stop - header.base_offset]
        else:
            made = []
            for offset in range(start, stop):
                record = arrival.record(place, header, offset)
                if record is None:
                    self._miss(grant, (offset,))
                else:
                    made.append(made_of(record, claim, self.make))
        arrival.advance(stop)
        return made

    def _claim(self, grant: Grant, lane: Lane) -> Claim:
        claim = self._claims.get((grant, lane))
        if claim is None:
            claim = self._claims[grant, lane] = Claim(grant.topic, grant.partition, lane, grant, self.owner)
        return claim

    # --- what is not open any more

    def _miss(self, grant: Grant, offsets: Iterable[int]) -> None:
        for offset in offsets:
            self.settle(grant, offset)

    def settle(self, grant: Grant, offset: int) -> None:
        """This message is not open any more, and not held."""
        grant.settle(offset)
        self.credit.freed(1, grant.bytes_each)
        if not grant.left:
            del self.held[grant]

    def give_back(self, grant: Grant, offsets: Iterable[int]) -> list[ReceiptRun]:
        """These are not to be begun here; the receipts of those that are open."""
        runs: list[ReceiptRun] = []
        for offset in offsets:
            if not grant.settled[offset - grant.first]:
                self.settle(grant, offset)
                add_receipt(runs, grant.stem, offset)
        return runs

    def take_waiting(self, now: int | None = None) -> list[ReceiptRun]:
        """Let go of what no messages were made of: all of it, or what is past half of its lease by `now`."""
        runs: list[ReceiptRun] = []
        kept: deque[Arrival] = deque()
        for arrival in self._arrived:
            if now is not None and all(now < grant.half for grant, _ in arrival.rest()):
                kept.append(arrival)
                continue
            for grant, offsets in arrival.rest():
                runs += self.give_back(grant, offsets)
        self._arrived = kept
        return runs

    def take_damaged(self) -> list[ReceiptRun]:
        """Let go of the messages that cannot be read: of one batch, or of a whole part whose batches are not found."""
        arrival = self._arrived[0]
        if arrival.unreadable is None:
            self._arrived.popleft()
            return [run for grant, offsets in arrival.rest() for run in self.give_back(grant, offsets)]
        grant, offsets = arrival.unreadable
        arrival.unreadable = None
        arrival.advance(offsets.stop)
        if arrival.is_over:
            self._arrived.popleft()
        return self.give_back(grant, offsets)

    @property
    def damaged(self) -> tuple[str, int, int, int]:
        """Topic, partition, first offset and end of the messages that `take_damaged` would let go of."""
        arrival = self._arrived[0]
        grant, offsets = arrival.unreadable or arrival.rest()[0]
        return grant.topic, grant.partition, offsets.start, offsets.stop

    def take_open(self) -> list[ReceiptRun]:
        """Let go of everything."""
        self._arrived.clear()
        runs: list[ReceiptRun] = []
        for grant in [*self.held]:
            runs += self.give_back(grant, grant.open_offsets())
        return runs

    @property
    def is_waiting(self) -> bool:
        """Whether something came of which no messages were made."""
        return bool(self._arrived)

    def deadline(self) -> int | None:
        """When something that waits is past half of its lease."""
        halves = [grant.half for arrival in self._arrived for grant, _ in arrival.rest()]
        return min(halves, default=None)

    def check(self) -> None:
        """Assert the invariants."""
        self.credit.check()
        assert sum(grant.left for grant in self.held) == self.credit.messages_held
        assert sum(grant.left * grant.bytes_each for grant in self.held) == self.credit.bytes_held
        for grant in self.held:
            assert 0 < grant.left == grant.settled.count(0)
        for arrival in self._arrived:
            assert all(grant in self.held for grant, offsets in arrival.rest() if len(offsets))


def add_receipt(runs: list[ReceiptRun], stem: str, offset: int) -> None:
    """One receipt more, in the last run if it follows on."""
    last = runs[-1] if runs else None
    if last is not None and last.stem == stem and last.first_offset + last.count == offset:
        last.count += 1
    else:
        runs.append(ReceiptRun(stem, offset))
