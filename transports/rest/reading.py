"""The endpoint that reads messages by offset or time, and how batches become messages.

A page ends at `limit` messages, at `PAGE_BYTES` of keys and values, at the offset that `to_time` stands for, or where
the partition ends for readers; `next_offset` is where the following page begins. Times are positions: `from_time` is
the first message at or after it, and `to_time` the first one that is no longer wanted.
"""

from collections.abc import Iterator

from attrs import define

from goqueue.core.errors import BatchError
from goqueue.core.records.batch import NO_TIMESTAMP, Lane, read_header, split
from goqueue.core.records.record import Record, iterate
from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, FoundOffset
from goqueue.core.requests.refusals import Code
from goqueue.core.requests.topics import DescribePartitions, PartitionReply
from goqueue.transports.rest.bodies import MessagesView, MessageView
from goqueue.transports.rest.call import Call, answer
from goqueue.transports.rest.contents import PRIORITIES, Timestamps, message_view
from goqueue.transports.rest.errors import RestError, invalid
from goqueue.transports.rest.exchange import Answer
from goqueue.transports.rest.times import read_time

LIMIT_DEFAULT = 100
LIMIT_MAX = 10_000
WAIT_MS_MAX = 60_000
MS_NS = 1_000_000
PAGE_BYTES = 4 << 20
FETCH_BYTES = 1 << 20
# Keys, values and headers in the answer to a poll; between it and the batches as they are stored lies compression.
CONTENT_BYTES_MAX = 32 << 20


@define
class Range:
    """Which messages are asked for: from an offset on, below `end` if there is one, so many, waiting so long."""

    topic: str
    partition: int
    offset: int
    end: int | None
    limit: int | None
    wait_ns: int


@define
class Page:
    """Messages read so far, and where to go on."""

    views: list[MessageView]
    next_offset: int
    size_bytes: int = 0


async def read_messages(call: Call) -> Answer:
    """GET /topics/{topic}/partitions/{partition}/messages."""
    wanted = await asked_range(call)
    page = Page([], wanted.offset)
    while await _read_on(call, wanted, page):
        pass
    if page.views:
        call.metrics.broker.count_consumed(wanted.topic, len(page.views), page.size_bytes)
    return answer(MessagesView(page.views, page.next_offset))


async def asked_range(call: Call) -> Range:
    """The range that path and query ask for."""
    asked = call.query
    limit = asked.get("limit", None if asked.get("follow") else LIMIT_DEFAULT)
    if "offset" in asked and "from_time" in asked:
        raise invalid("offset and from_time both say where to begin; give one", "from_time")
    partition = call.partition
    wanted = Range(call.topic, partition, 0, None, limit, asked.get("wait", 0) * MS_NS)
    if "to_time" in asked:
        wanted.end = await _end_at(call, wanted, asked["to_time"])
    if "offset" in asked:
        wanted.offset = asked["offset"]
    elif "from_time" in asked:
        wanted.offset = await _offset_at(call, wanted, asked["from_time"], "from_time")
    else:
        wanted.offset = await _first_offset(call, wanted)
    return wanted


async def fetch(call: Call, wanted: Range, offset: int, wait_ns: int) -> Fetched:
    """Batches from an offset on."""
    return await call.ask(Fetch(wanted.topic, wanted.partition, offset, FETCH_BYTES, wait_ns), Fetched)


def records(fetched: Fetched, offset: int) -> Iterator[tuple[Record, Lane]]:
    """The messages from an offset on with the lanes of their batches; markers for brokers are no messages."""
    for batch in split(fetched.batches):
        header = read_header(batch)
        if header.is_control or header.next_offset <= offset:
            continue
        try:
            for record in iterate(batch):
                if record.offset >= offset:
                    yield record, header.lane
        except BatchError as error:
            # Compressed batches are stored as they came, so that the first reader may find what is wrong with one.
            said = (
                f"the batch from offset {header.base_offset} on is unreadable: {error} Go on at {header.next_offset}."
            )
            unreadable = RestError(422, Code.CORRUPT_BATCH, said, "offset")
            unreadable.next_offset = header.next_offset
            raise unreadable from None


async def _read_on(call: Call, wanted: Range, page: Page) -> bool:
    """Add what one fetch brings to a page; whether another may bring more."""
    end = wanted.end
    if end is not None and page.next_offset >= end:
        return False
    fetched = await fetch(call, wanted, page.next_offset, 0 if page.views else wanted.wait_ns)
    begun = page.next_offset
    full = _fill(page, fetched, wanted)
    assert page.next_offset >= begun
    return not full and begun < page.next_offset < fetched.high_watermark


def _fill(page: Page, fetched: Fetched, wanted: Range) -> bool:
    """Take messages into a page; whether it is full."""
    timestamps = Timestamps()
    for record, lane in _readable(fetched, page):
        full = wanted.limit is not None and len(page.views) >= wanted.limit
        size = content_bytes(record)
        if full or (page.views and page.size_bytes + size > PAGE_BYTES):
            page.next_offset = record.offset
            return True
        if wanted.end is not None and record.offset >= wanted.end:
            page.next_offset = wanted.end
            return True
        page.views.append(message_view(record, PRIORITIES[lane], timestamps.written(record.timestamp)))
        page.size_bytes += size
        page.next_offset = record.offset + 1
    page.next_offset = max(page.next_offset, fetched.next_offset)
    return wanted.limit is not None and len(page.views) >= wanted.limit


def _readable(fetched: Fetched, page: Page) -> Iterator[tuple[Record, Lane]]:
    """Messages up to one that cannot be read, which is said only to whoever begins there."""
    try:
        yield from records(fetched, page.next_offset)
    except RestError:
        if not page.views:
            raise
        fetched.next_offset = page.next_offset


def content_bytes(record: Record) -> int:
    """Bytes of a message's key, value and headers."""
    size = len(record.key or b"") + len(record.value or b"")
    return size + sum(len(name) + len(text or b"") for name, text in record.headers) if record.headers else size


async def _end_at(call: Call, wanted: Range, text: str) -> int | None:
    """The offset where a time begins; none if that time has not come, since what comes before it is still wanted."""
    timestamp = read_time(text, "to_time")
    found = await call.ask(FindOffset(wanted.topic, wanted.partition, timestamp), FoundOffset)
    is_ahead = found.timestamp == NO_TIMESTAMP and timestamp > call.wall_ms()
    return None if is_ahead else found.offset


async def _offset_at(call: Call, wanted: Range, text: str, field: str) -> int:
    found = await call.ask(FindOffset(wanted.topic, wanted.partition, read_time(text, field)), FoundOffset)
    return found.offset


async def _first_offset(call: Call, wanted: Range) -> int:
    partitions: list[PartitionReply] = await call.ask(DescribePartitions(wanted.topic), list)
    for reply in partitions:
        if reply.partition != wanted.partition:
            continue
        if reply.start_offset >= 0:
            return reply.start_offset
        # It is led by another node, which has not told lately: that one knows.
        found = await call.ask(FindOffset(wanted.topic, wanted.partition, 0), FoundOffset)
        return found.offset
    said = f"topic {wanted.topic!r} has no partition {wanted.partition}"
    raise RestError(404, "partition_not_found", said, "partition")
