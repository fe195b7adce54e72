"""A partition whose disk failed: what can be read is read, and the rest is refused with the reason, not withheld."""

from goqueue.core.requests.messages import Fetch, Fetched, Published, PublishReply
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.driven_broker import DrivenBroker

LOG = "logs/orders/0/00000000000000000000.log"


def with_a_full_disk(fsync: str) -> tuple[DrivenBroker, SimulatedDisk]:
    """A broker with three messages that an interval has synced, two that none has yet, and no room for a sixth."""
    disk = SimulatedDisk(1)
    broker = DrivenBroker(disk)
    broker.create("orders", fsync=fsync, fsync_interval="1s")
    for number in range(3):
        broker.publish("orders", (b"key", b"early %d" % number))
    broker.later(2)
    for number in range(2):
        broker.publish("orders", (b"key", b"late %d" % number))
    disk.conditions.capacity_bytes = disk.used_bytes
    assert "No space left" in told(broker.publish("orders", (b"key", bytes(10_000))))[1]
    return broker, disk


def fetched(broker: DrivenBroker, offset: int) -> Reply:
    return broker.answer(Fetch("orders", 0, offset, 1))


def told(reply: Reply) -> tuple[Code, str]:
    """Why something was refused."""
    if isinstance(reply, PublishReply):
        [reply] = reply.results
    assert isinstance(reply, Refusal), reply
    return reply.code, reply.message


def next_offset(reply: Reply) -> int:
    """Where a read ended that brought something."""
    assert isinstance(reply, Fetched), reply
    assert len(reply.batches) > 0
    return reply.next_offset


def test_a_full_disk_stops_no_reader_of_what_is_synced() -> None:
    broker, _ = with_a_full_disk("every")
    values = [record.value for record in broker.records("orders")]
    assert values == [b"early 0", b"early 1", b"early 2", b"late 0", b"late 1"]
    assert fetched(broker, 5) == Fetched(b"", 5, 5, 0)


def test_what_was_acknowledged_before_its_sync_is_refused_until_the_disk_has_room() -> None:
    broker, disk = with_a_full_disk("interval")
    assert [next_offset(fetched(broker, offset)) for offset in range(3)] == [1, 2, 3]
    code, message = told(fetched(broker, 3))
    assert code is Code.UNAVAILABLE
    assert message.startswith("partition 0 of orders cannot be read from offset 3 on: [Errno 28] No space left")
    disk.conditions.capacity_bytes = None
    broker.later(60)
    assert [next_offset(fetched(broker, offset)) for offset in range(5)] == [1, 2, 3, 4, 5]


def test_where_recovery_finds_damage_both_readers_and_writers_are_told_of_it() -> None:
    broker, disk = with_a_full_disk("interval")
    disk.rot(LOG, 70, 0)
    disk.conditions.capacity_bytes = None
    for _ in range(3):
        broker.later(60)
        assert next_offset(fetched(broker, 1)) == 2
        for reply in (fetched(broker, 3), fetched(broker, 4), broker.publish("orders", (b"key", b"more"))):
            code, message = told(reply)
            assert code is Code.UNAVAILABLE
            assert f"{LOG}: damaged at byte 0" in message
    # The same bit once more: somebody has put the file right.
    disk.rot(LOG, 70, 0)
    broker.later(60)
    assert [next_offset(fetched(broker, offset)) for offset in range(5)] == [1, 2, 3, 4, 5]
    published = broker.publish("orders", (b"key", b"more"))
    assert isinstance(published, PublishReply)
    assert isinstance(published.results[0], Published)
