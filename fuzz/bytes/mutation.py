"""Mutations that know nothing of the format, drawn from a seeded generator: libFuzzer's part where there is none.

Each is one edit of the kind that finds parsers out: a bit, a number at an edge, bytes that appear, vanish or repeat.
The same generator gives the same mutation, on any machine.
"""

from collections.abc import Callable
from random import Random

_RUN_BYTES_MAX = 32
_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, (1 << 63) - 1)


def havoc(content: bytes, size_max: int, random: Random) -> bytes:
    """`content` after one to four edits, cut to `size_max` bytes."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        if changed:
            random.choice(_EDITS)(changed, random)
        else:
            _insert(changed, random)
    return bytes(changed[:size_max])


def edge_number(random: Random, size: int) -> bytes:
    """An integer of `size` bytes near an edge of some width, in either byte order."""
    number = random.choice(_NUMBERS) + random.choice((-1, 0, 0, 0, 1))
    return (number & ((1 << 8 * size) - 1)).to_bytes(size, random.choice(("big", "little")))


def _run(changed: bytearray, random: Random) -> slice:
    start = random.randrange(len(changed))
    return slice(start, start + random.randint(1, _RUN_BYTES_MAX))


def _flip(changed: bytearray, random: Random) -> None:
    changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)


def _set(changed: bytearray, random: Random) -> None:
    changed[random.randrange(len(changed))] = random.randrange(256)


def _step(changed: bytearray, random: Random) -> None:
    at = random.randrange(len(changed))
    changed[at] = (changed[at] + random.choice((-2, -1, 1, 2))) & 0xFF


def _number(changed: bytearray, random: Random) -> None:
    size = random.choice((1, 2, 4, 8))
    at = random.randrange(len(changed))
    changed[at : at + size] = edge_number(random, size)


def _insert(changed: bytearray, random: Random) -> None:
    at = random.randint(0, len(changed))
    size = random.choice((1, 1, 2, 4, 8, _RUN_BYTES_MAX))
    changed[at:at] = random.choice((random.randbytes(size), bytes(size), edge_number(random, size)))


def _remove(changed: bytearray, random: Random) -> None:
    del changed[_run(changed, random)]


def _repeat(changed: bytearray, random: Random) -> None:
    run = _run(changed, random)
    at = random.randint(0, len(changed))
    changed[at:at] = changed[run]


def _move(changed: bytearray, random: Random) -> None:
    run = _run(changed, random)
    at = random.randrange(len(changed))
    piece = changed[run]
    changed[at : at + len(piece)] = piece


def _blank(changed: bytearray, random: Random) -> None:
    run = _run(changed, random)
    changed[run] = bytes(len(changed[run]))


def _cut(changed: bytearray, random: Random) -> None:
    del changed[random.randrange(len(changed)) :]


_EDITS: tuple[Callable[[bytearray, Random], None], ...] = (
    _flip,
    _flip,
    _set,
    _step,
    _number,
    _insert,
    _remove,
    _repeat,
    _move,
    _blank,
    _cut,
)
