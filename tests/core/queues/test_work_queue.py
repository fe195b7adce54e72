"""The work queue's rules, one by one."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from string import ascii_letters, digits
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.cluster.queue_settings import WorkSettings
from goqueue.core.errors import ProtocolError
from goqueue.core.queues.counts import Counts
from goqueue.core.queues.plan import Offers
from goqueue.core.queues.proving import Outcome
from goqueue.core.queues.receipts import STEM_LETTERS, Seal, ending_of, read_receipt, read_stem, spelled_receipt
from goqueue.core.requests.queues import ReceiptRun
from tests.core.queues.worked import ABSENT, MS, SECRET, Worked, attempts, spelled
from tests.core.seeded_secrets import seal_of

DONE, STALE, SETTLED, FORGED = Outcome.DONE, Outcome.STALE, Outcome.SETTLED, Outcome.FORGED


def offsets_of(worked: Worked, member: str, count: int) -> list[int]:
    """The offsets that a member is given."""
    return [*worked.receipts(member, count)]


# --- leases


def test_two_members_are_given_different_messages_and_each_in_order() -> None:
    worked = Worked()
    worked.publish(10)
    assert offsets_of(worked, "a", 4) == [0, 1, 2, 3]
    assert offsets_of(worked, "b", 4) == [4, 5, 6, 7]
    assert offsets_of(worked, "a", 4) == [8, 9]
    assert worked.poll("b", 4) is None


def test_of_two_who_read_the_same_only_the_first_is_given_it() -> None:
    worked = Worked()
    worked.publish(10)
    offers = Offers([(0, 5)], range(5))
    assert worked.queue.wanted(0, "a", 5) == worked.queue.wanted(0, "b", 5) == [(0, 5)]
    assert worked.queue.lease(0, "a", offers) is not None
    assert worked.queue.lease(0, "b", offers) is None
    grant = worked.queue.lease(0, "b", Offers([(3, 7)], range(3, 7)))
    assert grant is not None
    assert attempts(grant) == {5: 1, 6: 1}


def test_what_lies_beyond_a_hole_in_what_was_read_is_not_given() -> None:
    worked = Worked()
    worked.publish(10)
    assert worked.queue.lease(0, "a", Offers([(4, 8)], range(4, 8))) is None
    assert worked.queue.floor == 0
    assert offsets_of(worked, "a", 10) == [*range(10)]


def test_an_acknowledged_message_is_not_given_again_and_the_floor_follows() -> None:
    worked = Worked()
    worked.publish(5)
    receipts = worked.receipts("a", 5)
    assert worked.ack(0, [receipts[1], receipts[0], receipts[3]]) == [DONE] * 3
    assert worked.queue.floor == 2
    assert worked.ack(0, [receipts[2]]) == [DONE]
    assert worked.queue.floor == 4
    worked.let_pass(60_000)
    assert offsets_of(worked, "b", 5) == [4]


def test_a_message_that_is_not_settled_in_time_is_given_to_somebody_else_as_its_next_attempt() -> None:
    worked = Worked()
    worked.publish(3)
    old = worked.receipts("a", 3)
    worked.let_pass(29_999)
    assert worked.poll("b", 3) is None
    worked.let_pass(1 + 1_000)
    grant = worked.poll("b", 3)
    assert grant is not None
    assert attempts(grant) == {0: 2, 1: 2, 2: 2}
    assert worked.ack(worked.now, [old[1]]) == [STALE]
    assert worked.ack(worked.now, [*spelled(grant).values()]) == [DONE] * 3
    assert worked.ack(worked.now, [old[1]]) == [SETTLED]


def test_a_receipt_counts_once_in_a_call_and_between_calls() -> None:
    worked = Worked()
    worked.publish(2)
    receipts = worked.receipts("a", 2)
    assert worked.ack(0, [receipts[0], receipts[0]]) == [DONE, DONE]
    assert worked.ack(0, [receipts[0]]) == [SETTLED]
    assert worked.nack(0, [receipts[0]]) == [SETTLED]
    assert worked.queue.counts() == Counts(1, 0, 0, 0, 0)


def test_extending_one_of_a_lease_leaves_the_others_as_they_were() -> None:
    worked = Worked()
    worked.publish(3)
    receipts = worked.receipts("a", 3, 10_000)
    worked.let_pass(9_000)
    assert worked.extend(worked.now, [receipts[1]], 20_000) == [DONE]
    worked.let_pass(1_000)
    assert worked.queue.counts() == Counts(1, 0, 2, 0, 0)
    worked.let_pass(18_999)
    assert worked.ack(worked.now, [receipts[1]]) == [DONE]


def test_extending_by_nothing_ends_a_lease() -> None:
    worked = Worked()
    worked.publish(2)
    receipts = worked.receipts("a", 2)
    assert worked.extend(worked.now, [*receipts.values()], 0) == [DONE, DONE]
    worked.let_pass(1)
    assert worked.queue.counts() == Counts(0, 0, 2, 0, 0)


def test_a_member_has_no_more_in_flight_than_it_may() -> None:
    worked = Worked(WorkSettings(max_in_flight=3))
    worked.publish(9)
    receipts = worked.receipts("a", 9)
    assert [*receipts] == [0, 1, 2]
    assert worked.queue.wanted(0, "a", 9) == []
    assert worked.queue.lease(0, "a", Offers([(3, 6)], range(3, 6))) is None
    assert offsets_of(worked, "b", 2) == [3, 4]
    worked.ack(0, [receipts[1]])
    assert offsets_of(worked, "a", 9) == [5]


def test_what_is_not_there_any_more_needs_no_settling() -> None:
    worked = Worked()
    worked.keys = [ABSENT, None, ABSENT, ABSENT, None, ABSENT]
    receipts = worked.receipts("a", 6)
    assert [*receipts] == [1, 4]
    assert worked.queue.floor == 1
    worked.nack(0, [receipts[4]], 0)
    worked.ack(0, [receipts[1]])
    worked.keys[4] = ABSENT
    assert worked.poll("a", 6) is None
    assert worked.queue.floor == 6


# --- failing


def test_attempts_are_paused_longer_each_time_and_end_as_a_dead_letter() -> None:
    worked = Worked(WorkSettings(max_attempts=4, backoff_ms=1_000, backoff_max_ms=3_000))
    worked.publish(1)
    for attempt, span_ms in ((1, 1_000), (2, 2_000), (3, 3_000)):
        grant = worked.poll("a", 1)
        assert grant is not None
        assert attempts(grant) == {0: attempt}
        worked.nack(worked.now, [*spelled(grant).values()])
        worked.let_pass(span_ms // 2 - 1)
        assert worked.poll("a", 1) is None
        worked.let_pass(span_ms // 2 + 1)
    worked.nack(worked.now, [*worked.receipts("a", 1).values()])
    assert worked.queue.dead(10) == [(0, "max_attempts", 4)]
    worked.let_pass(100_000)
    assert worked.poll("a", 1) is None
    assert worked.queue.floor == 0
    worked.queue.buried(worked.now, [0, 0, 17])
    assert worked.queue.dead(10) == []
    assert worked.queue.floor == 1


def test_a_delay_that_is_asked_for_is_kept_to_the_millisecond() -> None:
    worked = Worked()
    worked.publish(1)
    worked.now = 700_000
    worked.nack(worked.now, [*worked.receipts("a", 1).values()], 250)
    worked.let_pass(249)
    assert worked.poll("a", 1) is None
    worked.let_pass(2)
    assert offsets_of(worked, "a", 1) == [0]


def test_a_rejected_message_is_dead_at_once_and_keeps_its_reason() -> None:
    worked = Worked()
    worked.publish(3)
    receipts = worked.receipts("a", 3)
    assert worked.reject(0, [receipts[1]], "no such customer") == [DONE]
    assert worked.queue.dead(10) == [(1, "rejected:no such customer", 1)]
    assert worked.ack(0, [receipts[1]]) == [STALE]


def test_what_is_released_or_left_behind_was_not_tried_and_what_is_lost_was() -> None:
    worked = Worked()
    worked.publish(3)
    receipts = worked.receipts("a", 3)
    worked.release(0, [receipts[2]])
    worked.queue.leave(0, "a")
    grant = worked.poll("b", 3)
    assert grant is not None
    assert attempts(grant) == {0: 1, 1: 1, 2: 1}
    worked.queue.lose(0, "b")
    assert worked.queue.counts() == Counts(0, 0, 3, 0, 0)
    worked.let_pass(1_000)
    grant = worked.poll("c", 3)
    assert grant is not None
    assert attempts(grant) == {0: 2, 1: 2, 2: 2}


# --- keys


def test_a_key_is_given_one_message_at_a_time_while_others_flow() -> None:
    worked = Worked(WorkSettings(key_ordered=True))
    worked.keys = [1, 1, 2, None, 1, 2, None]
    first = worked.receipts("a", 10)
    assert [*first] == [0, 2, 3, 6]
    assert worked.poll("b", 10) is None
    worked.nack(0, [first[0]], 5_000)
    worked.ack(0, [first[2]])
    assert offsets_of(worked, "b", 10) == [5]
    worked.let_pass(5_000)
    again = worked.receipts("b", 10)
    assert [*again] == [0]
    worked.ack(worked.now, [again[0]])
    assert offsets_of(worked, "b", 10) == [1]


def test_a_poisoned_key_goes_on_after_its_first_message_was_given_up() -> None:
    worked = Worked(WorkSettings(key_ordered=True, max_attempts=1))
    worked.keys = [7, 7, 7]
    worked.nack(0, [*worked.receipts("a", 3).values()])
    assert worked.queue.dead(3) == [(0, "max_attempts", 1)]
    assert offsets_of(worked, "a", 3) == [1]


def test_a_bound_on_what_is_held_stops_the_reach_and_not_what_is_to_come_again() -> None:
    worked = Worked(WorkSettings(key_ordered=True, held_max=2))
    worked.keys = [1, 1, 1, 1, 2]
    first = worked.receipts("a", 5)
    assert [*first] == [0]
    assert worked.queue.counts() == Counts(1, 0, 0, 2, 0)
    assert worked.queue.wanted(0, "a", 5) == []
    worked.ack(0, [first[0]])
    assert offsets_of(worked, "a", 5) == [1, 4]


def test_what_retention_takes_leaves_no_key_and_no_lease_behind() -> None:
    worked = Worked(WorkSettings(key_ordered=True))
    worked.keys = [1, 1, 1, 2, 2, None]
    receipts = worked.receipts("a", 6)
    worked.queue.trim(0, 2)
    worked.queue.check()
    assert worked.queue.floor == 2
    assert worked.ack(0, [receipts[0]]) == [SETTLED]
    assert offsets_of(worked, "a", 6) == [2]
    worked.queue.trim(0, 100)
    worked.queue.check()
    assert worked.queue.floor == 100
    assert worked.queue.deadline() is None


# --- receipts


def test_a_receipt_of_another_group_and_one_that_was_altered_are_forged() -> None:
    worked = Worked()
    worked.publish(2)
    [receipt, _] = worked.receipts("a", 2).values()
    lease = read_stem(receipt[:STEM_LETTERS]).lease

    def shown(seal: Seal, attempt: int = 1, member_id: str = "a") -> str:
        return spelled_receipt(seal.stem(lease, attempt, member_id), 0)

    forged = [shown(seal_of(SECRET, *home)) for home in _OTHER_HOMES]
    forged += [shown(seal_of(b"?" * 16, "billing", "orders", 3)), shown(worked.queue.seal, attempt=2)]
    forged += ["", "x", "é" * 72, "A" * 72, receipt[:-1]]
    assert worked.ack(0, forged) == [FORGED] * len(forged)
    unknown = spelled_receipt(worked.queue.seal.stem(lease + 1, 1, "a"), 0)
    of_another = shown(worked.queue.seal, member_id="b")
    assert worked.ack(0, [unknown, of_another, receipt]) == [STALE, STALE, DONE]


_OTHER_HOMES: list[tuple[Any, ...]] = [
    ("shipping", "orders", 3), ("billing", "other", 3), ("billing", "orders", 4), ("billing", "orders", 3, 8),
    ("billing", "orders", 3, 1 << 24), ("billing", "orders", 3 + (1 << 16)),
]  # fmt: skip


@given(at=st.integers(0, 71), letter=st.sampled_from(ascii_letters + digits + "-_=+/ é\n"), count=st.integers(1, 3))
def test_a_receipt_with_any_one_letter_altered_is_none(at: int, letter: str, count: int) -> None:
    worked = Worked()
    worked.publish(count)
    for receipt in worked.receipts("a", count).values():
        changed = receipt[:at] + letter + receipt[at + 1 :]
        assert worked.ack(0, [changed]) == [DONE if changed == receipt else FORGED]


@given(at=st.integers(0, 41), to=st.integers(1, 255), count=st.integers(1, 3))
def test_a_stem_with_any_one_byte_altered_is_forged_also_when_its_lease_is_over(at: int, to: int, count: int) -> None:
    worked = Worked()
    worked.publish(count)
    receipts = worked.receipts("a", count)
    run = read_receipt(receipts[0])
    content = bytearray(urlsafe_b64decode(run.stem))
    content[at] ^= to
    changed = urlsafe_b64encode(content).decode()
    assert worked.queue.ack(0, [ReceiptRun(changed, 0)]).others == [(changed, 0, FORGED)]
    worked.ack(0, [*receipts.values()])
    assert worked.queue.ack(0, [ReceiptRun(changed, 0)]).others == [(changed, 0, FORGED)]
    assert worked.ack(0, [receipts[0]]) == [SETTLED]


def test_by_a_stem_a_member_names_what_its_lease_holds_and_nothing_else() -> None:
    worked = Worked()
    worked.publish(6)
    mine, others = worked.receipts("a", 3), worked.receipts("b", 3)
    stem = read_receipt(mine[0]).stem
    assert worked.ack(0, [spelled_receipt(stem, offset) for offset in others]) == [STALE] * 3
    assert worked.ack(0, [spelled_receipt(stem, 6), spelled_receipt(stem, (1 << 63) - 1)]) == [STALE] * 2
    assert worked.ack(0, [spelled_receipt(stem, 2)]) == [DONE]
    assert worked.ack(0, [*others.values()]) == [DONE] * 3
    assert worked.ack(0, [mine[0], mine[1], mine[2]]) == [DONE, DONE, SETTLED]


def test_a_stem_is_proved_anew_when_it_was_forgotten() -> None:
    worked = Worked()
    worked.publish(2_000)
    stems = [worked.queue.seal.stem(number, 1, f"m{number}") for number in range(2_000)]
    assert [stem.lease for letters in stems if (stem := worked.queue.seal.proved(letters)) is not None] == [
        *range(2_000)
    ]
    assert worked.queue.seal.proved(seal_of(b"?" * 16, "billing", "orders", 3).stem(7, 1, "a")) is None
    assert worked.queue.seal.proved("?") is None


@pytest.mark.parametrize("text", ["", "short", "B" * 71, "B" * 73, "*" * 72, "ü" * 72, "=" * 72, "\ud800" * 72])
def test_what_is_no_receipt_is_refused_by_a_sentence(text: str) -> None:
    with pytest.raises(ProtocolError, match="of no receipt"):
        read_stem(text[:STEM_LETTERS] if len(text) != 71 else text)
    with pytest.raises(ProtocolError, match="is no receipt"):
        read_receipt(text)


# --- records


def test_a_restart_loses_nothing_that_was_durable() -> None:
    worked = Worked(WorkSettings(max_attempts=2))
    worked.publish(8)
    receipts = worked.receipts("a", 6)
    worked.ack(0, [receipts[0], receipts[3]])
    worked.nack(0, [receipts[4]], 10_000)
    worked.reject(0, [receipts[5]], "bad")
    worked.flush()
    before = worked.queue.counts()
    worked.now = 4_000 * MS
    worked.restart()
    assert worked.queue.counts() == before
    assert worked.queue.dead(9) == [(5, "rejected:bad", 1)]
    assert worked.ack(worked.now, [receipts[1]]) == [DONE]
    worked.let_pass(5_999)
    assert offsets_of(worked, "b", 9) == [6, 7]
    worked.let_pass(1)
    grant = worked.poll("b", 9)
    assert grant is not None
    assert attempts(grant) == {4: 2}


def test_a_jump_of_the_calendar_puts_no_retry_off_by_more_than_its_delay() -> None:
    worked = Worked()
    worked.publish(1)
    worked.nack(0, [*worked.receipts("a", 1).values()], 10_000)
    worked.flush()
    worked.wall_ms -= 1_000_000_000
    worked.restart()
    worked.let_pass(10_000)
    assert offsets_of(worked, "a", 1) == [0]


def test_a_lease_that_a_crash_took_gives_its_number_to_no_other() -> None:
    worked = Worked()
    worked.publish(1)
    lost = worked.receipts("a", 1)[0]
    worked.restart()
    found = worked.receipts("b", 1)[0]
    assert worked.ack(0, [lost]) == [STALE]
    assert worked.ack(0, [found]) == [DONE]


def test_settling_in_order_costs_a_few_bytes_a_call_and_a_page_of_memory() -> None:
    worked = Worked()
    worked.publish(100_000)
    stuck = worked.receipts("b", 1)
    written = 0
    while receipts := worked.receipts("a", 1_000):
        assert set(worked.ack(worked.now, [*receipts.values()])) == {DONE}
        written += sum(map(len, worked.queue.take()))
    window = worked.queue.ledger.window
    assert len(window.pages) == 1
    assert written / 100 < 100
    assert worked.ack(worked.now, [*stuck.values()]) == [DONE]
    assert worked.queue.floor == 100_000
    assert not window.pages


def test_settled_calls_that_follow_each_other_are_one_record() -> None:
    worked = Worked()
    worked.publish(100)
    receipts = worked.receipts("a", 100)
    worked.flush()
    for receipt in receipts.values():
        worked.ack(0, [receipt])
    assert len(worked.queue.take()) == 1
    assert worked.queue.floor == 100


def test_a_snapshot_stands_for_what_came_before() -> None:
    worked = Worked(WorkSettings(key_ordered=True))
    worked.keys = [offset % 7 for offset in range(20_000)]
    for _ in range(100):
        receipts = [*worked.receipts("a", 50).values()]
        worked.ack(worked.now, receipts[1:])
        worked.nack(worked.now, receipts[:1], 0)
        worked.let_pass(1)
        worked.flush()
    queue = worked.queue
    worked.journal = [queue.snapshot(worked.now)]
    before = worked.queue.counts()
    worked.restart()
    assert worked.queue.counts() == before
    assert not worked.queue.take()


@pytest.mark.parametrize(
    "content", [b"", b"\x02", b"\x40\x02", b"\x04\x02\x06abc", b"\x0a\x02\x02\x10" + b"a" * 8 + b"\x02"]
)
def test_a_record_that_cannot_be_read_is_refused(content: bytes) -> None:
    with pytest.raises(ProtocolError):
        Worked().queue.replay(0, content)


def test_a_retry_that_came_before_the_restart_does_not_come_again_with_what_waits_for_another() -> None:
    worked = Worked()
    worked.publish(2)
    worked.nack(worked.now, [*worked.receipts("a", 2).values()], 10_000)
    worked.let_pass(10_000)
    again = worked.receipts("a", 2)
    worked.nack(worked.now, [again[1]], 60_000)
    worked.release(worked.now, [again[0]])
    worked.flush()
    worked.wall_ms -= 1_000_000
    worked.restart()
    worked.let_pass(20_000)
    assert offsets_of(worked, "b", 2) == [0]
    worked.let_pass(40_000)
    assert 1 in offsets_of(worked, "b", 2)


def test_a_receipt_says_which_partition_it_is_of() -> None:
    receipt = seal_of(SECRET, "billing", "orders", 513, (1 << 24) + 7).stem(9, 1, "a")
    place = read_stem(receipt).place
    assert place == (ending_of((1 << 24) + 7), 513) == (7, 513)
