"""What the schedule says besides the messages themselves: control records, in batches that no reader is shown.

The record of a message is a message; its timestamp is the time it is due. All else is one of the classes here, as a
record whose key is a version and a kind (i16 each), and whose value is a row of 64-bit numbers. A message is named by
its offset in the schedule. Its time and its lane are one number where they stand together, its mark.

A summary is what is pending at some point of the log, so that a start need not read what lies before. It is written by
parts, between which the log goes on; each part is true where it stands:

    begun   its number, which the parts bear as well; `replay_from`: from there on messages count that come before it;
            how many parts follow; and all moves that were not settled
    part    everything pending of a range of offsets; the ranges rise, and end below `replay_from`

Control records between begin and end that name a message of a part yet to come are true of that part already. So they
say all that is to be known without it: a move has its mark with it.
"""

import struct
from collections.abc import Sequence

from attrs import define

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import Codec, Lane
from goqueue.core.records.build import encode
from goqueue.core.records.record import Record

_VERSION = 0
_KEY = struct.Struct(">hh")
_NUMBER_BYTES = 8
_LANE_BITS = 3
_LANE_MASK = (1 << _LANE_BITS) - 1
_LANES = tuple(Lane)


def mark_of(due_ms: int, lane: Lane) -> int:
    """A message's time and lane as one number."""
    return due_ms << _LANE_BITS | lane


def due_of(mark: int) -> int:
    """The time in a mark."""
    return mark >> _LANE_BITS


def lane_of(mark: int) -> Lane:
    """The lane in a mark."""
    return _LANES[mark & _LANE_MASK]


@define
class Cancelled:
    """A message is never delivered."""

    offset: int


@define
class Rescheduled:
    """A message is due at another time."""

    offset: int
    due_ms: int


@define
class Intended:
    """Messages go into the data in this order, numbered from `first_sequence` on; there is no way back for them.

    Moves up to the number `settled` are in the data for certain, -1 while there are none: should the data forget how
    far it got, because what told that was removed and its checkpoint lost, they are not made again.
    """

    first_sequence: int
    settled: int
    offsets: list[int]
    marks: list[int]


@define
class Withdrawn:
    """Messages that were intended wait again, as the clock was set back, and their numbers are free again."""

    offsets: list[int]
    marks: list[int]


@define
class SummaryBegun:
    """The parts of a summary follow; see the module's opening."""

    number: int
    replay_from: int
    parts: int
    sequences: list[int]
    offsets: list[int]
    marks: list[int]


@define
class SummaryPart:
    """Pending messages of a range."""

    number: int
    offsets: list[int]
    marks: list[int]


ControlRecord = Cancelled | Rescheduled | Intended | Withdrawn | SummaryBegun | SummaryPart
_CANCELLED, _RESCHEDULED, _INTENDED, _BEGUN, _PART, _WITHDRAWN = range(6)


def encode_control(record: ControlRecord, wall_ms: int) -> bytearray:
    """The control batch that says it."""
    kind, numbers = _row(record)
    value = struct.pack(f">{len(numbers)}q", *numbers)
    codec = Codec.LZ4 if isinstance(record, SummaryBegun | SummaryPart) else Codec.NONE
    return encode(((wall_ms, _KEY.pack(_VERSION, kind), value, ()),), control=True, codec=codec)


def _row(record: ControlRecord) -> tuple[int, Sequence[int]]:
    if isinstance(record, Cancelled):
        return _CANCELLED, (record.offset,)
    if isinstance(record, Rescheduled):
        return _RESCHEDULED, (record.offset, record.due_ms)
    if isinstance(record, Intended):
        return _INTENDED, (record.first_sequence, record.settled, *record.offsets, *record.marks)
    if isinstance(record, Withdrawn):
        return _WITHDRAWN, (*record.offsets, *record.marks)
    if isinstance(record, SummaryBegun):
        moves = *record.sequences, *record.offsets, *record.marks
        return _BEGUN, (record.number, record.replay_from, record.parts, *moves)
    return _PART, (record.number, *record.offsets, *record.marks)


def read_control(record: Record) -> ControlRecord:
    """What a record of a control batch says; BatchError when that is nothing known."""
    key, value = record.key or b"", record.value or b""
    if len(key) != _KEY.size or len(value) % _NUMBER_BYTES:
        raise BatchError("control", f"The record at offset {record.offset} of a schedule has no control record's size.")
    version, kind = _KEY.unpack(key)
    if version != _VERSION:
        said = f"The control record at offset {record.offset} of a schedule has version {version}; only 0 is known."
        raise BatchError("control", said)
    read = _read(kind, list(struct.unpack(f">{len(value) // _NUMBER_BYTES}q", value)))
    if read is None:
        said = f"The control record at offset {record.offset} of a schedule is of kind {kind}, {len(value)} bytes long."
        raise BatchError("control", said)
    return read


def _read(kind: int, numbers: list[int]) -> ControlRecord | None:
    count = len(numbers)
    if kind == _CANCELLED and count == 1:
        return Cancelled(*numbers)
    if kind == _RESCHEDULED and count == 2:
        return Rescheduled(*numbers)
    if kind == _INTENDED and count >= 2 and count % 2 == 0:
        return Intended(numbers[0], numbers[1], *_columns(numbers[2:], 2))
    if kind == _WITHDRAWN and count % 2 == 0:
        return Withdrawn(*_columns(numbers, 2))
    if kind == _BEGUN and count >= 3 and count % 3 == 0:
        return SummaryBegun(numbers[0], numbers[1], numbers[2], *_columns(numbers[3:], 3))
    if kind == _PART and count % 2:
        return SummaryPart(numbers[0], *_columns(numbers[1:], 2))
    return None


def _columns(numbers: list[int], count: int) -> list[list[int]]:
    size = len(numbers) // count
    return [numbers[at * size : (at + 1) * size] for at in range(count)]
