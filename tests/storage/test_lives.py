"""A data folder tells the next process what the ones before it can have lost."""

import errno
from random import Random

import pytest

from goqueue.storage.layout import read_file, replace_file
from goqueue.storage.lives import LIVES_FILE, begin_life, end_life, system_boot_id
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.driven_broker import DrivenBroker

BOOT, NEXT_BOOT = "boot-1", "boot-2"


def folder() -> SimulatedDisk:
    return SimulatedDisk(Random(1))


def whole_and_synced(disk: SimulatedDisk, incarnation: int, boot_id: str) -> tuple[list[int], list[int]]:
    """What a process that begins learns of those before it."""
    before = begin_life(disk, incarnation, boot_id)
    return before.whole, before.lives


def test_a_folder_that_is_new_knows_of_nobody() -> None:
    assert whole_and_synced(folder(), 7, BOOT) == ([], [])


def test_a_process_that_was_killed_has_lost_nothing() -> None:
    disk = folder()
    begin_life(disk, 7, BOOT)
    disk.kill()
    assert whole_and_synced(disk, 8, BOOT) == ([7], [7])


def test_a_machine_that_crashed_has_lost_what_was_not_synced_of_all_before() -> None:
    disk = folder()
    begin_life(disk, 7, BOOT)
    disk.kill()
    begin_life(disk, 8, BOOT)
    disk.crash()
    assert whole_and_synced(disk, 9, NEXT_BOOT) == ([], [7, 8])
    disk.kill()
    assert whole_and_synced(disk, 10, NEXT_BOOT) == ([9], [7, 8, 9])


def test_what_was_lost_is_not_forgotten_by_a_process_that_ends_before_anybody_has_heard_of_it() -> None:
    disk = folder()
    begin_life(disk, 7, BOOT)
    disk.crash()
    begin_life(disk, 8, NEXT_BOOT)
    end_life(disk)
    assert whole_and_synced(disk, 9, NEXT_BOOT)[0] == [8], "the cluster knows 7, and 7 has lost something"


def test_a_process_that_ended_in_order_has_lost_nothing_by_a_crash_that_came_later() -> None:
    disk = folder()
    begin_life(disk, 7, BOOT)
    end_life(disk)
    disk.crash()
    assert whole_and_synced(disk, 8, NEXT_BOOT) == ([7], [7])
    disk.crash()
    assert whole_and_synced(disk, 9, "boot-3") == ([], [7, 8]), "the mark is taken back when a process begins"


def test_where_the_system_does_not_say_which_boot_it_is_only_an_end_in_order_counts() -> None:
    disk = folder()
    begin_life(disk, 7, "")
    disk.kill()
    assert whole_and_synced(disk, 8, "") == ([], [7])
    end_life(disk)
    assert whole_and_synced(disk, 9, "") == ([8], [7, 8])


def test_an_older_copy_of_a_folder_knows_nothing_of_the_processes_since() -> None:
    disk = folder()
    begin_life(disk, 7, BOOT)
    end_life(disk)
    copy = read_file(disk, LIVES_FILE)
    begin_life(disk, 8, BOOT)
    end_life(disk)
    replace_file(disk, "", LIVES_FILE, copy)
    assert whole_and_synced(disk, 9, BOOT) == ([7], [7])


def test_a_file_that_cannot_be_read_says_nothing() -> None:
    for content in (b"", b"{", b"[]", b'{"boot_id": 1}', b'{"version": 9, "boot_id": "", "lives": [1], "whole": [1]}'):
        disk = folder()
        replace_file(disk, "", LIVES_FILE, content)
        assert whole_and_synced(disk, 8, BOOT) == ([], [])


def test_the_file_stays_small_however_often_a_process_begins() -> None:
    disk = folder()
    for incarnation in range(1, 400):
        begin_life(disk, incarnation, BOOT)
    assert whole_and_synced(disk, 400, BOOT) == ([*range(200, 400)], [*range(200, 400)])
    assert len(read_file(disk, LIVES_FILE)) < 4_000


def test_this_system_says_the_same_of_its_boot_each_time() -> None:
    assert system_boot_id() == system_boot_id()


@pytest.mark.parametrize("fsync", ["every", "interval", "none"])
def test_what_a_process_that_ended_in_order_wrote_outlives_a_crash_whether_its_topic_syncs_or_not(fsync: str) -> None:
    disk = folder()
    broker = DrivenBroker(disk)
    broker.create("orders", fsync=fsync, segment_bytes=1 << 16)
    for number in range(20):
        broker.publish("orders", (b"key", b"%d" % number + bytes(10_000)))
    broker.close()
    assert broker.disk.is_whole
    disk.crash()
    again = DrivenBroker(disk)
    again.settle()
    assert [record.offset for record in again.records("orders")] == [*range(20)]


def test_a_process_that_ends_with_a_failed_stream_has_not_left_everything_on_the_disk() -> None:
    disk = folder()
    broker = DrivenBroker(disk)
    broker.create("orders", fsync="every")
    disk.fail_next("sync", errno.EIO, "logs/")
    broker.publish("orders", (b"key", b"value"))
    assert not broker.disk.is_whole
