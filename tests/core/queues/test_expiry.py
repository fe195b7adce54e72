"""Messages past their time are given to nobody: which they are, and what becomes of them."""

import pytest

from goqueue.core.cluster.queue_settings import WorkSettings
from goqueue.core.queues.expiry import expired, expiry
from goqueue.core.records.batch import EXPIRING, Codec, read_header
from goqueue.core.records.build import BatchBuilder, encode
from goqueue.core.records.headers import EXPIRES
from tests.core.queues.worked import WALL_MS, Worked, attempts, spelled


def batch_of(*untils: int | None, codec: Codec = Codec.NONE) -> bytearray:
    """A batch of messages of one time, some of which say until when they are delivered."""
    headers = [() if until is None else ((EXPIRES, b"%d" % until),) for until in untils]
    return encode([(WALL_MS, None, b"x", each) for each in headers], codec=codec)


# --- which


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_what_a_message_says_of_itself_counts(codec: Codec) -> None:
    batch = batch_of(WALL_MS + 10, None, WALL_MS + 11, WALL_MS + 5, codec=codec)
    header = read_header(batch)
    assert header.is_expiring
    assert expired(batch, header, WALL_MS + 4) == []
    assert expired(batch, header, WALL_MS + 10) == [0, 3]


def test_the_topic_has_the_word_where_a_message_says_nothing() -> None:
    batch = batch_of(WALL_MS + 1_000, None)
    assert expired(batch, read_header(batch), WALL_MS + 100, 100) == [1]
    assert expired(batch, read_header(batch), WALL_MS + 99, 100) == []
    plain = encode([(WALL_MS + 50, None, b"x", ()), (WALL_MS, None, b"x", ())])
    assert expired(plain, read_header(plain), WALL_MS + 100, 100) == [1]
    assert expired(plain, read_header(plain), WALL_MS + 150, 100) == [0, 1]


def test_without_a_bit_and_without_a_time_to_live_nothing_expires() -> None:
    batch = batch_of(None, None)
    header = read_header(batch)
    assert not header.attributes & EXPIRING
    assert expired(batch, header, WALL_MS + 1_000_000_000) == []
    assert expired(batch, header._replace(record_count=0), WALL_MS + 1_000_000_000, 1) == []


@pytest.mark.parametrize("count", [1, 3])
def test_a_batch_of_the_time_of_its_append_is_as_old_as_that(count: int) -> None:
    batch = encode([(5, None, b"x", ())] * count, append_ms=WALL_MS)
    header = read_header(batch)
    assert expired(batch, header, WALL_MS + 99, 100) == []
    assert expired(batch, header, WALL_MS + 100, 100) == [*range(count)]


def test_a_message_without_a_time_does_not_grow_old() -> None:
    batch = encode([(-1, None, b"x", ())] * 2)
    assert expired(batch, read_header(batch), WALL_MS, 1) == []


@pytest.mark.parametrize("value", [None, b"", b"-5", b"soon", b"1" * 20, b"\xb2"])
def test_what_is_no_time_is_as_if_it_was_not_there(value: bytes | None) -> None:
    assert expiry(((EXPIRES, value),)) is None
    assert expiry(((EXPIRES, value), (EXPIRES, b"8"), (EXPIRES, b"7"), ("other", b"6"))) == 7


def test_a_builder_marks_a_batch_once_a_record_may_expire() -> None:
    builder = BatchBuilder()
    builder.add(WALL_MS, None, b"x", (("a", b"b"),))
    assert not read_header(builder.build()).is_expiring
    builder.add(WALL_MS, None, b"x", ((EXPIRES, b"1"),))
    builder.extend([(WALL_MS, None, b"x", ())])
    assert read_header(builder.build()).is_expiring


# --- what becomes of them


def test_what_has_expired_is_a_dead_letter_and_takes_nobodys_room() -> None:
    worked = Worked(WorkSettings(max_in_flight=2))
    worked.publish(6)
    worked.expired = {0, 2, 3}
    grant = worked.poll("a", 4)
    assert grant is not None
    assert attempts(grant) == {1: 1}
    assert worked.queue.dead(9) == [(0, "expired", 0)]
    assert worked.poll("b", 6) is None
    assert worked.queue.wanted(0, "b", 6) == [(4, 6)]
    grant = worked.poll("b", 6)
    assert grant is not None
    assert attempts(grant) == {4: 1, 5: 1}
    assert [offset for offset, _, _ in worked.queue.dead(9)] == [0, 2, 3]
    assert worked.queue.tally.expired == 3
    assert worked.queue.tally.delivered == 3


def test_without_dead_letters_what_has_expired_is_settled() -> None:
    worked = Worked(WorkSettings(dlq=False))
    worked.publish(4)
    worked.expired = {0, 1}
    grant = worked.poll("a", 2)
    assert grant is None
    assert worked.queue.floor == 2
    assert worked.queue.dead(9) == []
    worked.expired.add(2)
    grant = worked.poll("a", 2)
    assert grant is not None
    assert attempts(grant) == {3: 1}
    assert worked.queue.floor == 3


def test_a_retry_may_expire_while_it_waits() -> None:
    worked = Worked()
    worked.publish(1)
    worked.nack(0, [*worked.receipts("a", 1).values()], 100)
    worked.expired = {0}
    worked.let_pass(100)
    assert worked.poll("a", 1) is None
    assert worked.queue.dead(9) == [(0, "expired", 1)]


def test_what_has_expired_holds_nobody_of_its_key_up() -> None:
    worked = Worked(WorkSettings(key_ordered=True))
    worked.keys = [7, 7, 7, 8, 7]
    worked.expired = {0, 1, 4}
    grant = worked.poll("a", 5)
    assert grant is not None
    assert attempts(grant) == {2: 1, 3: 1}
    assert [offset for offset, _, _ in worked.queue.dead(9)] == [0, 1]
    # The last one waits for the one before it, as it would if it was young.
    worked.ack(0, [*spelled(grant).values()])
    assert worked.poll("a", 5) is None
    assert [offset for offset, _, _ in worked.queue.dead(9)] == [0, 1, 4]


def test_without_dead_letters_what_fails_too_often_or_is_rejected_is_settled() -> None:
    worked = Worked(WorkSettings(dlq=False, max_attempts=1))
    worked.publish(3)
    receipts = worked.receipts("a", 3)
    worked.nack(0, [receipts[0]])
    worked.reject(0, [receipts[1]], "bad")
    worked.let_pass(30_000)
    assert worked.queue.floor == 3
    worked.flush()
    worked.restart()
    assert worked.queue.floor == 3
