"""Which partition a message goes to, from its key or without one.

`murmur2` agrees with Kafka's Java and Python clients, so that a key keeps its partition when a producer changes
sides. The other hashes spread as well and are cheaper here. A message without a key goes where the last one went until
the batch is written, then to the next partition: that makes large batches. `sticky` treats all messages like that, and
`round_robin` sends each to the next partition; neither looks at keys.
"""

import zlib
from collections.abc import Callable

import mmh3

from goqueue.core.records.varint import Readable

_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(key: Readable) -> int:
    """Kafka's hash of a key, made positive as Kafka does."""
    content, length = bytes(key), len(key)
    h = (0x9747B28C ^ length) & _MASK
    for at in range(0, length - 3, 4):
        k = int.from_bytes(content[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    rest = content[length & ~3 :]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return (h ^ h >> 15) & 0x7FFFFFFF


def murmur3(key: Readable) -> int:
    """The 32-bit MurmurHash3 of a key."""
    return mmh3.hash(bytes(key), signed=False)


def crc32(key: Readable) -> int:
    """The CRC-32 of a key."""
    return zlib.crc32(key)


_HASHES: dict[str, Callable[[Readable], int]] = {"murmur2": murmur2, "murmur3": murmur3, "crc32": crc32}


class Partitioner:
    """The choice for one topic."""

    __slots__ = ("_count", "_hash", "_is_chosen", "_is_sticky", "_keyed_count", "_next")

    def __init__(self, name: str, count: int, keyed_count: int = 0) -> None:
        assert count > 0
        # Keys go to the first so many partitions, so that they stay where they are when others are added.
        self._keyed_count = min(keyed_count, count) or count
        self._hash = _HASHES.get(name)
        self._is_sticky = name != "round_robin"
        self._count = count
        self._next = 0
        self._is_chosen = False

    def choose(self, key: Readable | None) -> int:
        """The partition of a message with this key."""
        if key is not None and self._hash is not None:
            return self._hash(key) % self._keyed_count
        chosen = self._next
        if self._is_sticky:
            self._is_chosen = True
        else:
            self._next = (chosen + 1) % self._count
        return chosen

    def turn(self) -> None:
        """A batch was written: messages without a key go to the next partition from here on."""
        if self._is_chosen:
            self._is_chosen = False
            self._next = (self._next + 1) % self._count
