"""What a log wants done on a disk: plain data, performed by `goqueue.storage` in the order given.

A stream is named by its folder, a segment by its file name without ending. Effects that change the set of segments come
with a `Commit`, the one atomic step after which the new set is the truth.
"""

from collections.abc import Sequence

from attrs import define

from goqueue.core.log.config import TIME_MS_MAX
from goqueue.core.log.index import IndexKind

Buffer = bytes | bytearray | memoryview


@define
class IndexPage:
    """One page of one index, to stand at `number` in its file; written again when it has grown."""

    kind: IndexKind
    number: int
    page: bytes


@define
class SyncToken:
    """What a sync promises when it is done: offsets below `next_offset` of this incarnation are on the disk."""

    incarnation: int
    next_offset: int
    segment: str
    position: int


@define
class Append:
    """Write `buffers` one after another at `position` of the segment."""

    stream: str
    segment: str
    position: int
    buffers: list[Buffer]


@define
class WriteIndex:
    """Write index pages of a segment."""

    stream: str
    segment: str
    pages: list[IndexPage]


@define
class Roll:
    """The segment `sealed` grows no more, it ends at `size`; `opened` is to exist, empty."""

    stream: str
    sealed: str
    size: int
    opened: str


@define
class Trim:
    """The segment ends at `size` for now; room reserved beyond that goes back to the disk."""

    stream: str
    segment: str
    size: int


@define
class Sync:
    """Force what was written to the disk, then say so with the token."""

    stream: str
    token: SyncToken


@define
class Commit:
    """Make `checkpoint` the truth, once all that it speaks of is on the disk; then remove the segments `removed`."""

    stream: str
    checkpoint: bytes
    removed: list[str]


@define
class Cut:
    """Remove everything at `offset` and later; segment `segment` holds the new end. The answer is `Log.reopened`.

    `checkpoint` is committed first, `removed` lists segments that lie wholly beyond.
    """

    stream: str
    segment: str
    offset: int
    checkpoint: bytes
    removed: list[str]


Effect = Append | WriteIndex | Roll | Trim | Sync | Commit | Cut


@define
class Read:
    """Whole batches from the one that holds `offset` on, as many as `max_bytes` allow but one at least.

    `position` is a place at or before that batch, -1 to look it up in the index. Nothing at or beyond `end_position`
    or with an offset at or above `limit_offset` is part of the answer. When nothing is left in the segment, reading
    goes on at `end_offset`.
    """

    stream: str
    segment: str
    offset: int
    position: int
    end_position: int
    end_offset: int
    limit_offset: int
    max_bytes: int
    incarnation: int = 0


@define
class ReadResult:
    """The batches found, and where the next read would begin."""

    batches: memoryview
    next_offset: int
    next_position: int


@define
class FindTime:
    """The first record at or after `timestamp` and not below `from_offset`, in segments given as (name, end position).

    `position` is a place in the last of them from which a search there may begin, -1 to look it up in the index.
    Records later than `latest_ms` are passed over: their clock was wrong, and a search for any time would end at them.
    """

    stream: str
    timestamp: int
    from_offset: int
    segments: Sequence[tuple[str, int]]
    position: int
    latest_ms: int = TIME_MS_MAX


@define
class TimeResult:
    """Offset and timestamp of the record found."""

    offset: int
    timestamp: int
