"""Publishes of clients: asked and answered, on the node that the client has asked.

A publish of single messages is answered message by message; those that went to one partition one behind the other are
one fact. Which batch they became is told by `log.py`, on the node that leads. Publishes that wait when a capture begins
are known by where they went and not by what was asked, so their answers are facts without `since`.
"""

from collections.abc import Iterable, Iterator

from attrs import define

from goqueue.core.errors import BatchError
from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.publishing import Unacknowledged
from goqueue.core.records.batch import read_header
from goqueue.core.records.claims import is_possible
from goqueue.core.requests.call import Caller
from goqueue.core.requests.messages import Acks, NewRecord, Publish, PublishBatch, Published, PublishReply, Side
from goqueue.core.requests.refusals import Refusal
from goqueue.spark.facts.inside import is_of_client, waiting
from goqueue.spark.facts.listening import CLIENT, Errand, Hears, Listener


@define
class Earlier:
    """A publish that waited when the capture began; `count` is that of a batch, 1 for messages one by one."""

    topic: str
    acks: Acks
    count: int


_Publish = Publish | PublishBatch | Earlier
Result = Published | Refusal


class Publishing(Listener):
    """Notes `asked` and `answered`."""

    def hears(self) -> Hears:
        """Publishes."""
        return Hears(
            asked={Publish: self._asked, PublishBatch: self._asked},
            answered={Publish: self._answered, PublishBatch: self._answered, Earlier: self._answered},
        )

    def begin(self, node: Node) -> list[tuple[int, Errand]]:
        """Publishes that wait to be acknowledged."""
        partitions = node.led.streams.values()
        return [found for one in partitions for wait in waiting(one) for found in _earlier(one, wait)]

    def _asked(self, node: Node, errand: Errand) -> None:
        if errand.way != CLIENT:
            return
        request: Publish | PublishBatch = errand.request
        if isinstance(request, PublishBatch):
            partition: int | None = request.partition
            count, size = _count_in(request), len(request.batch)
        else:
            partition = _partition_of(request.records)
            count, size = len(request.records), sum(map(_size, request.records))
        self.notebook.note(
            "asked", topic=request.topic, partition=partition, count=count, bytes=size,
            client=errand.caller.client_id or None, detail=request.acks.value,
        )  # fmt: skip

    def _answered(self, node: Node, errand: Errand, reply: object) -> None:
        if errand.way != CLIENT:
            return
        request: _Publish = errand.request
        named = request.partition if isinstance(request, PublishBatch) else None
        each = 1 if isinstance(request, Publish) else _count_in(request)
        if isinstance(reply, Refusal):
            self._note(node, errand, named, reply, len(request.records) if isinstance(request, Publish) else each)
        elif isinstance(reply, PublishReply) and len(reply.results) == 1:
            self._note(node, errand, named, reply.results[0], each)
        elif isinstance(reply, PublishReply):
            for result, count in in_runs(reply.results):
                self._note(node, errand, named, result, count)

    def _note(self, node: Node, errand: Errand, partition: int | None, result: Result, count: int) -> None:
        request: _Publish = errand.request
        side = cause = first = epoch = None
        if isinstance(result, Refusal):
            cause = result.code.value
        else:
            partition, side = result.partition, _side(result)
            first = result.offset if result.offset >= 0 else None
            epoch = _epoch(node, request.topic, partition)
        self.notebook.note(
            "answered", topic=request.topic, partition=partition, side=side, first=first,
            end=None if first is None else first + count, count=count, epoch=epoch, since=errand.at,
            client=errand.caller.client_id or None, cause=cause, detail=request.acks.value,
        )  # fmt: skip


def _earlier(partition: Partition, wait: Unacknowledged) -> Iterator[tuple[int, Errand]]:
    for share in wait.shares:
        publishing = share.publishing
        if is_of_client(publishing.call):
            # One that is alone in a batch may be the batch.
            is_batch = len(wait.shares) == len(publishing.results) == 1
            count = wait.next_offset - wait.first_offset if is_batch else 1
            acks = Acks.ALL if publishing.needs_all else Acks.LEADER
            yield publishing.call.number, Errand(CLIENT, "", None, Caller(), Earlier(partition.topic, acks, count))


def in_runs(results: Iterable[Result]) -> list[tuple[Result, int]]:
    """Results that follow one another in one stream as one: the first of them, and how many they are."""
    found: list[tuple[Result, int]] = []
    open_runs: dict[tuple[object, ...], int] = {}
    for result in results:
        key = _run_of(result)
        at = open_runs.get(key)
        if at is not None and _goes_on(*found[at], result):
            found[at] = found[at][0], found[at][1] + 1
        else:
            open_runs[key] = len(found)
            found.append((result, 1))
    return found


def _run_of(result: Result) -> tuple[object, ...]:
    if isinstance(result, Refusal):
        return (result.code,)
    return result.partition, result.due_ms < 0, result.offset < 0


def _goes_on(first: Result, count: int, result: Result) -> bool:
    if isinstance(first, Refusal) or isinstance(result, Refusal):
        return True
    return first.offset < 0 or result.offset == first.offset + count


def _side(result: Published) -> str:
    return Side.DATA.value if result.due_ms < 0 else Side.SCHEDULE.value


def _epoch(node: Node, topic: str, partition: int) -> int | None:
    """The epoch under which this node leads a partition, if it does."""
    known = node.led.topics.get(topic)
    led = None if known is None else known.partition(partition)
    return led.leader_epoch if isinstance(led, Partition) else None


def _count_in(request: PublishBatch | Earlier) -> int:
    if isinstance(request, Earlier):
        return request.count
    try:
        header = read_header(request.batch)
    except BatchError:
        return 0
    # What claims more than it can have is refused, and says nothing.
    return header.record_count if header.size == len(request.batch) and is_possible(header) else 0


def _partition_of(records: list[NewRecord]) -> int | None:
    """The partition that all messages of a publish are for, if they name one."""
    named = records[0].partition if records else None
    return named if all(one.partition == named for one in records) else None


def _size(record: NewRecord) -> int:
    return len(record.key or b"") + len(record.value or b"")
