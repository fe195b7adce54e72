"""The files of one stream as one string of bytes: what a fuzzer changes, and how it comes to lie on a simulated disk.

Each file has a head (kind, base, generation, size) and its content; a size that reaches beyond the end means the rest.
So any bytes are some set of files, and most small changes change one file. Names that the product never gives are out
of reach, except for one that is unfinished.
"""

import struct
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from random import Random

from attrs import define, evolve

from goqueue.core.log.index import IndexKind
from goqueue.core.log.segment import parse_segment_name, segment_name
from goqueue.fuzz.bytes.batch_edits import change_segment, smaller_segment
from goqueue.fuzz.bytes.sealing import seal_batches, seal_checkpoint, seal_mark, seal_pages
from goqueue.fuzz.bytes.shrinking import without_runs
from goqueue.fuzz.bytes.target import Havoc
from goqueue.storage.disk import Disk
from goqueue.storage.layout import (
    CHECKPOINT_FILE,
    INDEX_ENDINGS,
    LOG_ENDING,
    SYNCED_FILE,
    UNFINISHED_ENDING,
)

_HEAD = struct.Struct(">BHBH")
_CONTENT_BYTES_MAX = 0xFFFF
_GENERATIONS = 4


class Kind(IntEnum):
    """What a file of a stream holds."""

    LOG = 0
    OFFSETS = 1
    TIMES = 2
    CHECKPOINT = 3
    SYNCED = 4
    UNFINISHED = 5


_ENDINGS = {
    Kind.LOG: LOG_ENDING,
    Kind.OFFSETS: INDEX_ENDINGS[IndexKind.OFFSET],
    Kind.TIMES: INDEX_ENDINGS[IndexKind.TIME],
}
_NAMES = {
    Kind.CHECKPOINT: CHECKPOINT_FILE,
    Kind.SYNCED: SYNCED_FILE,
    Kind.UNFINISHED: CHECKPOINT_FILE + UNFINISHED_ENDING,
}
_SEALS: dict[Kind, Callable[[bytes], bytes]] = {
    Kind.LOG: seal_batches,
    Kind.OFFSETS: seal_pages,
    Kind.TIMES: seal_pages,
    Kind.CHECKPOINT: seal_checkpoint,
    Kind.SYNCED: seal_mark,
}


@define
class StoredFile:
    """One file; `base` and `generation` count only where the name has them."""

    kind: Kind
    base: int
    generation: int
    content: bytes

    @classmethod
    def log(cls, base: int, content: bytes) -> "StoredFile":
        """The log file of a segment as appended."""
        return cls(Kind.LOG, base, 0, content)

    @property
    def name(self) -> str:
        """The file's name in its folder."""
        ending = _ENDINGS.get(self.kind)
        return _NAMES[self.kind] if ending is None else segment_name(self.base, self.generation) + ending

    def sealed(self) -> "StoredFile":
        """The same with its checksums right."""
        seal = _SEALS.get(self.kind)
        return self if seal is None else evolve(self, content=seal(self.content))


def pack(files: Iterable[StoredFile]) -> bytes:
    """All files in one string of bytes."""
    parts = []
    for file in files:
        assert len(file.content) <= _CONTENT_BYTES_MAX
        parts += [_HEAD.pack(file.kind, file.base, file.generation, len(file.content)), file.content]
    return b"".join(parts)


def unpack(content: bytes) -> list[StoredFile]:
    """The files that any bytes stand for; of two with the same name the later one counts."""
    files: dict[str, StoredFile] = {}
    at = 0
    while at + _HEAD.size <= len(content):
        kind, base, generation, size = _HEAD.unpack_from(content, at)
        at += _HEAD.size
        file = StoredFile(Kind(kind % len(Kind)), base, generation % _GENERATIONS, content[at : at + size])
        files[file.name] = file
        at += size
    return list(files.values())


def stored_files(disk: Disk, folder: str) -> Iterator[StoredFile]:
    """The files that a folder holds, those that have a kind."""
    kinds = {name: kind for kind, name in _NAMES.items()} | {ending: kind for kind, ending in _ENDINGS.items()}
    for name in disk.names(folder):
        segment, dot, ending = name.rpartition(".")
        kind = kinds.get(name, kinds.get(dot + ending))
        if kind is not None:
            file = disk.open(f"{folder}/{name}", read_only=True)
            base, generation = parse_segment_name(segment) or (0, 0)
            yield StoredFile(kind, base, generation, file.read(file.size(), 0))
            file.close()


def store(disk: Disk, folder: str, files: Iterable[StoredFile]) -> None:
    """Put the files into a folder, durably."""
    disk.make_folder(folder)
    for stored in files:
        file = disk.open(f"{folder}/{stored.name}", create=True)
        file.write([stored.content], 0)
        file.sync()
        file.close()
    disk.sync_folder(folder)


def mutate_files(content: bytes, size_max: int, random: Random, havoc: Havoc) -> bytes:
    """Change one file, its place or the set of them, most often with checksums put right."""
    files = unpack(content)
    if not files or random.random() < 0.05:
        return havoc(content, size_max, random)
    at = random.randrange(len(files))
    draw = random.random()
    if draw < 0.05:
        del files[at]
    elif draw < 0.1:
        files.append(evolve(files[at], kind=Kind(random.randrange(len(Kind)))))
    elif draw < 0.2:
        files[at] = evolve(files[at], base=_near(files, random), generation=random.choice((0, 0, 0, 1, 2)))
    else:
        files[at] = _changed(files[at], random, havoc)
    mutated = pack(files)
    return mutated if len(mutated) <= size_max else havoc(content, size_max, random)


def smaller_files(content: bytes) -> Iterator[bytes]:
    """The files without one of them, or with less in one."""
    files = unpack(content)
    for at in range(len(files)):
        yield pack([*files[:at], *files[at + 1 :]])
    for at, file in enumerate(files):
        shorten = smaller_segment if file.kind is Kind.LOG else without_runs
        for shorter in shorten(file.content):
            for changed in (evolve(file, content=shorter).sealed(), evolve(file, content=shorter)):
                yield pack([*files[:at], changed, *files[at + 1 :]])


def _near(files: list[StoredFile], random: Random) -> int:
    return min(max(random.choice(files).base + random.choice((-1, 0, 0, 1, 5)), 0), 0xFFFF)


def _changed(file: StoredFile, random: Random, havoc: Havoc) -> StoredFile:
    if file.kind is Kind.LOG:
        changed = change_segment(file.content, _CONTENT_BYTES_MAX, random, havoc)
    else:
        changed = havoc(file.content, _CONTENT_BYTES_MAX, random)
    mutated = evolve(file, content=changed[:_CONTENT_BYTES_MAX])
    return mutated if random.random() < 0.3 else mutated.sealed()
