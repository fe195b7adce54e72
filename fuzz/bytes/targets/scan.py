"""The batches of a segment: walked over by recovery, which trusts nothing, and by reads, which trust the frames.

The first byte seeds how the segment is cut into blocks, the rest is the segment. Invariants, for any bytes:
- a scan takes just the batches that a plain walk accepts, and its tail says of them what they say of themselves;
- the size of the blocks that it is fed changes nothing;
- every entry of the indexes that it grows points to the start of a batch, and a time entry past no later timestamp;
- `pick` answers within the block or raises BatchError; among accepted batches it finds what was asked for, and block by
  block all of it.
"""

from collections.abc import Callable, Iterator
from random import Random

from attrs import define

from goqueue.core.errors import BatchError
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.index import IndexKind
from goqueue.core.log.scan import Flaw, Scan, pick
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.log.tail import SegmentTail
from goqueue.core.records.batch import HEADER_BYTES, locate
from goqueue.fuzz.bytes.batch_edits import change_segment, smaller_segment
from goqueue.fuzz.bytes.seeds import batches, segment
from goqueue.fuzz.bytes.target import Havoc, Target, attempt
from goqueue.fuzz.bytes.truth import Entry, Place, are_true, entries, latest_of, size_of, walk

_BASE = 5
_BLOCK_BYTES_MAX = 300


@define
class _Scanned:
    """What a scan made of a segment."""

    segment: Segment
    epochs: list[tuple[int, int]]
    flaw: Flaw | None
    batches: int
    entries: dict[IndexKind, list[Entry] | None]


def check(content: bytes) -> None:
    """All invariants, for `content` as a segment and a way to cut it."""
    cuts, stored = Random(content[:1]), content[1:]
    scanned = _scan(stored, lambda: max(len(stored), 1))
    assert _scan(stored, lambda: cuts.randint(1, _BLOCK_BYTES_MAX)) == scanned
    accepted = walk(stored, _BASE)
    _check_tail(stored, scanned, accepted)
    _check_entries(scanned, accepted)
    _check_picks(memoryview(stored)[: scanned.segment.size], accepted, cuts)
    _check_pick_of_anything(memoryview(stored), cuts)


def _scan(stored: bytes, block_bytes: Callable[[], int]) -> _Scanned:
    """Feed the segment in blocks, a larger one whenever a batch did not fit."""
    tail = SegmentTail(Segment(_BASE, 0, 0, _BASE, NO_TIMESTAMP, 0), 0)
    epochs = EpochCache()
    scan = Scan(tail, epochs)
    at = wanted = 0
    while at < len(stored) and scan.flaw is None:
        end = min(at + max(block_bytes(), wanted), len(stored))
        taken = scan.feed(memoryview(stored)[at:end])
        if taken == 0 and scan.flaw is None:
            wanted = 2 * (end - at)
            if end == len(stored):
                scan.ended(memoryview(stored)[at:])
                assert scan.flaw is not None
        else:
            wanted = 0
        at += taken
    tail.check()
    epochs.check()
    pages = [*tail.pages, *tail.partial_pages()]
    indexes = {kind: b"".join(page.page for page in pages if page.kind is kind) for kind in IndexKind}
    entered = {kind: entries(kind, _BASE, index) for kind, index in indexes.items()}
    return _Scanned(tail.segment, epochs.entries(), scan.flaw, scan.batches, entered)


def _check_tail(stored: bytes, scanned: _Scanned, accepted: list[Place]) -> None:
    segment, headers = scanned.segment, [header for _, header in accepted]
    assert scanned.batches == len(accepted)
    assert segment.size == size_of(accepted)
    assert segment.next_offset == (headers[-1].next_offset if headers else _BASE)
    assert segment.max_timestamp == latest_of(accepted)
    first_of: dict[int, int] = {}
    for header in headers:
        if header.leader_epoch >= 0:
            first_of.setdefault(header.leader_epoch, header.base_offset)
    assert scanned.epochs == list(first_of.items())
    flaw, rest = scanned.flaw, stored[segment.size :]
    assert (flaw is None) == (not rest)
    if flaw is not None:
        assert flaw.position == segment.size
        assert flaw.blank == (not any(rest[:HEADER_BYTES]))


def _check_entries(scanned: _Scanned, accepted: list[Place]) -> None:
    for kind, entered in scanned.entries.items():
        assert entered is not None
        assert are_true(kind, entered, accepted)
        if kind is IndexKind.OFFSET:
            assert len(entered) == max(len(accepted) - 1, 0)


def _check_picks(block: memoryview, accepted: list[Place], cuts: Random) -> None:
    """Ask for some range of offsets, of a block that holds all and of blocks that hold little."""
    ends = [_BASE, *(header.next_offset for _, header in accepted)]
    offset, limit = sorted((cuts.choice(ends) + cuts.randint(-1, 1), cuts.choice(ends) + cuts.randint(-1, 1)))
    wanted = [(at, header) for at, header in accepted if header.next_offset > offset]
    found = [(at, at + header.size) for at, header in wanted if header.next_offset <= limit]
    start = wanted[0][0] if wanted else len(block)
    stop = found[-1][1] if found else start
    picked = pick(block, offset, limit, 1 << 30)
    assert (picked.start, picked.stop) == (start, stop)
    assert picked.next_offset == (max(header.next_offset for _, header in wanted[: len(found)]) if found else offset)
    assert b"".join(_fetched(block, offset, limit, cuts)) == bytes(block[start:stop])


def _fetched(block: memoryview, offset: int, limit: int, cuts: Random) -> Iterator[bytes]:
    """All that is asked for, fetched as a reader does: a block at a time, a larger one where it holds too little."""
    at, wanted, bytes_max = 0, 0, cuts.randint(0, 400)
    while at < len(block):
        piece = block[at : at + max(wanted, cuts.randint(HEADER_BYTES, _BLOCK_BYTES_MAX))]
        picked = pick(piece, offset, limit, bytes_max)
        if picked.stop > picked.start:
            chunk = piece[picked.start : picked.stop]
            assert len(chunk) <= bytes_max or locate(chunk).size == len(chunk), "more than was allowed"
            yield bytes(chunk)
            offset, at, wanted = picked.next_offset, at + picked.stop, 0
            continue
        if picked.wanted_bytes == 0:
            return
        assert picked.start > 0 or picked.wanted_bytes > len(piece), "a reader would ask for the same again"
        at, wanted = at + picked.start, picked.wanted_bytes


def _check_pick_of_anything(block: memoryview, cuts: Random) -> None:
    offset = cuts.choice((0, _BASE, _BASE + 3, 1 << 40))
    limit, bytes_max = offset + cuts.choice((0, 1, 10, 1 << 50)), cuts.choice((0, 100, 1 << 20))
    picked = attempt(BatchError, lambda: pick(block, offset, limit, bytes_max))
    if not isinstance(picked, BatchError) and picked.stop > picked.start:
        assert 0 <= picked.start < picked.stop <= len(block)


def _seeds() -> list[bytes]:
    stored = [
        segment(1, base=_BASE),
        segment(6, record_count=3, base=_BASE),
        segment(6, record_count=2, base=_BASE, epoch=4, gap=3),
        segment(5, base=_BASE) + bytes(500),
        segment(5, base=_BASE)[:-9],
        segment(30, base=_BASE),
        b"".join(batches()[1:8]),
    ]
    return [bytes([number]) + content for number, content in enumerate(stored)]


def _mutate(content: bytes, size_max: int, random: Random, havoc: Havoc) -> bytes:
    if random.random() < 0.1:
        return havoc(content, size_max, random)
    cut = content[:1] if random.random() < 0.8 else random.randbytes(1)
    return (cut or b"\x00") + change_segment(content[1:], size_max - 1, random, havoc)


def _smaller(content: bytes) -> Iterator[bytes]:
    return (content[:1] + shorter for shorter in smaller_segment(content[1:]))


TARGET = Target("scan", check, _seeds, _mutate, _smaller)
