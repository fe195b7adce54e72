"""Every bound of an HTTP/2 connection, in one place.

A bound exists so that whoever crosses it pays, and nobody else: memory per stream and per connection, work per turn of
the loop, and how often a peer may ask for what costs us more than it costs the peer. The defaults fit a broker: bodies
of megabytes, a thousand calls at once, peers that are mostly our own clients.
"""

from attrs import define, evolve

KIB = 1 << 10
MIB = 1 << 20
SECOND_NS = 1_000_000_000
# Of the bursts that others may begin with.
SUSPECTS_PART = 32


@define(frozen=True)
class Limits:
    """What one connection may hold and do."""

    streams_max: int = 2000
    frame_bytes_max: int = 256 * KIB
    header_block_bytes_max: int = 32 * KIB
    header_list_bytes_max: int = 16 * KIB  # advertised; a list up to twice as long is answered with 431
    # The connection's window is credited when bytes arrive, a stream's when they are consumed. So one stalled reader
    # holds back its own stream; only when the unread bytes of all streams pass `unread_bytes_max` does the whole
    # connection wait.
    stream_window_bytes: int = 1 * MIB
    connection_window_bytes: int = 16 * MIB
    unread_bytes_max: int = 32 * MIB
    stream_queue_bytes_max: int = 256 * KIB
    connection_queue_bytes_max: int = 8 * MIB
    # Reading stops while more than this waits to be written: a peer that floods us with pings must read the answers.
    output_bytes_max: int = 256 * KIB
    # After so many frames others have their turn, even if more are at hand. A request weighs as much as eight of DATA.
    turn_weight_max: int = 256
    turn_send_bytes: int = 256 * KIB
    plain_data: bool = True  # whether plain frames may go past h2's state machines
    discarded_bytes_max: int = 16 * MIB
    # Token buckets: what may come at once, and how much comes back each second. A client that cancels all its calls
    # is honest; twice as many resets as there can be streams are not.
    resets_burst: int = 4000
    resets_per_second: int = 200
    demands_burst: int = 2000  # frames that oblige us to answer: PING, SETTINGS
    demands_per_second: int = 200
    overhead_burst: int = 20_000  # frames that carry nothing: WINDOW_UPDATE, PRIORITY, empty DATA, unknown ones
    overhead_per_second: int = 2000
    opening_ns: int = 10 * SECOND_NS
    idle_ns: int = 300 * SECOND_NS
    probe_ns: int = 60 * SECOND_NS  # silence, with streams open, after which the peer is asked whether it lives
    answer_ns: int = 20 * SECOND_NS  # how long it may take to answer that
    warning_ns: int = SECOND_NS  # and the ping of a drain, which many an idle client never reads
    stall_ns: int = 60 * SECOND_NS  # how long a peer may take nothing of what we have to send

    def suspicious(self) -> "Limits":
        """The same for a peer whose address has flooded lately: it begins with little of each allowance."""
        return evolve(
            self,
            resets_burst=self.resets_burst // SUSPECTS_PART,
            demands_burst=self.demands_burst // SUSPECTS_PART,
            overhead_burst=self.overhead_burst // SUSPECTS_PART,
        )
