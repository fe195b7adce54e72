"""What a connection may take, and how much of it all of them together."""

from attrs import define

SECOND_NS = 1_000_000_000


@define(frozen=True)
class Http1Limits:
    """Bounds of one connection; times in nanoseconds.

    A head must be complete `head_ns` after its first byte. A body, and an answer that is taken, may last `body_ns` and
    then as long as `rate_min` bytes a second need, so neither a drop every minute nor a large upload is cut wrongly; a
    body of which nothing comes for `body_ns` is cut all the same.
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
    """Bytes in flight of many connections together: bodies on their way in, answers on their way out.

    Answers are counted when they are there already, so `used` may pass the bound; no body is taken in and no further
    answer made until it is below. A room may lie `within` a larger one: what all connections of one address have
    together is part of what all have, and counts there up to its own bound, so that no address alone can shut out the
    others.
    """

    __slots__ = ("_counted", "_within", "bytes_max", "used")

    def __init__(self, bytes_max: int = 256 << 20, within: "Room | None" = None) -> None:
        self.bytes_max = bytes_max
        self.used = 0
        self._within = within
        self._counted = 0

    @property
    def is_full(self) -> bool:
        """Whether nothing more should be begun."""
        return self.used >= self.bytes_max or (self._within is not None and self._within.is_full)

    def take(self, size: int) -> bool:
        """Reserve some bytes, if they fit."""
        assert size >= 0
        if self.used + size > self.bytes_max or (self._within is not None and not self._within.take(size)):
            return False
        self.used += size
        self._counted += size
        return True

    def add(self, size: int) -> None:
        """Count bytes that are there already."""
        assert size >= 0
        self.used += size
        if self._within is not None:
            more = min(self.used, self.bytes_max) - self._counted
            self._counted += more
            self._within.add(more)

    def give(self, size: int) -> None:
        """Take back a reservation."""
        self.used -= size
        assert self.used >= 0
        if self._within is not None:
            less = self._counted - min(self.used, self.bytes_max)
            self._counted -= less
            self._within.give(less)
