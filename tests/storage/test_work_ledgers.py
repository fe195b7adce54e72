"""What the work queues of a partition keep on the disk: through crashes, failed disks, deletion and lost tails."""

import errno
from itertools import pairwise

import pytest

from goqueue.core.groups.journal import JOURNAL_STREAM
from goqueue.core.log.thresholds import Thresholds
from goqueue.core.queues.leader import WorkLeader
from goqueue.core.requests.groups import (
    DeleteGroup,
    FetchOffsets,
    GroupOffset,
    LeaveGroup,
    OffsetChange,
    ResetOffsets,
    ResetTo,
)
from goqueue.core.requests.internal import RollSide, TrimSide
from goqueue.core.requests.messages import NewRecord, Publish, Side
from goqueue.core.requests.queues import AckWork, NackWork, PolledWork, PollWork, WorkDone
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import AlterTopic, DeleteTopic
from goqueue.storage.jobs import StreamJob
from goqueue.storage.node_disk import Opening, Work
from goqueue.storage.simulated import SimulatedDisk
from tests.core.calls import call
from tests.storage import driven_broker
from tests.storage.driven_broker import DrivenBroker
from tests.storage.worked_broker import (
    ack,
    begun,
    join,
    leases,
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

LEDGER = "logs/orders/0/ledger"


def is_ledger_sync(work: Work) -> bool:
    return isinstance(work, StreamJob) and work.folder == LEDGER


def test_a_ledger_that_is_lost_in_the_turn_in_which_a_queue_begins_takes_the_queue_along() -> None:
    disk = SimulatedDisk()
    broker = with_messages(disk, 1)
    given = poll(broker, join(broker))
    member = join(broker, "mail")
    disk.fail_next("sync", errno.EIO, LEDGER)
    broker.ask(AckWork(receipts(given)))
    broker.turn(is_ledger_sync)
    polling = broker.ask(waiting_poll(member, group="mail"))
    broker.release()
    broker.later(10)
    # Who waited was served when the ledger was back, or was told; the node lives on either way.
    parts = found.parts if isinstance(found := broker.taken(polling), PolledWork) else []
    assert len(messages(parts) + messages(poll(broker, member, group="mail"))) == 1


def test_nothing_is_said_before_it_is_durable() -> None:
    broker = with_messages(SimulatedDisk(), 3)
    member = join(broker)
    first = poll(broker, member, 1)
    polling = broker.ask(PollWork("billing", member, 1))
    acking = broker.ask(AckWork(receipts(first)))
    again = broker.ask(AckWork(receipts(first)))
    broker.settle(is_ledger_sync)
    assert broker.answered() == []
    broker.release()
    broker.settle()
    assert broker.answered() == [polling, acking, again]


def test_an_acknowledgement_that_cannot_be_kept_is_refused_and_may_be_shown_again() -> None:
    disk = SimulatedDisk()
    broker = with_messages(disk, 2)
    given = poll(broker, join(broker))
    disk.fail_next("sync", errno.EIO, LEDGER)
    refusal = refused(broker.answer(AckWork(receipts(given))))
    assert refusal.code is Code.OUTCOME_UNKNOWN
    broker.later(60)
    assert ack(broker, receipts(given)).done in (0, 2)
    disk.crash(0.5)
    assert broker.reports


def test_a_ledger_is_read_again_only_when_what_was_being_written_is_in_it() -> None:
    """Else what comes of it after that is read before what the queue has done meanwhile, and contradicts it."""
    disk = SimulatedDisk()
    broker = with_messages(disk, 3)
    member = join(broker)
    poll(broker, member, 1)
    broker.ask(PollWork("billing", member, 1))
    broker.settle(is_ledger_sync)
    # As when the partition has lost messages that its queues knew of.
    room = next(room for room in broker.node._services.services if isinstance(room, WorkLeader))
    room.books["orders", 0].log.reload()
    broker.settle(is_ledger_sync)
    broker.release()
    broker.settle()
    assert ack(broker, receipts(poll(broker, member))).done
    disk.crash(0.0)
    begun(disk).node.check()


def test_nothing_fails_before_it_is_known_how_often_it_may() -> None:
    disk = SimulatedDisk()
    broker = with_messages(disk, 1)
    given = poll(broker, join(broker, max_attempts=1))
    disk.crash(0.0)
    again = DrivenBroker(disk)
    again.settle(lambda work: isinstance(work, Opening) and work.stream == JOURNAL_STREAM)
    assert refused(again.answer(NackWork(receipts(given)))).code is Code.UNAVAILABLE
    again.release()
    again.settle()
    assert nack(again, receipts(given)).dead == 1


def test_what_a_refused_poll_was_given_comes_to_another_one() -> None:
    disk = SimulatedDisk()
    broker = with_messages(disk, 3)
    member = join(broker)
    poll(broker, member, 1)
    disk.fail_next("sync", errno.EIO, LEDGER)
    to = broker.ask(PollWork("billing", member, 1))
    broker.settle()
    assert refused(broker.taken(to)).code is Code.OUTCOME_UNKNOWN
    for _ in range(4):
        broker.later(40)
    seen = dict.fromkeys(offset for offset, _, _ in messages(poll(broker, member)))
    assert [*seen] == [0, 1, 2]


def test_what_a_forgotten_poll_was_given_is_handed_back_and_no_attempt_counts() -> None:
    broker = with_messages(SimulatedDisk(), 2)
    member = join(broker)
    poll(broker, member, 1)
    to = broker.ask(PollWork("billing", member, 1))
    broker.settle(is_ledger_sync)
    broker.node.forget(to)
    broker.release()
    assert messages(poll(broker, member)) == [(1, b"1", 1)]


def test_a_ledger_is_neither_trimmed_nor_rolled_once_the_node_stops() -> None:
    broker = with_messages(SimulatedDisk(), 2)
    ack(broker, receipts(poll(broker, join(broker))))
    broker.node.close(broker.now)
    streams = broker.node._streams
    streams.trim_side(broker.now, call(1_000), TrimSide("orders", 0, Side.LEDGER, 1))
    streams.roll_side(broker.now, call(1_001), RollSide("orders", 0, Side.LEDGER))
    broker.settle()
    assert broker.node.led.streams[LEDGER].log.start_offset == 0


def test_a_ledger_that_grew_is_written_anew_and_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driven_broker, "THRESHOLDS", Thresholds(ledger_page_bytes=1 << 12))
    disk = SimulatedDisk()
    broker = with_messages(disk, 4, max_attempts=1_000)
    member = join(broker)
    done = poll(broker, member, 1)
    ack(broker, receipts(done))
    sizes = []
    for _ in range(100):
        nack(broker, receipts(poll(broker, member)), 0)
        sizes.append(broker.node.led.streams[LEDGER].log.size_bytes)
    assert max(sizes) < 32 << 10
    assert any(later < earlier for earlier, later in pairwise(sizes))
    assert broker.node.led.streams[LEDGER].log.start_offset > 0
    disk.crash(0.5)
    again = begun(disk)
    assert messages(poll(again, member)) == [(at, b"%d" % at, 101) for at in (1, 2, 3)]
    assert ack(again, receipts(done)) == WorkDone(1)


def test_a_group_that_is_deleted_leaves_nothing_and_begins_anew() -> None:
    disk = SimulatedDisk()
    broker = with_messages(disk, 2)
    member = join(broker)
    given = poll(broker, member)
    ack(broker, receipts(given, 0))
    assert broker.answer(LeaveGroup("billing", member)) is None
    assert broker.answer(DeleteGroup("billing")) is None
    assert ack(broker, receipts(given, 1)).refusals[0].refusal.code is Code.RECEIPT_EXPIRED
    assert messages(poll(broker, join(broker))) == [(0, b"0", 1), (1, b"1", 1)]
    disk.crash(0.5)
    again = begun(disk)
    assert again.answer(FetchOffsets("billing")) == [GroupOffset("orders", 0, 0, 2)]


def test_a_topic_that_is_deleted_takes_its_queues_along_and_another_of_its_name_has_none() -> None:
    broker = with_messages(SimulatedDisk(), 2)
    member = join(broker)
    given = poll(broker, member)
    waiting = broker.ask(waiting_poll(member))
    assert not isinstance(broker.answer(DeleteTopic("orders")), Refusal)
    assert ack(broker, receipts(given)).refusals[0].refusal.code is Code.RECEIPT_EXPIRED
    assert broker.answered() == []
    broker.create("orders")
    publish(broker, 1, 7)
    reply = broker.taken(waiting)
    assert isinstance(reply, PolledWork)
    assert messages(reply.parts) == [(0, b"7", 1)]


def test_a_partition_that_lost_its_tail_does_not_take_new_messages_for_settled_ones() -> None:
    disk = SimulatedDisk(3)
    broker = begun(disk)
    broker.create("orders", fsync="none")
    publish(broker, 4)
    member = join(broker)
    ack(broker, receipts(poll(broker, member)))
    disk.crash(1.0)
    again = begun(disk)
    kept = again.node.led.ends("orders", 0)
    assert kept is not None
    publish(again, 2, 10)
    member = join(again)
    values = [value for _, value, _ in messages(poll(again, member))]
    assert values[-2:] == [b"10", b"11"]


def test_retention_takes_messages_out_of_queues() -> None:
    broker = with_messages(SimulatedDisk(), 3, retention_hours=1, segment_age="30m", visibility_timeout="1s")
    member = join(broker)
    poll(broker, member)
    broker.later(1_799)
    member = join(broker)
    broker.later(1_000)
    publish(broker, 1, 3)
    for _ in range(8):
        broker.later(900)
    publish(broker, 1, 4)
    member = join(broker)
    assert offsets(poll(broker, member))[-1] == 4
    start = broker.node.led.ends("orders", 0)
    assert start is not None
    assert start[0] > 0
    assert broker.answer(FetchOffsets("billing")) == [GroupOffset("orders", 0, start[0], 5 - start[0])]


def test_offsets_of_a_shared_group_are_the_floors_of_its_queues() -> None:
    broker = with_messages(SimulatedDisk(), 5)
    member = join(broker)
    assert broker.answer(FetchOffsets("billing")) == [GroupOffset("orders", 0, -1, 5)]
    given = poll(broker, member)
    ack(broker, receipts(given, 1, 2))
    assert broker.answer(FetchOffsets("billing")) == [GroupOffset("orders", 0, 0, 3)]
    ack(broker, receipts(given, 0))
    assert broker.answer(FetchOffsets("billing")) == [GroupOffset("orders", 0, 3, 2)]


def test_a_reset_begins_anew_once_nothing_is_in_flight() -> None:
    disk = SimulatedDisk()
    broker = with_messages(disk, 4)
    member = join(broker)
    given = poll(broker, member, 2)
    reset = ResetOffsets("billing", "orders", to=ResetTo.OFFSET, offset=1)
    assert refused(broker.answer(reset)).code is Code.GROUP_NOT_EMPTY
    ack(broker, receipts(given))
    dry = ResetOffsets("billing", "orders", to=ResetTo.EARLIEST, dry_run=True)
    assert broker.answer(dry) == [OffsetChange(0, 2, 0)]
    assert broker.answer(reset) == [OffsetChange(0, 2, 1)]
    disk.crash(0.5)
    again = begun(disk)
    assert offsets(poll(again, member)) == [1, 2, 3]


def test_settings_of_topic_and_group_are_followed() -> None:
    broker = with_messages(SimulatedDisk(), 2, visibility_timeout="10s")
    member = join(broker)
    poll(broker, member, 1)
    broker.answer(AlterTopic("orders", {"visibility_timeout": "100s"}))
    poll(broker, member, 1)
    broker.later(9)
    assert poll(broker, member) == []
    broker.later(2)
    broker.later(2)
    assert messages(poll(broker, member)) == [(0, b"0", 2)]


def test_a_group_begins_where_it_was_told_to() -> None:
    broker = with_messages(SimulatedDisk(), 3)
    late = join(broker, "late", start="latest")
    assert poll(broker, late, group="late") == []
    broker.later(10)
    publish(broker, 2, 3)
    assert offsets(poll(broker, late, group="late")) == [3, 4]
    moment = join(broker, "moment", start=1_700_000_005_000)
    assert offsets(poll(broker, moment, group="moment")) == [3, 4]


def test_messages_of_a_key_come_one_at_a_time_and_in_order() -> None:
    broker = begun(SimulatedDisk())
    broker.create("orders", retry_backoff="1s")
    keys = [b"a", b"b", b"a", None, b"a", b"b"]
    broker.answer(Publish("orders", [NewRecord(key, b"%d" % at, partition=0) for at, key in enumerate(keys)]))
    one, other = join(broker, key_ordered=True), join(broker)
    given = poll(broker, one)
    assert offsets(given) == [0, 1, 3]
    assert poll(broker, other) == []
    nack(broker, receipts(given, 0), 1_000)
    ack(broker, receipts(given, 1))
    assert offsets(poll(broker, other)) == [5]
    broker.later(2)
    again = poll(broker, other)
    assert messages(again) == [(0, b"0", 2)]
    ack(broker, receipts(again))
    assert offsets(poll(broker, one)) == [2]


def test_two_brokers_lives_never_share_a_receipt() -> None:
    disk = SimulatedDisk(4)
    broker = with_messages(disk, 1)
    member = join(broker)
    to = broker.ask(PollWork("billing", member))
    broker.settle(is_ledger_sync)
    assert broker.answered() == []
    broker.node.forget(to)
    disk.crash(0.0)
    again: DrivenBroker = begun(disk)
    stem = leases(poll(again, member))[0].stem
    disk.crash(0.0)
    third = begun(disk)
    third.later(40)
    third.later(10)
    later = leases(poll(third, join(third)))
    assert stem not in [lease.stem for lease in later]
