"""A message as a consumer hands it out, and where a published one went."""

from datetime import datetime

from attrs import define

from goqueue.core.client.fetching import Origin
from goqueue.transports.client.times import moment_of


class Message:
    """One message of a topic; `key` and `value` are bytes, or None where there is none."""

    __slots__ = ("_headers", "_origin", "key", "offset", "timestamp_ms", "value")

    def __init__(
        self,
        origin: Origin,
        offset: int,
        timestamp_ms: int,
        key: bytes | None,
        value: bytes | None,
        headers: tuple[tuple[str, bytes | None], ...],
    ) -> None:
        self._origin = origin
        self.offset = offset
        self.timestamp_ms = timestamp_ms
        self.key = key
        self.value = value
        self._headers = headers

    @property
    def topic(self) -> str:
        """The topic it came from."""
        return self._origin.topic

    @property
    def partition(self) -> int:
        """The partition it came from."""
        return self._origin.partition

    @property
    def priority(self) -> str:
        """Its lane: normal, critical, high, low or background."""
        return self._origin.lane.name.lower()

    @property
    def timestamp(self) -> datetime:
        """When it was made, in UTC."""
        return moment_of(self.timestamp_ms)

    @property
    def headers(self) -> dict[str, bytes | None]:
        """Its headers by name; of those with the same name the last."""
        return dict(self._headers)

    @property
    def header_pairs(self) -> tuple[tuple[str, bytes | None], ...]:
        """All its headers, in their order."""
        return self._headers

    def __repr__(self) -> str:
        return f"<Message {self.topic}/{self.partition}@{self.offset} key={self.key!r} value={_short(self.value)}>"


@define
class Published:
    """Where a message went; the offset is -1 where no acknowledgement was wanted.

    That of a message that is delivered later is the one by which `delayed` knows it.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    deliver_at_ms: int = -1

    @property
    def timestamp(self) -> datetime:
        """The time that the message bears, in UTC."""
        return moment_of(self.timestamp_ms)

    @property
    def deliver_at(self) -> datetime | None:
        """When it is due, in UTC; None for a message that is there already."""
        return moment_of(self.deliver_at_ms) if self.deliver_at_ms >= 0 else None


def _short(value: bytes | None) -> str:
    if value is None or len(value) <= 40:
        return repr(value)
    return f"{value[:40]!r}… ({len(value)} bytes)"
