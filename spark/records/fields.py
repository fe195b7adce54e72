"""Where the parts of every record of a run lie: the records of a thousand batches parsed at once, in numpy.

Only the lengths of records are read one after another, since each tells where the next one begins. From there on each
step takes the same field of all records: attributes, timestamp delta, offset delta, and where key, value and headers
are. No byte of a key or a value is looked at or copied.

This is the second reader of records in the house; the first is `goqueue.core.records.record.iterate`, and that one is
the truth. Invariant: both accept the same batches and find the same in them, except that headers are only parsed when
they are asked for (`decode_all_headers`). The tests feed both whatever Hypothesis makes, damaged or not.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from attrs import define

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import NO_TIMESTAMP, Header
from goqueue.core.records.headers import Headers, decode_headers
from goqueue.core.records.varint import INT32_MAX, MEANT, decode_varint
from goqueue.spark.records.segments import Run

Integers: TypeAlias = npt.NDArray[np.int64]
Octets: TypeAlias = npt.NDArray[np.uint8]

_FAR = 1 << 40
# What a varint of one or two bytes means as a length; a negative one leads so far off that nothing is found there.
_LENGTHS = tuple(meant if meant >= 0 else _FAR for meant in MEANT)


@define(eq=False)
class Span:
    """A field of every record: where its bytes begin, and how many there are; -1 for null."""

    begins: Integers
    sizes: Integers

    def at(self, rows: Integers) -> "Span":
        """The field of these records only."""
        return Span(self.begins[rows], self.sizes[rows])


@define(eq=False)
class Fields:
    """The records of a run, field by field, with positions in its buffer.

    `counts` says how many of them each batch has, in the order of `headers`, which are the batches' own. What a record
    has in the way of headers is in [tails, ends): a single zero byte if none.
    """

    buffer: bytearray | bytes
    headers: list[Header]
    counts: Integers
    offsets: Integers
    timestamps: Integers
    keys: Span
    values: Span
    tails: Integers
    ends: Integers
    with_headers: Integers

    def at(self, rows: Integers) -> "Fields":
        """These records only, given by their places in rising order."""
        batches = np.repeat(np.arange(len(self.counts)), self.counts)[rows]
        counts = np.bincount(batches, minlength=len(self.counts))
        has_headers = np.zeros(len(self.offsets), bool)
        has_headers[self.with_headers] = True
        return Fields(
            self.buffer,
            self.headers,
            counts,
            self.offsets[rows],
            self.timestamps[rows],
            self.keys.at(rows),
            self.values.at(rows),
            self.tails[rows],
            self.ends[rows],
            np.flatnonzero(has_headers[rows]),
        )

    def decode_all_headers(self) -> list[tuple[int, Headers]]:
        """(row, headers) of every record that has some. Raises BatchError."""
        rows = self.with_headers
        spans = zip(rows.tolist(), self.tails[rows].tolist(), self.ends[rows].tolist(), strict=True)
        return [(row, decode_headers(self.buffer, tail, end)) for row, tail, end in spans]


def parse(run: Run) -> Fields:
    """The fields of all records in a run. Raises BatchError when a record is malformed, without saying which."""
    assert len(run.buffer) <= INT32_MAX
    octets = np.frombuffer(run.buffer, np.uint8)
    try:
        return _parse(run, octets, np.array(_begins(run), np.int64))
    except IndexError:
        raise _malformed() from None


def _begins(run: Run) -> list[int]:
    """Where each record of a run begins, with the varint of its length."""
    begins: list[int] = []
    for section in run.sections:
        if _follow_lengths(run.buffer, section.begin, section.header.record_count, begins) != section.end:
            raise _malformed()
    return begins


def _follow_lengths(buffer: bytearray | bytes, at: int, count: int, begins: list[int]) -> int:
    """Go from record to record, noting where each begins; the answer is where the last one ends."""
    lengths, note = _LENGTHS, begins.append
    for _ in range(count):
        note(at)
        if (first := buffer[at]) < 0x80:
            at += lengths[first] + 1
        elif (second := buffer[at + 1]) < 0x80:
            at += lengths[first - 0x80 + (second << 7)] + 2
        else:
            size, at = decode_varint(buffer, at)
            at += size if size >= 0 else _FAR
    return at


def _parse(run: Run, octets: Octets, begins: Integers) -> Fields:
    headers = [section.header for section in run.sections]
    counts = np.array([header.record_count for header in headers], np.int64)
    sizes, bodies = _varints(octets, begins, 32)
    ends = bodies + sizes
    elapsed, at = _varints(octets, bodies + 1, 64)
    deltas, at = _varints(octets, at, 32)
    keys, at = _span(octets, at)
    values, tails = _span(octets, at)
    has_headers = octets[tails] != 0
    if octets[bodies].any() or (tails >= ends).any() or ((tails + 1 != ends) & ~has_headers).any():
        raise _malformed()
    _check_rising(deltas, counts, headers)
    offsets = deltas + np.repeat(np.array([header.base_offset for header in headers], np.int64), counts)
    timestamps = _timestamps(elapsed, counts, headers)
    with_headers = np.flatnonzero(has_headers)
    return Fields(run.buffer, headers, counts, offsets, timestamps, keys, values, tails, ends, with_headers)


def _check_rising(deltas: Integers, counts: Integers, headers: list[Header]) -> None:
    """Offsets rise strictly within each batch, from its base offset to its last offset at most."""
    last = np.repeat(np.array([header.last_offset_delta for header in headers], np.int64), counts)
    previous = np.empty_like(deltas)
    previous[1:] = deltas[:-1]
    previous[(np.cumsum(counts) - counts)[counts > 0]] = -1
    if (deltas <= previous).any() or (deltas > last).any():
        raise _malformed()


def _timestamps(elapsed: Integers, counts: Integers, headers: list[Header]) -> Integers:
    """Milliseconds since 1970, -1 for none. Raises BatchError where one is none that a record can have."""
    # With append time there is one timestamp, and the deltas mean nothing.
    bases = [header.max_timestamp if header.is_append_time else header.base_timestamp for header in headers]
    base = np.repeat(np.array(bases, np.int64), counts)
    kept = np.repeat(np.array([not header.is_append_time for header in headers], np.int64), counts)
    elapsed *= kept
    timestamps = base + elapsed
    if ((timestamps < base) != (elapsed < 0)).any() or (timestamps < NO_TIMESTAMP).any():
        raise _malformed()
    return timestamps


def _span(octets: Octets, at: Integers) -> tuple[Span, Integers]:
    """The field whose length is spelled at each position, and the positions after it."""
    sizes, begins = _varints(octets, at, 32)
    if (sizes < -1).any():
        raise _malformed()
    return Span(begins, sizes), begins + np.maximum(sizes, 0)


def _varints(octets: Octets, at: Integers, bits: int) -> tuple[Integers, Integers]:
    """The integers spelled at each position, and the positions after them; only their one spelling is accepted."""
    first = octets[at]
    zigzagged = (first & 0x7F).astype(np.uint64)
    after = at + 1
    going = np.flatnonzero(first & 0x80)
    for shift in range(7, bits, 7):
        if not going.size:
            break
        more = octets[after[going]]
        if not more.all() or (more >> max(0, min(8, bits - shift))).any():
            raise _malformed()
        zigzagged[going] |= (more & 0x7F).astype(np.uint64) << np.uint64(shift)
        after[going] += 1
        going = going[more >= 0x80]
    assert not going.size
    return (zigzagged >> np.uint64(1)).view(np.int64) ^ -(zigzagged & np.uint64(1)).view(np.int64), after


def _malformed() -> BatchError:
    return BatchError("record", "A record is malformed.")
