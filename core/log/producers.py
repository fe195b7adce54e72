"""What a log knows of idempotent producers: which batches of each came last, and where they lie.

The table follows from the batches of the log alone: each that bears a producer id is entered when it is appended, and
again when recovery reads it back. A checkpoint holds the whole table as it was where the checkpoint ends, so neither
retention nor compaction takes anything from it. Whether a batch may be appended is not decided here; that is
`goqueue.core.partition.producers`.

A producer is one row of bytes, in memory as in a checkpoint: its id, epoch and last use, then up to five batches. That
is some 150 bytes, a hundred thousand rows are joined in milliseconds, and there is one form to keep right.

Bounded: a producer that was not used for a day is forgotten when another is entered, and of more than `most` the one
that was not used for longest. A leader lets nobody be entered, though, for whom one would have to go that was used just
before (`is_crowded`): else whoever makes up ids would have all others forgotten. Time is the wall's, since it has to
outlast a restart; what recovery reads back counts as used at that moment, which keeps it for longer and never for less.
The broker's own producers are never forgotten: how far they got says what they have yet to do.

Invariants (`check`): rows stand in the order of their last entry; a row has one to five batches of one epoch.
"""

from collections import OrderedDict
from struct import Struct, error

from attrs import define

from goqueue.core.log.checkpoint import CheckpointError
from goqueue.core.records.batch import Header
from goqueue.core.records.varint import INT32_MAX

PRODUCERS_MAX = 100_000
EXPIRY_MS = 24 * 3_600_000
# Who was used within this is not to be forgotten for another one: nobody sends a batch again for so long.
HELD_MS = 300_000
REMEMBERED = 5
VERSION = 1
# These ids are the broker's own. One of them moves delayed messages into the data.
OWN_IDS = range(900, 1000)
MOVER_ID = 900
# These are never handed out: whoever does the same work again, and must be recognised, makes an id out of its name.
DERIVED_IDS = range(1 << 62, 1 << 63)

# Id, epoch, wall time of the last use, number of batches; of each first and last sequence, first offset, timestamp.
_HEAD = Struct(">qhqB")
_BATCH = Struct(">iiqq")
_HEAD_BYTES, _BATCH_BYTES = _HEAD.size, _BATCH.size


@define
class Produced:
    """A batch of a producer in the log; its sequences may run past the largest and on from zero."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    timestamp: int

    @property
    def next_offset(self) -> int:
        """The offset behind the batch."""
        return self.first_offset + (self.last_sequence - self.first_sequence & INT32_MAX) + 1


def advance(sequence: int, count: int) -> int:
    """The sequence so many records further on; after the largest comes zero."""
    return sequence + count & INT32_MAX


class Producers:
    """The rows of all producers that a log remembers."""

    __slots__ = ("_expiry_ms", "_most", "_rows")

    def __init__(self, most: int = PRODUCERS_MAX, expiry_ms: int = EXPIRY_MS) -> None:
        assert most > 0
        assert expiry_ms > 0
        self._most = most
        self._expiry_ms = expiry_ms
        # Ordered for its ends: a plain dict finds its first key only behind all that were taken out.
        self._rows: OrderedDict[int, bytes] = OrderedDict()

    def __len__(self) -> int:
        return len(self._rows)

    def last(self, producer_id: int) -> tuple[int, int] | None:
        """(epoch, last sequence) of a producer; None when nothing is remembered of it."""
        row = self._rows.get(producer_id)
        if row is None:
            return None
        return _HEAD.unpack_from(row)[1], _BATCH.unpack_from(row, len(row) - _BATCH_BYTES)[1]

    def batches(self, producer_id: int) -> list[Produced]:
        """The last batches of a producer, oldest first."""
        row = self._rows.get(producer_id, b"")
        return [Produced(*_BATCH.unpack_from(row, at)) for at in range(_HEAD_BYTES, len(row), _BATCH_BYTES)]

    def enter(self, header: Header, base_offset: int, wall_ms: int) -> None:
        """Note that a batch has been given this offset; one without epoch and sequence is none of a producer's own."""
        producer_id, epoch, first = header.producer_id, header.producer_epoch, header.base_sequence
        if producer_id < 0 or epoch < 0 or first < 0:
            return
        earlier = self._rows.pop(producer_id, b"")
        kept = b""
        if earlier and _HEAD.unpack_from(earlier)[1] == epoch:
            kept = earlier[max(_HEAD_BYTES, len(earlier) - (REMEMBERED - 1) * _BATCH_BYTES) :]
        head = _HEAD.pack(producer_id, epoch, wall_ms, len(kept) // _BATCH_BYTES + 1)
        last = advance(first, header.last_offset_delta)
        self._rows[producer_id] = head + kept + _BATCH.pack(first, last, base_offset, header.max_timestamp)
        self._forget(wall_ms)

    def _forget(self, wall_ms: int) -> None:
        kept: dict[int, bytes] = {}
        while len(self._rows) > self._most or self._used_ms() + self._expiry_ms <= wall_ms:
            producer_id, row = self._rows.popitem(last=False)
            if producer_id in OWN_IDS:
                kept[producer_id] = row
        self._rows.update(kept)

    def is_crowded(self, wall_ms: int) -> bool:
        """Whether another producer would have one forgotten that was used just before."""
        if len(self._rows) < self._most:
            return False
        others = (row for producer_id, row in self._rows.items() if producer_id not in OWN_IDS)
        used_ms: int = _HEAD.unpack_from(next(others, self._rows[next(iter(self._rows))]))[2]
        return 0 <= wall_ms - used_ms < HELD_MS

    def _used_ms(self) -> int:
        """The last use of the producer that was not used for longest."""
        used_ms: int = _HEAD.unpack_from(next(iter(self._rows.values())))[2]
        return used_ms

    # --- as bytes

    def encode(self) -> bytes:
        """The table as a checkpoint holds it; nothing at all when it is empty."""
        return b"".join((bytes((VERSION,)), *self._rows.values())) if self._rows else b""

    @classmethod
    def decode(cls, content: bytes) -> "Producers":
        """The table in `content`, or CheckpointError saying what is wrong with it."""
        producers = cls()
        if not content:
            return producers
        if content[0] != VERSION:
            said = f"its table of producers has version {content[0]}, this release reads version {VERSION}"
            raise CheckpointError(said, newer=content[0] > VERSION)
        at = 1
        while at < len(content):
            producer_id, row = _row(content, at)
            if producer_id in producers._rows:
                raise CheckpointError(f"expected one row a producer, found two of {producer_id}")
            producers._rows[producer_id] = row
            at += len(row)
        return producers

    def check(self) -> None:
        """Assert the invariants that the module's opening names."""
        assert len(self._rows) <= self._most + len(OWN_IDS)
        for producer_id, row in self._rows.items():
            assert _row(row, 0) == (producer_id, row)


def _row(content: bytes, at: int) -> tuple[int, bytes]:
    """The producer whose row begins at a position, and that row."""
    try:
        producer_id, epoch, _, count = _HEAD.unpack_from(content, at)
    except error:
        raise CheckpointError(f"expected a row of {_HEAD_BYTES} bytes or more, found {len(content) - at}") from None
    row = content[at : at + _HEAD_BYTES + count * _BATCH_BYTES]
    if not 1 <= count <= REMEMBERED or len(row) != _HEAD_BYTES + count * _BATCH_BYTES:
        raise CheckpointError(f"expected one to {REMEMBERED} batches of producer {producer_id}, whole")
    places = [_BATCH.unpack_from(row, begin) for begin in range(_HEAD_BYTES, len(row), _BATCH_BYTES)]
    if producer_id < 0 or epoch < 0 or any(min(place[:3]) < 0 for place in places):
        raise CheckpointError(f"expected no number below zero in the row of producer {producer_id}")
    return producer_id, row
