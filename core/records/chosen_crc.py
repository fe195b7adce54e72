"""Four bytes that give some bytes a certain CRC-32C: the CRC is linear, so there are always four, and just four."""

_MASK = 0xFFFFFFFF
_POLYNOMIAL = 0x82F63B78
CHOSEN_BYTES = 4


def _forward_table() -> list[int]:
    table = list(range(256))
    for _ in range(8):
        table = [entry >> 1 ^ (_POLYNOMIAL if entry & 1 else 0) for entry in table]
    return table


# What a byte adds to the register, and which byte it was, told by the register's top byte after it.
_FORWARD = _forward_table()
_BACKWARD = {entry >> 24: byte for byte, entry in enumerate(_FORWARD)}


def chosen(before: int, wanted: int, zeros: int = 0) -> bytes:
    """The bytes that make the CRC `wanted` of one that was `before`, with so many zeros behind them."""
    register = wanted ^ _MASK
    # Back over the zeros at the end, and over the bytes that are chosen.
    for _ in range(zeros + CHOSEN_BYTES):
        byte = _BACKWARD[register >> 24]
        register = (register ^ _FORWARD[byte]) << 8 & _MASK | byte
    return (register ^ before ^ _MASK).to_bytes(CHOSEN_BYTES, "little")
