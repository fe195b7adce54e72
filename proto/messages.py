"""The service Messages: its requests as the core's requests, the core's replies as its messages.

A request that cannot be meant is refused here with the field that is wrong: numbers that no enum has, negative offsets
and times, two times where one is meant. What depends on the broker's state (whether a topic exists, an offset is in
range, a batch is sound) is for the core to say.
"""

from collections.abc import Iterable

import betterproto
from attrs import define

from goqueue.core.records.batch import Lane
from goqueue.core.requests.messages import (
    Fetch,
    Fetched,
    FindOffset,
    FoundOffset,
    InitProducer,
    NewRecord,
    ProducerReply,
    Publish,
    PublishBatch,
    Published,
    PublishReply,
)
from goqueue.core.requests.refusals import Refusal
from goqueue.proto import v1
from goqueue.proto.fields import contents, made
from goqueue.proto.refusals import acks, due, invalid, missing, negative, refusal

MESSAGES_MAX = 100_000
POSITIONS_MAX = 10_000
FETCH_BYTES = 1 << 20
# Eight thousand years: so is no time that is too large to be written.
TTL_MS_MAX = 253_402_300_799_999
NOWHERE = -1
_NS_PER_MS = 1_000_000
_LANES: dict[int, Lane] = {int(each): Lane[str(each.name)] for each in v1.Priority}
_PRIORITIES = {lane: v1.Priority.try_value(number) for number, lane in _LANES.items()}


@define
class Start:
    """Where reading a partition begins: at an offset, at a time, at its first record, or at its end."""

    topic: str
    partition: int
    offset: int | None = None
    timestamp: int | None = None
    latest: bool = False


@define
class Subscription:
    """Partitions to be read from given places on, and how much comes at a time."""

    starts: list[Start]
    max_bytes: int


# --- publishing


def publish_request(message: v1.PublishRequest) -> Publish | Refusal:
    """Messages for a topic; one that cannot be meant refuses them all."""
    fields = contents(message)
    drafts = fields["messages"]
    if not fields["topic"]:
        return missing("topic")
    if not 1 <= len(drafts) <= MESSAGES_MAX:
        return invalid(f"messages must hold from 1 to {MESSAGES_MAX} messages, not {len(drafts)}", "messages")
    awaited = acks(fields["acks"])
    if isinstance(awaited, Refusal):
        return awaited
    records = []
    for at, draft in enumerate(drafts):
        record = new_record(draft, f"messages[{at}].")
        if isinstance(record, Refusal):
            return record
        records.append(record)
    return Publish(fields["topic"], records, awaited)


def new_record(message: v1.NewMessage, place: str = "") -> NewRecord | Refusal:
    """One message; `place` is where in the request it stood."""
    fields = contents(message)
    lane = _LANES.get(fields["priority"])
    if lane is None:
        return invalid(f"{place}priority cannot be {int(fields['priority'])}", f"{place}priority")
    timestamp = fields["timestamp_ms"]
    if timestamp is not None and timestamp < 0:
        return negative(f"{place}timestamp_ms", timestamp)
    headers = fields["headers"]
    named = named_headers(headers) if headers else ()
    record = NewRecord(fields["key"], fields["value"], named, fields["partition"], timestamp, lane)
    delay_ms, due_ms, ttl_ms = fields["delay_ms"], fields["deliver_at_ms"], fields["ttl_ms"]
    if delay_ms is due_ms is ttl_ms is None:
        return record
    record.delay_ms, record.due_ms, record.ttl_ms = delay_ms or 0, due_ms, ttl_ms or 0
    if ttl_ms is not None and not 0 < ttl_ms <= TTL_MS_MAX:
        return invalid(f"{place}ttl_ms must be from 1 to {TTL_MS_MAX}, not {ttl_ms}", f"{place}ttl_ms")
    return flaw_of_times(delay_ms, due_ms, place) or record


def flaw_of_times(delay_ms: int | None, due_ms: int | None, place: str = "") -> Refusal | None:
    """What is wrong with a delay and a time at which something is due, of which there may be one."""
    name = f"{place}deliver_at_ms"
    if due_ms is None:
        return None
    if delay_ms is not None:
        return invalid(f"{place}delay_ms and {name} exclude one another", name)
    return negative(name, due_ms) if due_ms < 0 else None


def named_headers(messages: Iterable[v1.Header]) -> tuple[tuple[str, bytes | None], ...]:
    """Headers as the core has them."""
    return tuple((fields["name"], fields["value"]) for fields in map(contents, messages))


def headers_of(headers: Iterable[tuple[str, bytes | None]]) -> list[v1.Header]:
    """Headers as they travel."""
    return [made(v1.Header, name=name, value=value) for name, value in headers]


def priority_of(lane: Lane) -> v1.Priority:
    """A lane as it travels."""
    return _PRIORITIES[lane]


def lane_of(number: int) -> Lane:
    """The lane that a broker told of."""
    return _LANES.get(number, Lane.NORMAL)


def publish_batch_request(message: v1.PublishBatchRequest) -> PublishBatch | Refusal:
    """One batch, copied so that it can be stamped."""
    fields = contents(message)
    if not fields["topic"]:
        return missing("topic")
    if not fields["batch"]:
        return missing("batch")
    awaited = acks(fields["acks"])
    if isinstance(awaited, Refusal):
        return awaited
    when = due(fields["due"])
    if isinstance(when, Refusal):
        return when
    return PublishBatch(fields["topic"], fields["partition"], bytearray(fields["batch"]), awaited, due=when)


def publish_reply(reply: PublishReply) -> v1.PublishReply:
    """What became of each message."""
    return made(v1.PublishReply, results=[_result(each) for each in reply.results])


def _result(reply: Published | Refusal) -> v1.PublishResult:
    if isinstance(reply, Refusal):
        return made(v1.PublishResult, offset=NOWHERE, timestamp_ms=NOWHERE, refusal=refusal(reply))
    due_ms = reply.due_ms if reply.due_ms >= 0 else None
    where = {"partition": reply.partition, "offset": reply.offset, "timestamp_ms": reply.timestamp}
    return made(v1.PublishResult, **where, deliver_at_ms=due_ms)


def publish_batch_reply(reply: PublishReply | Refusal, request_id: int = 0) -> v1.PublishBatchReply:
    """What became of a batch; on a stream, of the one that came with `request_id`."""
    result = reply if isinstance(reply, Refusal) else reply.results[0]
    if isinstance(result, Refusal):
        why = refusal(result)
        return made(v1.PublishBatchReply, request_id=request_id, offset=NOWHERE, timestamp_ms=NOWHERE, refusal=why)
    return made(v1.PublishBatchReply, request_id=request_id, offset=result.offset, timestamp_ms=result.timestamp)


def init_producer_request(message: v1.InitProducerRequest) -> InitProducer:  # noqa: ARG001 - it says nothing
    """A producer asks for its number."""
    return InitProducer()


def init_producer_reply(reply: ProducerReply) -> v1.InitProducerReply:
    """A producer's number and epoch."""
    return made(v1.InitProducerReply, producer_id=reply.producer_id, producer_epoch=reply.epoch)


# --- reading


def fetch_request(message: v1.FetchRequest) -> Fetch | Refusal:
    """Batches are asked for from an offset on."""
    fields = contents(message)
    if not fields["topic"]:
        return missing("topic")
    if fields["offset"] < 0:
        return negative("offset", fields["offset"])
    size, wait_ns = fields["bytes_max"] or FETCH_BYTES, fields["wait_ms"] * _NS_PER_MS
    wanted = Fetch(fields["topic"], fields["partition"], fields["offset"], size, wait_ns)
    if fields["topic_id"]:
        wanted.identity = fields["topic_id"]
    return wanted


def fetch_reply(reply: Fetched) -> v1.FetchReply:
    """Batches, and where to go on."""
    return made(
        v1.FetchReply,
        batches=reply.batches,
        next_offset=reply.next_offset,
        high_watermark=reply.high_watermark,
        start_offset=reply.start_offset,
    )


def find_offset_request(message: v1.FindOffsetRequest) -> FindOffset | Refusal:
    """The first record at or after a time is looked for."""
    fields = contents(message)
    if not fields["topic"]:
        return missing("topic")
    if fields["timestamp_ms"] < 0:
        return negative("timestamp_ms", fields["timestamp_ms"])
    return FindOffset(fields["topic"], fields["partition"], fields["timestamp_ms"])


def find_offset_reply(reply: FoundOffset) -> v1.FindOffsetReply:
    """The record that was found."""
    return made(v1.FindOffsetReply, offset=reply.offset, timestamp_ms=reply.timestamp)


def subscribe_request(message: v1.SubscribeRequest) -> Subscription | Refusal:
    """Partitions to be read on and on."""
    fields = contents(message)
    positions = fields["positions"]
    if not 1 <= len(positions) <= POSITIONS_MAX:
        return invalid(f"positions must hold from 1 to {POSITIONS_MAX} positions, not {len(positions)}", "positions")
    starts = []
    for at, position in enumerate(positions):
        start = _start(position, f"positions[{at}].")
        if isinstance(start, Refusal):
            return start
        starts.append(start)
    return Subscription(starts, fields["bytes_max"] or FETCH_BYTES)


def _start(position: v1.Position, place: str) -> Start | Refusal:
    if not position.topic:
        return missing(f"{place}topic")
    start = Start(position.topic, position.partition)
    which, value = betterproto.which_one_of(position, "start")
    if which == "offset":
        start.offset = value
    elif which == "timestamp_ms":
        start.timestamp = value
    elif which and not value:
        return invalid(f"{place}{which} can only be true", f"{place}{which}")
    start.latest = which == "latest"
    if which in ("offset", "timestamp_ms") and value is not None and value < 0:
        return negative(f"{place}{which}", value)
    return start


def subscribe_reply(position: int, reply: Fetched | Refusal) -> v1.SubscribeReply:
    """Batches of one of the positions, or why it ends."""
    if isinstance(reply, Refusal):
        return made(v1.SubscribeReply, position=position, refusal=refusal(reply))
    return made(
        v1.SubscribeReply,
        position=position,
        batches=reply.batches,
        next_offset=reply.next_offset,
        high_watermark=reply.high_watermark,
        start_offset=reply.start_offset,
    )


def leaving(position: int, next_offset: int) -> v1.SubscribeReply:
    """The node is about to stop; where to go on."""
    return made(v1.SubscribeReply, position=position, next_offset=next_offset, leaving=True)
