"""Every promise of `storage/disk.py`, kept by the real disk and by the simulated one alike."""

import errno
import os
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import pytest

from goqueue.storage.disk import Buffer, Disk, DiskLocked, File
from goqueue.storage.files import FileDisk
from goqueue.storage.simulated import SimulatedDisk


@pytest.fixture(params=["real", "simulated"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Disk:
    if request.param == "real":
        real = FileDisk(str(tmp_path / "root"))
        real.make_folder("")
        return real
    return SimulatedDisk(7)


def filled(disk: Disk, path: str, content: bytes) -> File:
    file = disk.open(path, create=True)
    file.write([content], 0)
    return file


def whole(file: File) -> bytes:
    return file.read(file.size(), 0)


def refusal(call: Callable[[], object]) -> int:
    """The errno of the error that a call raises, which has to name a file."""
    with pytest.raises(OSError) as caught:  # noqa: PT011
        call()
    assert caught.value.filename is not None
    assert caught.value.errno is not None
    return caught.value.errno


def test_buffers_of_all_kinds_are_written_back_to_back(disk: Disk) -> None:
    file = disk.open("a", create=True)
    buffers: list[Buffer] = [b"one", bytearray(b"two"), memoryview(b"-three-")[1:6], b""]
    assert file.write(buffers, 0) == 11
    assert whole(file) == b"onetwothree"


def test_more_buffers_than_one_system_call_takes_are_all_written(disk: Disk) -> None:
    file = disk.open("a", create=True)
    buffers = [b"%07d" % number for number in range(3 * os.sysconf("SC_IOV_MAX") + 5)]
    assert file.write(buffers, 3) == 7 * len(buffers)
    assert whole(file) == b"\0\0\0" + b"".join(buffers)


def test_writing_nothing_changes_nothing_even_past_the_end(disk: Disk) -> None:
    file = filled(disk, "a", b"abc")
    assert file.write([], 10) == 0
    assert file.write([b"", b""], 10) == 0
    assert file.size() == 3


def test_a_write_past_the_end_leaves_zeros_in_between(disk: Disk) -> None:
    file = filled(disk, "a", b"abc")
    file.write([b"z"], 6)
    assert whole(file) == b"abc\0\0\0z"


def test_a_write_within_the_file_replaces_what_it_covers(disk: Disk) -> None:
    file = filled(disk, "a", b"abcdef")
    file.write([b"XY"], 2)
    assert whole(file) == b"abXYef"


def test_reads_stop_at_the_end_of_the_file(disk: Disk) -> None:
    file = filled(disk, "a", b"abcdef")
    buffer = bytearray(b"........")
    assert file.read(8, 2) == b"cdef"
    assert file.read(8, 6) == b""
    assert file.read(8, 60) == b""
    assert file.read(0, 0) == b""
    assert file.read_into(buffer, 4) == 2
    assert buffer == b"ef......"
    assert file.read_into(buffer, 60) == 0
    assert file.read_into(memoryview(buffer)[2:5], 0) == 3
    assert buffer == b"efabc..."


def test_a_cached_read_gives_just_what_a_blocking_one_gives_or_nothing(disk: Disk) -> None:
    file = filled(disk, "a", bytes(range(256)) * 64)
    file.read(file.size(), 0)
    for position, size in [(0, 100), (5000, 9000), (16_000, 1000), (16_384, 10), (60_000, 10), (7, 0)]:
        buffer = bytearray(size)
        count = file.read_cached_into(buffer, position)
        assert count is None or bytes(buffer[:count]) == file.read(size, position)


def test_what_was_just_written_is_found_in_memory(tmp_path: Path) -> None:
    # Only where the file system can tell; this asks the one that the tests run on.
    simulated, real = SimulatedDisk(7), FileDisk(str(tmp_path))
    assert filled(simulated, "a", b"abc").read_cached_into(bytearray(3), 0) == 3
    if not hasattr(os, "RWF_NOWAIT"):
        pytest.skip("this system has no RWF_NOWAIT")
    descriptor = os.open(tmp_path / "probe", os.O_RDWR | os.O_CREAT)
    try:
        os.write(descriptor, b"x")
        os.preadv(descriptor, [bytearray(1)], 0, os.RWF_NOWAIT)
    except OSError:
        pytest.skip("this file system has no RWF_NOWAIT")
    finally:
        os.close(descriptor)
    assert filled(real, "a", b"abc").read_cached_into(bytearray(3), 0) == 3


def test_forgetting_what_is_cached_loses_no_byte(disk: Disk) -> None:
    content = bytes(range(256)) * 100
    file = filled(disk, "a", content)
    file.forget_cached(0)
    assert whole(file) == content
    file.sync()
    file.forget_cached(5000)
    buffer = bytearray(100)
    count = file.read_cached_into(buffer, 20_000)
    assert count is None or bytes(buffer) == content[20_000:20_100]
    assert whole(file) == content


def test_truncate_cuts_and_grows_with_zeros(disk: Disk) -> None:
    file = filled(disk, "a", b"abcdef")
    file.truncate(2)
    assert whole(file) == b"ab"
    file.truncate(4)
    assert whole(file) == b"ab\0\0"


def test_allocate_grows_with_zeros_and_never_shrinks(disk: Disk) -> None:
    file = filled(disk, "a", b"abc")
    file.allocate(5000)
    assert whole(file) == b"abc" + bytes(4997)
    file.allocate(10)
    file.allocate(0)
    assert file.size() == 5000


def test_sync_and_sync_folder_return_when_all_is_well(disk: Disk) -> None:
    disk.make_folder("logs")
    file = filled(disk, "logs/a", b"abc")
    file.sync()
    disk.sync_folder("logs")
    disk.open("logs/a", read_only=True).sync()
    assert whole(file) == b"abc"


def test_two_files_of_one_path_see_the_same_bytes(disk: Disk) -> None:
    writer = filled(disk, "a", b"abc")
    reader = disk.open("a", read_only=True)
    writer.write([b"def"], 3)
    assert whole(reader) == b"abcdef"


def test_opening_with_create_keeps_what_is_there(disk: Disk) -> None:
    filled(disk, "a", b"abc").close()
    assert whole(disk.open("a", create=True)) == b"abc"


def test_a_read_only_file_refuses_changes(disk: Disk) -> None:
    filled(disk, "a", b"abc").close()
    file = disk.open("a", read_only=True)
    assert refusal(lambda: file.write([b"x"], 0)) == errno.EBADF
    assert refusal(lambda: file.truncate(0)) == errno.EINVAL
    assert refusal(lambda: file.allocate(10)) == errno.EBADF
    assert whole(file) == b"abc"


def test_a_closed_file_refuses_everything_but_another_close(disk: Disk) -> None:
    file = filled(disk, "a", b"abc")
    file.close()
    file.close()
    calls: list[Callable[[], object]] = [
        file.size,
        file.sync,
        lambda: file.read(1, 0),
        lambda: file.read_into(bytearray(1), 0),
        lambda: file.read_cached_into(bytearray(1), 0),
        lambda: file.write([b"x"], 0),
        lambda: file.truncate(0),
        lambda: file.allocate(9),
        lambda: file.forget_cached(0),
    ]
    assert [refusal(call) for call in calls] == [errno.EBADF] * len(calls)


def test_a_removed_file_stays_readable_and_writable_through_open_files(disk: Disk) -> None:
    file = filled(disk, "a", b"abc")
    disk.remove("a")
    assert not disk.exists("a")
    file.write([b"def"], 3)
    file.sync()
    assert whole(file) == b"abcdef"
    file.close()


def test_a_name_removed_and_made_again_is_another_file(disk: Disk) -> None:
    old = filled(disk, "a", b"old")
    disk.remove("a")
    new = filled(disk, "a", b"newer")
    assert (whole(old), whole(new)) == (b"old", b"newer")


def test_rename_replaces_and_whoever_has_the_old_file_keeps_it(disk: Disk) -> None:
    old, new = filled(disk, "a", b"old"), filled(disk, "a.unfinished", b"new")
    disk.rename("a.unfinished", "a")
    assert disk.names("") == ["a"]
    assert whole(disk.open("a")) == b"new"
    assert whole(old) == b"old"
    assert (whole(new), new.path) == (b"new", "a.unfinished")


def test_rename_of_a_folder_moves_what_is_in_it(disk: Disk) -> None:
    disk.make_folder("logs/orders/0")
    file = filled(disk, "logs/orders/0/a", b"abc")
    disk.rename("logs/orders", "logs/orders.deleted")
    assert whole(disk.open("logs/orders.deleted/0/a")) == b"abc"
    assert not disk.exists("logs/orders/0/a")
    assert whole(file) == b"abc"


def test_rename_to_itself_changes_nothing(disk: Disk) -> None:
    filled(disk, "a", b"abc")
    disk.rename("a", "a")
    assert whole(disk.open("a")) == b"abc"


def test_rename_replaces_an_empty_folder_only(disk: Disk) -> None:
    for folder in ("full/inner", "empty", "other"):
        disk.make_folder(folder)
    disk.rename("other", "empty")
    assert disk.names("") == ["empty", "full"]
    assert refusal(lambda: disk.rename("empty", "full")) == errno.ENOTEMPTY


def test_rename_refuses_what_makes_no_sense(disk: Disk) -> None:
    disk.make_folder("folder")
    filled(disk, "a", b"abc")
    assert refusal(lambda: disk.rename("missing", "b")) == errno.ENOENT
    assert refusal(lambda: disk.rename("a", "folder/a")) == errno.EXDEV
    assert refusal(lambda: disk.rename("a", "folder")) == errno.EISDIR
    assert refusal(lambda: disk.rename("folder", "a")) == errno.ENOTDIR
    assert disk.names("") == ["a", "folder"]


def test_names_are_sorted_files_and_folders_alike(disk: Disk) -> None:
    disk.make_folder("m/inner")
    for name in ("z", "a", "B", "ä"):
        filled(disk, f"m/{name}", b"").close()
    assert disk.names("m") == ["B", "a", "inner", "z", "ä"]
    assert disk.names("") == ["m"]
    assert refusal(lambda: disk.names("missing")) == errno.ENOENT
    assert refusal(lambda: disk.names("m/a")) == errno.ENOTDIR


def test_make_folder_makes_those_above_and_may_be_repeated(disk: Disk) -> None:
    disk.make_folder("a/b/c")
    disk.make_folder("a/b/c")
    disk.make_folder("a/b")
    disk.make_folder("")
    assert disk.names("a/b") == ["c"]
    filled(disk, "a/file", b"")
    assert refusal(lambda: disk.make_folder("a/file")) == errno.EEXIST
    assert refusal(lambda: disk.make_folder("a/file/b")) == errno.EEXIST


def test_exists_and_is_folder_tell_files_folders_and_nothing_apart(disk: Disk) -> None:
    disk.make_folder("folder")
    filled(disk, "a", b"")
    assert [disk.exists(path) for path in ("", "folder", "a", "b", "a/b", "b/c")] == [True, True, True] + [False] * 3
    assert [disk.is_folder(path) for path in ("", "folder", "a", "b", "a/b")] == [True, True, False, False, False]


def test_opening_what_is_no_file_is_refused(disk: Disk) -> None:
    disk.make_folder("folder")
    filled(disk, "a", b"")
    assert refusal(lambda: disk.open("missing")) == errno.ENOENT
    assert refusal(lambda: disk.open("missing/a", create=True)) == errno.ENOENT
    assert refusal(lambda: disk.open("folder")) == errno.EISDIR
    assert refusal(lambda: disk.open("folder", create=True)) == errno.EISDIR
    assert refusal(lambda: disk.open("a/b", create=True)) == errno.ENOTDIR


def test_removing_what_is_not_there_or_of_the_other_kind_is_refused(disk: Disk) -> None:
    disk.make_folder("folder")
    filled(disk, "folder/a", b"")
    assert refusal(lambda: disk.remove("missing")) == errno.ENOENT
    assert refusal(lambda: disk.remove("folder")) == errno.EISDIR
    assert refusal(lambda: disk.remove_folder("missing")) == errno.ENOENT
    assert refusal(lambda: disk.remove_folder("folder/a")) == errno.ENOTDIR
    assert refusal(lambda: disk.remove_folder("folder")) == errno.ENOTEMPTY
    disk.remove("folder/a")
    disk.remove_folder("folder")
    assert disk.names("") == []
    assert refusal(lambda: disk.sync_folder("folder")) == errno.ENOENT


def test_a_name_longer_than_the_file_system_takes_is_refused(disk: Disk) -> None:
    filled(disk, "ä" * 127, b"").close()
    for call in (
        disk.make_folder,
        lambda path: disk.open(path, create=True),
        lambda path: disk.rename("ä" * 127, path),
    ):
        assert refusal(lambda call=call: call("ä" * 128)) == errno.ENAMETOOLONG  # type: ignore[misc]


@pytest.mark.parametrize("path", ["/etc/passwd", "../a", "a/../../b", "a//b", "a/", "./a", "a/.", "a\0b", "/", "."])
def test_no_path_leads_out_of_the_root(disk: Disk, path: str) -> None:
    calls: list[Callable[[str], object]] = [
        lambda path: disk.open(path, create=True),
        disk.exists,
        disk.is_folder,
        disk.make_folder,
        disk.names,
        disk.remove,
        disk.remove_folder,
        disk.sync_folder,
        disk.lock,
        lambda path: disk.rename("a", path),
        lambda path: disk.rename(path, "a"),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"not a (path|name)"):
            call(path)


def test_the_root_can_be_neither_renamed_nor_removed(disk: Disk) -> None:
    with pytest.raises(ValueError, match="root"):
        disk.remove("")
    with pytest.raises(ValueError, match="root"):
        disk.remove_folder("")
    with pytest.raises(ValueError, match="root"):
        disk.rename("", "a")


def test_a_lock_is_held_by_one_and_names_its_owner(disk: Disk) -> None:
    disk.make_folder("broker")
    filled(disk, "broker/lock", b"12345678901234\n").close()
    lock = disk.lock("broker/lock")
    text = disk.open("broker/lock").read(20, 0)
    owner = int(text)
    assert text == b"%d\n" % owner
    with pytest.raises(DiskLocked, match="broker is in use by process") as caught:
        disk.lock("broker/lock")
    assert caught.value.pid == owner
    assert str(owner) in str(caught.value)
    lock.release()
    lock.release()
    disk.lock("broker/lock").release()


def test_a_lock_whose_owner_left_no_number_is_still_a_lock(disk: Disk) -> None:
    lock = disk.lock("lock")
    disk.open("lock").truncate(0)
    with pytest.raises(DiskLocked, match="another process") as caught:
        disk.lock("lock")
    assert caught.value.pid is None
    lock.release()


def test_a_lock_needs_its_folder(disk: Disk) -> None:
    assert refusal(lambda: disk.lock("missing/lock")) == errno.ENOENT


def test_there_is_room_somewhere(disk: Disk) -> None:
    disk.make_folder("a")
    assert disk.free_bytes() > 0
    assert disk.free_bytes("a") > 0
    assert refusal(lambda: disk.free_bytes("missing")) == errno.ENOENT


def test_reads_and_syncs_in_other_threads_do_not_disturb_a_writer(disk: Disk) -> None:
    file = disk.open("a", create=True)
    done = Event()
    torn: list[bytes] = []

    def read() -> None:
        while not done.is_set():
            size = file.size() // 8 * 8
            content = file.read(size, 0)
            if content != b"12345678" * (size // 8):
                torn.append(content)

    def sync() -> None:
        while not done.is_set():
            file.sync()

    threads = [Thread(target=read), Thread(target=sync), Thread(target=sync)]
    for thread in threads:
        thread.start()
    for number in range(500):
        file.write([b"1234", b"5678"], 8 * number)
    done.set()
    for thread in threads:
        thread.join()
    assert not torn
    assert whole(file) == b"12345678" * 500
