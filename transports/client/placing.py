"""Where a group's member begins in a partition: where the group has come to, else as its settings say.

What lies before the partition's start is gone, and the group goes on at the start. A group that begins at the end says
so to the broker before it reads: else whoever comes after a crash would begin at a later end, and messages be missed.
"""

from attrs import define

from goqueue.core.groups.beginnings import EARLIEST, LATEST, moment_ms
from goqueue.core.groups.state import Slot
from goqueue.core.requests.groups import DescribeGroup, FetchOffsets
from goqueue.proto import groups, v1
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import TopicNotFound
from goqueue.transports.client.topics import Topics

# Later than every message.
_END_MS = (1 << 63) - 1


@define
class Place:
    """The first offset to be read, what the group has committed, -1 for nothing, and whether it begins at the end."""

    offset: int
    committed: int
    is_at_end: bool


async def places_of(brokers: Brokers, group: str, slots: list[Slot]) -> dict[Slot, Place]:
    """The places of these partitions; those that are not there are left out. Raises ClientError."""
    topics = [*dict.fromkeys(topic for topic, _ in slots)]
    request = groups.fetch_offsets_message(FetchOffsets(group, topics))
    reply = await brokers.call("Groups/FetchOffsets", request, v1.FetchOffsetsReply, group)
    committed = {(each.topic, each.partition): each.offset for each in groups.read_group_offsets(reply)}
    spans = await spans_of(brokers, topics)
    start: object = None
    places: dict[Slot, Place] = {}
    for slot in slots:
        span, offset = spans.get(slot), committed.get(slot, -1)
        if span is None:
            continue
        if offset < 0 and start is None:
            start = await _start_of(brokers, group)
        is_at_end = offset < 0 and start == LATEST
        first = offset if offset >= 0 or is_at_end else await _found(brokers, slot, start)
        places[slot] = Place(span[1] if is_at_end else max(first, span[0]), offset, is_at_end)
    return places


async def spans_of(brokers: Brokers, topics: list[str]) -> dict[Slot, tuple[int, int]]:
    """The first offset of each partition, and the one that is written next; of topics that are there."""
    spans: dict[Slot, tuple[int, int]] = {}
    for topic in topics:
        try:
            for found in await Topics(brokers).partitions(topic):
                slot, span = (topic, found.partition), (found.start_offset, found.high_watermark)
                if not found.is_exact:
                    span = await found_at(brokers, slot, 0), await found_at(brokers, slot, _END_MS)
                spans[slot] = span
        except TopicNotFound:
            continue
    return spans


async def _found(brokers: Brokers, slot: Slot, start: object) -> int:
    """The first offset to be read by a group that begins at a moment, -1 for one that begins at the start."""
    timestamp = moment_ms(start)
    return -1 if timestamp is None else await found_at(brokers, slot, timestamp)


async def found_at(brokers: Brokers, slot: Slot, timestamp: int) -> int:
    """The offset of the first message of a partition at or after a time, and its end if there is none."""
    request = v1.FindOffsetRequest(*slot, timestamp)
    reply = await brokers.call("Messages/FindOffset", request, v1.FindOffsetReply, slot[0])
    return int(reply.offset)


async def _start_of(brokers: Brokers, group: str) -> object:
    request = groups.describe_group_message(DescribeGroup(group))
    reply = await brokers.call("Groups/DescribeGroup", request, v1.Group, group)
    return groups.read_group(reply).config.get("start", EARLIEST)
