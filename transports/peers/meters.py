"""What has gone between this node and its peers, as plain integers that whoever wants to know reads."""

from attrs import define


@define
class PeerMeters:
    """The counters of one node's connections to others, changed by the loop alone."""

    letters_sent: int = 0
    letters_received: int = 0
    # For want of a connection, or of room before one.
    letters_dropped: int = 0
    # They could not be true, or not be meant.
    letters_refused: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    connections_opened: int = 0
    # Peers turned away, and what was no peer at all.
    connections_refused: int = 0
