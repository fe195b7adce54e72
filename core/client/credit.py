"""How much a broker may send ahead of what is done: so many messages and so many bytes, counted here.

What the broker may still send and what is held here, begun or not, are together never more than the bounds, but for the
last batch, which comes whole. Room goes to the broker in portions, since it leases as much as it may send: a half
at a time, or whatever there is once whoever reads has nothing left.

Invariant: what is held is not negative.
"""

from attrs import define


@define
class Credit:
    """The credit of one stream after another; what is held outlasts a stream, what was granted does not."""

    messages_max: int
    bytes_max: int
    messages_held: int = 0
    bytes_held: int = 0
    # What the broker may still send. Fewer than no bytes when the last batch went beyond.
    messages_open: int = 0
    bytes_open: int = 0

    def begin(self) -> None:
        """A new stream: the broker may send nothing."""
        self.messages_open = self.bytes_open = 0

    def arrived(self, messages: int, size: int, kept: int) -> None:
        """So many messages came in `size` bytes, of which `kept` count for as long as the messages are held."""
        assert 0 <= kept <= size
        self.messages_open -= messages
        self.bytes_open -= size
        self.messages_held += messages
        self.bytes_held += kept

    def freed(self, messages: int, size: int) -> None:
        """So much is not held any more."""
        self.messages_held -= messages
        self.bytes_held -= size

    def take(self, *, is_idle: bool) -> tuple[int, int] | None:
        """Messages and bytes to grant, if it is time; they count as granted from here on."""
        messages = self.messages_max - self.messages_held - max(self.messages_open, 0)
        size = self.bytes_max - self.bytes_held - self.bytes_open
        if messages <= 0 and size <= 0:
            return None
        if not is_idle and messages * 2 < self.messages_max and size * 2 < self.bytes_max:
            return None
        messages, size = max(messages, 0), max(size, 0)
        self.messages_open += messages
        self.bytes_open += size
        return messages, size

    def check(self) -> None:
        """Assert the invariant."""
        assert self.messages_held >= 0
        assert self.bytes_held >= 0
