"""Walking over stored bytes: a scan stops at the first batch that is not sound, a pick finds what a read wants."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.core.errors import BatchError
from goqueue.core.log.effects import WriteIndex
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.scan import Flaw, Pick, Scan, pick
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.log.tail import SegmentTail
from goqueue.core.records.batch import HEADER_BYTES, read_header
from tests.core.log.batches import WALL_MS, batch, empty_log, settings_of, stamped, walk

REACH = 1 << 31


class Scanned:
    """What came of scanning a segment that begins at offset `base`."""

    def __init__(self, base: int = 0, interval_bytes: int = 250) -> None:
        self.tail = SegmentTail(Segment(base, 0, 0, base, NO_TIMESTAMP, WALL_MS), interval_bytes)
        self.epochs = EpochCache()
        self.scan = Scan(self.tail, self.epochs)

    def read(self, content: bytes | bytearray, block_sizes: list[int]) -> "Scanned":
        """Feed a file in blocks of these sizes, over and over, as one does who cannot hold all of it."""
        position, turn, wanted = 0, 0, block_sizes[0]
        while position < len(content) and self.scan.flaw is None:
            block = memoryview(content)[position : position + wanted]
            taken = self.scan.feed(block)
            position += taken
            turn += 1
            if taken:
                wanted = block_sizes[turn % len(block_sizes)]
            elif position + len(block) == len(content):
                self.scan.ended(block)
                return self
            else:
                wanted *= 2
        return self

    @property
    def outcome(self) -> tuple[Segment, list[tuple[int, int]], int, Flaw | None, list[bytes]]:
        """All there is to know of it."""
        pages = [page.page for page in [*self.tail.pages, *self.tail.partial_pages()]]
        return self.tail.segment, self.epochs.entries(), self.scan.batches, self.scan.flaw, pages


def scanned(content: bytes | bytearray, base: int = 0) -> Scanned:
    """A file scanned in one go."""
    return Scanned(base).read(content, [max(len(content), 1)])


def flaw_of(content: bytes | bytearray, base: int = 0) -> Flaw:
    """The flaw of a file that has one."""
    flaw = scanned(content, base).scan.flaw
    assert flaw is not None
    return flaw


@st.composite
def runs(draw: st.DrawFn, min_size: int = 0) -> list[bytearray]:
    """Batches as they follow one another in a log: offsets may leave gaps, epochs never fall."""
    offset, epoch, batches = 0, 0, []
    sizes = st.sampled_from([95, 100, 111, 124, 145, 163])
    shapes = st.tuples(st.integers(1, 4), sizes, st.integers(0, 3), st.integers(0, 2), st.integers(-5, 9))
    for count, size, gap, step, late in draw(st.lists(shapes, min_size=min_size, max_size=12)):
        offset, epoch = offset + gap, epoch + step
        batches.append(stamped(offset, epoch, count, size, WALL_MS + late))
        offset += count
    return batches


# Three records a batch, epochs 2, 4, 4 and 9, and offsets 3 and 4 missing: room for a flip to go unnoticed.
RUN = [stamped(0, 2, 3, 104), stamped(5, 4, 3, 110), stamped(8, 4, 3, 107), stamped(11, 9, 3, 101)]
JOINED = b"".join(RUN)
STARTS = [0, 104, 214, 321]


# what is sound


@given(runs())
def test_what_is_sound_is_accepted_whole(batches: list[bytearray]) -> None:
    content = b"".join(batches)
    headers = [header for _, header in walk(content)]
    segment, epochs, count, flaw, _ = scanned(content).outcome
    assert flaw is None
    assert (count, segment.size) == (len(batches), len(content))
    assert segment.next_offset == (headers[-1].next_offset if headers else 0)
    assert segment.max_timestamp == max((header.max_timestamp for header in headers), default=NO_TIMESTAMP)
    assert epochs == [
        (epoch, min(header.base_offset for header in headers if header.leader_epoch == epoch))
        for epoch in sorted({header.leader_epoch for header in headers})
    ]


@given(st.lists(st.integers(1, 4), max_size=40))
def test_a_scan_makes_the_indexes_that_appending_made(counts: list[int]) -> None:
    log = empty_log(settings_of(index_interval_bytes=250))
    batches = [batch(count, 110, WALL_MS + number) for number, count in enumerate(counts)]
    for appended in batches:
        log.append(0, appended)
    log.close(0)
    written = [page for effect in log.take(0) if isinstance(effect, WriteIndex) for page in effect.pages]
    found = scanned(b"".join(batches))
    assert found.tail.segment == log.segments[0]
    assert [*found.tail.pages, *found.tail.partial_pages()] == written


@settings(max_examples=60)
@given(runs(min_size=1), st.lists(st.integers(1, 400), min_size=1, max_size=5), st.data())
def test_blocks_of_any_size_come_to_the_same(
    batches: list[bytearray], block_sizes: list[int], data: st.DataObject
) -> None:
    content = bytearray().join(batches)
    match data.draw(st.sampled_from(["sound", "torn", "flipped", "zeros"])):
        case "torn":
            del content[data.draw(st.integers(0, len(content))) :]
        case "flipped":
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
        case "zeros":
            content += bytes(data.draw(st.integers(1, 200)))
    assert Scanned().read(content, block_sizes).outcome == scanned(content).outcome


# what is torn


def test_a_file_cut_anywhere_ends_before_the_batch_that_was_cut() -> None:
    for size in range(len(JOINED) + 1):
        found = scanned(JOINED[:size])
        whole = [start for start in [*STARTS, len(JOINED)] if start <= size][-1]
        assert found.tail.segment.size == whole
        if whole == size:
            assert found.scan.flaw is None
        elif not any(JOINED[whole:size]):
            assert found.scan.flaw == Flaw(whole, "blank", "expected a batch, found zeros", blank=True)
        else:
            said = f"expected a whole batch, found only {size - whole} bytes of one"
            assert found.scan.flaw == Flaw(whole, "truncated", said)


@pytest.mark.parametrize("start", [*STARTS, len(JOINED)])
@pytest.mark.parametrize("zeros", [1, HEADER_BYTES - 1, HEADER_BYTES, 4_096])
def test_zeros_are_room_that_nothing_was_written_to(start: int, zeros: int) -> None:
    found = scanned(JOINED[:start] + bytes(zeros))
    assert found.tail.segment.size == start
    assert found.scan.flaw == Flaw(start, "blank", "expected a batch, found zeros", blank=True)


def test_zeros_after_half_a_batch_do_not_make_it_blank() -> None:
    assert flaw_of(JOINED[: STARTS[1] + 70] + bytes(4_096)) == Flaw(
        STARTS[1], "crc", f"expected a batch whose content has the CRC-32C {read_header(RUN[1]).crc:08x}"
    )


def test_a_batch_whose_end_became_zeros_is_noticed() -> None:
    sound = JOINED[: STARTS[2]]
    last_byte = len(sound.rstrip(b"\x00")) - 1
    for zeroed in range(STARTS[1], last_byte + 1):
        flaw = flaw_of(sound[:zeroed] + bytes(STARTS[2] - zeroed))
        assert flaw.position == STARTS[1]
        assert flaw.blank == (not any(sound[STARTS[1] : zeroed]))


# what is damaged


@pytest.mark.parametrize("number", range(len(RUN)))
def test_every_bit_flipped_in_a_batch_stops_the_scan_there(number: int) -> None:
    """All bits but those of base offset and leader epoch, which the next two tests are about."""
    damaged = bytearray(JOINED)
    for at in range(len(RUN[number])):
        if at < 8 or 12 <= at < 16:
            continue
        for bit in range(8):
            damaged[STARTS[number] + at] ^= 1 << bit
            found = scanned(damaged)
            assert found.scan.flaw is not None, f"byte {at}, bit {bit}"
            assert found.scan.flaw.position == found.tail.segment.size == STARTS[number]
            assert found.scan.batches == number
            damaged[STARTS[number] + at] ^= 1 << bit


@pytest.mark.parametrize("number", range(len(RUN)))
def test_a_base_offset_that_was_flipped_is_noticed_by_the_order_of_offsets(number: int) -> None:
    """The broker writes base offsets outside of the CRC, so only their order can tell.

    A flip that lowers the offset stops the scan at the batch, as does one that raises it beyond what a segment can
    reach. One that raises it less is only noticed at the next batch, which seems to go back. Unnoticed are a batch that
    stays within a gap beside it and, up to 2^31 offsets, a last batch that was raised. That is borne: no content is
    lost or changed, and the scan never stops later than one batch after the damage. To notice these few bits as well
    would take a second sum for every batch, over what is stamped.
    """
    before = read_header(RUN[number - 1]).next_offset if number else 0
    header, damaged = read_header(RUN[number]), bytearray(JOINED)
    for bit in range(64):
        damaged[STARTS[number] + 7 - bit // 8] ^= 1 << bit % 8
        base = header.base_offset ^ 1 << bit
        found = scanned(damaged)
        if bit == 63 or base < before or base + header.last_offset_delta >= REACH:
            stop: int | None = number
        elif number + 1 < len(RUN) and base + 3 > read_header(RUN[number + 1]).base_offset:
            stop = number + 1
        else:
            stop = None
        if stop is None:
            assert found.scan.flaw is None
            assert (number, base) in {(0, 1), (0, 2), (1, 4)} or (number == 3 and base > 11)
        else:
            assert found.scan.flaw is not None
            assert (found.scan.flaw.reason, found.scan.flaw.position) == ("offsets", STARTS[stop])
            assert found.scan.batches == stop
        damaged[STARTS[number] + 7 - bit // 8] ^= 1 << bit % 8


@pytest.mark.parametrize("number", range(len(RUN)))
def test_a_leader_epoch_that_was_flipped_is_noticed_by_the_order_of_epochs(number: int) -> None:
    """As with offsets: lower than the epoch before stops there, higher than the one after stops a batch later.

    What lies between the two goes unnoticed, and in the last batch all that is higher. It makes a follower look for the
    end of an epoch in another place, where it finds and cuts a little more than it must, or is refused by the leader
    whose epoch is lower; it cannot make two histories pass for one, since the offsets and contents still differ.
    """
    before = read_header(RUN[number - 1]).leader_epoch if number else -1
    epoch, damaged = read_header(RUN[number]).leader_epoch, bytearray(JOINED)
    after = read_header(RUN[number + 1]).leader_epoch if number + 1 < len(RUN) else REACH
    for bit in range(32):
        damaged[STARTS[number] + 15 - bit // 8] ^= 1 << bit % 8
        seen = epoch ^ 1 << bit if bit < 31 else -1 << 31 | epoch
        found = scanned(damaged)
        stop = number if seen < before else number + 1 if seen > after else None
        if stop is None:
            assert found.scan.flaw is None
            assert before <= seen <= after
        else:
            assert found.scan.flaw is not None
            assert (found.scan.flaw.reason, found.scan.flaw.position) == ("epochs", STARTS[stop])
        damaged[STARTS[number] + 15 - bit // 8] ^= 1 << bit % 8


def test_after_a_flaw_nothing_is_accepted_any_more() -> None:
    found = scanned(RUN[0] + b"\xff" * 100)
    before = found.outcome
    assert found.scan.feed(memoryview(RUN[1])) == 0
    found.scan.ended(memoryview(RUN[1]))
    assert found.outcome == before


def test_an_offset_below_the_segments_base_is_no_part_of_it() -> None:
    assert flaw_of(stamped(9), base=10) == Flaw(0, "offsets", "expected offset 10 or a little later, found 9")


def test_an_offset_that_no_index_entry_can_hold_is_no_part_of_the_segment() -> None:
    assert scanned(stamped(10 + REACH - 1), base=10).scan.flaw is None
    assert flaw_of(stamped(10 + REACH), base=10).reason == "offsets"
    assert flaw_of(stamped(10 + REACH - 1, count=2), base=10).reason == "offsets"
    assert flaw_of(stamped((1 << 63) - 1, count=2), base=10).reason == "offsets"


def test_epochs_go_on_from_one_segment_to_the_next() -> None:
    first = scanned(stamped(0, 7))
    tail = SegmentTail(Segment(1, 0, 0, 1, NO_TIMESTAMP, WALL_MS), 250)
    scan = Scan(tail, first.epochs)
    assert scan.feed(memoryview(stamped(1, 6))) == 0
    assert scan.flaw == Flaw(0, "epochs", "expected leader epoch 7 or later, found 6")


@given(st.binary(min_size=HEADER_BYTES, max_size=300).filter(any))
def test_garbage_is_a_flaw_at_its_first_byte(garbage: bytes) -> None:
    found = scanned(RUN[0] + garbage)
    assert found.scan.flaw is not None
    assert found.scan.flaw.position == found.tail.segment.size == len(RUN[0])


# finding what a read wants


def wanted(content: bytes, offset: int, limit_offset: int, max_bytes: int) -> tuple[bytes, int]:
    """The batches of a read and the offset to go on at, from a plain list."""
    kept, after = b"", offset
    for at, header in walk(content):
        if header.next_offset <= offset:
            continue
        if header.next_offset > limit_offset or (kept and len(kept) + header.size > max_bytes):
            break
        kept, after = kept + content[at : at + header.size], header.next_offset
    return kept, after


reads = st.tuples(st.integers(0, 40), st.integers(0, 60), st.integers(1, 2_000))


@given(runs(), reads)
def test_a_pick_is_what_a_plain_list_says(batches: list[bytearray], read: tuple[int, int, int]) -> None:
    content = b"".join(batches)
    found = pick(memoryview(content), *read)
    assert (content[found.start : found.stop], found.next_offset) == wanted(content, *read)


@settings(max_examples=60)
@given(runs(), reads, st.integers(1, 400), st.data())
def test_a_pick_from_a_part_asks_for_as_much_as_it_needs(
    batches: list[bytearray], read: tuple[int, int, int], block_bytes: int, data: st.DataObject
) -> None:
    """The loop of a reader: it begins at a batch before the offset, and reads on by what the answer lacks."""
    content = b"".join(batches)
    expected, _ = wanted(content, *read)
    before = [at for at, header in walk(content) if header.base_offset <= read[0]] or [0]
    position, steps, answer = data.draw(st.sampled_from(before)), 0, b""
    while position < len(content):
        block = content[position : position + block_bytes]
        found = pick(memoryview(block), *read)
        answer = block[found.start : found.stop]
        if answer or not found.wanted_bytes:
            break
        assert found.start or found.wanted_bytes > block_bytes, "or the next answer would be the same"
        position, block_bytes, steps = position + found.start, found.wanted_bytes, steps + 1
    assert steps <= 2 * len(batches) + 2
    assert expected.startswith(answer)
    assert bool(answer) == bool(expected)
    if answer:
        assert found.next_offset == walk(answer)[-1][1].next_offset


def test_a_batch_larger_than_was_asked_for_comes_alone() -> None:
    assert pick(memoryview(JOINED), 5, 100, 1) == Pick(STARTS[1], STARTS[2], 8, 110 + 107)


@pytest.mark.parametrize(("max_bytes", "batches"), [(213, 1), (214, 2), (320, 2), (321, 3)])
def test_as_many_whole_batches_come_as_the_bytes_allow(max_bytes: int, batches: int) -> None:
    found = pick(memoryview(JOINED), 0, 100, max_bytes)
    assert (found.start, found.stop) == (0, STARTS[batches])


@pytest.mark.parametrize("offset", [5, 6, 7])
def test_an_offset_within_a_batch_brings_the_whole_batch(offset: int) -> None:
    assert pick(memoryview(JOINED), offset, 100, 1).start == STARTS[1]


@pytest.mark.parametrize("offset", [3, 4])
def test_an_offset_in_a_gap_brings_the_batch_after_it(offset: int) -> None:
    assert pick(memoryview(JOINED), offset, 100, 1).start == STARTS[1]


@pytest.mark.parametrize(("limit_offset", "stop"), [(0, 0), (2, 0), (3, 1), (7, 1), (8, 2), (14, 4)])
def test_a_batch_that_reaches_beyond_the_limit_is_kept_out_whole(limit_offset: int, stop: int) -> None:
    found = pick(memoryview(JOINED), 0, limit_offset, 10_000)
    assert (found.start, found.stop) == (0, [*STARTS, len(JOINED)][stop])
    assert found.wanted_bytes == (0 if stop < 4 else len(JOINED) + HEADER_BYTES)


@pytest.mark.parametrize("at", [8, 16])
def test_bytes_that_are_no_batch_are_an_error_with_a_position(at: int) -> None:
    damaged = bytearray(JOINED)
    damaged[STARTS[2] + at] ^= 0x80
    with pytest.raises(BatchError) as caught:
        pick(memoryview(damaged), 11, 100, 1)
    assert caught.value.position == STARTS[2]
