"""Choosing what of a partition goes into one batch for another one, while the partition is read.

All letters of a batch go to one target, in one lane and one codec, since a batch has one of each. What is of another
kind than the first stays behind for the next time. It is found again: `Named` is told of it as it is still dead, and
`Sifted` keeps its position before the first that it left.

What was found here is copied, so the batches that were read may go.
"""

from collections import deque
from collections.abc import Iterator

from attrs import define, field

from goqueue.core.deadletters.letters import bare, buried, fits, read_letter, revived
from goqueue.core.errors import BatchError
from goqueue.core.partition.lane_runs import Run
from goqueue.core.queues.gone import Gone
from goqueue.core.queues.move_records import Intent, Tally
from goqueue.core.queues.records import unpacked
from goqueue.core.queues.targets import Targets
from goqueue.core.queues.window import join
from goqueue.core.records.batch import NO_TIMESTAMP, Codec, Header, Lane, validate
from goqueue.core.records.build import Entry, encode
from goqueue.core.records.record import Record, iterate
from goqueue.core.records.varint import Readable
from goqueue.core.requests.deadletters import Sieve

LETTERS_MAX = 500
BYTES_MAX = 1 << 20
# Lengths and deltas of a record, and the lengths of each of its headers.
_RECORD_BYTES_MAX = 40
_HEADER_BYTES_MAX = 10
# A redrive says how far it has come at least this often.
SCANNED_BYTES_MAX = 8 << 20
PASSED_MAX = 10_000

# Topic and partition, lane and codec.
Kind = tuple[str, int, int, int]
Death = tuple[str, int]


@define
class Bounds:
    """How many letters a batch may hold, of how many bytes together; the first one goes in whatever its size."""

    letters_max: int = LETTERS_MAX
    bytes_max: int = BYTES_MAX


@define
class Consignment:
    """The letters of one batch."""

    kind: Kind | None = None
    offsets: list[int] = field(factory=list)
    entries: list[Entry] = field(factory=list)
    size: int = 0

    def put(self, kind: Kind, offset: int, entry: Entry, bounds: Bounds) -> bool:
        """Take a letter in; False when there is no room for it."""
        assert self.kind in (None, kind)
        size = _size(entry)
        if self.offsets and (len(self.offsets) >= bounds.letters_max or self.size + size > bounds.bytes_max):
            return False
        self.kind = kind
        self.offsets.append(offset)
        self.entries.append(entry)
        self.size += size
        return True

    def batch(self, producer_id: int, sequence: int) -> bytearray:
        """The batch, to be published."""
        assert self.kind is not None
        lane, codec = Lane(self.kind[2]), Codec(self.kind[3])
        return encode(
            self.entries, codec=codec, lane=lane, producer_id=producer_id, producer_epoch=0, base_sequence=sequence
        )


def _size(entry: Entry) -> int:
    _, key, value, headers = entry
    size = _RECORD_BYTES_MAX + len(key or b"") + len(value or b"")
    return size + sum(len(name) + len(said or b"") + _HEADER_BYTES_MAX for name, said in headers)


@define
class Opened:
    """A batch with its records, which are views of it: all of them, or none and the reason why they cannot be read."""

    header: Header
    records: list[Record]
    problem: str = ""


def opened(batches: Readable) -> Iterator[Opened]:
    """The batches of what was read; BatchError where it is damaged."""
    view, at = memoryview(batches), 0
    while at < len(view):
        header = validate(view, at, compacted=True)
        end = at + header.size
        try:
            yield Opened(header, [] if header.is_control else [*iterate(view[at:end])])
        except BatchError as error:
            yield Opened(header, [], str(error))
        at = end


@define
class Named:
    """Picks messages by their offsets: what a group gave up, or what an intent names."""

    topic: str
    number: int
    group: str
    target: tuple[str, int]
    at_ms: int
    deaths: dict[int, Death]
    bounds: Bounds
    is_bare: bool = False
    # An intent takes all that it names, as it was.
    is_intent: bool = False
    consignment: Consignment = field(factory=Consignment, init=False)
    missing: list[int] = field(factory=list, init=False)
    is_full: bool = field(default=False, init=False)
    _rest: deque[int] = field(factory=deque, init=False)

    def __attrs_post_init__(self) -> None:
        self._rest.extend(self.deaths)

    @property
    def position(self) -> int | None:
        """Where to read on; None when there is nothing more to look for."""
        return None if self.is_full or not self._rest else self._rest[0]

    def within(self, start: int, end: int) -> None:
        """The partition holds what is between these offsets, and nothing else."""
        while self._rest and self._rest[0] < start:
            self.missing.append(self._rest.popleft())
        while self._rest and self._rest[-1] >= end:
            self.missing.append(self._rest.pop())

    def read(self, batches: Readable, next_offset: int) -> None:
        """Look through what was read from the position on."""
        for batch in opened(batches):
            for record in batch.records:
                self._skip(record.offset)
                if self._rest and self._rest[0] == record.offset:
                    self._take(self._rest.popleft(), batch.header, record)
                if self.is_full:
                    # What comes behind was not looked for, so it is not missing.
                    return
            if batch.problem and self.group:
                self._take_unreadable(batch)
            if self.is_full:
                return
        self._skip(next_offset)

    def _take_unreadable(self, batch: Opened) -> None:
        """The messages of a batch that cannot be read get letters that say so."""
        header = batch.header
        self._skip(header.base_offset)
        while self._rest and self._rest[0] < header.next_offset and not self.is_full:
            offset = self._rest.popleft()
            self._take(offset, header, Record(offset, NO_TIMESTAMP, None, None), batch.problem)

    def _skip(self, offset: int) -> None:
        while self._rest and self._rest[0] < offset:
            self.missing.append(self._rest.popleft())

    def _take(self, offset: int, header: Header, record: Record, problem: str = "") -> None:
        kind = (*self.target, int(header.lane), int(header.codec))
        if self.consignment.kind not in (None, kind):
            return
        if self.group:
            entry = buried(record, self.group, self.deaths[offset], (self.topic, self.number), self.at_ms, problem)
        else:
            entry = revived(record, self.at_ms)
        entry = bare(entry) if self.is_bare else entry
        self.is_full = not self.consignment.put(kind, offset, entry, self.bounds)


def repeated(topic: str, number: int, intent: Intent) -> Named:
    """Picks what an intent names, in whatever number it is there."""
    numbers = unpacked(intent.deaths)
    deaths = [(intent.reasons[index], count) for index, count in zip(numbers[::2], numbers[1::2], strict=True)]
    named = dict(zip(unpacked(intent.offsets), deaths, strict=True))
    bounds = Bounds(len(named), 1 << 62)
    target = (intent.topic, intent.partition)
    return Named(topic, number, intent.group, target, intent.at_ms, named, bounds, intent.is_bare, is_intent=True)


@define
class Sifted:
    """Picks letters by a sieve, from a redrive's position on, and counts what it looks at."""

    number: int
    sieve: Sieve
    # None for letters that go nowhere: they are counted, or purged.
    targets: Targets | None
    at_ms: int
    end: int
    gone: Gone
    tally: Tally
    # How many may match.
    room: int
    bounds: Bounds
    consignment: Consignment = field(factory=Consignment, init=False)
    passed: list[Run] = field(factory=list, init=False)
    why: str = field(default="", init=False)
    _position: int = field(init=False)
    # Where the partition ends, if that is before the end.
    _cut: int = field(init=False)
    _scanned: int = field(default=0, init=False)
    _is_done: bool = field(default=False, init=False)
    # Whether something was left behind, at the tally's position.
    _has_left: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self._position, self._cut = self.tally.position, self.end

    @property
    def position(self) -> int | None:
        """Where to read on; None when there is nothing more to look for now."""
        is_over = self._is_done or self._position >= self._cut or self._scanned >= SCANNED_BYTES_MAX
        return None if is_over or self.room <= 0 else self._position

    def within(self, start: int, end: int) -> None:
        """The partition holds what is between these offsets, and nothing else."""
        self._cut = min(self.end, end)
        self._move(start)

    def read(self, batches: Readable, next_offset: int) -> None:
        """Look through what was read from the position on."""
        self._scanned += len(batches)
        for batch in opened(batches):
            for record in batch.records:
                if self._is_done:
                    return
                if self._position <= record.offset < self.end and record.offset not in self.gone:
                    self._look(batch.header, record)
        if not self._is_done:
            self._move(next_offset)

    def _move(self, position: int) -> None:
        self._position = max(self._position, position)
        if not self._has_left:
            # What was lost from the partition's end needs no looking at.
            is_over = self._position >= self._cut
            self.tally.position = self.end if is_over else max(self.tally.position, self._position)

    def _look(self, header: Header, record: Record) -> None:
        letter = read_letter(self.number, record)
        if not fits(self.sieve, letter):
            self.tally.looked += not self._has_left
        elif self.targets is None:
            join(self.passed, record.offset, record.offset + 1)
            self._count(record.offset)
        else:
            target = self.targets.of(letter)
            if isinstance(target, str):
                self.why = self.why or target
                self._leave(record.offset)
                self._is_done = True
                return
            kind = (*target, int(header.lane), int(header.codec))
            if self.consignment.kind not in (None, kind):
                self._leave(record.offset)
            elif self.consignment.put(kind, record.offset, revived(record, self.at_ms), self.bounds):
                self._count(record.offset)
            else:
                self._leave(record.offset)
                self._is_done = True

    def _count(self, offset: int) -> None:
        self.tally.looked += 1
        self.tally.matched += 1
        self.room -= 1
        if self.room <= 0 or self.tally.matched % PASSED_MAX == 0:
            self._is_done = True
        if not self._has_left:
            self.tally.position = offset + 1

    def _leave(self, offset: int) -> None:
        if not self._has_left:
            self._has_left = True
            self.tally.position = offset
