"""Nobody but the broker's user may read what it writes, whatever the umask says."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from goqueue.storage.capture import Capture, CaptureLimits
from goqueue.storage.disk import DiskLocked
from goqueue.storage.files import FileDisk
from tests.core.capture.traffic import fresh_node
from tests.storage.logbook import numbered, opened


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """What takes rights away from all that is made."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(root: Path) -> dict[str, int]:
    """The rights of all that is there, the root included."""
    return {str(path.relative_to(root)): path.stat().st_mode & 0o7777 for path in (root, *root.rglob("*"))}


def demand_private(root: Path) -> None:
    """Every file 0600, every folder 0700, and there are some."""
    found = modes(root)
    assert len(found) > 1
    assert found == {name: 0o700 if (root / name).is_dir() else 0o600 for name in found}


@pytest.mark.usefixtures("umask")
def test_a_log_with_all_its_files_is_private(tmp_path: Path) -> None:
    log = opened(FileDisk(str(tmp_path / "var" / "data")), segment_bytes=4096, index_interval_bytes=128)
    for number in range(60):
        log.append(numbered(number, 200))
        log.flush()
    log.close()
    assert {".log", ".index", ".timeindex", ""} == {Path(name).suffix for name in modes(tmp_path / "var")}
    demand_private(tmp_path / "var")


@pytest.mark.usefixtures("umask")
def test_captures_are_private(tmp_path: Path) -> None:
    capture = Capture(str(tmp_path / "var" / "captures"), CaptureLimits(), in_place=True)
    capture.start(fresh_node(), 0, 1)
    capture.close()
    demand_private(tmp_path / "var")


def test_what_somebody_gave_others_rights_to_keeps_them(tmp_path: Path) -> None:
    root = tmp_path / "data"
    root.mkdir(mode=0o750)
    root.chmod(0o750)
    (root / "file").write_bytes(b"")
    (root / "file").chmod(0o640)
    disk = FileDisk(str(root))
    disk.make_folder("")
    disk.open("file", create=True).close()
    assert modes(root) == {".": 0o750, "file": 0o640}


def test_a_link_to_a_file_that_is_not_there_makes_that_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    disk = FileDisk(str(tmp_path))
    disk.open("link", create=True).close()
    assert (tmp_path / "elsewhere").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileNotFoundError):
        disk.open("missing/file", create=True)
    held = disk.lock("lock")
    with pytest.raises(DiskLocked):
        disk.lock("lock")
    held.release()
