"""Messages under a lease as they are held by a client: what is made of a part, and what is open of it."""

import pytest

from goqueue.core.client.credit import Credit
from goqueue.core.client.grants import CHUNK, Grants
from goqueue.core.errors import BatchError
from goqueue.core.records.batch import Codec, Lane
from goqueue.core.requests.queues import ReceiptRun
from goqueue.fuzz.bytes.sealing import seal_batch
from tests.core.client.leased_parts import NOW_MS, SECOND, SPAN_MS, Held, batch, make, meant, part, said


def grants_with(*parts: object, bytes_max: int = 1 << 20) -> Grants[Held]:
    grants = Grants(make, Credit(1000, bytes_max))
    for each in parts:
        grants.received(0, each, NOW_MS)  # type: ignore[arg-type]
    grants.check()
    return grants


def everything(grants: Grants[Held]) -> list[Held]:
    found: list[Held] = []
    while chunk := grants.next():
        found += chunk
        grants.check()
    return found


def test_whole_batches_come_in_their_order() -> None:
    grants = grants_with(part(batch(7, 3) + batch(10, 2), (7, 5)))
    assert said(everything(grants)) == meant(7, 8, 9, 10, 11)
    assert not grants.is_waiting


def test_only_what_is_leased_is_handed_out_and_in_the_order_of_the_leases() -> None:
    source = batch(0, 4) + batch(4, 4, codec=Codec.GZIP) + batch(8, 4)
    grants = grants_with(part(source, (9, 1), (2, 4), (0, 1)))
    assert said(everything(grants)) == meant(9, 2, 3, 4, 5, 0)


def test_messages_know_their_lane_their_attempt_and_where_they_are_from() -> None:
    grants = grants_with(part(batch(0, 1, lane=Lane.HIGH), (0, 1), attempt=3))
    (message,) = everything(grants)
    assert (message.claim.lane, message.claim.topic, message.claim.partition) == (Lane.HIGH, "jobs", 0)
    assert message.grant.attempt == 3
    assert message.grant.until_ms == NOW_MS + SPAN_MS
    assert message.grant.until == SPAN_MS * SECOND // 1000


def test_messages_are_made_some_dozens_at_a_time() -> None:
    grants = grants_with(part(b"".join(batch(at, 10) for at in range(0, 1000, 10)), (0, 1000)))
    first = grants.next()
    assert CHUNK <= len(first) < CHUNK + 10
    assert said(first + everything(grants)) == meant(*range(1000))


def test_many_small_leases_in_one_batch_make_one_list() -> None:
    grants = grants_with(part(batch(0, 40), *((offset, 1) for offset in range(0, 40, 2))))
    assert said(grants.next()) == meant(*range(0, 40, 2))


def test_settling_frees_credit_and_the_grant() -> None:
    source = batch(0, 4)
    grants = grants_with(part(source, (0, 3)))
    assert grants.credit.messages_held == 3
    messages = everything(grants)
    for left, message in zip((2, 1, 0), messages, strict=True):
        grants.settle(message.grant, message.offset)
        grants.check()
        assert grants.credit.messages_held == left
    assert not grants.held
    assert grants.credit.bytes_held == 0


def test_a_record_that_is_missing_is_not_waited_for() -> None:
    grants = grants_with(part(batch(0, 2), (0, 4)))
    assert said(everything(grants)) == meant(0, 1)
    assert grants.credit.messages_held == 2


def test_what_waits_too_long_is_let_go_of_and_what_is_fresh_stays() -> None:
    grants = grants_with(part(batch(0, 2), (0, 2), stem="old"))
    grants.received(10 * SECOND, part(batch(2, 2), (2, 2), stem="new"), NOW_MS)
    assert grants.deadline() == 15 * SECOND
    assert grants.take_waiting(15 * SECOND - 1) == []
    assert grants.take_waiting(15 * SECOND) == [ReceiptRun("old", 0, 2)]
    grants.check()
    assert said(everything(grants)) == meant(2, 3)


def test_what_messages_were_made_of_is_not_among_what_waits() -> None:
    source = batch(0, 100) + batch(100, 100)
    grants = grants_with(part(source, (0, 200)))
    first = grants.next()
    assert len(first) == 100
    assert grants.take_waiting() == [ReceiptRun("s", 100, 100)]
    assert grants.give_back(first[0].grant, range(60, 100)) == [ReceiptRun("s", 60, 40)]
    assert grants.give_back(first[0].grant, range(60, 100)) == []
    grants.check()
    assert grants.credit.messages_held == 60
    assert grants.take_open() == [ReceiptRun("s", 0, 60)]
    assert not grants.held


def test_damaged_bytes_are_an_error_and_can_be_let_go_of() -> None:
    source = bytearray(batch(0, 3))
    source[-1] ^= 1
    grants = grants_with(part(bytes(source), (0, 3)), part(batch(3, 1), (3, 1)))
    with pytest.raises(BatchError):
        grants.next()
    assert grants.take_damaged() == [ReceiptRun("s", 0, 3)]
    grants.check()
    assert said(everything(grants)) == meant(3)


def test_one_batch_that_cannot_be_read_costs_the_others_of_its_part_nothing() -> None:
    spoilt = seal_batch(batch(2, 3)[:-1] + b"\x7f")
    grants = grants_with(part(batch(0, 2) + spoilt + batch(5, 1), (0, 6)))
    assert said(grants.next()) == meant(0, 1)
    with pytest.raises(BatchError):
        grants.next()
    assert grants.damaged[2:] == (2, 5)
    assert grants.take_damaged() == [ReceiptRun("s", 2, 3)]
    grants.check()
    assert said(everything(grants)) == meant(5)


def test_a_clock_that_differs_changes_nothing_about_how_long_a_lease_lasts() -> None:
    grants = Grants(make, Credit(10, 1000))
    grants.received(5 * SECOND, part(batch(0, 1), (0, 1)), NOW_MS)
    (grant,) = grants.held
    assert (grant.half, grant.until) == (20 * SECOND, 35 * SECOND)


def test_control_records_are_no_messages() -> None:
    grants = grants_with(part(batch(0, 1, control=True) + batch(1, 1), (0, 2)))
    assert said(everything(grants)) == meant(1)
