"""A disk so small that it can be filled: a tmpfs of its own, where root may mount one."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import define

_BLOCK = bytes(1 << 16)


def why_impossible(folder: Path) -> str:
    """Why there can be no such disk here; empty where there can."""
    ended = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)], capture_output=True, text=True, check=False
    )
    if ended.returncode != 0:
        return f"nothing can be mounted: {ended.stderr.strip()}"
    subprocess.run(["umount", str(folder)], check=True)
    return ""


@define
class SmallDisk:
    """A folder that is a disk."""

    folder: Path

    @property
    def _ballast(self) -> Path:
        return self.folder / "ballast"

    def fill(self) -> None:
        """Leave no room."""
        with self._ballast.open("ab", buffering=0) as ballast:
            try:
                while ballast.write(_BLOCK):
                    pass
            except OSError:
                return

    def free(self) -> None:
        """Give the room back."""
        self._ballast.unlink()


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[SmallDisk]:
    """The folder as a disk of that size, until the block ends; whoever writes to it is to be gone by then."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(folder)], check=True)
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", str(folder)], check=True)
