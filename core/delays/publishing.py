"""Which messages of a publish are kept back, and until when: the one place where delays are judged.

A message may say how long it is to be kept back, or until when, not both. A time that is past is as good as none. A
message that is kept back bears the time it is due as its timestamp.
"""

from collections.abc import Callable, Sequence

from attrs import define, evolve, field

from goqueue.core.errors import BatchError
from goqueue.core.log.config import TIME_MS_MAX
from goqueue.core.partition.publishing import Publishing, problem
from goqueue.core.records.batch import validate_exact
from goqueue.core.records.build import Entry, encode
from goqueue.core.records.headers import EXPIRES, Headers
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import Readable
from goqueue.core.requests.messages import Acks, Due, NewRecord, Publish, PublishBatch
from goqueue.core.requests.refusals import Code, Refusal

DUE_MS_MAX = TIME_MS_MAX


# Messages of a schedule are read again one by one, each from its batch; a single message may be larger.
SCHEDULED_BYTES_MAX = 64 << 10


@define
class HeldBack:
    """Messages of one publish that wait for a schedule to be made: what is to be asked for when there is one.

    `places` are those of their answers.
    """

    publishing: Publishing
    request: Publish | PublishBatch
    places: list[int]


@define
class Delayed:
    """The messages of a publish with all that delays mean for them, by their places."""

    records: list[NewRecord]
    dues: dict[int, int] = field(factory=dict)
    refused: dict[int, Refusal] = field(factory=dict)

    def now(self, places: list[int]) -> list[int]:
        """Those of some places that are published at once."""
        return [at for at in places if at not in self.dues and at not in self.refused]

    def later(self, places: list[int]) -> list[int]:
        """Those of some places that are kept back."""
        return [at for at in places if at in self.dues]

    def hold(self, topic: str, publishing: Publishing, spread: dict[int, list[int]]) -> HeldBack:
        """What is kept back, to be published again to the same partitions when there is a schedule."""
        places = [(at, number) for number, some in spread.items() for at in some if at in self.dues]
        records = [evolve(self.records[at], partition=number, due_ms=self.dues[at]) for at, number in sorted(places)]
        acks = Acks.ALL if publishing.awaits else Acks.NONE
        return HeldBack(publishing, Publish(topic, records, acks), [at for at, _ in sorted(places)])


def delayed(wall_ms: int, records: Sequence[NewRecord], bytes_max: Callable[[], int]) -> Delayed | None:
    """What is to be kept back of some messages; None when no delay is asked for in any.

    `bytes_max` tells the most that a batch of the topic may have, as the data will take none that is larger.
    """
    if not any(record.delay_ms or record.due_ms is not None for record in records):
        return None
    found = Delayed([*records])
    for at, record in enumerate(records):
        if not record.delay_ms and record.due_ms is None:
            continue
        due_ms = due_at(wall_ms, record.delay_ms, record.due_ms)
        if isinstance(due_ms, Refusal):
            found.refused[at] = due_ms
        elif due_ms > wall_ms:
            refusal = _too_large(record, due_ms, bytes_max())
            if refusal is not None:
                found.refused[at] = refusal
                continue
            found.dues[at] = due_ms
            found.records[at] = NewRecord(
                record.key, record.value, record.headers, record.partition, due_ms, record.lane, ttl_ms=record.ttl_ms
            )
    return found


def scheduled(wall_ms: int, batch: Readable, due: Due, bytes_max: int) -> bytearray | Refusal:
    """A client's batch as the schedule takes it: the same numbers, and each message with the time that it is due.

    It is a batch like those that the broker makes of single messages: not compressed, since each message is read alone,
    and its base timestamp says when it was published. `bytes_max` is the most that a batch of the topic may have.
    """
    assert due is not Due.NOW
    header = validate_exact(batch)
    wrong = problem(header)
    if wrong:
        return Refusal(Code.INVALID, wrong, "batch")
    entries: list[Entry] = []
    for record in iterate(batch, max_bytes=max(bytes_max, SCHEDULED_BYTES_MAX)):
        # Without a time of its own a message has -1.
        due_ms = due_at(wall_ms, record.timestamp, None) if due is Due.AFTER else due_at(wall_ms, 0, record.timestamp)
        if isinstance(due_ms, Refusal):
            return Refusal(due_ms.code, due_ms.message, "batch")
        # What is due already bears the time at which it is delivered, or retention would take it for old.
        due_ms = max(due_ms, wall_ms)
        headers = shifted(record.headers, due_ms - record.timestamp) if record.headers else ()
        entries.append((due_ms, record.key, record.value, headers))
    content = encode(
        entries,
        base_timestamp=wall_ms,
        lane=header.lane,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
    )
    most = bytes_max if len(entries) == 1 else min(bytes_max, SCHEDULED_BYTES_MAX)
    if len(content) > most:
        said = f"a batch of {len(content)} bytes is over the limit of {most} for messages that are kept back"
        return Refusal(Code.TOO_LARGE, said, "batch")
    return content


def shifted(headers: Headers, span_ms: int) -> Headers:
    """Headers of a message whose time is moved: it expires as much later, or earlier."""
    return tuple((name, _later(value, span_ms) if name == EXPIRES else value) for name, value in headers)


def _later(value: bytes | None, span_ms: int) -> bytes | None:
    try:
        return b"%d" % (int(value or b"") + span_ms)
    except ValueError:
        return value


def due_at(wall_ms: int, delay_ms: int, due_ms: int | None) -> int | Refusal:
    """When a message is due of which this is asked, in milliseconds since 1970."""
    if delay_ms and due_ms is not None:
        return Refusal(Code.INVALID, "a delay and a time to deliver at: expected one of them", "delay_ms")
    if delay_ms < 0:
        return Refusal(Code.INVALID, f"expected a delay of 0 ms or more, found {delay_ms}", "delay_ms")
    if due_ms is not None and due_ms < 0:
        return Refusal(Code.INVALID, f"expected a time since 1970, found {due_ms} ms", "due_ms")
    due = wall_ms + delay_ms if due_ms is None else due_ms
    if due > DUE_MS_MAX:
        field_name = "delay_ms" if due_ms is None else "due_ms"
        return Refusal(Code.INVALID, "no message can be due after the year 9999", field_name)
    return due


def _too_large(record: NewRecord, due_ms: int, bytes_max: int) -> Refusal | None:
    if 4 * (len(record.key or b"") + len(record.value or b"")) < bytes_max and not record.headers:
        return None
    try:
        size = len(encode([(due_ms, record.key, record.value, record.headers)]))
    except BatchError:
        # Whoever gathers it finds out what is wrong with it.
        return None
    if size <= bytes_max:
        return None
    return Refusal(Code.TOO_LARGE, f"a batch of {size} bytes is over the limit of {bytes_max}", "batch")
