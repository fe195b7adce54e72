"""Which partition each row goes to, for many rows at once, and the same for every attempt at them.

A key goes where every client sends it: the topic's hash is the broker's own, and `murmur2`, which is written in Python
there, is done here for all keys of a length in one step. Rows without a key go to one partition until as many bytes as
a batch holds are together, then to the next. Where the client library begins at a random partition, a task begins at
the one of its own number, since an attempt that is made again must come to the same choice.

Invariant: what is chosen depends on the rows, their order and the task, and not on how they were cut into pieces.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import define

from goqueue.core.client.routing import KEYLESS, ROUND_ROBIN, Layout
from goqueue.core.partition.partitioners import Partitioner

Integers = npt.NDArray[np.int64]

_M = np.uint32(0x5BD1E995)
_SEED = 0x9747B28C
_MURMUR2 = "murmur2"


@define
class Chooser:
    """The choice for one topic and one task."""

    layout: Layout
    task: int
    run_bytes: int
    _rows: int = 0
    _bytes: int = 0

    def choose(self, keys: pa.Array | None, sizes: Integers) -> Integers:
        """The partition of each row; `sizes` are what the rows take in a batch."""
        count = len(self.layout.leaders)
        if self.layout.partitioner == ROUND_ROBIN:
            chosen = (self.task + self._rows + np.arange(len(sizes), dtype=np.int64)) % count
            self._rows += len(sizes)
            return chosen
        if keys is None or self.layout.partitioner in KEYLESS or keys.null_count == len(keys):
            return self._in_turn(sizes)
        keyed = np.asarray(keys.is_valid())
        chosen = np.empty(len(sizes), np.int64)
        chosen[keyed] = self._hashed(keys.drop_null() if keys.null_count else keys)
        if keys.null_count:
            chosen[~keyed] = self._in_turn(sizes[~keyed])
        return chosen

    def _in_turn(self, sizes: Integers) -> Integers:
        ends = np.cumsum(sizes) + self._bytes
        turns = (ends - sizes) // self.run_bytes
        self._bytes = int(ends[-1]) if len(ends) else self._bytes
        return (self.task + turns) % len(self.layout.leaders)

    def _hashed(self, keys: pa.Array) -> Integers:
        count = len(self.layout.leaders)
        if self.layout.partitioner == _MURMUR2:
            among = min(self.layout.key_partitions, count) or count
            return murmur2(keys).astype(np.int64) % among
        choose: Callable[[bytes], int] = Partitioner(self.layout.partitioner, count, self.layout.key_partitions).choose
        return np.fromiter(map(choose, keys.to_pylist()), np.int64, len(keys))


def murmur2(keys: pa.Array) -> npt.NDArray[np.uint32]:
    """Kafka's hash of each key of a binary array without nulls, as `core.partition.partitioners.murmur2` has it."""
    octets, borders = _content(keys)
    begins, lengths = borders[:-1], np.diff(borders)
    hashes = np.empty(len(keys), np.uint32)
    for length in np.unique(lengths):
        of_length = np.flatnonzero(lengths == length)
        places = begins[of_length, None] + np.arange(length)
        hashes[of_length] = _murmur2_of(octets[places], int(length))
    return hashes


def _content(keys: pa.Array) -> tuple[npt.NDArray[np.uint8], Integers]:
    """The bytes of all keys in one piece, and where each begins."""
    _, borders, content = keys.buffers()
    wide = np.int64 if pa.types.is_large_binary(keys.type) else np.int32
    begins = np.frombuffer(borders, wide)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    octets = np.frombuffer(content, np.uint8) if content is not None else np.empty(0, np.uint8)
    return octets, begins


def _murmur2_of(keys: npt.NDArray[np.uint8], length: int) -> npt.NDArray[np.uint32]:
    """The hash of keys of one length, one a row."""
    hashes = np.full(len(keys), (_SEED ^ length) & 0xFFFFFFFF, np.uint32)
    whole = length & ~3
    for at in range(0, whole, 4):
        words = np.ascontiguousarray(keys[:, at : at + 4]).view("<u4")[:, 0] * _M
        words = (words ^ (words >> np.uint32(24))) * _M
        hashes = (hashes * _M) ^ words
    if length > whole:
        rest = np.zeros(len(keys), np.uint32)
        for place, at in enumerate(range(whole, length)):
            rest |= keys[:, at].astype(np.uint32) << np.uint32(8 * place)
        hashes = (hashes ^ rest) * _M
    hashes = (hashes ^ (hashes >> np.uint32(13))) * _M
    return (hashes ^ (hashes >> np.uint32(15))) & np.uint32(0x7FFFFFFF)
