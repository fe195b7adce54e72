"""Zigzag varints, the integers inside a record: seven bits a byte, least significant first, the sign in bit 0.

Here are the two widths that a record uses, 32 bits ("varint": lengths, offset deltas, counts) and 64 ("varlong":
timestamp deltas). Not here: who calls them in a loop. `build.py` and `record.py` read the tables below in their own
inner loops, because a call costs more than the integer it decodes, and nearly every integer of a batch is below 8,192.

Invariants: one value has one spelling. Kafka's own decoder takes a padded varint (`80 00` for zero) and drops what
does not fit; here both are refused, so that a batch which was read and is written again has the same bytes, and two
readers cannot disagree on what it says.
"""

from typing import TypeAlias

from goqueue.core.errors import BatchError

Readable: TypeAlias = bytes | bytearray | memoryview

INT32_MAX = (1 << 31) - 1
INT64_MAX = (1 << 63) - 1


def _spell(zigzagged: int) -> bytes:
    spelled = bytearray()
    while zigzagged >= 0x80:
        spelled.append(zigzagged & 0x7F | 0x80)
        zigzagged >>= 7
    spelled.append(zigzagged)
    return bytes(spelled)


# All zigzagged integers that take one or two bytes, spelled; and what each of them means.
SPELLED: tuple[bytes, ...] = tuple(map(_spell, range(1 << 14)))
MEANT: tuple[int, ...] = tuple((zigzagged >> 1) ^ -(zigzagged & 1) for zigzagged in range(1 << 14))

# `SPELLED` for what is never negative: LENGTHS[n] is the varint of n, for n below LENGTHS_END.
LENGTHS: tuple[bytes, ...] = SPELLED[::2]
LENGTHS_END = len(LENGTHS)


def encode_varint(value: int) -> bytes:
    """The varint of a 32-bit integer."""
    zigzagged = value + value if value >= 0 else -value - value - 1
    if zigzagged < 1 << 14:
        return SPELLED[zigzagged]
    if zigzagged >> 32:
        raise BatchError("varint", f"{value} does not fit a varint of 32 bits.")
    return _spell(zigzagged)


def encode_varlong(value: int) -> bytes:
    """The varint of a 64-bit integer."""
    zigzagged = value + value if value >= 0 else -value - value - 1
    if zigzagged < 1 << 14:
        return SPELLED[zigzagged]
    if zigzagged >> 64:
        raise BatchError("varint", f"{value} does not fit a varint of 64 bits.")
    return _spell(zigzagged)


def decode_varint(buffer: Readable, position: int) -> tuple[int, int]:
    """The 32-bit integer spelled at `position`, and the position after it."""
    return _decode(buffer, position, 32)


def decode_varlong(buffer: Readable, position: int) -> tuple[int, int]:
    """The 64-bit integer spelled at `position`, and the position after it."""
    return _decode(buffer, position, 64)


def _decode(buffer: Readable, position: int, bits: int) -> tuple[int, int]:
    assert position >= 0
    at, shift, zigzagged = position, 0, 0
    try:
        while (byte := buffer[at]) >= 0x80:
            zigzagged |= (byte & 0x7F) << shift
            shift += 7
            at += 1
            if shift >= bits:
                raise BatchError("varint", f"A varint of {bits} bits goes on for too long.", position=position)
    except IndexError:
        raise BatchError("truncated", "The bytes end inside a varint.", position=position) from None
    zigzagged |= byte << shift
    if zigzagged >> bits:
        raise BatchError("varint", f"A varint does not fit {bits} bits.", position=position)
    if byte == 0 and shift:
        raise BatchError("varint", "A varint is padded with a zero byte.", position=position)
    return (zigzagged >> 1) ^ -(zigzagged & 1), at + 1
