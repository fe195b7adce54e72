"""The names of the simulated disk: folders of folders and inodes, as they are and as the platter has them.

Not paths, faults or errors of whole operations (`simulated.py`), nor bytes (`simulated_inode.py`).

Theory. A folder keeps two tables, `durable` and `entries`, and `pending`, the changes that turn the first into the
second. A change is a small table itself, name -> node or None, so that a rename is one change and never half of one. To
sync is to apply them all; a crash applies a prefix, for a journal keeps their order. Folders are independent of each
other, which is harsher than a journal for the whole disk, but all that POSIX promises.

Invariant: `durable` with all of `pending` applied equals `entries`.
"""

import errno
from collections.abc import Iterator
from random import Random
from typing import TypeAlias

from goqueue.storage.disk import path_parts
from goqueue.storage.simulated_faults import os_error
from goqueue.storage.simulated_inode import Chance, Digest, Inode

Node: TypeAlias = "Inode | Folder"
Entries: TypeAlias = dict[str, Node]
Names: TypeAlias = dict[str, "Inode | Folder | None"]


class Folder:
    """One folder; the root is one that nobody names."""

    __slots__ = ("durable", "entries", "pending")

    def __init__(self) -> None:
        self.durable: Entries = {}
        self.entries: Entries = {}
        self.pending: list[Names] = []

    def change(self, names: Names) -> None:
        """Gives names to nodes and takes away those of None, at once, not durable yet."""
        _apply(self.entries, names)
        self.pending.append(names)

    def sync(self) -> None:
        """Makes all names durable."""
        for names in self.pending:
            _apply(self.durable, names)
        self.pending.clear()

    def crash(self, random: Random, chance: Chance) -> None:
        """Keeps the durable names and a prefix of the changes since, and crashes whatever they name."""
        for names in self.pending[: round(len(self.pending) * chance())]:
            _apply(self.durable, names)
        self.pending.clear()
        self.entries = dict(self.durable)
        for name in sorted(self.entries):
            self.entries[name].crash(random, chance)

    def find(self, path: str) -> Node:
        """What is at `path` from here, or the error that a system call would raise."""
        node: Node = self
        for part in path_parts(path):
            if isinstance(node, Inode):
                raise os_error(errno.ENOTDIR, path)
            child = node.entries.get(part)
            if child is None:
                raise os_error(errno.ENOENT, path)
            node = child
        return node

    def find_durable(self, path: str) -> "Inode | Folder | None":
        """What would be at `path` if nothing that is not synced survived."""
        node: Inode | Folder | None = self
        for part in path_parts(path):
            if not isinstance(node, Folder):
                return None
            node = node.durable.get(part)
        return node

    def files(self, prefix: str = "") -> Iterator[tuple[str, Inode]]:
        """All files beneath with their paths, in the order of their names, folder by folder."""
        for name in sorted(self.entries):
            node = self.entries[name]
            if isinstance(node, Inode):
                yield prefix + name, node
            else:
                yield from node.files(f"{prefix}{name}/")

    def copy(self, copies: dict[int, Node]) -> "Folder":
        """The same tree of new nodes; `copies` remembers by id which node became which, as tables share them."""

        def copied(node: Node) -> Node:
            if id(node) not in copies:
                copies[id(node)] = node.copy() if isinstance(node, Inode) else node.copy(copies)
            return copies[id(node)]

        twin = Folder()
        twin.durable = {name: copied(node) for name, node in self.durable.items()}
        twin.entries = {name: copied(node) for name, node in self.entries.items()}
        twin.pending = [
            {name: None if node is None else copied(node) for name, node in names.items()} for names in self.pending
        ]
        return twin

    def digest_into(self, digest: Digest, seen: dict[int, int]) -> None:
        """Feeds all names and what they name; `seen` numbers nodes by id, in the order in which they are met."""
        tables: list[Entries | Names] = [self.durable, self.entries, *self.pending]
        for table in tables:
            digest.update(b"table %d " % len(table))
            for name in sorted(table):
                node = table[name]
                known = node is None or id(node) in seen
                number = -1 if node is None else seen.setdefault(id(node), len(seen))
                digest.update(repr((name, number, isinstance(node, Folder))).encode())
                if isinstance(node, Inode) and not known:
                    node.digest_into(digest)
                elif isinstance(node, Folder) and not known:
                    node.digest_into(digest, seen)

    def check(self) -> None:
        """Asserts the invariants of all tables and files beneath."""
        table = dict(self.durable)
        for names in self.pending:
            _apply(table, names)
        assert table == self.entries
        for node in self.entries.values():
            node.check()


def _apply(table: Entries, names: Names) -> None:
    for name, node in names.items():
        if node is None:
            del table[name]
        else:
            table[name] = node
