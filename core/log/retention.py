"""Which whole segments may go: by age, by size, and below a start that a client moved.

Only a prefix of the log goes, and never the active segment. Age is that of a segment's newest record, so nothing goes
before its time; a segment without timestamps counts from its creation.
"""

from collections.abc import Sequence
from itertools import pairwise

from goqueue.core.log.config import UNLIMITED, LogConfig
from goqueue.core.log.segment import NO_TIMESTAMP, Segment
from goqueue.core.log.segments import SegmentList

NEVER_MS = 1 << 63
# What may go and is held back for replicas is looked at again so much later.
HELD_MS = 1000


def newest_ms(segment: Segment, appended_until_ms: int, config: LogConfig, wall_ms: int) -> int:
    """The time of a segment's newest record, which was appended before `appended_until_ms`.

    A timestamp further ahead of the clock than the topic takes any was written under other settings or by a broken
    clock. It says nothing; but the record was appended before the segment was sealed, so that time counts. It is the
    latest that can be true, so nothing else in the segment goes too early for it.
    """
    newest = segment.max_timestamp
    if newest == NO_TIMESTAMP:
        return segment.created_ms
    if newest <= config.latest_ms(wall_ms):
        return newest
    return max(segment.created_ms, min(newest, appended_until_ms))


def appended_until_ms(segment: Segment, following: Segment | None, config: LogConfig) -> int:
    """When the last batch of a segment was appended, at the latest: before the next one began."""
    return segment.created_ms + config.segment_age_ms if following is None else following.created_ms


def expired_count(sealed: Sequence[Segment], active: Segment, config: LogConfig, start: int, wall_ms: int) -> int:
    """How many of the sealed segments, from the oldest, may be removed.

    With compaction alone neither age nor size counts; what lies wholly below `start` always may go.
    """
    count = 0
    surplus = _surplus_bytes(sealed, active, config)
    for segment, following in pairwise((*sealed, active)):
        by_size = surplus >= segment.size and surplus > 0
        if not (by_size or is_expired(segment, following, config, start, wall_ms)):
            break
        surplus -= segment.size
        count += 1
    return count


def held_count(sealed: Sequence[Segment], count: int, held_from: int) -> int:
    """How many of the oldest `count` segments lie wholly below `held_from`."""
    while count and sealed[count - 1].next_offset > held_from:
        count -= 1
    return count


def is_expired(segment: Segment, following: Segment | None, config: LogConfig, start: int, wall_ms: int) -> bool:
    """Whether nothing in a segment is wanted any more, for its age or because readers begin behind it."""
    if segment.next_offset <= start:
        return True
    if not config.cleanup.deletes or config.retention_ms == UNLIMITED:
        return False
    newest = newest_ms(segment, appended_until_ms(segment, following, config), config, wall_ms)
    return newest + config.retention_ms <= wall_ms


def next_removal_ms(segments: SegmentList, config: LogConfig) -> int:
    """The wall time at which age lets the oldest segment go, 0 when size does already, NEVER_MS when nothing will.

    It may be too early where clocks were set, and is never too late.
    """
    active = segments.tail.segment
    surplus = _surplus_bytes(segments.sealed, active, config)
    if segments.sealed and surplus > 0 and surplus >= segments.sealed[0].size:
        return 0
    if not config.cleanup.deletes or config.retention_ms == UNLIMITED:
        return NEVER_MS
    oldest = segments.oldest
    if not oldest.size:
        return NEVER_MS
    until_ms = appended_until_ms(oldest, segments.second, config)
    return newest_ms(oldest, until_ms, config, until_ms) + config.retention_ms


def _surplus_bytes(sealed: Sequence[Segment], active: Segment, config: LogConfig) -> int:
    if config.retention_bytes == UNLIMITED or not config.cleanup.deletes:
        return 0
    return active.size + sum(segment.size for segment in sealed) - config.retention_bytes
