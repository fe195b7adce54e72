"""Batches that were read of a partition and not handed out yet, and what is in them for a work queue.

Of a batch nothing is looked at but its header, as long as it has a record for each of its offsets, none that may
expire, and a queue that does not ask for keys. Else its records are read, once as long as it is here. Who is given few
messages is sent the whole batches that they are in: bytes are passed on as they came.

A batch that cannot be read blocks nobody. Its messages are leased like all others, fail with whoever cannot read them,
and are dead letters when they have no attempts left. One that has no room for the records that it claims has none.

Invariant: every message of the partition between `start` and `end` is in the batches.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

import mmh3
from attrs import define, field

from goqueue.core.errors import BatchError
from goqueue.core.partition.lane_runs import Run
from goqueue.core.queues.expiry import expiry
from goqueue.core.queues.plan import Offers
from goqueue.core.queues.window import join
from goqueue.core.records.batch import NO_TIMESTAMP, Header, read_header
from goqueue.core.records.claims import is_possible
from goqueue.core.records.record import Record, iterate
from goqueue.core.records.varint import Readable
from goqueue.core.requests.messages import Fetched
from goqueue.core.requests.queues import LeaseRun


@define
class Ways:
    """What a queue asks of messages: their keys, and which have expired by now where the topic's say a span."""

    with_keys: bool
    ttl_ms: int
    wall_ms: int


@define(eq=False)
class _Batch:
    """A batch at a position, and what is known of its records, None where that was not looked at."""

    header: Header
    first: int
    end: int
    position: int
    offsets: "range | array[int] | None"
    keys: list[int | None] | None = None
    # Until when a message is delivered, of those that say so; and when they were written.
    expiries: dict[int, int] | None = None
    times: "array[int] | None" = None

    def look(self, batches: Readable, ways: Ways) -> None:
        """Read the records where what is known does not do."""
        header = self.header
        may_expire = header.is_expiring or ways.ttl_ms > 0
        if self.offsets is not None and (self.keys is not None or not ways.with_keys):
            if self.expiries is not None or not may_expire:
                return
        try:
            self._read(batches)
        except BatchError:
            self._leave_unread()

    def _leave_unread(self) -> None:
        """The records cannot be read: whoever leases them will say so, and they fail. They have neither keys nor times.

        Of a batch that has fewer records than offsets it is not known which there are, so there are none.
        """
        if self.offsets is None:
            self.offsets = range(0)
        count = len(self.offsets)
        self.keys, self.expiries, self.times = [None] * count, {}, array("q", [NO_TIMESTAMP]) * count

    def _read(self, batches: Readable) -> None:
        header = self.header
        records: Iterator[Record] = iter(())
        if header.record_count and not header.is_control:
            records = iterate(batches[self.position : self.position + header.size])
        offsets, times, keys, expiries = array("q"), array("q"), list[int | None](), dict[int, int]()
        for record in records:
            offsets.append(record.offset)
            times.append(record.timestamp)
            keys.append(None if record.key is None else mmh3.hash64(bytes(record.key))[0])
            until_ms = expiry(record.headers) if record.headers else None
            if until_ms is not None:
                expiries[record.offset] = until_ms
        if self.offsets is None:
            self.offsets = offsets
        self.keys, self.expiries, self.times = keys, expiries, times

    def within(self, start: int, end: int) -> Sequence[int]:
        """The offsets that are in a run."""
        offsets = self.offsets
        assert offsets is not None
        if isinstance(offsets, range):
            return range(max(offsets.start, start), min(offsets.stop, end)) if offsets else offsets
        return [offset for offset in offsets if start <= offset < end]

    def keys_within(self, start: int, end: int) -> list[int | None]:
        """The hashes of their keys."""
        offsets, keys = self.offsets, self.keys
        assert offsets is not None
        assert keys is not None
        if self.first >= start and self.end <= end:
            return keys
        return [key for offset, key in zip(offsets, keys, strict=True) if start <= offset < end]

    def expired_within(self, start: int, end: int, ways: Ways) -> list[int]:
        """Those of them that are not to be delivered any more."""
        offsets, times, expiries = self.offsets, self.times, self.expiries
        if times is None or expiries is None or offsets is None or not (expiries or ways.ttl_ms):
            return []
        found: list[int] = []
        for offset, time_ms in zip(offsets, times, strict=True):
            until_ms = expiries.get(offset)
            if until_ms is None and ways.ttl_ms and time_ms >= 0:
                until_ms = time_ms + ways.ttl_ms
            if until_ms is not None and until_ms <= ways.wall_ms and start <= offset < end:
                found.append(offset)
        return found


@define(eq=False)
class FetchBuffer:
    """The batches of one read, in order."""

    start: int
    end: int
    batches: Readable
    # Whether some batch is to be looked into, whatever the queue asks for.
    needs_records: bool = False
    is_from_disk: bool = False
    _parts: list[_Batch] = field(factory=list, init=False)
    _firsts: list[int] = field(factory=list, init=False)

    @classmethod
    def of(cls, offset: int, fetched: Fetched) -> "FetchBuffer":
        """What a read from an offset brought."""
        buffer = cls(offset, fetched.next_offset, fetched.batches)
        at = 0
        while at < len(fetched.batches):
            header = read_header(fetched.batches, at)
            first, end = header.base_offset, header.next_offset
            is_whole = header.record_count == end - first
            if header.is_control or not is_possible(header):
                offsets: range | None = range(0)
            else:
                offsets = range(first, end) if is_whole else None
            buffer.needs_records = buffer.needs_records or offsets is None or header.is_expiring
            buffer._parts.append(_Batch(header, first, end, at, offsets))
            buffer._firsts.append(first)
            at += header.size
        return buffer

    @property
    def size(self) -> int:
        """Bytes that it takes."""
        return len(self.batches)

    def has(self, offset: int) -> bool:
        """Whether a message would be here, if there is one."""
        return self.start <= offset < self.end

    def offers(self, wanted: Sequence[Run], bytes_max: int, ways: Ways) -> Offers:
        """What is here of runs: of the first ones, as far as they begin here, and in batches of so many bytes.

        The first batch comes whole however large it is.
        """
        offers = Offers([], (), [], [], [])
        found: list[Sequence[int]] = []
        last: _Batch | None = None
        for start, end in wanted:
            if not self.has(start):
                break
            stop = min(end, self.end)
            for batch in self._overlapping(start, stop):
                if batch is not last:
                    if last is not None and batch.header.size > bytes_max:
                        stop = max(batch.first, start)
                        break
                    bytes_max -= batch.header.size
                    last = batch
                found.append(self._offer(offers, batch, (start, stop), ways))
            if stop > start:
                offers.read.append((start, self._past_nothing(stop) if stop == end else stop))
            if stop < end:
                break
        offers.offsets = found[0] if len(found) == 1 else _joined(found)
        return offers

    def _past_nothing(self, offset: int) -> int:
        """The offset itself, or behind it the first that may have a message: what nobody has is passed in one step."""
        while offset < self.end:
            batch = next(self._overlapping(offset, self.end), None)
            if batch is None:
                return self.end
            if batch.first <= offset and (batch.offsets is None or len(batch.offsets)):
                return offset
            offset = batch.first if batch.first > offset else batch.end
        return offset

    def _offer(self, offers: Offers, batch: _Batch, run: Run, ways: Ways) -> Sequence[int]:
        """Add what is known of the messages of a batch in a run; their offsets."""
        batch.look(self.batches, ways)
        assert isinstance(offers.keys, list)
        assert isinstance(offers.expired, list)
        assert isinstance(offers.stamps, list)
        if ways.with_keys:
            offers.keys += batch.keys_within(*run)
        offers.expired += batch.expired_within(*run, ways)
        offers.stamps.append((batch.first, batch.end, batch.header.max_timestamp))
        return batch.within(*run)

    def _overlapping(self, start: int, end: int) -> Iterator[_Batch]:
        parts = self._parts
        for at in range(max(bisect_right(self._firsts, start) - 1, 0), len(parts)):
            batch = parts[at]
            if batch.first >= end:
                break
            if batch.end > start:
                yield batch

    def bytes_of(self, leases: Sequence[LeaseRun]) -> Readable:
        """The batches that hold what was leased, in order of offsets."""
        runs: list[Run] = []
        for lease in sorted(leases, key=_first_offset):
            for batch in self._overlapping(lease.first_offset, lease.first_offset + lease.count):
                if not runs or batch.position >= runs[-1][1]:
                    join(runs, batch.position, batch.position + batch.header.size)
        whole = memoryview(self.batches)
        if len(runs) == 1:
            start, end = runs[0]
            return whole[start:end]
        return b"".join([whole[start:end] for start, end in runs])


def _first_offset(lease: LeaseRun) -> int:
    return lease.first_offset


def _joined(found: list[Sequence[int]]) -> Sequence[int]:
    """Offsets of several batches: one range where they follow each other."""
    found = [offsets for offsets in found if offsets]
    if not found:
        return range(0)
    if all(isinstance(offsets, range) for offsets in found):
        if all(before[-1] + 1 == after[0] for before, after in pairwise(found)):
            return range(found[0][0], found[-1][-1] + 1)
    return [offset for offsets in found for offset in offsets]
