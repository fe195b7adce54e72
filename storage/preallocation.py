"""Reserving room for a file that grows, by fallocate(2) itself.

Not by posix_fallocate(3): where the file system has no fallocate, glibc replaces it by writing a zero into every block
that the file does not reach yet, and into every block whose first byte reads as zero. A write of another thread that
lands between its look and its zero is overwritten, after it may have been synced and acknowledged. A log reserves room
while it is being appended to, so a file system that cannot reserve has to say so and do nothing.

Python offers only posix_fallocate, so this calls the C library by ctypes, which lets other threads run meanwhile. The
mode is the plain one, in which the file grows by what is reserved: fewer file systems have FALLOC_FL_KEEP_SIZE, and a
sync of what is written within the length has no new length to write.
"""

import ctypes
import errno
import os
import sys
from collections.abc import Callable

# What a kernel or a file system answers that has no fallocate. EINVAL is one of them: the arguments are never wrong.
_REFUSALS = (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)

Fallocate = Callable[[int, int, int, int], int]


def _find() -> Fallocate | None:
    """The C library's fallocate with 64-bit offsets; None on a system that has none."""
    if sys.platform != "linux":
        return None
    library = ctypes.CDLL(None, use_errno=True)
    call = getattr(library, "fallocate64", None) or getattr(library, "fallocate", None)
    if call is None:
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    call.restype = ctypes.c_int
    return call  # type: ignore[no-any-return]


_fallocate = _find()


def preallocate(descriptor: int, size: int) -> bool:
    """Reserves blocks for the first `size` bytes and makes the file at least that long; False where nothing can."""
    assert size > 0
    while _fallocate is not None and _fallocate(descriptor, 0, 0, size) != 0:
        number = ctypes.get_errno()
        if number in _REFUSALS:
            return False
        if number != errno.EINTR:
            raise OSError(number, os.strerror(number))
    return _fallocate is not None
