"""From what sizes on a node summarizes what it keeps, begins another file, or divides what it sends.

The defaults are for brokers that serve. Each bounds what a node has to read when it starts, or what one turn writes,
and each has a path behind it that is taken only beyond it. The simulator draws them from the seed of a world, and small
ones among them, because a small world never gets beyond the defaults.

All replicas of a log may have other thresholds: they decide when something is written and never what it means.
"""

from attrs import define

from goqueue.core.log.config import SEGMENT_BYTES_MAX


@define(frozen=True)
class Thresholds:
    """The thresholds of one node."""

    # The controller writes a snapshot of the metadata after so many records, or so many for each topic.
    metadata_entries: int = 1000
    metadata_entries_a_topic: int = 4
    # What one message of the quorum holds of a snapshot.
    quorum_piece_bytes: int = 256 << 10
    # A ledger begins a page, which has a snapshot of each of its queues, after so many bytes, or twice the page's size.
    ledger_page_bytes: int = 1 << 20
    # A schedule is summarized after so many bytes, or so many for each pending message, in parts of so many messages.
    summary_bytes: int = 64 << 20
    summary_bytes_a_message: int = 256
    summary_part_messages: int = 2_048
    # Ledgers and schedules are trimmed by segments of this size.
    side_segment_bytes: int = 16 << 20
    # Logs of messages begin another segment, and note a position in its indexes, at the latest after so many bytes.
    # What a topic asks for may be less.
    segment_bytes: int = SEGMENT_BYTES_MAX
    index_interval_bytes: int = 1 << 24
    # The log of the metadata begins another segment after so many bytes. It is trimmed by whole segments.
    metadata_segment_bytes: int = 1 << 30
    # A log writes a checkpoint after so many bytes in one segment.
    checkpoint_bytes: int = 64 << 20
    # How long a log that is compacted rests in between.
    compaction_pause_ns: int = 15_000_000_000

    def __attrs_post_init__(self) -> None:
        # The snapshot is an entry itself, and must not ask for the next one.
        assert self.metadata_entries > 1


OF_BROKERS = Thresholds()
"""The default thresholds, which brokers in production have."""
