"""A real kernel's page cache after a sync that failed: it shows what the disk does not have, and recovery must not.

The device is an image on a tmpfs. Blocks that a file system allocates lie in holes of the image, and the tmpfs is full,
so that a write to them fails as on a broken disk; all others succeed. Mounting is for root; `test_recovery_distrust.py`
has the same on the simulated disk.
"""

import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from goqueue.core.log.config import LogConfig
from goqueue.storage import preallocation
from goqueue.storage.files import FileDisk
from goqueue.storage.preallocation import preallocate
from goqueue.storage.recovery import recover
from tests.storage.logbook import STREAM, abandon, numbered, opened

PUNCH_HOLE = 3  # FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
PAGE_BYTES = 4096
IMAGE_BYTES = 24 << 20
FILLER_PAGES = 4
PATTERN = b"free block of the image; " * 4


def run(*command: str) -> None:
    """A command that has to succeed."""
    subprocess.run(command, check=True, capture_output=True)


def _fill(folder: Path) -> list[Path]:
    """Write pages into files until there is no room for another. Return the files.

    Each is so small that the file system needs no block for its list of blocks. Such a block would be free afterwards
    without the pattern, and a loop device says nothing of a write whose first block succeeds and whose others fail.
    """
    page, files = PATTERN.ljust(PAGE_BYTES, b"."), []
    with suppress(OSError):
        for number in itertools.count():
            path = folder / f"filler-{number}"
            files.append(path)
            with path.open("wb", buffering=0) as file:
                for _ in range(FILLER_PAGES):
                    assert file.write(page) == PAGE_BYTES
    return files


class Device:
    """A file system on a device whose free blocks can be made to fail."""

    def __init__(self, root: Path, file_system: str) -> None:
        self.tmpfs, self.folder = root / "tmpfs", root / "mounted"
        self.image, self._ballast = self.tmpfs / "image", self.tmpfs / "ballast"
        self.tmpfs.mkdir()
        self.folder.mkdir()
        run("mount", "-t", "tmpfs", "-o", f"size={IMAGE_BYTES + (4 << 20)}", "tmpfs", str(self.tmpfs))
        self._allocate()
        run(f"mkfs.{file_system}", "-q", "-b", "4096", "-E", "nodiscard,lazy_itable_init=0", str(self.image))
        self._allocate()
        self.mount()

    def _allocate(self) -> None:
        descriptor = os.open(self.image, os.O_RDWR | os.O_CREAT)
        preallocate(descriptor, IMAGE_BYTES)
        os.close(descriptor)

    def mount(self) -> None:
        """Shows the file system, with nothing of it in the page cache."""
        run("mount", "-o", "loop", str(self.image), str(self.folder))

    def unmount(self) -> None:
        """Hides the file system, and drops what was cached of it."""
        run("umount", str(self.folder))

    def fail(self) -> None:
        """From here on no block that was free can be written."""
        self._release_reserve()
        fillers = _fill(self.folder)
        os.sync()
        assert os.statvfs(self.folder).f_bfree == 0, "a block that is free could be written"
        for filler in fillers:
            filler.unlink()
        os.sync()
        assert self._punch() == os.statvfs(self.folder).f_bfree, "a block that is free could be written"
        with suppress(OSError), self._ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(PAGE_BYTES))

    def _punch(self) -> int:
        """Make a hole of each block that has the pattern. Return how many there were."""
        fallocate, holes = preallocation._fallocate, 0
        assert fallocate is not None
        with self.image.open("r+b", buffering=0) as image:
            for position in range(0, IMAGE_BYTES, PAGE_BYTES):
                if os.pread(image.fileno(), len(PATTERN), position) == PATTERN:
                    assert fallocate(image.fileno(), PUNCH_HOLE, position, PAGE_BYTES) == 0
                    holes += 1
        return holes

    def _release_reserve(self) -> None:
        """Let files have the blocks that ext4 keeps back for its own tables: a filler could not reach them."""
        number = self.folder.stat().st_dev
        name = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve().name
        reserved = Path("/sys/fs/ext4", name, "reserved_clusters")
        if reserved.exists():
            reserved.write_text("0")

    def mend(self) -> None:
        """From here on everything can be written."""
        self._ballast.unlink()

    def remove(self) -> None:
        """Takes all of it away."""
        subprocess.run(["umount", "--lazy", str(self.folder)], check=False, capture_output=True)
        run("umount", "--lazy", str(self.tmpfs))


@pytest.fixture(params=["ext2", "ext4"])
def device(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Device]:
    """A device, where we may mount one."""
    if shutil.which(f"mkfs.{request.param}") is None:
        pytest.skip(f"there is no mkfs.{request.param} here")
    try:
        made = Device(tmp_path, request.param)
    except subprocess.CalledProcessError:
        pytest.skip("may not mount here")
    yield made
    made.remove()


def test_what_a_failed_sync_lost_is_not_believed_by_the_next_process(device: Device) -> None:
    disk = FileDisk(str(device.folder / "data"))
    log = opened(disk)
    log.append(numbered(0))
    log.flush()
    device.fail()
    log.append(numbered(1, 40_000))
    log.write()
    [job] = log.store.take_jobs()
    job.run()
    assert job.failed is not None
    log.store.finish(job)
    abandon(log)
    # The last references to open files, which would keep the file system from being unmounted.
    del log, job
    device.mend()
    shown = disk.open(f"{STREAM}/{'0' * 20}.log", read_only=True)
    assert bytes(numbered(1, 40_000)[-1000:]) in shown.read(shown.size(), 0), "the page cache shows what was lost"
    shown.close()
    believed = recover(disk, STREAM, LogConfig(), 0).state.tail.segment.next_offset
    device.unmount()
    device.mount()
    assert recover(disk, STREAM, LogConfig(), 0).state.tail.segment.next_offset == believed == 1
