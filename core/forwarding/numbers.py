"""Numbers under which requests are carried out here though no client of this node and no room asked for it.

    below 0                   a room's wish
    below 1 << 59             the driver's, for a client
    1 << 60 and above         a request that another node has passed on
    1 << 61 and above         a request that is looked after here (`dispatch.py`), or a part of it

In the last two, bit 59 says that it began as the wish of a room, here or on the other node.
"""

_OWN = 1 << 59
FORWARDED = 1 << 60
PARTS = 1 << 61


def is_own(to: int) -> bool:
    """Whether the broker itself is asking, which may write what is its own."""
    return to < 0 or bool(to & _OWN)


def forwarded(count: int, *, own: bool) -> int:
    """The number of a request that another node has passed on."""
    assert 0 < count < _OWN
    return FORWARDED + count + (_OWN if own else 0)


def part(count: int, *, own: bool) -> int:
    """The number of a part of a request that is looked after here."""
    assert 0 < count < _OWN
    return PARTS + count + (_OWN if own else 0)
