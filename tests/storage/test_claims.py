"""Whose a stream's folder is."""

import os
from errno import EIO
from random import Random

import pytest

from goqueue.storage.claims import claim, claimed
from goqueue.storage.layout import replace_file
from goqueue.storage.simulated import SimulatedDisk


def written(disk: SimulatedDisk, path: str) -> None:
    file = disk.open(path, create=True)
    file.write([b"content"], 0)
    file.sync()
    file.close()


def test_a_new_folder_is_made_and_claimed() -> None:
    disk = SimulatedDisk(Random(0))
    assert not claim(disk, "logs/orders/0", 7)
    assert not claim(disk, "logs/orders/0", 7)
    assert disk.names("logs/orders/0") == ["topic"]


def test_all_that_is_claimed_can_be_listed_and_nothing_else() -> None:
    disk = SimulatedDisk(Random(0))
    assert claimed(disk) == {}
    for folder in ("logs/orders/0", "logs/orders/0/ledger", "logs/orders/12", "logs/bills/3"):
        claim(disk, folder, 7)
    disk.make_folder("logs/restored/0")
    written(disk, "logs/stray")
    disk.make_folder("logs/garbled/0")
    replace_file(disk, "logs/garbled/0", "topic", b"\x00\x00")
    assert claimed(disk) == {"logs/bills/3": 7, "logs/orders/0": 7, "logs/orders/12": 7}
    disk.fail_next("read", EIO, "logs/orders/12")
    assert claimed(disk) == {"logs/bills/3": 7, "logs/orders/0": 7}
    disk.fail_next("names", EIO, "logs/bills")
    assert claimed(disk) == {"logs/orders/0": 7, "logs/orders/12": 7}


def test_a_folder_that_nobody_claimed_keeps_what_it_holds() -> None:
    disk = SimulatedDisk(Random(0))
    disk.make_folder("logs/orders/0")
    written(disk, "logs/orders/0/00.log")
    assert not claim(disk, "logs/orders/0", 7)
    assert disk.names("logs/orders/0") == ["00.log", "topic"]


def test_files_of_another_topic_go_and_folders_beside_them_stay() -> None:
    disk = SimulatedDisk(Random(0))
    claim(disk, "logs/orders/0", 7)
    disk.make_folder("logs/orders/0/ledger")
    written(disk, "logs/orders/0/00.log")
    assert claim(disk, "logs/orders/0", 8)
    assert disk.names("logs/orders/0") == ["ledger", "topic"]


def test_a_crash_on_the_way_leaves_nothing_of_the_other_topic_under_the_new_claim() -> None:
    for seed in range(60):
        disk = SimulatedDisk(Random(seed))
        claim(disk, "logs/orders/0", 7)
        written(disk, "logs/orders/0/00.log")
        disk.sync_folder("logs/orders/0")
        disk.faults.fail_next(("remove", "sync_folder", "rename")[seed % 3], EIO)
        with pytest.raises(OSError, match=os.strerror(EIO)):
            claim(disk, "logs/orders/0", 8)
        disk.crash()
        claim(disk, "logs/orders/0", 8)
        assert disk.names("logs/orders/0") == ["topic"]
