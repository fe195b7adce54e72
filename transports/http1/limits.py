"""What a connection may take, and how much of it all of them together."""

from attrs import define

SECOND_NS = 1_000_000_000


@define(frozen=True)
class Http1Limits:
    """Bounds of one connection; times in nanoseconds.

    A head must be complete `head_ns` after its first byte. A body, and an answer that is taken, may last `body_ns` and
    then as long as `rate_min` bytes a second need, so neither a drop every minute nor a large upload is cut wrongly.
    """

    head_bytes_max: int = 32 << 10
    line_bytes_max: int = 16 << 10
    header_count_max: int = 100
    body_bytes_max: int = 32 << 20
    read_bytes: int = 256 << 10
    output_bytes: int = 64 << 10
    idle_ns: int = 75 * SECOND_NS
    head_ns: int = 10 * SECOND_NS
    body_ns: int = 30 * SECOND_NS
    rate_min: int = 16 << 10


class Room:
    """Bytes in flight of all connections together: bodies on their way in, answers on their way out.

    Answers are counted when they are there already, so `used` may pass the bound; no body is
    taken in until it is below.
    """

    __slots__ = ("bytes_max", "used")

    def __init__(self, bytes_max: int = 256 << 20) -> None:
        self.bytes_max = bytes_max
        self.used = 0

    def take(self, size: int) -> bool:
        """Reserve some bytes, if they fit."""
        assert size >= 0
        if self.used + size > self.bytes_max:
            return False
        self.used += size
        return True

    def add(self, size: int) -> None:
        """Count bytes that are there already."""
        assert size >= 0
        self.used += size

    def give(self, size: int) -> None:
        """Take back a reservation."""
        self.used -= size
        assert self.used >= 0
