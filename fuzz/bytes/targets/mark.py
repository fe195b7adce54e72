"""The synced mark, a few bytes that are believed or not.

Invariants, for any bytes as the file: it is read as a mark or as none, nothing is raised; a mark that is believed is
the one that those bytes are written for.
"""

from random import Random

from goqueue.core.log.effects import SyncToken
from goqueue.core.log.segment import segment_name
from goqueue.fuzz.bytes.sealing import seal_mark
from goqueue.fuzz.bytes.stream_files import Kind, StoredFile, store
from goqueue.fuzz.bytes.target import Havoc, Target
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.synced_mark import NO_MARK, encode_mark, read_mark

_FOLDER = "logs/orders/0"


def check(content: bytes) -> None:
    """All invariants, for `content` as a synced mark."""
    disk = SimulatedDisk()
    store(disk, _FOLDER, [StoredFile(Kind.SYNCED, 0, 0, content)])
    mark = read_mark(disk, _FOLDER)
    if mark != NO_MARK:
        token = SyncToken(mark.incarnation, mark.next_offset, segment_name(mark.base, mark.generation), mark.position)
        assert encode_mark(token) == content


def _seeds() -> list[bytes]:
    return [encode_mark(SyncToken(3, 99, segment_name(80, generation), 4096)) for generation in (0, 2)]


def _mutate(content: bytes, size_max: int, random: Random, havoc: Havoc) -> bytes:
    changed = havoc(content, size_max, random)
    return changed if random.random() < 0.2 else seal_mark(changed)


TARGET = Target("mark", check, _seeds, _mutate, size_max=64)
