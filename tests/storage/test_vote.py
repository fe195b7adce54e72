"""The vote on the disk: kept over crashes, damage where it cannot be read, and saved again until the disk takes it."""

import errno
from random import Random

import pytest

from goqueue.core.ready import SaveVote
from goqueue.storage.errors import DamageError
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.vote import META_FOLDER, VOTE_FILE, VoteDesk, read_vote, save_vote

PATH = f"{META_FOLDER}/{VOTE_FILE}"


def test_a_vote_that_was_saved_is_read_again_after_a_crash() -> None:
    disk = SimulatedDisk(Random(1))
    assert read_vote(disk) is None
    save_vote(disk, SaveVote(3, "n2"))
    disk.crash()
    assert read_vote(disk) == SaveVote(3, "n2")
    save_vote(disk, SaveVote(4, ""))
    disk.crash()
    assert read_vote(disk) == SaveVote(4, "")


@pytest.mark.parametrize("content", [b"", b"xyz", b"\x00" * 12])
def test_a_vote_that_cannot_be_read_is_damage_and_not_the_lack_of_one(content: bytes) -> None:
    disk = SimulatedDisk(Random(1))
    save_vote(disk, SaveVote(3, "n2"))
    file = disk.open(PATH)
    file.truncate(0)
    file.write([content], 0)
    file.close()
    with pytest.raises(DamageError, match=PATH):
        read_vote(disk)


def test_the_latest_vote_is_saved_one_at_a_time_and_again_when_the_disk_refuses() -> None:
    disk = SimulatedDisk(Random(1))
    desk = VoteDesk(100, 400)
    desk.want(0, SaveVote(1, "a"))
    [saving] = desk.begin(0, disk)
    desk.want(0, SaveVote(2, "b"))
    assert desk.begin(0, disk) == []
    saving.run()
    assert desk.finish(0, saving)
    disk.fail_next("sync", errno.EIO, META_FOLDER)
    [saving] = desk.begin(0, disk)
    saving.run()
    assert not desk.finish(0, saving)
    assert desk.begin(99, disk) == []
    assert desk.deadline() == 100
    [saving] = desk.begin(100, disk)
    saving.run()
    assert desk.finish(100, saving)
    assert desk.deadline() is None
    assert read_vote(disk) == SaveVote(2, "b")
