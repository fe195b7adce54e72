"""A consumer without its network: where it stands in each partition, and what came that nobody has read.

What came and was not read is kept as bytes and decoded when its turn comes, one batch at a time. Two offsets tell where
a cursor stands: `fetched`, from which the broker is asked to go on, and `position`, the first that was not handed on. A
connection that breaks costs neither: what came before is still handed on, and the next subscription begins at
`fetched`.

A cursor that is paused keeps what came for it; of one that is dropped everything is forgotten.

Invariants: offsets that are handed on rise within a partition, each at most once until a `seek`; nothing at or after
`stop` is handed on, and nothing of a cursor that is paused or dropped.
"""

from collections import deque
from typing import Generic, TypeVar

from attrs import define, field

from goqueue.core.client.decoding import Make, decode, made_of
from goqueue.core.errors import BatchError
from goqueue.core.records.batch import HEADER_BYTES, Header, Lane, read_header, validate
from goqueue.core.records.record import Record, iterate

T = TypeVar("T")


class UnreadableBatch(BatchError):
    """Records that cannot be read: those from `offset` on, below `next_offset`, where the next batch begins."""

    def __init__(self, cursor: "Cursor", offset: int, next_offset: int, error: BatchError) -> None:
        super().__init__(error.reason, str(error), position=error.position)
        self.cursor = cursor
        self.offset = offset
        self.next_offset = next_offset


# How much is kept of a paused cursor before the broker is asked for no more of it.
PAUSED_BYTES = 1 << 20


@define
class Origin:
    """What the messages of a batch have in common."""

    topic: str
    partition: int
    lane: Lane


@define(eq=False)
class Cursor:
    """Where a consumer stands in one partition; `stop` is the first offset, `stop_ms` the first time, not wanted."""

    topic: str
    partition: int
    fetched: int
    position: int
    stop: int | None = None
    stop_ms: int | None = None
    is_done: bool = False
    _origins: dict[Lane, Origin] = field(factory=dict)

    def origin(self, lane: Lane) -> Origin:
        """Where messages of this lane come from: one object for all of them."""
        found = self._origins.get(lane)
        if found is None:
            found = self._origins[lane] = Origin(self.topic, self.partition, lane)
        return found

    def finish_at(self, offset: int) -> None:
        """Everything before `offset` was handed on or is wanted by nobody."""
        self.position = max(self.position, offset)
        if self.stop is not None and self.position >= self.stop:
            self.position = self.stop
            self.is_done = True


@define
class _Arrival:
    cursor: Cursor
    batches: bytes
    next_offset: int
    at: int = 0


@define(eq=False)
class Fetching(Generic[T]):
    """The cursors of one consumer; what it hands out is what `make` makes of records."""

    cursors: list[Cursor]
    make: Make[Origin, T]
    _arrived: deque[_Arrival] = field(factory=deque)
    _paused: dict[Cursor, list[_Arrival]] = field(factory=dict)
    # Where in its arrival the batch begins that was given last.
    _given_at: int = 0

    def __attrs_post_init__(self) -> None:
        self.begin(self.cursors)

    def begin(self, cursors: list[Cursor]) -> None:
        """Read these."""
        self.cursors = cursors
        for cursor in cursors:
            cursor.finish_at(cursor.position)

    @property
    def is_done(self) -> bool:
        """Whether every partition has come to its stop."""
        return all(cursor.is_done for cursor in self.cursors)

    def wanted(self) -> list[Cursor]:
        """The cursors to subscribe for, each from `fetched` on."""
        cursors = [cursor for cursor in self.cursors if not cursor.is_done and not self._has_stop(cursor)]
        return [cursor for cursor in cursors if not self.is_full(cursor)] if self._paused else cursors

    def is_full(self, cursor: Cursor) -> bool:
        """Whether a cursor is paused and has enough for when it is not."""
        return sum(len(one.batches) - one.at for one in self._paused.get(cursor, ())) >= PAUSED_BYTES

    def _has_stop(self, cursor: Cursor) -> bool:
        return cursor.stop is not None and cursor.fetched >= cursor.stop

    def received(self, cursor: Cursor, batches: bytes, next_offset: int) -> None:
        """Batches came that go on where the cursor's last ones ended."""
        if next_offset > cursor.fetched:
            self._paused.get(cursor, self._arrived).append(_Arrival(cursor, batches, next_offset))
            cursor.fetched = next_offset

    def seek(self, cursor: Cursor, offset: int) -> None:
        """Go on elsewhere; what came for this cursor is forgotten."""
        assert offset >= 0
        self._forget(cursor)
        cursor.fetched = cursor.position = offset
        cursor.is_done = False
        cursor.finish_at(offset)

    def drop(self, cursor: Cursor) -> None:
        """Read no more of this cursor; what came for it is forgotten, and if it is read again it is where it stands."""
        self._forget(cursor)
        if cursor in self.cursors:
            self.cursors.remove(cursor)
        cursor.fetched = cursor.position

    def _forget(self, cursor: Cursor) -> None:
        self._arrived = deque(one for one in self._arrived if one.cursor is not cursor)
        if cursor in self._paused:
            self._paused[cursor] = []

    def pause(self, cursor: Cursor) -> None:
        """Keep what came, and what comes yet, for later."""
        if cursor not in self._paused:
            self._paused[cursor] = [one for one in self._arrived if one.cursor is cursor]
            self._arrived = deque(one for one in self._arrived if one.cursor is not cursor)

    def resume(self, cursor: Cursor) -> None:
        """Hand out again."""
        self._arrived.extend(self._paused.pop(cursor, ()))

    def take_back(self, cursor: Cursor) -> None:
        """Give the batch that was given last once more, from the cursor's position on."""
        assert self._arrived[0].cursor is cursor
        self._arrived[0].at = self._given_at

    def next(self) -> tuple[Cursor, list[T], int] | None:
        """What is made of the next batch that has any for us, and its size; None when nothing is left of what came.

        Raises UnreadableBatch where records cannot be read, again and again until the cursor goes elsewhere. The
        cursor's position stays at the first record until `handed`.
        """
        while self._arrived:
            arrival = self._arrived[0]
            cursor = arrival.cursor
            if cursor.is_done or arrival.at >= len(arrival.batches):
                self._arrived.popleft()
                if not cursor.is_done:
                    cursor.finish_at(arrival.next_offset)
                continue
            at = arrival.at
            try:
                header = validate(arrival.batches, at, compacted=True)
                made = self._made(cursor, header, arrival.batches, at)
            except BatchError as error:
                raise _unreadable(arrival, error) from error
            self._given_at = at
            arrival.at += header.size
            if made:
                return cursor, made, header.size
        return None

    def handed(self, cursor: Cursor, offset: int) -> None:
        """Everything before `offset` was handed on."""
        cursor.finish_at(offset)
        # It may have been dropped with a batch in hand, and gone back to its beginning.
        if cursor.fetched < cursor.position:
            cursor.fetched = cursor.position

    def _made(self, cursor: Cursor, header: Header, batches: bytes, at: int) -> list[T]:
        """What is made of those records of a batch that are wanted."""
        start, stop, stop_ms = cursor.position, cursor.stop, cursor.stop_ms
        if header.is_control or header.last_offset < start:
            cursor.finish_at(header.next_offset)
            return []
        origin = cursor.origin(header.lane)
        is_cut = header.base_offset < start or (stop is not None and header.last_offset >= stop)
        if not is_cut and (stop_ms is None or header.max_timestamp < stop_ms):
            made = decode(batches, at, header, origin, self.make)
        else:
            records = self._wanted(cursor, header, list(iterate(batches[at : at + header.size])))
            made = [made_of(record, origin, self.make) for record in records]
        if not made:
            cursor.finish_at(header.next_offset)
        return made

    def _wanted(self, cursor: Cursor, header: Header, records: list[Record]) -> list[Record]:
        start, stop = cursor.position, cursor.stop
        if header.base_offset < start:
            records = [record for record in records if record.offset >= start]
        if stop is not None and header.last_offset >= stop:
            records = [record for record in records if record.offset < stop]
        if cursor.stop_ms is not None and header.max_timestamp >= cursor.stop_ms:
            records = self._until(cursor, records)
        return records

    def _until(self, cursor: Cursor, records: list[Record]) -> list[Record]:
        """Those before the first that is too late, at which the cursor stops from here on."""
        assert cursor.stop_ms is not None
        for place, record in enumerate(records):
            if record.timestamp >= cursor.stop_ms:
                cursor.stop = record.offset
                return records[:place]
        return records


def _unreadable(arrival: _Arrival, error: BatchError) -> UnreadableBatch:
    """Which records are meant: if the header can be believed those of one batch, else all that came with it."""
    cursor, at = arrival.cursor, arrival.at
    end = arrival.next_offset
    if len(arrival.batches) - at >= HEADER_BYTES:
        claimed = read_header(arrival.batches, at).next_offset
        end = claimed if cursor.position < claimed < end else end
    return UnreadableBatch(cursor, cursor.position, end, error)
