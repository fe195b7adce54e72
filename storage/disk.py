"""The disk seam: what the storage layer asks of a disk, as two protocols, and what it may rely on.

Two disks keep this contract: `files.py` is the real one, `simulated.py` one in memory that crashes and fails on demand.
Everything above is written once, against this page, so a promise that only one of them keeps is a bug of the other.
This is not a file system: no permissions, links or renames across folders, because no log needs them.

Paths are relative to the disk's root, '/'-joined, without '.', '..' or empty parts; '' is the root. Anything else is a
`ValueError`: a name that came from a client must not reach outside, whatever was forgotten above.

What survives what:
- A killed process loses nothing it had written. A crashed machine loses anything that was not synced: any subset of
  512-byte sectors of unsynced writes may be there, in any order; a file may be longer than what arrived (zeros) or
  keep what was truncated away. `File.sync` covers all that was written through any File of that file before the call.
- Names are durable on their own account: a file created, renamed or removed is so for certain only after `sync_folder`
  of its folder. Earlier, changes within one folder survive in order; nothing relates those of two folders.
- After `sync` raised, what it should have covered is lost for good although reads may still show it: a later sync that
  succeeds says nothing about it. Whoever sees one fail reads nothing back as durable and goes through recovery.

Errors are `OSError`s as the system calls raise them, always with `filename` set, for a person to read. A refusal that
`errno` cannot put in words is a class of its own here.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias

from goqueue.core.errors import GoQueueError

# Contiguous bytes with items of one byte, so that len() counts bytes.
Buffer: TypeAlias = bytes | bytearray | memoryview
WritableBuffer: TypeAlias = bytearray | memoryview


class DiskLocked(GoQueueError):
    """Another process, or another Disk of this one, holds a folder's lock; `pid` is None when it left no number."""

    def __init__(self, folder: str, pid: int | None) -> None:
        holder = "another process" if pid is None else f"process {pid}"
        super().__init__(f"{folder} is in use by {holder}: a folder serves one broker at a time")
        self.folder = folder
        self.pid = pid


class File(Protocol):
    """An open file: reads and writes name their position, so any number of readers share one File.

    One thread writes at a time; reads, `sync` and `forget_cached` may run in other threads meanwhile. A file that was
    removed or replaced stays readable until closed. Nobody may be inside a call when `close` is; calls after it raise
    EBADF.
    """

    @property
    def path(self) -> str:
        """The path it was opened by; a later rename does not change it."""

    def write(self, buffers: Sequence[Buffer], position: int) -> int:
        """Writes all buffers back to back at `position` and returns how many bytes that was.

        Past the end the gap reads as zeros. When it raises (ENOSPC, EIO, …), a prefix may have been written.
        """

    def read_into(self, buffer: WritableBuffer, position: int) -> int:
        """Fills `buffer` from `position`, waiting for the disk, and returns the bytes read: fewer only at the end."""

    def read_cached_into(self, buffer: WritableBuffer, position: int) -> int | None:
        """The same without ever waiting: None, and `buffer` in any state, unless all that is wanted is in memory.

        None is always a possible answer; there are file systems that cannot tell and give no other.
        """

    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`, waiting for the disk: fewer only at the end of the file."""

    def size(self) -> int:
        """The file's length in bytes, unsynced writes included."""

    def truncate(self, size: int) -> None:
        """Makes the file exactly `size` long: cuts it, or grows it with zeros."""

    def allocate(self, size: int) -> None:
        """Grows the file to at least `size` with zeros and reserves the room, so that writes within cannot meet ENOSPC.

        It writes nothing, so that whatever another thread writes meanwhile stays. A hint: where the file system cannot
        reserve nothing happens and the size stays, so read it back. After ENOSPC the file may have grown a part of the
        way.
        """

    def sync(self) -> None:
        """Returns once everything written before the call survives a crash, the length included."""

    def begin_sync(self) -> int:
        """Marks the moment that a later `finish_sync` refers to; `sync` is both in one."""

    def finish_sync(self, token: int) -> None:
        """Returns once everything written before the matching `begin_sync` survives a crash; later writes may not."""

    def forget_cached(self, position: int) -> None:
        """Lets the system drop what it caches from `position` to the end: whole pages without anything to be synced.

        After a `sync` that succeeded, with nothing written meanwhile, reads then show what the disk has.
        """

    def close(self) -> None:
        """Gives the file back; twice is once. Syncs nothing."""


class Lock(Protocol):
    """Held from `Disk.lock` until released, or until the process ends in whatever way."""

    def release(self) -> None:
        """Lets the next one in; twice is once."""


class Disk(Protocol):
    """Names and folders beneath one root."""

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> File:
        """Opens a file; with `create`, makes an empty one when there is none (durable after `sync_folder`)."""

    def exists(self, path: str) -> bool:
        """Whether there is a file or a folder at `path`."""

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder at `path`."""

    def make_folder(self, path: str) -> None:
        """Makes the folder and those above it where they are missing, and returns when all of them are durable."""

    def names(self, path: str) -> list[str]:
        """The names in a folder, files and folders alike, sorted."""

    def rename(self, old: str, new: str) -> None:
        """Moves `old` to `new` within one folder, else EXDEV; what was there (a file, an empty folder) is replaced."""

    def remove(self, path: str) -> None:
        """Removes a file's name; its room is free when the last File of it is closed."""

    def remove_folder(self, path: str) -> None:
        """Removes an empty folder (ENOTEMPTY otherwise)."""

    def sync_folder(self, path: str) -> None:
        """Returns once the names that the folder holds survive a crash; it says nothing about what they name."""

    def lock(self, path: str) -> Lock:
        """Takes the lock file at `path`, making it if need be, or raises DiskLocked at once.

        The file holds the owner's process number for people; what counts is the lock, which dies with its owner.
        """

    def free_bytes(self, path: str = "") -> int:
        """The room left for files in that folder."""


def path_parts(path: str) -> list[str]:
    """The parts of a path beneath the root; ValueError when it could mean anything outside or nothing definite."""
    if not path:
        return []
    parts = path.split("/")
    for part in parts:
        if part in ("", ".", "..") or "\0" in part:
            raise ValueError(f"{path!r} is not a path beneath the root: {part!r} is not a name")
    return parts


def folder_and_name(path: str) -> tuple[str, str]:
    """The folder that a path's last name lives in, and that name; ValueError for the root, which has none."""
    parts = path_parts(path)
    if not parts:
        raise ValueError("the root of a disk has no name")
    return "/".join(parts[:-1]), parts[-1]
