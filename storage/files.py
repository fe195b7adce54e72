"""The real disk: each promise of `disk.py` by the Linux system call that keeps it.

Nothing is cached, batched or retried here. Python repeats calls that a signal interrupted; what is left to do is to go
on after partial transfers, and to put the file's name into errors of calls that know only a number.

Files are never opened O_DIRECT: the page cache is what lets a reader at the tail be served without a thread, and
RWF_NOWAIT is how to ask it. Systems other than Linux lack some of the calls: there reads always say that they would
wait, reserving and forgetting do nothing, and a sync asks for the strongest flush there is.
"""

import errno
import fcntl
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from goqueue.storage.disk import Buffer, DiskLocked, WritableBuffer, folder_and_name, path_parts
from goqueue.storage.preallocation import preallocate
from goqueue.storage.private_files import make_folder, open_or_make_file

IOV_MAX = os.sysconf("SC_IOV_MAX")
# A number that no descriptor has and every call knows to be bad; some refuse -1 with a ValueError instead of EBADF.
_CLOSED = 0x7FFFFFFF
_TELLS_CACHED = hasattr(os, "RWF_NOWAIT")
_FORGETS = hasattr(os, "posix_fadvise")

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")


def _named(
    call: Callable[Concatenate["RealFile", _Arguments], _Answer],
) -> Callable[Concatenate["RealFile", _Arguments], _Answer]:
    """Puts the file's name into the errors of a call that works on a descriptor."""

    @wraps(call)
    def named(file: "RealFile", /, *arguments: _Arguments.args, **named_arguments: _Arguments.kwargs) -> _Answer:
        try:
            return call(file, *arguments, **named_arguments)
        except OSError as error:
            error.filename = file.full_path
            raise

    return named


class RealFile:
    """A file descriptor that keeps the contract of `disk.File`."""

    __slots__ = ("_descriptor", "_tells_cached", "full_path", "path")

    def __init__(self, path: str, full_path: str, descriptor: int) -> None:
        self.path = path
        self.full_path = full_path
        self._descriptor = descriptor
        self._tells_cached = _TELLS_CACHED

    def write(self, buffers: Sequence[Buffer], position: int) -> int:
        """Writes all buffers at `position`: one system call when they are few and the disk takes them whole."""
        # Every append passes here, so the error gets its name without a wrapper around the call.
        try:
            if len(buffers) > IOV_MAX:
                return self._write_on(buffers, position, 0)
            written = os.pwritev(self._descriptor, buffers, position)
            if written == sum(map(len, buffers)):
                return written
            return self._write_on(buffers, position, written)
        except OSError as error:
            error.filename = self.full_path
            raise

    def _write_on(self, buffers: Sequence[Buffer], position: int, written: int) -> int:
        """Writes what is left after the first `written` bytes, IOV_MAX buffers a call."""
        views = [memoryview(buffer) for buffer in buffers if len(buffer)]
        first, skipped = 0, written
        while True:
            while first < len(views) and len(views[first]) <= skipped:
                skipped -= len(views[first])
                first += 1
            if first == len(views):
                return written
            batch = views[first : first + IOV_MAX]
            batch[0] = batch[0][skipped:]
            count = os.pwritev(self._descriptor, batch, position + written)
            if not count:
                raise OSError(errno.EIO, "the disk takes no more bytes and gives no reason")
            written += count
            skipped += count

    @_named
    def read_into(self, buffer: WritableBuffer, position: int) -> int:
        """Fills `buffer` from `position`, waiting for the disk."""
        count = os.preadv(self._descriptor, (buffer,), position)
        filled = count
        while count and filled < len(buffer):
            count = os.preadv(self._descriptor, (memoryview(buffer)[filled:],), position + filled)
            filled += count
        return filled

    @_named
    def read_cached_into(self, buffer: WritableBuffer, position: int) -> int | None:
        """Fills `buffer` from the page cache alone, or answers None."""
        if not self._tells_cached:
            return None
        try:
            count = os.preadv(self._descriptor, (buffer,), position, os.RWF_NOWAIT)
            filled = count
            # Short means the end of the file or the first page that is not cached: only asking on tells which.
            while count and filled < len(buffer):
                rest = memoryview(buffer)[filled:]
                count = os.preadv(self._descriptor, (rest,), position + filled, os.RWF_NOWAIT)
                filled += count
            return filled
        except BlockingIOError:
            return None
        except OSError as error:
            if error.errno != errno.EOPNOTSUPP:
                raise
            self._tells_cached = False
            return None

    @_named
    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`, waiting for the disk."""
        content = os.pread(self._descriptor, size, position)
        if len(content) == size:
            return content
        pieces = [content]
        filled = len(content)
        while pieces[-1] and filled < size:
            pieces.append(os.pread(self._descriptor, size - filled, position + filled))
            filled += len(pieces[-1])
        return b"".join(pieces)

    @_named
    def size(self) -> int:
        """The file's length in bytes."""
        return os.fstat(self._descriptor).st_size

    @_named
    def truncate(self, size: int) -> None:
        """Cuts the file, or grows it with zeros."""
        os.ftruncate(self._descriptor, size)

    @_named
    def allocate(self, size: int) -> None:
        """Reserves blocks up to `size`, where the file system can."""
        if size:
            preallocate(self._descriptor, size)

    @_named
    def sync(self) -> None:
        """Makes everything written so far durable; times and other metadata that no reader needs are left out."""
        _flush(self._descriptor)

    def begin_sync(self) -> int:
        """Nothing to note: the kernel's flush covers all that is written when it starts."""
        return 0

    def finish_sync(self, token: int) -> None:
        """Makes everything written so far durable."""
        del token
        self.sync()

    @_named
    def forget_cached(self, position: int) -> None:
        """Lets the page cache drop everything from `position`."""
        if _FORGETS:
            os.posix_fadvise(self._descriptor, position, 0, os.POSIX_FADV_DONTNEED)

    @_named
    def close(self) -> None:
        """Closes the descriptor once."""
        descriptor, self._descriptor = self._descriptor, _CLOSED
        if descriptor != _CLOSED:
            os.close(descriptor)


class RealLock:
    """A flock on an open descriptor: it goes when the descriptor does, so a dead process holds nothing."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def release(self) -> None:
        """Closes the descriptor and leaves the file: removing it would let two owners lock two files of one name."""
        descriptor, self._descriptor = self._descriptor, _CLOSED
        if descriptor != _CLOSED:
            os.close(descriptor)


class FileDisk:
    """The folder `root` of this machine as a Disk; `make_folder("")` makes the root itself."""

    def __init__(self, root: str) -> None:
        self.root = os.path.abspath(root)

    def _full(self, path: str) -> str:
        parts = path_parts(path)
        return os.path.join(self.root, *parts)

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> RealFile:
        """Opens a file, or makes it for the broker's user alone."""
        assert not (create and read_only)
        full_path = self._full(path)
        if create:
            return RealFile(path, full_path, open_or_make_file(full_path, os.O_RDWR))
        flags = os.O_CLOEXEC | (os.O_RDONLY if read_only else os.O_RDWR)
        return RealFile(path, full_path, os.open(full_path, flags))

    def exists(self, path: str) -> bool:
        """Whether anything has that name."""
        return os.path.exists(self._full(path))

    def is_folder(self, path: str) -> bool:
        """Whether a folder has that name."""
        return os.path.isdir(self._full(path))

    def make_folder(self, path: str) -> None:
        """Makes the folder and those above it, durably."""
        parts = path_parts(path)
        self._make_root()
        folder = self.root
        for part in parts:
            child = os.path.join(folder, part)
            try:
                make_folder(child)
            except FileExistsError:
                if not os.path.isdir(child):
                    raise
            # Also when it was there already: whoever made it may have died before this line.
            _sync_folder(folder)
            folder = child

    def _make_root(self) -> None:
        missing = []
        folder = self.root
        while not os.path.isdir(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for folder in reversed(missing):
            make_folder(folder)
            _sync_folder(os.path.dirname(folder))

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted."""
        return sorted(os.listdir(self._full(path)))

    def rename(self, old: str, new: str) -> None:
        """Moves a name within its folder."""
        if folder_and_name(old)[0] != folder_and_name(new)[0]:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), self._full(old), None, self._full(new))
        os.rename(self._full(old), self._full(new))

    def remove(self, path: str) -> None:
        """Removes a file's name."""
        folder_and_name(path)
        os.unlink(self._full(path))

    def remove_folder(self, path: str) -> None:
        """Removes an empty folder."""
        folder_and_name(path)
        os.rmdir(self._full(path))

    def sync_folder(self, path: str) -> None:
        """Makes the names in a folder durable."""
        _sync_folder(self._full(path))

    def lock(self, path: str) -> RealLock:
        """Takes the lock file, or raises DiskLocked with what its owner wrote into it."""
        full_path = self._full(path)
        descriptor = open_or_make_file(full_path, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            text = os.pread(descriptor, 32, 0).strip()
            os.close(descriptor)
            if not isinstance(error, BlockingIOError):
                error.filename = full_path
                raise
            pid = int(text) if text.isdigit() else None
            raise DiskLocked(os.path.dirname(full_path), pid) from None
        # A full disk must not keep a broker from starting: it may be there to delete something.
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        return RealLock(descriptor)

    def free_bytes(self, path: str = "") -> int:
        """What the file system has left for programs that are not root."""
        room = os.statvfs(self._full(path))
        return room.f_bavail * room.f_frsize


def _full_flush(descriptor: int) -> None:
    """Where fsync stops short of the drive's own cache there is a command that does not."""
    if hasattr(fcntl, "F_FULLFSYNC"):
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    else:
        os.fsync(descriptor)


_flush = os.fdatasync if hasattr(os, "fdatasync") else _full_flush


def _sync_folder(full_path: str) -> None:
    descriptor = os.open(full_path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        error.filename = full_path
        raise
    finally:
        os.close(descriptor)
