"""Compaction as a broker schedules it: beside traffic, one at a time, and never in the way of a recovery."""

import errno

from goqueue.core.requests.topics import DeleteTopic
from goqueue.storage.node_disk import Compaction, Opening, Removal, Work
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.driven_broker import DrivenBroker

PAUSE_S, FAILURE_PAUSE_S = 15, 600


def is_compaction(work: Work) -> bool:
    return isinstance(work, Compaction)


def filled(disk: SimulatedDisk, name: str = "users", rounds: int = 40) -> DrivenBroker:
    """A broker with a compacting topic of some segments, in which ten keys were written over and over."""
    broker = DrivenBroker(disk)
    broker.create(name, cleanup="compact", segment_bytes=1 << 16, dirty_ratio=0.0, retention_hours=-1)
    for number in range(rounds):
        broker.publish(name, *((b"k%d" % key, b"%d " % number + bytes(1000)) for key in range(10)))
    return broker


def newest(broker: DrivenBroker, name: str = "users") -> dict[bytes, bytes]:
    return {bytes(one.key or b""): bytes(one.value or b"").split()[0] for one in broker.records(name)}


def test_a_compacting_topic_is_compacted_by_itself_and_keeps_the_newest_of_every_key() -> None:
    broker = filled(SimulatedDisk())
    before = len(broker.records("users"))
    assert before == 400
    broker.later(PAUSE_S)
    after = broker.records("users")
    assert len(after) < 100
    assert newest(broker) == {b"k%d" % key: b"39" for key in range(10)}
    assert [one.offset for one in after] == sorted({one.offset for one in after})
    assert broker.reports == []


def test_a_topic_that_does_not_compact_is_left_as_it_is() -> None:
    broker = DrivenBroker(SimulatedDisk())
    broker.create("users", segment_bytes=1 << 16, retention_hours=-1)
    for _ in range(10):
        broker.publish("users", *[(b"k", bytes(20_000))] * 5)
    broker.later(10 * PAUSE_S)
    assert len(broker.records("users")) == 50


def test_one_compaction_runs_at_a_time_and_the_others_get_their_turn() -> None:
    broker = filled(SimulatedDisk(), "users")
    broker.create("carts", cleanup="compact", segment_bytes=1 << 16, dirty_ratio=0.0, retention_hours=-1)
    for _ in range(20):
        broker.publish("carts", *[(b"k", bytes(2_000))] * 10)
    broker.later(PAUSE_S, hold=is_compaction)
    assert [type(work) for work in broker.held] == [Compaction]
    broker.later(3 * PAUSE_S, hold=is_compaction)
    assert len(broker.held) == 1
    broker.release()
    broker.later(PAUSE_S)
    broker.later(PAUSE_S)
    assert len(broker.records("users")) < 100
    assert len(broker.records("carts")) < 50


def test_traffic_goes_on_while_a_compaction_runs_and_none_of_it_is_lost() -> None:
    broker = filled(SimulatedDisk())
    broker.later(PAUSE_S, hold=is_compaction)
    [compaction] = broker.held
    compaction.run()
    broker.publish("users", *((b"k%d" % key, b"new") for key in range(10)))
    broker.release()
    broker.settle()
    assert newest(broker) == {b"k%d" % key: b"new" for key in range(10)}


def test_a_compaction_that_the_disk_fails_changes_nothing_and_is_tried_again_later() -> None:
    disk = SimulatedDisk()
    broker = filled(disk)
    disk.fail_next("write", errno.ENOSPC, "logs/users/0")
    broker.later(PAUSE_S)
    assert len(broker.records("users")) == 400
    assert any("not compacted" in report for report in broker.reports)
    broker.later(PAUSE_S)
    assert len(broker.records("users")) == 400
    broker.later(FAILURE_PAUSE_S)
    assert len(broker.records("users")) < 100


def test_a_stream_that_failed_is_recovered_only_when_its_compaction_is_over() -> None:
    disk = SimulatedDisk()
    broker = filled(disk)
    broker.later(PAUSE_S, hold=is_compaction)
    disk.fail_next("sync", errno.EIO, "logs/users/0")
    broker.publish("users", (b"k1", b"lost?"))
    opened: list[Work] = []
    broker.later(60, hold=lambda work: isinstance(work, Opening) and not opened.append(work))  # type: ignore[func-returns-value]
    assert not opened, "recovery would take the compaction's files for leftovers"
    broker.release()
    broker.later(60)
    broker.later(60)
    broker.publish("users", (b"k1", b"after"))
    assert newest(broker)[b"k1"] == b"after"
    assert newest(broker)[b"k2"] == b"39"


def test_a_topic_is_removed_when_its_compaction_is_over_and_leaves_nothing() -> None:
    disk = SimulatedDisk()
    broker = filled(disk)
    broker.later(PAUSE_S, hold=is_compaction)
    removals: list[Work] = []
    broker.ask(DeleteTopic("users"))
    broker.later(1, hold=lambda work: isinstance(work, Removal) and not removals.append(work))  # type: ignore[func-returns-value]
    assert not removals
    broker.release()
    broker.later(1)
    broker.later(1)
    assert not [path for path in disk.paths() if path.startswith("logs/users")]
