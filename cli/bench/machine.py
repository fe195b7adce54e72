"""The machine that figures were taken on, as far as they depend on it.

Facts that a system does not tell are null, never guessed.
"""

import os
import platform
from pathlib import Path

from goqueue import __version__
from goqueue.cli.bench.cores import CORES

_IN_MEMORY = {"tmpfs", "ramfs"}


def describe(folder: Path) -> dict[str, str | int | None]:
    """The facts to stand beside figures taken in `folder`."""
    return {
        "cpu": _cpu(),
        "cores": len(CORES),
        "memory_bytes": _memory_bytes(),
        "system": f"{platform.system()} {platform.machine()}",
        "kernel": platform.release(),
        "file_system": file_system(folder),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "goqueue": __version__,
    }


def is_in_memory(folder: Path) -> bool:
    """Whether a folder's file system keeps nothing on a disk."""
    return file_system(folder) in _IN_MEMORY


def file_system(folder: Path) -> str | None:
    """The kind of file system that a folder is on."""
    device = folder.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    for line in _lines(Path("/proc/self/mountinfo")):
        before, _, after = line.partition(" - ")
        if before.split()[2] == wanted:
            return after.split()[0]
    return None


def _cpu() -> str | None:
    for line in _lines(Path("/proc/cpuinfo")):
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or None


def _memory_bytes() -> int | None:
    if "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []
