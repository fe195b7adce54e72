"""Members of shared groups are given messages, and what they say of them outlives the broker."""

from goqueue.core.requests.queues import PolledWork, PollWork, WorkDone
from goqueue.core.requests.refusals import Code
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.driven_broker import DrivenBroker
from tests.storage.worked_broker import (
    ack,
    begun,
    join,
    leave,
    messages,
    nack,
    offsets,
    poll,
    publish,
    receipts,
    refused,
    waiting_poll,
    with_messages,
)


def test_a_member_is_given_messages_and_acknowledges_them() -> None:
    broker = with_messages(SimulatedDisk(), 5)
    member = join(broker)
    given = poll(broker, member)
    assert messages(given) == [(number, b"%d" % number, 1) for number in range(5)]
    assert ack(broker, receipts(given)) == WorkDone(5)
    broker.later(60)
    assert poll(broker, member) == []


def test_what_was_acknowledged_stays_so_after_a_crash_and_what_was_leased_comes_again() -> None:
    disk = SimulatedDisk(1)
    broker = with_messages(disk, 6)
    member = join(broker)
    given = poll(broker, member)
    ack(broker, receipts(given, 0, 1, 4))
    disk.crash(0.5)
    again = begun(disk)
    assert poll(again, member) == []
    again.later(31)
    again.later(5)
    assert messages(poll(again, member)) == [(2, b"2", 2), (3, b"3", 2), (5, b"5", 2)]


def test_receipts_outlive_a_crash() -> None:
    disk = SimulatedDisk(2)
    broker = with_messages(disk, 3)
    given = poll(broker, join(broker))
    disk.crash(0.5)
    again = begun(disk)
    assert ack(again, receipts(given)) == WorkDone(3)


def test_a_poll_waits_for_messages() -> None:
    broker = with_messages(SimulatedDisk(), 0)
    member = join(broker)
    to = broker.ask(waiting_poll(member))
    broker.settle()
    assert broker.answered() == []
    publish(broker, 2)
    reply = broker.taken(to)
    assert isinstance(reply, PolledWork)
    assert offsets(reply.parts) == [0, 1]


def test_a_poll_that_waited_in_vain_is_answered_with_nothing() -> None:
    broker = with_messages(SimulatedDisk(), 0)
    to = broker.ask(waiting_poll(join(broker), seconds=2))
    broker.settle()
    broker.later(2)
    assert broker.taken(to).parts == []  # type: ignore[union-attr]


def test_two_groups_never_see_each_other() -> None:
    broker = with_messages(SimulatedDisk(), 3)
    one, other = join(broker), join(broker, "audit")
    given = poll(broker, one)
    ack(broker, receipts(given))
    assert offsets(poll(broker, other, group="audit")) == [0, 1, 2]
    refusal = ack(broker, receipts(given), "audit").refusals[0].refusal
    assert refusal.code is Code.RECEIPT_INVALID


def test_members_share_a_partition_and_are_given_different_messages() -> None:
    broker = with_messages(SimulatedDisk(), 10)
    one, other = join(broker), join(broker)
    assert offsets(poll(broker, one, 4)) == [0, 1, 2, 3]
    assert offsets(poll(broker, other, 4)) == [4, 5, 6, 7]
    leave(broker, one)
    assert offsets(poll(broker, other)) == [0, 1, 2, 3, 8, 9]


def test_a_nack_has_a_message_tried_again_after_its_delay() -> None:
    broker = with_messages(SimulatedDisk(), 2)
    member = join(broker)
    given = poll(broker, member)
    done = nack(broker, receipts(given, 1), 5_000)
    assert done.done == 1
    assert poll(broker, member) == []
    broker.later(5.1)
    assert messages(poll(broker, member)) == [(1, b"1", 2)]


def test_who_is_no_member_is_refused() -> None:
    broker = with_messages(SimulatedDisk(), 1)
    assert refused(broker.answer(PollWork("billing", "nobody"))).code is Code.UNKNOWN_MEMBER
    join(broker)
    assert refused(broker.answer(PollWork("billing", "nobody"))).code is Code.UNKNOWN_MEMBER


def test_a_broker_that_was_closed_knows_everything() -> None:
    disk = SimulatedDisk()
    broker: DrivenBroker = with_messages(disk, 4)
    member = join(broker)
    ack(broker, receipts(poll(broker, member, 2)))
    broker.close()
    again = begun(disk)
    assert offsets(poll(again, member)) == [2, 3]
