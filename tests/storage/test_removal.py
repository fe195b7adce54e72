"""Folders of topics and partitions that are to go, and what a crash leaves of them."""

import errno
from random import Random

import pytest

from goqueue.storage.removal import remove_topic_folder
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.store import Store


def with_stream(folder: str) -> SimulatedDisk:
    disk = SimulatedDisk(Random(0))
    Store(disk).close()
    disk.make_folder(folder)
    disk.open(f"{folder}/0.log", create=True).close()
    disk.sync_folder(folder)
    return disk


@pytest.mark.parametrize("folder", ["logs/orders", "logs/orders/3"])
def test_a_folder_goes_with_all_it_holds(folder: str) -> None:
    disk = with_stream("logs/orders/3")
    remove_topic_folder(disk, folder)
    assert not disk.exists(folder)


@pytest.mark.parametrize("folder", ["logs/orders", "logs/orders/3"])
def test_the_next_start_finishes_a_removal_that_was_cut_short(folder: str) -> None:
    disk = with_stream("logs/orders/3")
    disk.faults.fail_next("remove", errno.EIO)
    with pytest.raises(OSError, match="error"):
        remove_topic_folder(disk, folder)
    disk.crash()
    assert disk.exists(f"{folder}~gone")
    Store(disk).close()
    assert [path for path in disk.paths() if path.startswith("logs")] == []
    assert not disk.exists(f"{folder}~gone")
