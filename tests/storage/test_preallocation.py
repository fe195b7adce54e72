"""Room is reserved without a byte being written, or not at all."""

import ctypes
import errno
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from goqueue.storage import preallocation
from goqueue.storage.files import FileDisk, RealFile
from tests.storage.reserving import lost_bytes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a system call of Linux")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def file(tmp_path: Path) -> Iterator[RealFile]:
    opened = FileDisk(str(tmp_path)).open("a", create=True)
    yield opened
    opened.close()


@pytest.fixture
def ext2(tmp_path: Path) -> Iterator[FileDisk]:
    """A file system without fallocate, where we may mount one."""
    image, folder = tmp_path / "image", tmp_path / "mounted"
    image.write_bytes(b"")
    folder.mkdir()
    with image.open("r+b") as opened:
        opened.truncate(32 << 20)
    if shutil.which("mkfs.ext2") is None:
        pytest.skip("there is no mkfs.ext2 here")
    subprocess.run(["mkfs.ext2", "-q", str(image)], check=True)
    if subprocess.run(["mount", "-o", "loop", str(image), str(folder)], capture_output=True, check=False).returncode:
        pytest.skip("may not mount here")
    yield FileDisk(str(folder))
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="the number of the call is not known here")
@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL])
def test_where_the_kernel_refuses_nothing_is_written_instead(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-m", "tests.storage.reserving", str(tmp_path), str(number)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (answer.stdout, answer.stderr) == ("0 0\n", "")


def test_a_file_system_without_the_call_loses_nothing_that_is_written_meanwhile(ext2: FileDisk) -> None:
    file = ext2.open("a", create=True)
    file.allocate(5000)
    assert file.size() == 0
    file.close()
    assert lost_bytes(ext2) == 0


def test_a_file_system_with_the_call_loses_nothing_that_is_written_meanwhile(tmp_path: Path) -> None:
    assert lost_bytes(FileDisk(str(tmp_path))) == 0


def test_what_a_signal_interrupts_is_asked_again(file: RealFile, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([errno.EINTR, errno.EINTR, 0])
    asked = []

    def interrupted(*arguments: int) -> int:
        asked.append(arguments[1:])
        number = next(answers)
        ctypes.set_errno(number)
        return -1 if number else 0

    monkeypatch.setattr(preallocation, "_fallocate", interrupted)
    file.allocate(5000)
    assert asked == [(0, 0, 5000)] * 3


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO])
def test_any_other_refusal_is_an_error_that_names_the_file(
    file: RealFile, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: int) -> int:
        ctypes.set_errno(number)
        return -1

    monkeypatch.setattr(preallocation, "_fallocate", refuse)
    with pytest.raises(OSError, match=os.strerror(number)) as caught:
        file.allocate(5000)
    assert (caught.value.errno, caught.value.filename) == (number, file.full_path)


def test_a_system_without_the_call_reserves_nothing(file: RealFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preallocation, "_fallocate", None)
    file.allocate(5000)
    assert file.size() == 0
