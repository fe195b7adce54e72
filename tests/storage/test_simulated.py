"""What drives and explains a simulated disk: split syncs, lives, copies, fingerprints, seeds, what is in memory."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from goqueue.storage.disk import DiskLocked
from goqueue.storage.simulated import DeadFile, SimulatedDisk, SimulatedFile
from tests.storage.simulated_disks import durable_file, whole


def test_a_sync_in_two_halves_covers_what_was_written_before_it_began() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"....")
    file.write([b"a"], 0)
    token = file.begin_sync()
    file.write([b"b"], 1)
    assert disk.durable_bytes("a") == b"...."
    file.finish_sync(token)
    assert disk.durable_bytes("a") == b"a..."
    file.sync()
    assert disk.durable_bytes("a") == b"ab.."


def test_syncs_that_overlap_may_end_in_any_order() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"....")
    file.write([b"a"], 0)
    first = file.begin_sync()
    file.write([b"b"], 1)
    second = file.begin_sync()
    file.write([b"c"], 2)
    file.finish_sync(second)
    assert disk.durable_bytes("a") == b"ab.."
    file.finish_sync(first)
    assert disk.durable_bytes("a") == b"ab.."
    file.sync()
    assert disk.durable_bytes("a") == b"abc."


def test_what_was_forgotten_is_cold_until_read() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", bytes(20_000))
    buffer = bytearray(100)
    assert file.read_cached_into(buffer, 10_000) == 100
    file.forget_cached(8192)
    assert file.read_cached_into(buffer, 8000) == 100
    assert file.read_cached_into(buffer, 8100) is None
    assert file.read_cached_into(buffer, 19_950) is None
    file.read(5000, 8192)
    assert file.read_cached_into(buffer, 13_000) == 100
    assert file.read_cached_into(buffer, 13_150) is None
    file.write([bytes(100)], 19_900)
    assert file.read_cached_into(buffer, 19_900) == 100
    assert file.read_cached_into(buffer, 19_899) is None
    file.read_into(bytearray(20_000), 0)
    assert file.read_cached_into(buffer, 15_000) == 100


def test_forgetting_less_keeps_cold_what_was_forgotten_before() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", bytes(20_000))
    file.forget_cached(8192)
    file.forget_cached(12_288)
    assert file.read_cached_into(bytearray(100), 8192) is None
    assert file.read_cached_into(bytearray(100), 8000) == 100


def test_after_a_crash_all_is_cold_and_after_a_kill_as_it_was() -> None:
    disk = SimulatedDisk(1)
    durable_file(disk, "a", b"abc")
    disk.kill()
    assert disk.open("a").read_cached_into(bytearray(3), 0) == 3
    disk.crash()
    file = disk.open("a")
    assert file.read_cached_into(bytearray(3), 0) is None
    assert file.read(3, 0) == b"abc"
    assert file.read_cached_into(bytearray(3), 0) == 3


def test_a_kill_loses_nothing_and_ends_all_files_and_locks() -> None:
    disk = SimulatedDisk(1)
    file, lock = disk.open("a", create=True), disk.lock("lock")
    file.write([b"unsynced"], 0)
    removed = disk.open("b", create=True)
    removed.write([b"x"], 0)
    disk.remove("b")
    disk.kill()
    assert disk.used_bytes == len(b"unsynced") + len(b"1\n")
    assert whole(disk, "a") == b"unsynced"
    again = disk.lock("lock")
    lock.release()
    with pytest.raises(DiskLocked, match="process 2"):
        disk.lock("lock")
    again.release()
    file.close()
    removed.close()
    disk.check()
    disk.crash(survives=0.0)
    assert disk.paths() == []


def test_files_left_open_by_a_dead_process_take_no_room_when_removed() -> None:
    disk = SimulatedDisk(1)
    durable_file(disk, "a", bytes(100))
    disk.kill()
    disk.remove("a")
    assert disk.used_bytes == 0


@pytest.mark.parametrize("end", [SimulatedDisk.kill, SimulatedDisk.crash])
def test_a_file_of_an_earlier_life_is_dead_for_everything_but_close(end: Callable[[SimulatedDisk], None]) -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"abc")
    token = file.begin_sync()
    end(disk)
    calls: list[Callable[[], object]] = [
        file.size,
        file.sync,
        file.begin_sync,
        lambda: file.finish_sync(token),
        lambda: file.read(1, 0),
        lambda: file.read_into(bytearray(1), 0),
        lambda: file.read_cached_into(bytearray(1), 0),
        lambda: file.write([b"x"], 0),
        lambda: file.truncate(0),
        lambda: file.allocate(9),
        lambda: file.forget_cached(0),
    ]
    for call in calls:
        with pytest.raises(DeadFile, match="a was opened by a process"):
            call()
    file.close()
    assert whole(disk, "a") == b"abc"


def test_copies_go_their_own_ways_and_leave_the_original_alone() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", bytes(4096))
    file.write([b"x" * 4096], 0)
    disk.open("b", create=True)
    disk.remove("a")
    before = disk.fingerprint()
    outcomes = set()
    for seed in range(60):
        twin = disk.copy(seed)
        twin.check()
        twin.crash()
        outcomes.add(twin.fingerprint())
    assert len(outcomes) > 5
    assert disk.fingerprint() == before
    file.write([b"still alive"], 0)


def test_what_is_written_to_a_copy_is_not_in_the_original() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"abc")
    before = disk.fingerprint()
    twin = disk.copy()
    other = twin.open("a")
    other.write([b"XYZ"], 0)
    other.sync()
    twin.open("b", create=True)
    assert disk.fingerprint() == before
    assert file.read(9, 0) == disk.durable_bytes("a") == b"abc"


def test_a_copy_without_a_seed_crashes_as_the_original_does() -> None:
    for seed in range(20):
        disk = SimulatedDisk(seed)
        file = durable_file(disk, "a", bytes(4096))
        file.write([b"x" * 4096], 0)
        disk.open("b", create=True)
        twin = disk.copy()
        twin.crash()
        disk.crash()
        disk.life = twin.life
        assert twin.fingerprint() == disk.fingerprint()


def test_durable_bytes_needs_a_durable_name() -> None:
    disk = SimulatedDisk(1)
    disk.make_folder("f")
    file = disk.open("f/a", create=True)
    file.write([b"abc"], 0)
    file.sync()
    for path in ("f/a", "f", "f/a/b", "missing"):
        with pytest.raises(FileNotFoundError):
            disk.durable_bytes(path)
    disk.sync_folder("f")
    disk.rename("f/a", "f/b")
    assert disk.durable_bytes("f/a") == b"abc"


@pytest.mark.parametrize(
    "change",
    [
        lambda _, file: file.write([b"x"], 0),
        lambda _, file: file.truncate(1),
        lambda _, file: file.sync(),
        lambda disk, _: disk.rename("a", "b"),
        lambda disk, _: disk.sync_folder(""),
        lambda disk, _: disk.rot("a", 0, 0),
        lambda _, file: file.forget_cached(0),
        lambda disk, _: disk.kill(),
    ],
)
def test_a_fingerprint_tells_states_apart(change: Callable[[SimulatedDisk, SimulatedFile], None]) -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"abc")
    file.write([b"d"], 3)
    disk.open("c", create=True)
    before, operations = disk.fingerprint(), disk.operations
    assert disk.fingerprint() == before
    change(disk, file)
    disk.operations = operations
    assert disk.fingerprint() != before


def test_a_fingerprint_sees_what_lies_under_unsynced_writes() -> None:
    disk = SimulatedDisk(1)
    durable_file(disk, "a", b"abc").write([b"xyz"], 0)
    before = disk.fingerprint()
    disk.rot("a", 0, 0)
    assert disk.fingerprint() != before


def test_operations_are_counted() -> None:
    disk = SimulatedDisk(1)
    file = disk.open("a", create=True)
    before = disk.operations
    file.write([b"x"], 0)
    file.sync()
    file.read(1, 0)
    file.read_cached_into(bytearray(1), 0)
    disk.names("")
    assert disk.operations == before + 5


def test_a_generator_serves_as_a_seed() -> None:
    def fates(disk: SimulatedDisk) -> list[int]:
        return [disk.latency("read") for _ in range(5)]

    assert fates(SimulatedDisk(Random(5))) == fates(SimulatedDisk(Random(5))) == fates(SimulatedDisk(5))
    assert fates(SimulatedDisk(5)) != fates(SimulatedDisk(6))


RUN = """
from random import Random
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.simulated_faults import Conditions
random = Random(11)
disk = SimulatedDisk(11, Conditions(capacity_bytes=100_000, p_cold=0.3))
disk.fail_rate("write", 0.02)
disk.fail_rate("sync", 0.05)
for turn in range(1500):
    folder = random.choice(["", "f", "f/g", "h"])
    path = "/".join(filter(None, [folder, random.choice("abcdefgh")]))
    try:
        action = random.randrange(7)
        if action == 0:
            disk.make_folder(folder)
        elif action == 1:
            disk.sync_folder(folder)
        elif action == 2:
            disk.rename(path, path + random.choice("xyz"))
        elif action == 3:
            disk.remove(path)
        elif random.random() < 0.03:
            disk.crash()
        else:
            file = disk.open(path, create=True)
            file.write([bytes([turn % 256]) * random.randrange(3000)], random.randrange(6000))
            file.read_cached_into(bytearray(100), 0)
            if action == 4:
                file.sync()
            file.close()
    except OSError:
        pass
disk.rot_some(5)
disk.check()
print(disk.fingerprint(), disk.operations, len(disk.paths()), disk.latency("sync"))
"""


def test_the_same_seed_and_calls_have_the_same_outcome_under_any_hash_seed() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", RUN],
            env={"PYTHONHASHSEED": hash_seed, "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1", "77")
    }
    assert len(printed) == 1
    assert int(printed.pop().split()[1]) > 1500
