"""What only the real disk does: system calls that take or give a part, and those that a system lacks."""

import errno
import fcntl
import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from goqueue.storage import files, preallocation
from goqueue.storage.disk import Buffer, DiskLocked, WritableBuffer
from goqueue.storage.files import IOV_MAX, FileDisk, RealFile

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="system calls of Linux, and /proc to see what they did")


@pytest.fixture
def disk(tmp_path: Path) -> FileDisk:
    return FileDisk(str(tmp_path))


@pytest.fixture
def file(disk: FileDisk) -> Iterator[RealFile]:
    opened = disk.open("a", create=True)
    yield opened
    opened.close()


def name_of(descriptor: int) -> str:
    """The path that a descriptor was opened by."""
    return str(Path(f"/proc/self/fd/{descriptor}").readlink())


@pytest.fixture
def stingy(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Makes the system move at most 10 bytes a call, as it may, and notes how many buffers each write brought."""
    brought: list[int] = []
    pwritev, preadv, pread = os.pwritev, os.preadv, os.pread

    def write(descriptor: int, buffers: Sequence[Buffer], position: int) -> int:
        brought.append(len(buffers))
        return pwritev(descriptor, [b"".join(buffers)[:10]], position)

    def read(descriptor: int, buffers: Sequence[WritableBuffer], position: int, flags: int = 0) -> int:
        return preadv(descriptor, [memoryview(buffers[0])[:10]], position, flags)

    monkeypatch.setattr(os, "pwritev", write)
    monkeypatch.setattr(os, "preadv", read)
    monkeypatch.setattr(os, "pread", lambda descriptor, size, position: pread(descriptor, min(size, 10), position))
    return brought


@pytest.mark.parametrize("sizes", [[35], [10, 10, 10], [3, 0, 9, 25, 0], [0, 0, 11], [1] * 25])
def test_a_write_goes_on_where_the_system_stopped(file: RealFile, stingy: list[int], sizes: list[int]) -> None:
    content = bytes(range(256))[: sum(sizes)]
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    buffers = [content[start : start + size] for start, size in zip(starts, sizes, strict=True)]
    assert file.write(buffers, 5) == len(content)
    assert file.read(200, 5) == content
    assert len(stingy) == -(-len(content) // 10)


def test_no_call_brings_more_buffers_than_the_system_takes(file: RealFile, stingy: list[int]) -> None:
    count = 2 * IOV_MAX + 7
    assert file.write([b"x"] * count, 0) == count
    assert max(stingy) == IOV_MAX


def test_reads_go_on_where_the_system_stopped(file: RealFile, stingy: list[int]) -> None:
    content = bytes(range(47))
    file.write([content], 0)
    assert stingy
    buffer = bytearray(60)
    assert file.read(60, 0) == content
    assert file.read_into(buffer, 2) == 45
    assert buffer[:45] == content[2:]
    cached = file.read_cached_into(bytearray(40), 0)
    assert cached in (40, None)


def test_a_system_that_takes_nothing_and_says_nothing_is_an_error(
    file: RealFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwritev", lambda *_: 0)
    with pytest.raises(OSError, match="takes no more bytes") as caught:
        file.write([b"abc"], 0)
    assert caught.value.errno == errno.EIO


def test_a_write_that_fails_half_way_leaves_a_prefix_and_names_the_file(disk: FileDisk, file: RealFile) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    limit = 1 << 20
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            file.write([b"a" * 1000, b"b" * 1000], limit - 1500)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.filename == f"{disk.root}/a"
    assert file.read(4000, limit - 1500) == b"a" * 1000 + b"b" * 500


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[FileDisk]:
    """A file system of one megabyte, where we may mount one."""
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("may not mount here")
    yield FileDisk(str(tmp_path))
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def test_a_full_disk_takes_a_prefix_and_says_so(small_disk: FileDisk) -> None:
    file = small_disk.open("a", create=True)
    assert small_disk.free_bytes() == 1 << 20
    with pytest.raises(OSError, match="No space left") as caught:
        file.write([b"x" * 700_000, b"y" * 700_000], 0)
    assert caught.value.errno == errno.ENOSPC
    assert caught.value.filename == file.full_path
    assert small_disk.free_bytes() == 0
    assert file.read(2 << 20, 0) == (b"x" * 700_000 + b"y" * 700_000)[: file.size()]
    file.truncate(0)
    assert small_disk.free_bytes() == 1 << 20
    file.close()


def test_room_that_was_allocated_is_not_taken_by_others(small_disk: FileDisk) -> None:
    reserved, other = small_disk.open("a", create=True), small_disk.open("b", create=True)
    with pytest.raises(OSError, match="No space left"):
        reserved.allocate(2 << 20)
    reserved.truncate(0)
    reserved.allocate(900_000)
    with pytest.raises(OSError, match="No space left"):
        other.write([b"x" * 300_000], 0)
    assert reserved.write([b"y" * 900_000], 0) == 900_000
    reserved.close()
    other.close()


def test_a_file_system_that_cannot_tell_what_is_cached_is_asked_once(
    file: RealFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def refuse(*arguments: object) -> int:
        asked.append(arguments)
        raise OSError(errno.EOPNOTSUPP, "no")

    file.write([b"abc"], 0)
    monkeypatch.setattr(os, "preadv", refuse)
    assert [file.read_cached_into(bytearray(3), 0) for _ in range(3)] == [None] * 3
    assert len(asked) == 1


def test_a_page_that_is_not_cached_is_none_even_in_the_middle(file: RealFile, monkeypatch: pytest.MonkeyPatch) -> None:
    preadv = os.preadv

    def missing_after_4096(descriptor: int, buffers: Sequence[WritableBuffer], position: int, _flags: int) -> int:
        if position >= 4096:
            raise BlockingIOError
        return preadv(descriptor, [memoryview(buffers[0])[: 4096 - position]], position)

    file.write([bytes(10_000)], 0)
    monkeypatch.setattr(os, "preadv", missing_after_4096)
    assert file.read_cached_into(bytearray(4096), 0) == 4096
    assert file.read_cached_into(bytearray(5000), 0) is None
    assert file.read_cached_into(bytearray(10), 5000) is None


def test_a_failing_disk_is_not_mistaken_for_a_cold_one(file: RealFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "preadv", fail)
    with pytest.raises(OSError, match="Input/output error") as caught:
        file.read_cached_into(bytearray(3), 0)
    assert caught.value.filename == file.full_path


def test_systems_without_the_calls_of_linux_do_with_less(file: RealFile, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_TELLS_CACHED", "_FORGETS"):
        monkeypatch.setattr(files, name, False)
    monkeypatch.setattr(preallocation, "_fallocate", None)
    for name in ("RWF_NOWAIT", "posix_fadvise"):
        monkeypatch.delattr(os, name)
    plain = RealFile("a", file.full_path, os.open(file.full_path, os.O_RDWR))
    plain.write([b"abc"], 0)
    plain.allocate(9)
    plain.forget_cached(0)
    assert (plain.read_cached_into(bytearray(3), 0), plain.read(9, 0)) == (None, b"abc")
    plain.close()


def test_the_strongest_flush_there_is_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(os, "fsync", asked.append)
    files._full_flush(5)
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", lambda *arguments: asked.append(arguments))
    files._full_flush(5)
    assert asked == [5, (5, 51)]


def test_sync_flushes_this_file_and_sync_folder_its_folder(
    disk: FileDisk, file: RealFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []

    def note(descriptor: int) -> None:
        flushed.append(name_of(descriptor))

    monkeypatch.setattr(files, "_flush", note)
    monkeypatch.setattr(os, "fsync", note)
    file.sync()
    disk.make_folder("b/c")
    disk.make_folder("b/c")
    disk.sync_folder("b")
    root = disk.root
    assert flushed == [f"{root}/a", root, f"{root}/b", root, f"{root}/b", f"{root}/b"]


def test_a_sync_that_fails_names_its_file_or_folder(
    disk: FileDisk, file: RealFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(files, "_flush", fail)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output error") as of_file:
        file.sync()
    with pytest.raises(OSError, match="Input/output error") as of_folder:
        disk.sync_folder("")
    assert (of_file.value.filename, of_folder.value.filename) == (file.full_path, disk.root)


def test_the_root_is_made_with_all_that_is_above_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(name_of(descriptor)))
    disk = FileDisk(f"{tmp_path}/var/lib")
    disk.make_folder("a")
    assert disk.names("") == ["a"]
    assert flushed == [str(tmp_path), f"{tmp_path}/var", f"{tmp_path}/var/lib"]


def test_a_root_given_relative_to_the_working_folder_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    disk = FileDisk("queue")
    monkeypatch.chdir("/")
    disk.make_folder("")
    assert (tmp_path / "queue").is_dir()


def test_descriptors_are_given_back_and_not_inherited(disk: FileDisk) -> None:
    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = count()
    file, lock = disk.open("a", create=True), disk.lock("lock")
    assert count() == before + 2
    assert not os.get_inheritable(file._descriptor)
    assert not os.get_inheritable(lock._descriptor)
    with pytest.raises(DiskLocked):
        disk.lock("lock")
    disk.make_folder("f/g")
    disk.sync_folder("f")
    file.close()
    lock.release()
    file.close()
    lock.release()
    assert count() == before


def test_a_lock_names_the_process_that_holds_it_and_dies_with_it(disk: FileDisk) -> None:
    program = (
        "import sys; from goqueue.storage.files import FileDisk\n"
        f"lock = FileDisk({disk.root!r}).lock('lock')\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )
    with owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == b"held\n"
        with pytest.raises(DiskLocked, match=f"{disk.root} is in use by process {owner.pid}:") as caught:
            disk.lock("lock")
        assert (caught.value.folder, caught.value.pid) == (disk.root, owner.pid)
        owner.kill()
    lock = disk.lock("lock")
    assert disk.open("lock").read(20, 0) == b"%d\n" % os.getpid()
    lock.release()


def test_a_full_disk_does_not_keep_a_broker_from_taking_its_lock(
    disk: FileDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", fail)
    lock = disk.lock("lock")
    with pytest.raises(DiskLocked, match="another process"):
        disk.lock("lock")
    lock.release()


def test_a_file_system_without_locks_is_an_error_and_no_lock(disk: FileDisk, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", fail)
    with pytest.raises(OSError, match="No locks") as caught:
        disk.lock("lock")
    assert caught.value.filename == f"{disk.root}/lock"
