"""The messages that clients published to a node, out of its captures: replayed, for only then is known where each went.

A request alone does not say what became of it. So the node is told again what it was told, and what it answers says
which messages were taken, to which partition and at which offset. A message that was sent twice has one offset, and is
one; the order in a partition is that of its log.

What is left out is counted, by reason: batches whose records the capture left out (all that client libraries send,
unless it was made with `--capture-records on`), messages whose answer names no place (acks none), those that were
kept back until later, and those whose answer is in no file. A file that cannot be replayed is told with the reason.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import pyarrow as pa
from attrs import define, field

from goqueue.core.capture.events import Event
from goqueue.core.errors import BatchError
from goqueue.core.node import Node
from goqueue.core.ready import Ready
from goqueue.core.records.batch import read_header
from goqueue.core.records.headers import EXPIRES
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import Readable
from goqueue.core.requests.messages import NewRecord, Publish, PublishBatch, Published, PublishReply
from goqueue.spark import places
from goqueue.storage.capture import core_vocabulary
from goqueue.storage.capture_files import CaptureFile, replay

_PAIR = pa.struct([("key", pa.string()), ("value", pa.binary())])
SCHEMA = pa.schema([
    ("topic", pa.string()),
    ("partition", pa.int32()),
    ("offset", pa.int64()),
    ("timestamp", pa.timestamp("us", "UTC")),
    ("key", pa.binary()),
    ("value", pa.binary()),
    ("headers", pa.list_(pa.field("element", _PAIR))),
    ("lane", pa.int32()),
    # Where it was, by which topic of the name and which partition: a topic that is made again has the same offsets.
    ("source", pa.string()),
    # Of a row that is no message: what was left out; `offset` says how many.
    ("left_out", pa.string()),
])  # fmt: skip
SCHEMA_DDL = (
    "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary,"
    " headers array<struct<key: string, value: binary>>, lane int, source string, left_out string"
)

NO_RECORDS = "messages in batches whose records the capture left out"
NO_PLACE = "messages whose publisher asked for no acknowledgement"
KEPT_BACK = "messages that were kept back until later"
NO_ANSWER = "publishes whose answer is not in the captures"

_PIECE_ROWS = 4096
_WAITING_MAX = 1 << 16

Message: TypeAlias = tuple[Any, ...]


@define
class Gleaner:
    """Looks on while a node is replayed, and keeps the messages that it took; of one topic if it is named."""

    topic: str = ""
    rows: list[Message] = field(factory=list)
    left_out: dict[str, int] = field(factory=dict)
    # With the id of the topic that was meant, as far as the node knew it when it was asked.
    _waiting: dict[int, tuple[Publish | PublishBatch, str]] = field(factory=dict)

    def heard(self, node: Node, event: Event, came: object) -> None:
        """A node was told something, and this came of it."""
        if event.verb == "ask":
            to, _, request = event.args
            if isinstance(request, Publish | PublishBatch) and self.topic in ("", request.topic):
                self._await(to, request, _identity(node, request.topic))
        elif event.verb == "forget":
            self._drop(event.args[0])
        elif isinstance(came, Ready):
            for send in came.sends:
                self._answered(node, send.to, send.reply)

    def began(self) -> None:
        """Another process, or some of the events are missing: nobody will be answered any more."""
        self._count(NO_ANSWER, len(self._waiting))
        self._waiting.clear()

    def note(self, faults: Mapping[str, str]) -> None:
        """What is wrong with files, each of which counts as one."""
        for name, why in faults.items():
            self._count(f"{name}: {why}", 1)

    def _await(self, to: int, request: Publish | PublishBatch, identity: str) -> None:
        if len(self._waiting) >= _WAITING_MAX:
            self._drop(next(iter(self._waiting)))
        self._waiting[to] = request, identity

    def _drop(self, to: int) -> None:
        if self._waiting.pop(to, None) is not None:
            self._count(NO_ANSWER, 1)

    def _answered(self, node: Node, to: int, reply: object) -> None:
        request, identity = self._waiting.pop(to, (None, ""))
        if request is None or not isinstance(reply, PublishReply):
            return
        origin = f"{request.topic}/{identity or _identity(node, request.topic)}"
        if isinstance(request, PublishBatch):
            self._take_batch(request, reply.results[0], origin)
            return
        for record, result in zip(request.records, reply.results, strict=True):
            if isinstance(result, Published):
                self._take(request.topic, record, result, origin)

    def _take(self, topic: str, record: NewRecord, placed: Published, origin: str) -> None:
        if placed.due_ms >= 0:
            self._count(KEPT_BACK, 1)
        elif placed.offset < 0:
            self._count(NO_PLACE, 1)
        else:
            headers = record.headers
            if record.ttl_ms:
                headers = (*headers, (EXPIRES, b"%d" % (placed.timestamp + record.ttl_ms)))
            place = topic, placed.partition, placed.offset
            self._keep(place, placed.timestamp, record.key, record.value, headers, record.lane, origin)

    def _take_batch(self, request: PublishBatch, placed: object, origin: str) -> None:
        if not isinstance(placed, Published):
            return
        header = read_header(request.batch)
        if placed.offset < 0:
            self._count(NO_PLACE, header.record_count)
            return
        try:
            records = list(iterate(request.batch))
        except BatchError:
            self._count(NO_RECORDS, header.record_count)
            return
        for number, one in enumerate(records):
            place = request.topic, request.partition, placed.offset + number
            self._keep(place, one.timestamp, one.key, one.value, one.headers, header.lane, origin)

    def _keep(
        self,
        place: tuple[str, int, int],
        timestamp_ms: int,
        key: Readable | None,
        value: Readable | None,
        headers: Sequence[tuple[str, bytes | None]],
        lane: int,
        origin: str,
    ) -> None:
        moment = None if timestamp_ms < 0 else timestamp_ms * 1000
        contents = (None if one is None else bytes(one) for one in (key, value))
        pairs = [{"key": name, "value": content} for name, content in headers]
        self.rows.append((*place, moment, *contents, pairs, int(lane), f"{origin}/{place[1]}", None))

    def _count(self, reason: str, count: int) -> None:
        if count:
            self.left_out[reason] = self.left_out.get(reason, 0) + count


def _identity(node: Node, topic: str) -> str:
    known = node.led.topics.get(topic)
    return "" if known is None else known.topic.identity


def gleaned(files: Iterable[CaptureFile], topic: str = "") -> Iterator[pa.RecordBatch]:
    """The messages in the captures of one node, in `SCHEMA`; of one topic if it is named.

    Files are replayed one by one, each from its own snapshot, so what is held is the messages of one of them. What was
    left out, and what is wrong with a file, is a row with the reason.
    """
    gleaner = Gleaner(topic)
    previous: CaptureFile | None = None
    tails: dict[str, str] = {}
    for file in files:
        if previous is None or previous.run != file.run:
            gleaner.began()
        else:
            # What has a successor was left whole by its writer.
            gleaner.note(tails)
            missing = file.sequence - previous.sequence - 1
            if missing:
                gleaner.began()
                gleaner.note({file.name: f"{missing} files are missing before it"})
        tails = {}
        previous = file
        outcome = replay([file], core_vocabulary(), heard=gleaner.heard, open_file=places.open_file)
        rows, gleaner.rows = gleaner.rows, []
        for at in range(0, len(rows), _PIECE_ROWS):
            yield _batch(rows[at : at + _PIECE_ROWS])
        for fault in outcome.faults:
            gleaner.began()
            if fault.is_tail:
                tails[fault.name] = fault.why
            else:
                gleaner.note({fault.name: fault.why})
        if outcome.divergence is not None:
            gleaner.began()
            gleaner.note({outcome.diverged_in: "its rest, since that comes out otherwise under this release"})
    gleaner.began()
    if gleaner.left_out:
        said = gleaner.left_out.items()
        yield _batch([(None, None, count, *[None] * 6, reason) for reason, count in said])


def _batch(rows: list[Message]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, SCHEMA.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
