"""A file that is appended to while room is reserved for it; as a program, in a kernel without fallocate.

The program forbids itself the system call by a seccomp filter, so that the C library and the kernel are the real ones,
and neither root nor a file system of that kind is needed. It takes a folder and the errno of the refusal.
"""

import ctypes
import platform
import sys
from threading import Thread

from goqueue.storage.files import FileDisk

_BLOCK = b"x" * 512
_BLOCKS = 20_000
_SYSTEM_CALL = {"x86_64": 285, "aarch64": 47}

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _MODE_FILTER = 22, 38, 2
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
_REFUSE, _ALLOW = 0x00050000, 0x7FFF0000


def lost_bytes(disk: FileDisk) -> int:
    """How many bytes read as zero that one thread appended while another reserved room."""
    file = disk.open("log", create=True)
    written = 0

    def append() -> None:
        nonlocal written
        for number in range(_BLOCKS):
            written = (number + 1) * len(_BLOCK)
            file.write([_BLOCK], number * len(_BLOCK))

    appending = Thread(target=append)
    appending.start()
    while appending.is_alive():
        file.allocate(written + (64 << 10))
    appending.join()
    return file.read(written, 0).count(0)


class _Instruction(ctypes.Structure):
    _fields_ = (
        ("code", ctypes.c_uint16),
        ("when_true", ctypes.c_uint8),
        ("when_false", ctypes.c_uint8),
        ("value", ctypes.c_uint32),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("instructions", ctypes.POINTER(_Instruction)))


def refuse_fallocate(number: int) -> None:
    """From here on this process and its threads are answered `number` by fallocate(2)."""
    library = ctypes.CDLL(None, use_errno=True)
    instructions = (_Instruction * 4)(
        _Instruction(_LOAD, 0, 0, 0),
        _Instruction(_EQUAL, 0, 1, _SYSTEM_CALL[platform.machine()]),
        _Instruction(_RETURN, 0, 0, _REFUSE | number),
        _Instruction(_RETURN, 0, 0, _ALLOW),
    )
    program = _Program(len(instructions), instructions)
    assert library.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert library.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0) == 0


def main(folder: str, number: int) -> None:
    """Prints how long a file is for which 5,000 bytes were reserved, and how much was lost of another one."""
    refuse_fallocate(number)
    disk = FileDisk(folder)
    file = disk.open("reserved", create=True)
    file.allocate(5000)
    sys.stdout.write(f"{file.size()} {lost_bytes(disk)}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
