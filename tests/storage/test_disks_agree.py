"""The real disk and the simulated one give the same answers and the same refusals to any sequence of calls."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from goqueue.storage.disk import Disk, DiskLocked, File, Lock
from goqueue.storage.files import FileDisk
from goqueue.storage.simulated import SimulatedDisk

PATHS = ["", "a", "b", "f", "f/a", "f/b", "f/g", "f/g/a", "x/y"]
paths = st.sampled_from(PATHS)
names = st.sampled_from(PATHS[1:])
positions = st.integers(0, 9000)
chunks = st.lists(st.binary(max_size=40), max_size=4)

Pair: TypeAlias = tuple[File, File]


def outcome(call: Callable[[], object]) -> object:
    """What a call answers, or how it refuses."""
    try:
        return call()
    except OSError as error:
        return type(error), error.errno
    except DiskLocked:
        return DiskLocked


class TwoDisks(RuleBasedStateMachine):
    """The same calls on both."""

    def __init__(self) -> None:
        super().__init__()
        # In memory where there is such a place: what is compared here are answers, and its syncs cost nothing.
        self.root = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        self.real = FileDisk(self.root)
        self.simulated = SimulatedDisk(1)
        self.files: list[Pair] = []
        self.locks: list[tuple[Lock, Lock]] = []

    def teardown(self) -> None:
        for real, _ in self.files:
            real.close()
        for lock, _ in self.locks:
            lock.release()
        shutil.rmtree(self.root)

    def both(self, call: Callable[[Disk], object]) -> None:
        assert outcome(lambda: call(self.simulated)) == outcome(lambda: call(self.real))

    def both_files(self, number: int, call: Callable[[File], object]) -> None:
        real, simulated = self.files[number % len(self.files)]
        assert outcome(lambda: call(simulated)) == outcome(lambda: call(real))

    @rule(path=paths, create=st.booleans())
    def open(self, path: str, create: bool) -> None:
        opened: list[File] = []
        self.both(lambda disk: opened.append(disk.open(path, create=create)))
        if opened:
            simulated, real = opened
            self.files.append((real, simulated))

    @rule(path=paths)
    def look(self, path: str) -> None:
        self.both(lambda disk: (disk.exists(path), disk.is_folder(path)))
        self.both(lambda disk: disk.names(path))

    @rule(path=paths)
    def make_folder(self, path: str) -> None:
        self.both(lambda disk: disk.make_folder(path))

    @rule(path=names)
    def remove(self, path: str) -> None:
        self.both(lambda disk: disk.remove(path))

    @rule(path=names)
    def remove_folder(self, path: str) -> None:
        self.both(lambda disk: disk.remove_folder(path))

    @rule(old=names, new=names)
    def rename(self, old: str, new: str) -> None:
        self.both(lambda disk: disk.rename(old, new))

    @rule(path=paths)
    def sync_folder(self, path: str) -> None:
        self.both(lambda disk: disk.sync_folder(path))

    @rule(path=names)
    def lock(self, path: str) -> None:
        locks: list[Lock] = []
        self.both(lambda disk: locks.append(disk.lock(path)))
        if locks:
            simulated, real = locks
            self.locks.append((real, simulated))
            # The owner's number is the one thing that has to differ.
            disks: list[Disk] = [self.real, self.simulated]
            for disk in disks:
                file = disk.open(path)
                file.truncate(0)
                file.close()

    @precondition(lambda self: self.locks)
    @rule(number=st.integers(0, 9))
    def release(self, number: int) -> None:
        for lock in self.locks.pop(number % len(self.locks)):
            lock.release()

    @precondition(lambda self: self.files)
    @rule(number=st.integers(0, 9), position=positions, buffers=chunks)
    def write(self, number: int, position: int, buffers: list[bytes]) -> None:
        self.both_files(number, lambda file: file.write(buffers, position))

    @precondition(lambda self: self.files)
    @rule(number=st.integers(0, 9), size=positions)
    def truncate(self, number: int, size: int) -> None:
        self.both_files(number, lambda file: file.truncate(size))

    @precondition(lambda self: self.files)
    @rule(number=st.integers(0, 9), size=st.integers(1, 9000))
    def allocate(self, number: int, size: int) -> None:
        self.both_files(number, lambda file: file.allocate(size))

    @precondition(lambda self: self.files)
    @rule(number=st.integers(0, 9), size=positions, position=positions)
    def read(self, number: int, size: int, position: int) -> None:
        def filled(file: File) -> bytes:
            buffer = bytearray(size)
            return bytes(buffer[: file.read_into(buffer, position)])

        self.both_files(number, lambda file: file.read(size, position))
        self.both_files(number, filled)

    @precondition(lambda self: self.files)
    @rule(number=st.integers(0, 9), position=positions)
    def sync_and_forget(self, number: int, position: int) -> None:
        self.both_files(number, lambda file: file.sync())
        self.both_files(number, lambda file: file.forget_cached(position))

    @precondition(lambda self: self.files)
    @rule(number=st.integers(0, 9))
    def close(self, number: int) -> None:
        self.both_files(number, lambda file: file.close())

    @invariant()
    def same_content(self) -> None:
        for number in range(len(self.files)):
            self.both_files(number, lambda file: file.read(20_000, 0))
        self.simulated.check()


TestTwoDisks = TwoDisks.TestCase
TestTwoDisks.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
