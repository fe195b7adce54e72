"""The entry that stands for all before it, on its way in pieces to a node whose log ends before it.

One piece is under way at a time; each says where it belongs, so one that comes twice or late does no harm. The
receiver keeps one entry at most, and begins again when another is sent.

Invariant: what was received is a beginning of the entry that is being received.
"""

from attrs import define, field

from goqueue.core.quorum.entries import Entry
from goqueue.core.quorum.messages import Install, Installed

# An entry that claims to be larger does not fit into a batch of the log (`METADATA_CONFIG`).
ENTRY_BYTES_MAX = 255 << 20


@define(eq=False)
class Sending:
    """An entry on its way to one node; `position` is how much of it has arrived."""

    entry: Entry
    position: int = 0
    # When the piece at `position` was sent, and under which stamp; None when it was not yet.
    sent_at: int | None = None
    _stamp: int = 0

    def piece(self, now: int, term: int, stamp: int, bytes_max: int) -> Install:
        """The letter with the next piece."""
        self.sent_at, self._stamp = now, stamp
        entry, position = self.entry, self.position
        piece = entry.content[position : position + bytes_max]
        return Install(term, stamp, entry.index, entry.term, entry.kind, len(entry.content), position, piece)

    def arrived(self, message: Installed) -> None:
        """The other says how much it has; who has begun anew has less than before."""
        if message.index == self.entry.index and message.stamp == self._stamp:
            self.position, self.sent_at = min(message.position, len(self.entry.content)), None

    def again(self, now: int, patience_ns: int) -> None:
        """A piece that nobody has answered for so long is to be sent once more."""
        if self.sent_at is not None and now - self.sent_at >= patience_ns:
            self.sent_at = None

    @property
    def is_due(self) -> bool:
        """Whether a piece is to be sent."""
        return self.sent_at is None

    @property
    def is_done(self) -> bool:
        """Whether all of it has arrived."""
        return self.position == len(self.entry.content)


@define(eq=False)
class Receiving:
    """An entry that comes in pieces."""

    _index: int = -1
    _term: int = -1
    _pieces: bytearray = field(factory=bytearray)

    def take(self, message: Install) -> Entry | None:
        """Take a piece; the entry when it is whole."""
        if (message.index, message.entry_term) != (self._index, self._term):
            self._index, self._term = message.index, message.entry_term
            self._pieces = bytearray()
        if message.position == len(self._pieces) and len(self._pieces) + len(message.piece) <= message.size:
            self._pieces += message.piece
        if len(self._pieces) != message.size:
            return None
        entry = Entry(message.index, message.entry_term, message.kind, bytes(self._pieces))
        self.forget()
        return entry

    @property
    def position(self) -> int:
        """How much has arrived."""
        return len(self._pieces)

    def forget(self) -> None:
        """Keep nothing of what came so far."""
        self._index = self._term = -1
        self._pieces = bytearray()
