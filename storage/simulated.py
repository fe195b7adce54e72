"""A disk in memory that keeps the contract of `disk.py` to the letter and not a word more.

It crashes, loses what was not synced in every way a real one may, fails, fills up, rots and is slow, all from a seed:
the same seed and the same calls have the same outcome. Bytes and what a crash leaves of them are in
`simulated_inode.py`, names in `simulated_folder.py`, ordered failures in `simulated_faults.py`.

Time does not exist here. The driver that owns the clock asks `latency` how long an operation would have taken, and may
split a sync with `begin_sync` and `finish_sync`, so that writes, or a crash, come between.

A machine's life ends by `crash` (the power goes) or `kill` (the process goes, the system stays); the disk is then ready
for the next one. Files of an earlier life may be closed, and locks released; all else raises DeadFile.

As on a real disk reads, syncs and closes may run in other threads beside one that writes; but what is drawn from the
seed is then in the hands of the scheduler. Everything else is for the driver's thread.
"""

import errno
import hashlib
from collections.abc import Sequence
from random import Random
from threading import Lock

import attrs

from goqueue.storage.disk import Buffer, DiskLocked, WritableBuffer, folder_and_name, path_parts
from goqueue.storage.simulated_faults import UNBOUNDED_BYTES, Conditions, Faults, os_error
from goqueue.storage.simulated_folder import Folder
from goqueue.storage.simulated_inode import Inode

NAME_BYTES_MAX = 255


class DeadFile(RuntimeError):
    """A file was used that belongs to a process that is no more: a fault of the simulation, never of the disk."""


class SimulatedFile:
    """An open file of a SimulatedDisk."""

    __slots__ = ("_disk", "_inode", "_life", "_open", "_read_only", "path")

    def __init__(self, disk: "SimulatedDisk", path: str, inode: Inode, read_only: bool) -> None:
        self.path = path
        self._disk = disk
        self._inode = inode
        self._life = disk.life
        self._open = True
        self._read_only = read_only
        disk.retain(inode)

    def write(self, buffers: Sequence[Buffer], position: int) -> int:
        """Writes all buffers at `position`; an ordered failure leaves some prefix, a full disk what fits."""
        inode = self._usable(errno.EBADF)
        content = b"".join(buffers)
        if not content:
            return 0
        error = self._disk.failure("write", self.path)
        if error:
            content = content[: self._disk.luck.randint(0, len(content))]
        size = len(inode.content)
        lacking = position + len(content) - size - self._disk.free_bytes()
        if lacking > 0:
            error = error or os_error(errno.ENOSPC, self.path)
            content = content[: max(0, len(content) - lacking)]
        if content:
            inode.write(position, content)
            self._disk.charge(len(inode.content) - size)
        if error:
            try:
                raise error
            finally:
                del error
        return len(content)

    def read_into(self, buffer: WritableBuffer, position: int) -> int:
        """Fills `buffer` from `position`, and so brings it into memory."""
        content = self.read(len(buffer), position)
        buffer[: len(content)] = content
        return len(content)

    def read_cached_into(self, buffer: WritableBuffer, position: int) -> int | None:
        """Fills `buffer` unless any of it is cold, or chance has it so."""
        inode = self._usable()
        self._disk.operations += 1
        content = inode.content[position : position + len(buffer)]
        if not inode.is_warm(position, position + len(content)) or self._disk.is_cold():
            return None
        buffer[: len(content)] = content
        return len(content)

    def read(self, size: int, position: int) -> bytes:
        """Up to `size` bytes from `position`, which are then in memory."""
        inode = self._usable()
        self._disk.attempt("read", self.path)
        content = bytes(inode.content[position : position + size])
        inode.warm(position, position + len(content))
        return content

    def size(self) -> int:
        """The file's length in bytes."""
        return len(self._usable().content)

    def truncate(self, size: int) -> None:
        """Cuts the file, or grows it with zeros, for which a full disk always has room."""
        inode = self._usable(errno.EINVAL)
        self._disk.attempt("truncate", self.path)
        self._resize(inode, size)

    def allocate(self, size: int) -> None:
        """Grows the file to `size`, or part of the way when the disk is full, or not at all if it does not reserve."""
        inode = self._usable(errno.EBADF)
        self._disk.attempt("allocate", self.path)
        growth = size - len(inode.content)
        if growth <= 0 or not self._disk.conditions.reserves:
            return
        room = self._disk.free_bytes()
        if growth > room:
            self._resize(inode, len(inode.content) + self._disk.luck.randint(0, room))
            raise os_error(errno.ENOSPC, self.path)
        self._resize(inode, size)

    def sync(self) -> None:
        """Makes everything written so far durable."""
        self.finish_sync(self.begin_sync())

    def begin_sync(self) -> int:
        """Starts a sync that covers exactly what was written until here; the token is for `finish_sync`."""
        inode = self._usable()
        self._disk.operations += 1
        return inode.begin_sync()

    def finish_sync(self, token: int) -> None:
        """Makes durable what the sync covers; or fails, and it never will be, though seen until the cache drops it."""
        inode = self._usable()
        error = self._disk.faults.failure("sync", self.path)
        if error:
            inode.fail_sync(token)
            try:
                raise error
            finally:
                del error
        inode.finish_sync(token)

    def forget_cached(self, position: int) -> None:
        """Makes the pages from `position` cold."""
        self._usable().forget_cached(position)

    def close(self) -> None:
        """Gives the file back; the last close of a removed file gives its room back."""
        if self._open and self._life == self._disk.life:
            self._disk.release(self._inode)
        self._open = False

    def _usable(self, refusal_of_writes: int = 0) -> Inode:
        """The inode, unless this file is dead, closed, or only for reading and about to be written."""
        if self._life != self._disk.life:
            raise DeadFile(f"{self.path} was opened by a process that has crashed or was killed since")
        if not self._open:
            raise os_error(errno.EBADF, self.path)
        if refusal_of_writes and self._read_only:
            raise os_error(refusal_of_writes, self.path)
        return self._inode

    def _resize(self, inode: Inode, size: int) -> None:
        self._disk.charge(size - len(inode.content))
        inode.resize(size)


class SimulatedLock:
    """A lock file held."""

    __slots__ = ("_inode",)

    def __init__(self, inode: Inode) -> None:
        self._inode = inode
        inode.lock_owner = self

    def release(self) -> None:
        """Lets the next one in."""
        if self._inode.lock_owner is self:
            self._inode.lock_owner = None


class SimulatedDisk:
    """A Disk in memory, with its faults and fates drawn from a seed.

    Room is counted by the length of files, holes included; `life` counts the processes that had this disk, from 1 on,
    and serves as their process number.
    """

    def __init__(self, seed: int | Random = 0, conditions: Conditions | None = None) -> None:
        self.conditions = conditions or Conditions()
        self.operations = 0
        self.used_bytes = 0
        self.life = 1
        self._counting = Lock()
        self._root = Folder()
        self._draw_from(seed)

    def _draw_from(self, seed: int | Random) -> None:
        source = seed if isinstance(seed, Random) else Random(seed)  # noqa: S311
        streams = [Random(source.getrandbits(64)) for _ in range(5)]  # noqa: S311
        self.luck, self._fate, self._cold, self._slowness, orders = streams
        self.faults = Faults(orders)

    def open(self, path: str, *, create: bool = False, read_only: bool = False) -> SimulatedFile:
        """Opens a file, or makes it."""
        assert not (create and read_only)
        self.attempt("open", path)
        return SimulatedFile(self, path, self._inode(path, create=create), read_only)

    def exists(self, path: str) -> bool:
        """Whether anything has that name."""
        return self._find_or_none(path) is not None

    def is_folder(self, path: str) -> bool:
        """Whether a folder has that name."""
        return isinstance(self._find_or_none(path), Folder)

    def make_folder(self, path: str) -> None:
        """Makes the folder and those above it, durably."""
        parts = path_parts(path)
        self.attempt("make_folder", path)
        for depth in range(len(parts)):
            parent, child = "/".join(parts[:depth]), "/".join(parts[: depth + 1])
            node = self._find_or_none(child)
            if isinstance(node, Inode):
                raise os_error(errno.EEXIST, child)
            if node is None:
                self._require_room_for_name(child)
                self._folder(parent).change({parts[depth]: Folder()})
            self.sync_folder(parent)

    def names(self, path: str) -> list[str]:
        """The names in a folder, sorted."""
        self.attempt("names", path)
        return sorted(self._folder(path).entries)

    def rename(self, old: str, new: str) -> None:
        """Moves a name within its folder."""
        folder_path, old_name = folder_and_name(old)
        new_folder_path, new_name = folder_and_name(new)
        self.attempt("rename", old)
        if new_folder_path != folder_path:
            raise os_error(errno.EXDEV, old, new)
        folder = self._folder(folder_path)
        node = self._root.find(old)
        target = folder.entries.get(new_name)
        if target is node:
            return
        if target is not None and isinstance(node, Folder) != isinstance(target, Folder):
            raise os_error(errno.ENOTDIR if isinstance(node, Folder) else errno.EISDIR, old, new)
        if isinstance(target, Folder) and target.entries:
            raise os_error(errno.ENOTEMPTY, old, new)
        if target is None:
            self._require_short(new)
        folder.change({old_name: None, new_name: node})
        if isinstance(target, Inode):
            self._unlink(target)

    def remove(self, path: str) -> None:
        """Removes a file's name."""
        folder_path, name = folder_and_name(path)
        self.attempt("remove", path)
        node = self._root.find(path)
        if not isinstance(node, Inode):
            raise os_error(errno.EISDIR, path)
        self._folder(folder_path).change({name: None})
        self._unlink(node)

    def remove_folder(self, path: str) -> None:
        """Removes an empty folder."""
        folder_path, name = folder_and_name(path)
        self.attempt("remove_folder", path)
        if self._folder(path).entries:
            raise os_error(errno.ENOTEMPTY, path)
        self._folder(folder_path).change({name: None})

    def sync_folder(self, path: str) -> None:
        """Makes the names in a folder durable; when it fails they may or may not become so."""
        folder = self._folder(path)
        self.attempt("sync_folder", path)
        folder.sync()

    def lock(self, path: str) -> SimulatedLock:
        """Takes the lock file, or raises DiskLocked with what its owner wrote into it."""
        self.attempt("lock", path)
        inode = self._inode(path, create=True)
        if inode.lock_owner is not None:
            text = bytes(inode.content).strip()
            raise DiskLocked(folder_and_name(path)[0] or ".", int(text) if text.isdigit() else None)
        text = b"%d\n" % self.life
        self.charge(-len(inode.content))
        inode.resize(0)
        if self.free_bytes() >= len(text):
            inode.write(0, text)
            self.charge(len(text))
        return SimulatedLock(inode)

    def free_bytes(self, path: str = "") -> int:
        """The room left of the capacity."""
        if path:
            self._root.find(path)
        capacity = self.conditions.capacity_bytes
        return UNBOUNDED_BYTES if capacity is None else max(0, capacity - self.used_bytes)

    def crash(self, survives: float | None = None) -> None:
        """The power goes: what was not synced is lost, except what survives; all open files are dead.

        What survives is drawn from the seed, or with `survives` nothing of it (0.0), all (1.0), or a share.
        """
        # The two plain outcomes are worth more runs than chance would give them, the first one for the whole disk.
        if survives is None and self._fate.random() < 0.2:
            survives = 0.0
        fate = self._fate

        def chance() -> float:
            return fate.choice((0.0, 1.0, fate.random())) if survives is None else survives

        self._root.crash(fate, chance)
        self.kill()

    def kill(self) -> None:
        """The process goes and the system stays: nothing is lost, but all open files are dead and locks are free."""
        self.life += 1
        self.used_bytes = 0
        for _, inode in self._root.files():
            inode.handles = 0
            inode.linked = True
            inode.lock_owner = None
            self.used_bytes += len(inode.content)

    def empty(self) -> None:
        """Another disk, with nothing on it, takes the place of this one."""
        self._root = Folder()
        self.kill()

    def evict(self, path: str) -> None:
        """Drops what is cached of a file."""
        self._require_inode(path).forget_cached(0)

    def fail_next(self, operation: str, number: int, path_prefix: str = "", after: int = 0) -> None:
        """Fails one operation with errno `number`: the next on such a path, or that after `after` more of them."""
        self.faults.fail_next(operation, number, path_prefix, after)

    def fail_rate(self, operation: str, probability: float, number: int = errno.EIO, path_prefix: str = "") -> None:
        """Fails operations by chance, until set to another probability; one rate an operation."""
        self.faults.fail_rate(operation, probability, number, path_prefix)

    def rot(self, path: str, position: int, bit: int) -> None:
        """Flips one bit of what is durable; reads see it unless an unsynced write covers it."""
        self._require_inode(path).rot(position, bit)

    def rot_some(self, count: int = 1, path_prefix: str = "") -> list[tuple[str, int, int]]:
        """Flips `count` bits, each in a file drawn from those with durable bytes: (path, position, bit) of each."""
        files = [(path, inode) for path, inode in self._root.files() if inode.durable and path.startswith(path_prefix)]
        flipped = []
        for _ in range(count if files else 0):
            path, inode = self._fate.choice(files)
            position, bit = self._fate.randrange(len(inode.durable)), self._fate.randrange(8)
            inode.rot(position, bit)
            flipped.append((path, position, bit))
        return flipped

    def latency(self, operation: str) -> int:
        """How many nanoseconds the driver should let such an operation take."""
        conditions, slowness = self.conditions, self._slowness
        typical_ns = conditions.typical_ns(operation)
        if slowness.random() < conditions.p_slow:
            return slowness.randint(typical_ns, max(typical_ns, conditions.slow_ns))
        return slowness.randint(typical_ns // 2, typical_ns * 3 // 2)

    def durable_bytes(self, path: str, position: int = 0) -> bytes:
        """What would be at `path` if the power went and nothing that is not synced survived; ENOENT when no file is."""
        node = self._root.find_durable(path)
        if not isinstance(node, Inode):
            raise os_error(errno.ENOENT, path)
        return bytes(node.durable[position:])

    def seen_bytes(self, path: str, position: int = 0) -> bytes:
        """What a read at `path` would bring, durable or not, without being one; nothing where no file is."""
        node = self._find_or_none(path)
        return bytes(node.content[position:]) if isinstance(node, Inode) else b""

    def paths(self) -> list[str]:
        """The paths of all files."""
        return [path for path, _ in self._root.files()]

    def copy(self, seed: int | Random | None = None) -> "SimulatedDisk":
        """This disk as after `kill`, to try what may come: its crash goes as here, or as `seed` has it.

        Ordered failures are not copied.
        """
        twin = SimulatedDisk(0, attrs.evolve(self.conditions))
        if seed is None:
            twin.luck.setstate(self.luck.getstate())
            twin._fate.setstate(self._fate.getstate())
            twin._cold.setstate(self._cold.getstate())
            twin._slowness.setstate(self._slowness.getstate())
        else:
            twin._draw_from(seed)
        twin._root = self._root.copy({})
        twin.operations = self.operations
        twin.life = self.life
        twin.kill()
        return twin

    def fingerprint(self) -> str:
        """A digest of all names and bytes, durable or not: equal states of equal histories have equal ones."""
        digest = hashlib.blake2b(repr((self.operations, self.used_bytes, self.life)).encode(), digest_size=16)
        self._root.digest_into(digest, {})
        return digest.hexdigest()

    def check(self) -> None:
        """Asserts the invariants; linear in all there is."""
        self._root.check()
        assert self.used_bytes >= sum(len(inode.content) for _, inode in self._root.files())

    def failure(self, operation: str, path: str) -> OSError | None:
        """Counts an operation and returns the error that it has to meet; for files of this disk."""
        self.operations += 1
        return self.faults.failure(operation, path)

    def attempt(self, operation: str, path: str) -> None:
        """The same, for operations that leave nothing when they fail."""
        error = self.failure(operation, path)
        if error:
            try:
                raise error
            finally:
                # A frame that holds the error it raised waits for the collector, and with it the files its callers
                # have open: when their room is free again would not depend on the seed alone.
                del error

    def is_cold(self) -> bool:
        """Draws whether a read meets a page that is not in memory."""
        p_cold = self.conditions.p_cold
        return p_cold > 0.0 and self._cold.random() < p_cold

    def charge(self, growth: int) -> None:
        """Counts room taken by a file, or given back."""
        with self._counting:
            self.used_bytes += growth

    def retain(self, inode: Inode) -> None:
        """Counts a reader of a file."""
        with self._counting:
            inode.handles += 1

    def release(self, inode: Inode) -> None:
        """Counts it off; the room of a removed file comes back with the last one."""
        with self._counting:
            inode.handles -= 1
            assert inode.handles >= 0
            if not inode.linked and not inode.handles:
                self.used_bytes -= len(inode.content)

    def _unlink(self, inode: Inode) -> None:
        self.retain(inode)
        inode.linked = False
        self.release(inode)

    def _inode(self, path: str, *, create: bool) -> Inode:
        """The file at `path`, made if wanted."""
        if not create or self._find_or_none(path) is not None:
            return self._require_inode(path)
        folder_path, name = folder_and_name(path)
        folder = self._folder(folder_path)
        self.attempt("create", path)
        self._require_room_for_name(path)
        inode = Inode()
        folder.change({name: inode})
        return inode

    def _require_inode(self, path: str) -> Inode:
        node = self._root.find(path)
        if not isinstance(node, Inode):
            raise os_error(errno.EISDIR, path)
        return node

    def _folder(self, path: str) -> Folder:
        node = self._root.find(path)
        if not isinstance(node, Folder):
            raise os_error(errno.ENOTDIR, path)
        return node

    def _find_or_none(self, path: str) -> Inode | Folder | None:
        try:
            return self._root.find(path)
        except OSError:
            return None

    def _require_room_for_name(self, path: str) -> None:
        self._require_short(path)
        if not self.free_bytes():
            raise os_error(errno.ENOSPC, path)

    def _require_short(self, path: str) -> None:
        if len(path.rpartition("/")[2].encode()) > NAME_BYTES_MAX:
            raise os_error(errno.ENAMETOOLONG, path)
