"""How leased batches become messages with receipts, and how receipts are read again."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.queues.receipts import spelled_receipt
from goqueue.core.records.batch import Codec, Lane, stamp
from goqueue.core.records.build import encode
from goqueue.core.requests.queues import LeasedBatches, LeaseRun, ReceiptRun
from goqueue.core.requests.refusals import Code
from goqueue.transports.rest.errors import RestError
from goqueue.transports.rest.leasing import Leased
from goqueue.transports.rest.reading import CONTENT_BYTES_MAX
from goqueue.transports.rest.settling import read_receipts
from goqueue.transports.rest.work_bodies import ReceiptsDraft
from tests.core.seeded_secrets import seal_of

SEAL = seal_of(b"a secret of many bytes", "billing", "orders", 3)
STEM, OTHER = SEAL.stem(7, 1, "a"), SEAL.stem(8, 2, "a")
UNTIL_MS = 1_000


def batch(base_offset: int, *values: bytes, lane: Lane = Lane.NORMAL) -> bytearray:
    """A batch as it is stored."""
    written = encode([(1, None, value, ()) for value in values], lane=lane, codec=Codec.ZSTD)
    stamp(written, base_offset, 0)
    return written


def part(batches: bytearray, *leases: LeaseRun) -> LeasedBatches:
    """What was leased of these batches."""
    return LeasedBatches("orders", 3, batches, list(leases))


def run(first: int, count: int, stem: str = STEM, attempt: int = 1) -> LeaseRun:
    """So many messages from an offset on."""
    return LeaseRun(first, count, attempt, stem, UNTIL_MS)


STORED = batch(0, b"a", b"b", b"c") + batch(3, b"d", lane=Lane.HIGH) + batch(10, b"e", b"f")


def test_messages_come_in_the_order_of_their_leases_with_attempt_receipt_and_lane() -> None:
    leased = Leased()
    leased.take(part(STORED, run(3, 1, OTHER, 2), run(1, 2), run(10, 2)))
    found = [(view.offset, view.value, view.attempt, view.priority) for view in leased.messages]
    assert found == [
        (3, "d", 2, "high"), (1, "b", 1, "normal"), (2, "c", 1, "normal"),
        (10, "e", 1, "normal"), (11, "f", 1, "normal"),
    ]  # fmt: skip
    stems = (OTHER, STEM, STEM, STEM, STEM)
    expected = [spelled_receipt(stem, offset) for stem, (offset, *_) in zip(stems, found, strict=True)]
    assert [view.receipt_handle for view in leased.messages] == expected
    assert {view.expires_at for view in leased.messages} == {"1970-01-01T00:00:01.000Z"}
    assert not leased.left_out
    assert not leased.handed_back


def test_a_lease_may_reach_over_several_batches() -> None:
    leased = Leased()
    leased.take(part(STORED, run(0, 4)))
    assert [view.value for view in leased.messages] == ["a", "b", "c", "d"]


def test_what_cannot_be_read_or_is_not_there_is_named() -> None:
    broken = batch(4, b"x" * 100, b"y" * 100)
    broken[61:] = bytes(len(broken) - 61)
    leased = Leased()
    leased.take(part(STORED[: -len(batch(10, b"e", b"f"))] + broken + batch(10, b"e", b"f"), run(3, 3), run(8, 3)))
    assert [view.offset for view in leased.messages] == [3, 10]
    named = [(left.offset, left.next_offset, left.code) for left in leased.left_out]
    assert named == [(4, 6, Code.CORRUPT_BATCH), (8, 10, Code.OFFSET_OUT_OF_RANGE)]
    assert all(left.error and left.topic == "orders" and left.partition == 3 for left in leased.left_out)


def test_what_an_answer_has_no_room_for_is_handed_back() -> None:
    large = b"a" * (CONTENT_BYTES_MAX // 2)
    stored = batch(0, large, large, b"b") + batch(3, b"c", b"d")
    leased = Leased()
    leased.take(part(stored, run(0, 3), run(3, 1, OTHER)))
    leased.take(part(stored, run(4, 1, OTHER)))
    assert [view.offset for view in leased.messages] == [0, 1]
    assert leased.handed_back == [ReceiptRun(STEM, 2, 1), ReceiptRun(OTHER, 3, 1), ReceiptRun(OTHER, 4, 1)]


def test_a_message_larger_than_an_answer_comes_alone() -> None:
    leased = Leased()
    leased.take(part(batch(0, b"a" * (CONTENT_BYTES_MAX + 1), b"b"), run(0, 2)))
    assert [view.offset for view in leased.messages] == [0]
    assert leased.handed_back == [ReceiptRun(STEM, 1, 1)]


@given(st.permutations([*range(40)]), st.integers(1, 40), st.randoms(use_true_random=False))
def test_every_leased_message_comes_once_whatever_the_order(
    offsets: list[int], count: int, chance: random.Random
) -> None:
    stored, base = bytearray(), 0
    while base < len(offsets):
        end = min(base + chance.randint(1, 9), len(offsets))
        stored += batch(base, *(b"%d" % at for at in range(base, end)))
        base = end
    wanted = offsets[:count]
    leased = Leased()
    leased.take(part(stored, *(run(offset, 1) for offset in wanted)))
    assert [(view.offset, view.value) for view in leased.messages] == [(offset, str(offset)) for offset in wanted]


def handles(*offsets: int, stem: str = STEM) -> list[str]:
    """Receipts of messages."""
    return [spelled_receipt(stem, offset) for offset in offsets]


@given(st.lists(st.tuples(st.sampled_from([STEM, OTHER]), st.integers(0, 9)), min_size=1, max_size=30))
def test_receipts_are_gathered_to_runs_that_say_the_same(shown: list[tuple[str, int]]) -> None:
    read = read_receipts(ReceiptsDraft(receipt_handles=[spelled_receipt(stem, offset) for stem, offset in shown]))
    said = [(run.stem, run.first_offset + at) for run in read.runs for at in range(run.count)]
    assert said == shown
    for one, other in pairwise(read.runs):
        assert (one.stem, one.first_offset + one.count) != (other.stem, other.first_offset)


def test_what_is_no_receipt_is_refused_by_itself() -> None:
    shown = [*handles(1), "nonsense", "", *handles(2), STEM, "é" * 48, spelled_receipt(STEM, 3)[:-1]]
    read = read_receipts(ReceiptsDraft(receipt_handles=shown))
    assert read.runs == [ReceiptRun(STEM, 1, 2)]
    assert {at: refusal.code for at, refusal in read.errors.items()} == dict.fromkeys(
        (1, 2, 4, 5, 6), Code.RECEIPT_INVALID
    )


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        (ReceiptsDraft(), "receipt_handle"),
        (ReceiptsDraft(receipt_handle=handles(0)[0], receipt_handles=handles(0)), "receipt_handles"),
    ],
)
def test_a_request_shows_one_receipt_or_a_list(draft: ReceiptsDraft, field: str) -> None:
    with pytest.raises(RestError) as refused:
        read_receipts(draft)
    assert (refused.value.status, refused.value.field) == (400, field)
