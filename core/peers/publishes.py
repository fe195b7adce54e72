"""Single messages and the answers to them, which come by the hundred: only what differs from the usual is written.

A message is a byte or two that say which of its fields follow. Answers to messages that lie one behind the other in a
partition are one run, as they are when they became one batch.
"""

from collections.abc import Iterable

from goqueue.core.codec.shapes import Parts, Shape, Shapes, read_content, read_count, read_integer, take_items
from goqueue.core.errors import ProtocolError
from goqueue.core.records.batch import Lane
from goqueue.core.records.varint import Readable, encode_varlong
from goqueue.core.requests.messages import NewRecord, Published, PublishReply
from goqueue.core.requests.refusals import Refusal

# No publish brings more messages than this.
RESULTS_MAX = 1 << 22
_KEY, _VALUE, _PARTITION, _HEADERS, _TIMESTAMP, _LANE, _DELAY, _DUE, _TTL = (1 << bit for bit in range(9))
_LANES = {int(lane): lane for lane in Lane}
_REFUSED = 0


def record_shape(shapes: Shapes) -> Shape:
    """How a message is written and read."""
    write_headers, read_headers = shapes.of(tuple[tuple[str, bytes | None], ...])

    def write(record: NewRecord, parts: Parts) -> None:
        place = len(parts)
        parts.append(b"")
        given = 0
        if record.key is not None:
            given |= _KEY
            parts.hold(record.key)
        if record.value is not None:
            given |= _VALUE
            parts.hold(record.value)
        if record.partition is not None:
            given |= _PARTITION
            parts.append(encode_varlong(record.partition))
        if record.headers:
            given |= _HEADERS
            write_headers(record.headers, parts)
        parts[place] = encode_varlong(given | _write_times(record, parts))

    def read(content: Readable, at: int) -> tuple[NewRecord, int]:
        given, at = read_integer(content, at)
        if not 0 <= given < _TTL << 1:
            raise ProtocolError(f"{given} does not say what a message has")
        record = NewRecord(None, None)
        if given & _KEY:
            record.key, at = read_content(content, at)
        if given & _VALUE:
            record.value, at = read_content(content, at)
        if given & _PARTITION:
            record.partition, at = read_integer(content, at)
        if given & _HEADERS:
            record.headers, at = read_headers(content, at)
        return record, _read_times(record, given, content, at) if given >= _TIMESTAMP else at

    return write, read


def _write_times(record: NewRecord, parts: Parts) -> int:
    """Write what few messages have; which of it there is."""
    given = 0
    for bit, value, usual in (
        (_TIMESTAMP, record.timestamp, None),
        (_LANE, record.lane, Lane.NORMAL),
        (_DELAY, record.delay_ms, 0),
        (_DUE, record.due_ms, None),
        (_TTL, record.ttl_ms, 0),
    ):
        if value is not None and value != usual:
            given |= bit
            parts.append(encode_varlong(value))
    return given


def _read_times(record: NewRecord, given: int, content: Readable, at: int) -> int:
    if given & _TIMESTAMP:
        record.timestamp, at = read_integer(content, at)
    if given & _LANE:
        lane, at = read_integer(content, at)
        if lane not in _LANES:
            raise ProtocolError(f"there is no lane {lane}")
        record.lane = _LANES[lane]
    if given & _DELAY:
        record.delay_ms, at = read_integer(content, at)
    if given & _DUE:
        record.due_ms, at = read_integer(content, at)
    if given & _TTL:
        record.ttl_ms, at = read_integer(content, at)
    return at


def reply_shape(shapes: Shapes) -> Shape:
    """How the answers to messages are written and read."""
    write_refusal, read_refusal = shapes.of(Refusal)

    def write(reply: PublishReply, parts: Parts) -> None:
        runs = [*_runs(reply.results)]
        parts.append(encode_varlong(len(runs)))
        for first, count in runs:
            if isinstance(first, Refusal):
                parts.append(encode_varlong(_REFUSED))
                write_refusal(first, parts)
            else:
                fields = count, first.partition, first.offset, first.timestamp, first.due_ms
                parts.extend(map(encode_varlong, fields))

    def read(content: Readable, at: int) -> tuple[PublishReply, int]:
        results: list[Published | Refusal] = []
        runs, at = read_count(content, at)
        for _ in range(runs):
            count, at = read_integer(content, at)
            if count == _REFUSED:
                refusal, at = read_refusal(content, at)
                results.append(refusal)
            elif not 0 < count <= RESULTS_MAX - len(results):
                raise ProtocolError(f"{count} messages cannot have been published at once")
            else:
                take_items(count)
                at = _read_run(results, count, content, at)
        return PublishReply(results), at

    return write, read


def _runs(results: Iterable[Published | Refusal]) -> Iterable[tuple[Published | Refusal, int]]:
    """What messages were answered: each answer with how many after it, itself included, only count on from it."""
    first: Published | None = None
    count = 0
    for result in results:
        if (
            first is not None
            and isinstance(result, Published)
            and result.offset == first.offset + count
            and result.partition == first.partition
            and result.timestamp == first.timestamp
            and result.due_ms == first.due_ms
        ):
            count += 1
            continue
        if first is not None:
            yield first, count
            first = None
        if isinstance(result, Refusal):
            yield result, 1
        else:
            first, count = result, 1
    if first is not None:
        yield first, count


def _read_run(results: list[Published | Refusal], count: int, content: Readable, at: int) -> int:
    partition, at = read_integer(content, at)
    offset, at = read_integer(content, at)
    timestamp, at = read_integer(content, at)
    due_ms, at = read_integer(content, at)
    results.extend(Published(partition, offset + place, timestamp, due_ms) for place in range(count))
    return at
