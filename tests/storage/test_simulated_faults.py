"""What a simulated disk can be ordered to suffer: failures, a full disk, lost syncs, rot, cold pages, slowness."""

import errno
from collections.abc import Callable

import pytest

from goqueue.storage.disk import DiskLocked
from goqueue.storage.simulated import SimulatedDisk, SimulatedFile
from goqueue.storage.simulated_faults import OPERATIONS, Conditions
from tests.storage.simulated_disks import durable_file, whole


def every_operation(disk: SimulatedDisk) -> dict[str, Callable[[], object]]:
    """A call of each kind that succeeds unless ordered otherwise."""
    disk.make_folder("f/empty")
    file = durable_file(disk, "f/a", b"abc")
    return {
        "open": lambda: disk.open("f/a"),
        "create": lambda: disk.open("f/new", create=True),
        "read": lambda: file.read(1, 0),
        "write": lambda: file.write([b"x"], 0),
        "truncate": lambda: file.truncate(2),
        "allocate": lambda: file.allocate(100),
        "sync": file.sync,
        "names": lambda: disk.names("f"),
        "make_folder": lambda: disk.make_folder("g"),
        "rename": lambda: disk.rename("f/a", "f/b"),
        "remove": lambda: disk.remove("f/a"),
        "remove_folder": lambda: disk.remove_folder("f/empty"),
        "sync_folder": lambda: disk.sync_folder("f"),
        "lock": lambda: disk.lock("f/lock"),
    }


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operation_fails_once_when_ordered_and_changes_no_name(operation: str) -> None:
    disk = SimulatedDisk(1)
    call = every_operation(disk)[operation]
    before = (disk.names("f"), disk.paths())
    disk.fail_next(operation, errno.EIO)
    with pytest.raises(OSError, match="Input/output error") as caught:
        call()
    assert caught.value.errno == errno.EIO
    assert caught.value.filename in ("f/a", "f/b", "f/new", "f/empty", "f/lock", "f", "g")
    assert (disk.names("f"), disk.paths()) == before
    call()


def test_every_operation_can_be_ordered_to_fail() -> None:
    assert set(every_operation(SimulatedDisk(1))) == set(OPERATIONS)


def test_an_order_waits_for_its_turn_and_its_path() -> None:
    disk = SimulatedDisk(1)
    a, b = durable_file(disk, "logs.a", b""), durable_file(disk, "meta.b", b"")
    disk.fail_next("write", errno.EIO, "meta", after=2)
    for _ in range(5):
        a.write([b"x"], 0)
    b.write([b"x"], 0)
    b.write([b"x"], 0)
    a.write([b"x"], 0)
    with pytest.raises(OSError, match=r"meta\.b"):
        b.write([b"x"], 0)
    b.write([b"x"], 0)


def test_several_orders_are_several_failures() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"")
    disk.fail_next("sync", errno.EIO)
    disk.fail_next("sync", errno.ENOSPC)
    for words in ("Input/output error", "No space left"):
        with pytest.raises(OSError, match=words):
            file.sync()
    file.sync()


def test_a_rate_fails_that_share_of_operations_until_cleared() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"abc")
    disk.fail_rate("read", 0.25, errno.EIO, "a")
    failed = 0
    for _ in range(400):
        try:
            file.read(1, 0)
        except OSError:
            failed += 1
    assert 60 < failed < 140
    disk.fail_rate("read", 1.0, errno.EIO, "elsewhere")
    file.read(1, 0)
    disk.fail_rate("read", 1.0)
    with pytest.raises(OSError, match="Input/output"):
        file.read(1, 0)
    disk.faults.clear()
    file.read(1, 0)


def test_a_write_that_fails_leaves_any_prefix() -> None:
    found = set()
    for seed in range(60):
        disk = SimulatedDisk(seed)
        file = durable_file(disk, "a", b"......")
        disk.fail_next("write", errno.EIO)
        with pytest.raises(OSError, match="Input/output"):
            file.write([b"ab", b"cd"], 1)
        found.add(whole(disk, "a"))
    assert found == {b"......", b".a....", b".ab...", b".abc..", b".abcd."}


def test_a_full_disk_takes_what_fits_and_overwriting_needs_no_room() -> None:
    disk = SimulatedDisk(1, Conditions(capacity_bytes=10))
    file = disk.open("a", create=True)
    file.write([b"01234567"], 0)
    assert disk.free_bytes() == 2
    with pytest.raises(OSError, match="No space left") as caught:
        file.write([b"ab", b"cdef"], 6)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, "a")
    assert whole(disk, "a") == b"012345abcd"
    assert file.write([b"9876543210"], 0) == 10
    with pytest.raises(OSError, match="No space left"):
        file.write([b"x"], 20)
    assert file.write([b""], 20) == 0
    assert file.size() == 10
    for call in (lambda: disk.open("b", create=True), lambda: disk.make_folder("f")):
        with pytest.raises(OSError, match="No space left"):
            call()
    assert disk.names("") == ["a"]


def test_capacity_may_change_and_may_fall_below_what_is_used() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", bytes(100))
    disk.conditions.capacity_bytes = 50
    assert disk.free_bytes() == 0
    file.write([b"x" * 100], 0)
    with pytest.raises(OSError, match="No space left"):
        file.write([b"x"], 100)
    disk.conditions.capacity_bytes = 101
    file.write([b"x"], 100)
    assert disk.free_bytes() == 0


def test_room_comes_back_when_the_last_reader_of_a_removed_file_closes_it() -> None:
    disk = SimulatedDisk(1, Conditions(capacity_bytes=100))
    first = durable_file(disk, "a", bytes(60))
    second = disk.open("a")
    disk.remove("a")
    first.close()
    first.close()
    assert disk.free_bytes() == 40
    second.truncate(50)
    assert disk.free_bytes() == 50
    second.close()
    assert disk.free_bytes() == 100
    durable_file(disk, "b", bytes(30)).close()
    durable_file(disk, "c", bytes(20)).close()
    disk.rename("c", "b")
    assert disk.free_bytes() == 80
    disk.remove("b")
    assert disk.free_bytes() == 100
    disk.check()


def test_allocated_room_is_kept_for_its_file() -> None:
    disk = SimulatedDisk(1, Conditions(capacity_bytes=1000))
    file = disk.open("a", create=True)
    file.allocate(1000)
    other = disk.open("a")
    assert disk.free_bytes() == 0
    other.write([b"x" * 1000], 0)
    with pytest.raises(OSError, match="No space left"):
        other.allocate(1001)
    assert file.size() == 1000


def test_an_allocation_that_finds_too_little_room_may_stop_on_the_way() -> None:
    sizes = set()
    for seed in range(100):
        disk = SimulatedDisk(seed, Conditions(capacity_bytes=13))
        file = durable_file(disk, "a", b"abcdefghij")
        with pytest.raises(OSError, match="No space left"):
            file.allocate(14)
        sizes.add(file.size())
        assert whole(disk, "a") == b"abcdefghij" + bytes(file.size() - 10)
    assert sizes == {10, 11, 12, 13}


def test_a_file_system_that_cannot_reserve_leaves_the_size() -> None:
    disk = SimulatedDisk(1, Conditions(reserves=False))
    file = durable_file(disk, "a", b"abc")
    file.allocate(100)
    assert file.size() == 3


def test_a_full_disk_does_not_keep_a_broker_from_taking_its_lock_again() -> None:
    disk = SimulatedDisk(1, Conditions(capacity_bytes=100))
    disk.lock("lock")
    file = durable_file(disk, "a", bytes(98))
    disk.kill()
    disk.conditions.capacity_bytes = 90
    disk.lock("lock")
    with pytest.raises(DiskLocked, match="another process"):
        disk.lock("lock")
    file.close()
    disk.check()


def test_a_sync_that_fails_loses_writes_for_good_though_reads_still_show_them() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"old!")
    file.write([b"new"], 0)
    disk.fail_next("sync", errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    assert whole(disk, "a") == b"new!"
    file.sync()
    assert disk.durable_bytes("a") == b"old!"
    assert whole(disk, "a") == b"new!"
    disk.check()
    disk.crash(survives=1.0)
    assert whole(disk, "a") == b"old!"


@pytest.mark.parametrize("drop", [lambda disk, _: disk.evict("a"), lambda _, file: file.forget_cached(0)])
def test_lost_writes_are_gone_from_reads_when_the_cache_is_dropped(
    drop: Callable[[SimulatedDisk, SimulatedFile], None],
) -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"old!")
    file.write([b"new"], 0)
    disk.fail_next("sync", errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    file.write([b"W"], 2)
    drop(disk, file)
    assert whole(disk, "a") == b"neW!", "a page with anything to be written stays in the cache whole"
    file.sync()
    drop(disk, file)
    assert whole(disk, "a") == disk.durable_bytes("a") == b"olW!"
    disk.check()


def test_only_whole_pages_leave_the_cache() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"o" * 9000)
    file.write([b"n" * 9000], 0)
    disk.fail_next("sync", errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    file.forget_cached(1)
    assert whole(disk, "a") == b"n" * 4096 + b"o" * 4904
    file.forget_cached(0)
    assert whole(disk, "a") == b"o" * 9000


def test_an_append_that_a_failed_sync_lost_is_a_hole_of_zeros_under_later_ones() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"old")
    file.write([b"lost"], 3)
    disk.fail_next("sync", errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    file.write([b"later"], 7)
    assert whole(disk, "a") == b"oldlostlater"
    file.sync()
    assert disk.durable_bytes("a") == b"old\0\0\0\0later"


def test_a_sync_that_fails_loses_only_what_it_covered() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"....")
    file.write([b"a"], 0)
    token = file.begin_sync()
    file.write([b"b"], 1)
    disk.fail_next("sync", errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.finish_sync(token)
    file.sync()
    assert disk.durable_bytes("a") == b".b.."


def test_rot_flips_one_durable_bit_and_reads_see_it_until_overwritten() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"abc")
    disk.rot("a", 1, 3)
    assert whole(disk, "a") == disk.durable_bytes("a") == bytes([97, 98 ^ 8, 99])
    file.write([b"B"], 1)
    disk.rot("a", 1, 0)
    assert whole(disk, "a") == b"aBc"
    file.sync()
    assert disk.durable_bytes("a") == b"aBc"
    disk.check()


def test_rot_of_what_was_cut_off_since_is_not_seen() -> None:
    disk = SimulatedDisk(1)
    file = durable_file(disk, "a", b"abc")
    file.truncate(1)
    disk.rot("a", 2, 0)
    assert whole(disk, "a") == b"a"
    assert disk.durable_bytes("a") == b"abb"


def test_rot_some_says_what_it_did_and_spares_what_is_not_durable() -> None:
    disk = SimulatedDisk(1)
    disk.make_folder("logs")
    durable_file(disk, "logs/a", bytes(100))
    durable_file(disk, "logs/b", bytes(100))
    durable_file(disk, "meta", bytes(100))
    disk.open("logs/unsynced", create=True).write([bytes(100)], 0)
    flipped = disk.rot_some(40, "logs/")
    assert {path for path, _, _ in flipped} == {"logs/a", "logs/b"}
    expected = {path: bytearray(100) for path in disk.paths()}
    for path, position, bit in flipped:
        expected[path][position] ^= 1 << bit
    assert {path: whole(disk, path) for path in disk.paths()} == {
        path: bytes(image) for path, image in expected.items()
    }
    assert disk.rot_some(3, "nowhere") == []


def test_cold_pages_come_as_often_as_the_conditions_say() -> None:
    disk = SimulatedDisk(1, Conditions(p_cold=0.5))
    file = durable_file(disk, "a", b"abc")
    answers = [file.read_cached_into(bytearray(3), 0) for _ in range(400)]
    assert set(answers) == {3, None}
    assert 140 < answers.count(None) < 260
    disk.conditions.p_cold = 1.0
    assert {file.read_cached_into(bytearray(3), 0) for _ in range(50)} == {None}


def test_latency_is_about_what_the_conditions_say_and_sometimes_slow() -> None:
    disk = SimulatedDisk(1, Conditions(sync_ns=1000, read_ns=100, write_ns=10, slow_ns=1_000_000))
    for operation, typical in [("sync", 1000), ("sync_folder", 1000), ("read", 100), ("write", 10), ("rename", 10)]:
        drawn = [disk.latency(operation) for _ in range(100)]
        assert typical // 2 <= min(drawn) < max(drawn) <= typical * 3 // 2
    disk.conditions.p_slow = 0.5
    slow = [latency for latency in (disk.latency("write") for _ in range(400)) if latency > 15]
    assert 140 < len(slow) < 260
    assert max(slow) <= 1_000_000


def test_asking_for_latency_changes_no_other_fate() -> None:
    def outcome(ask: bool) -> bytes | None:
        disk = SimulatedDisk(3)
        file = durable_file(disk, "a", bytes(5000))
        for number in range(10):
            file.write([b"x" * 512], 512 * number)
            if ask:
                disk.latency("write")
        disk.crash()
        return whole(disk, "a")

    assert outcome(True) == outcome(False)
