"""Which whole segments may go: by age, by size, and below a start that a client moved.

Only a prefix of the log goes, and never the active segment. Age is that of a segment's newest record, so nothing goes
before its time; a segment without timestamps counts from its creation.
"""

from collections.abc import Sequence

from goqueue.core.log.config import UNLIMITED, LogConfig
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.log.segments import SegmentList

NEVER_MS = 1 << 63
# What may go and is held back for replicas is looked at again so much later.
HELD_MS = 1000


def expiry_ms(segment: Segment, retention_ms: int) -> int:
    """The wall time at which everything in the segment is older than the retention."""
    newest = segment.created_ms if segment.max_timestamp == NO_TIMESTAMP else segment.max_timestamp
    return newest + retention_ms


def expired_count(sealed: Sequence[Segment], active: Segment, config: LogConfig, start: int, wall_ms: int) -> int:
    """How many of the sealed segments, from the oldest, may be removed.

    With compaction alone neither age nor size counts; what lies wholly below `start` always may go.
    """
    count = 0
    surplus = _surplus_bytes(sealed, active, config)
    for segment in sealed:
        by_size = surplus >= segment.size and surplus > 0
        if not (by_size or is_expired(segment, config, start, wall_ms)):
            break
        surplus -= segment.size
        count += 1
    return count


def held_count(sealed: Sequence[Segment], count: int, held_from: int) -> int:
    """How many of the oldest `count` segments lie wholly below `held_from`."""
    while count and sealed[count - 1].next_offset > held_from:
        count -= 1
    return count


def is_expired(segment: Segment, config: LogConfig, start: int, wall_ms: int) -> bool:
    """Whether nothing in a segment is wanted any more, for its age or because readers begin behind it."""
    if segment.next_offset <= start:
        return True
    by_age = config.cleanup.deletes and config.retention_ms != UNLIMITED
    return by_age and expiry_ms(segment, config.retention_ms) <= wall_ms


def next_removal_ms(segments: SegmentList, config: LogConfig) -> int:
    """The wall time at which age lets the oldest segment go, 0 when size does already, NEVER_MS when nothing will."""
    active = segments.tail.segment
    surplus = _surplus_bytes(segments.sealed, active, config)
    if segments.sealed and surplus > 0 and surplus >= segments.sealed[0].size:
        return 0
    if not config.cleanup.deletes or config.retention_ms == UNLIMITED:
        return NEVER_MS
    oldest = segments.oldest
    return expiry_ms(oldest, config.retention_ms) if oldest.size else NEVER_MS


def _surplus_bytes(sealed: Sequence[Segment], active: Segment, config: LogConfig) -> int:
    if config.retention_bytes == UNLIMITED or not config.cleanup.deletes:
        return 0
    return active.size + sum(segment.size for segment in sealed) - config.retention_bytes
