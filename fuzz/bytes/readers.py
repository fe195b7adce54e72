"""Everybody who opens a batch that a log has taken, one after another: what each makes of it, and that it goes on.

A batch comes between two sound ones. Whoever reads records either has all of it or steps over it; in both cases the
sound ones must come out, compaction must go on, and time must still be found. `must_be_readable` says that the batch
was checked before it was taken, so that nobody may step over it.
"""

from goqueue.core.client.fetching import Cursor, Fetching, UnreadableBatch
from goqueue.core.deadletters.picking import Bounds, Named, Sifted
from goqueue.core.errors import BatchError
from goqueue.core.log.compaction import CompactionPlan, Compactor
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import FindTime
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.queues.fetch_buffer import FetchBuffer, Ways
from goqueue.core.queues.gone import Gone
from goqueue.core.queues.move_records import Tally
from goqueue.core.records.batch import Header, read_header, split
from goqueue.core.records.build import encode
from goqueue.core.records.record import iterate
from goqueue.core.requests.deadletters import Sieve
from goqueue.core.requests.messages import Fetched
from goqueue.fuzz.bytes.seeds import NOW_MS
from goqueue.storage.buffers import BufferPool
from goqueue.storage.reading import Span, find_in
from goqueue.storage.segment_files import SegmentFiles
from goqueue.storage.simulated import SimulatedDisk

STREAM = "logs/orders/0"
_SEGMENT = "00000000000000000000"
# Of what a batch claims so many messages are looked at, where each would be asked for by itself.
_OFFSETS_MAX = 50

Message = tuple[int, bytes | None]


def before() -> bytearray:
    """The sound batch before the one that is looked at."""
    return encode([(NOW_MS, b"k", b"before", ())])


def behind() -> bytearray:
    """The sound batch behind it: of the same key, a little later."""
    return encode([(NOW_MS + 50, b"k", b"behind", ())])


def check_readers(run: bytes, *, must_be_readable: bool) -> None:
    """Have a sound batch, any one, and another sound one read by everybody."""
    first, header, last = (read_header(batch) for batch in split(run))
    is_readable = _iterates([*split(run)][1])
    assert is_readable or not must_be_readable, "a batch passed the check and cannot be read"
    _check_client(run, header, is_readable)
    _check_compaction(run, is_readable)
    _check_queue(run, header, last)
    _check_letters(run, header, last)
    _check_time(run, first, last)


def _iterates(batch: memoryview) -> bool:
    try:
        return [record.offset for record in iterate(batch)] != []
    except BatchError:
        return False


def _made(_origin: object, offset: int, _timestamp: int, _key: bytes | None, value: bytes | None, _: object) -> Message:
    return offset, value


def _check_client(run: bytes, header: Header, is_readable: bool) -> None:
    """A consumer gets the sound ones, and is told where to go on behind what cannot be read."""
    last = read_header([*split(run)][2])
    cursor = Cursor("orders", 0, 0, 0)
    fetching = Fetching([cursor], _made)
    fetching.received(cursor, run, last.next_offset)
    values: list[bytes | None] = []
    skipped = 0
    while cursor.position < last.next_offset:
        try:
            given = fetching.next()
        except UnreadableBatch as error:
            assert (error.offset, error.next_offset) == (header.base_offset, header.next_offset)
            skipped += 1
            fetching.seek(cursor, error.next_offset)
            fetching.received(cursor, run, last.next_offset)
            continue
        if given is not None:
            values += [value for _, value in given[1]]
            fetching.handed(cursor, given[1][-1][0] + 1)
    assert (values[0], values[-1]) == (b"before", b"behind")
    assert skipped == (not is_readable)


def _check_compaction(run: bytes, is_readable: bool) -> None:
    """Compaction keeps what it cannot read as it is, and what is newest of each key."""
    batches = [*split(run)]
    end = read_header(batches[2]).next_offset
    plan = CompactionPlan(STREAM, 0, [], 0, end, NOW_MS, 1000)
    compactor = Compactor(plan)
    for batch in batches:
        compactor.survey(batch)
    kept = [compactor.rewrite(batch) for batch in batches]
    assert compactor.end_offset == end
    assert kept[0] is None, "a later value of its key is in the log"
    assert kept[2] == batches[2]
    assert is_readable or kept[1] == batches[1]


def _check_queue(run: bytes, header: Header, last: Header) -> None:
    """A queue that looks at keys and times comes to the last message, whatever lies before it."""
    for ways in (Ways(with_keys=False, ttl_ms=0, wall_ms=NOW_MS), Ways(with_keys=True, ttl_ms=1000, wall_ms=NOW_MS)):
        shelf = FetchBuffer.of(0, Fetched(run, last.next_offset, last.next_offset, 0))
        for start in (0, header.base_offset, last.base_offset):
            offers = shelf.offers([(start, start + 1)], 1 << 20, ways)
            [(begin, end)] = offers.read
            assert (begin, start in offers.offsets or end > start) == (start, True)
            assert not ways.with_keys or len(offers.keys) == len(offers.offsets)
        assert list(offers.offsets) == [last.base_offset]


def _check_letters(run: bytes, header: Header, last: Header) -> None:
    """Dead letters are made of messages that nobody can read, and a redrive passes over such letters."""
    wanted = [*range(header.base_offset, min(header.next_offset, header.base_offset + _OFFSETS_MAX)), last.base_offset]
    deaths = dict.fromkeys(wanted, ("rejected", 1))
    named = Named("orders", 0, "group", ("orders.dlq", 0), NOW_MS, deaths, Bounds(1 << 20, 1 << 30))
    named.read(run, last.next_offset)
    assert named.position is None
    assert not named.missing or read_header([*split(run)][1]).is_control
    if named.consignment.kind is not None:
        named.consignment.batch(7, 0)
    sifted = Sifted(0, Sieve(), None, NOW_MS, last.next_offset, Gone(), Tally(), 1 << 30, Bounds())
    sifted.read(run, last.next_offset)
    assert sifted.tally.position == last.next_offset
    assert sifted.passed[-1][1] == last.next_offset


def _check_time(run: bytes, first: Header, last: Header) -> None:
    """Who looks for the time of a sound batch comes to it, or to a record before it that has such a time."""
    disk = SimulatedDisk()
    disk.make_folder(STREAM)
    files = SegmentFiles(disk, STREAM, _SEGMENT, create=True)
    files.write([memoryview(run)], 0)
    latest_ms = LogConfig().latest_ms(NOW_MS)
    for header in (first, last):
        find = FindTime(STREAM, header.max_timestamp, 0, [(_SEGMENT, len(run))], 0, latest_ms)
        found = find_in([Span(files, len(run), 0)], find, BufferPool(count_max=0), cached=False)
        assert found is not None
        assert header.max_timestamp <= found.timestamp <= latest_ms
        assert found.offset <= header.base_offset
    assert Segment(0, 0, len(run), last.next_offset, NO_TIMESTAMP, 0).size
