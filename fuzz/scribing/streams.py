"""Logs, committed offsets and topics, as operations of a history."""

from collections.abc import Sequence
from typing import Any

from goqueue.core.records.varint import Readable
from goqueue.core.requests.groups import (
    CommitOffsets,
    CommittedOffsets,
    DeleteGroup,
    FetchOffsets,
    GroupOffset,
    OffsetChange,
    Polled,
    PollGroup,
    ResetOffsets,
)
from goqueue.core.requests.messages import Due, Fetch, Fetched, Publish, PublishBatch, PublishReply
from goqueue.core.requests.refusals import Outcome, Refusal
from goqueue.core.requests.topics import AlterTopic, CreateTopic, DeleteTopic, DescribeTopic, TopicReply
from goqueue.fuzz.histories.operation import Operation, Verb
from goqueue.fuzz.histories.recorder import Recorder
from goqueue.fuzz.history import Message, name_of, records_in, sent_in
from goqueue.fuzz.scribing.translation import Translation
from goqueue.fuzz.workloads.visitor import VISITED

# The settings that histories know of.
_SETTINGS = ("fsync", "cleanup", "retention_hours", "retention_bytes")

Place = tuple[str, str, int]


class Streams:
    """See the module; of `shared` groups the offsets are the broker's own, and nobody commits them.

    Groups that visitors leave behind are forgotten after a while, which `checkers/forgetting.py` judges and a history
    cannot.
    """

    def __init__(self, recorder: Recorder, shared: set[str]) -> None:
        self._recorder = recorder
        self._shared = shared
        self._sent: set[bytes] = set()
        # Where each process goes on in each partition.
        self._reached: dict[Place, int] = {}

    def translations(self) -> dict[type, Translation]:
        """By kind of request."""
        return {
            Publish: Translation(self._publish, self._published),
            PublishBatch: Translation(self._publish_batch, self._batch_published),
            Fetch: Translation(self._fetch, self._fetched),
            PollGroup: Translation(self._poll, self._polled),
            CommitOffsets: Translation(self._commit, self._committed),
            FetchOffsets: Translation(self._ask_offsets, self._told_offsets),
            ResetOffsets: Translation(self._reset, self._was_reset),
            DeleteGroup: Translation(self._delete_group, self._done),
            CreateTopic: Translation(self._create, self._done),
            AlterTopic: Translation(self._alter, self._done),
            DeleteTopic: Translation(self._delete, self._done),
            DescribeTopic: Translation(self._describe, self._described),
        }

    def _done(self, operations: list[Operation], _request: object, _reply: object) -> None:
        for operation in operations:
            self._recorder.ok(operation)

    # --- publishing

    def _publish(self, process: str, request: Publish) -> list[Operation]:
        begun = []
        for message, record in zip(sent_in(request), request.records, strict=True):
            if record.delay_ms or record.due_ms is not None:
                due: dict[str, object] = {"delay_ms": record.delay_ms, "due_ms": record.due_ms}
                begun.append(self._send_later(process, request.topic, [message], due, ttl=record.ttl_ms > 0))
            else:
                asked = {"lane": record.lane.name, "acks": str(request.acks), "atomic": False}
                begun.append(self._send(process, request.topic, [message], asked, ttl=record.ttl_ms > 0))
        return begun

    def _publish_batch(self, process: str, request: PublishBatch) -> list[Operation]:
        messages = sent_in(request)
        if not messages:
            return []
        if request.due is not Due.NOW:
            due: dict[str, object] = {"delay_ms": 0, "due_ms": None}
            return [self._send_later(process, request.topic, messages, due)]
        asked = {"lane": "", "acks": str(request.acks), "atomic": True}
        return [self._send(process, request.topic, messages, asked)]

    def _send(
        self, process: str, topic: str, messages: list[Message], asked: dict[str, Any], *, ttl: bool = False
    ) -> Operation:
        # Requests of one process may overtake each other.
        return self._begin(Verb.PUBLISH, process, topic, messages, ttl=ttl, ordered=False, **asked)

    def _send_later(
        self, process: str, topic: str, messages: list[Message], due: dict[str, Any], *, ttl: bool = False
    ) -> Operation:
        return self._begin(Verb.PUBLISH_LATER, process, topic, messages, ttl=ttl, **due)

    def _begin(self, verb: Verb, process: str, topic: str, messages: list[Message], **asked: object) -> Operation:
        values, key = [_text(one.name) for one in messages], messages[0].key
        # Without numbers a message is there once all the same, unless its client sends it again.
        numbered = all(one.has_sequence or one.name not in self._sent for one in messages)
        self._sent.update(one.name for one in messages)
        return self._recorder.begin(
            process,
            verb,
            topic=topic,
            values=values,
            key=None if key is None else _text(key),
            numbered=numbered,
            **asked,
        )

    def _published(self, operations: list[Operation], _request: Publish, reply: PublishReply) -> None:
        for operation, result in zip(operations, reply.results, strict=True):
            self._tell_published(operation, result)

    def _batch_published(self, operations: list[Operation], _request: PublishBatch, reply: PublishReply) -> None:
        self._tell_published(operations[0], reply.results[0])

    def _tell_published(self, operation: Operation, result: Any) -> None:  # noqa: ANN401 - Published or Refusal
        recorder = self._recorder
        if isinstance(result, Refusal):
            if result.outcome is Outcome.NONE:
                recorder.fail(operation, str(result.code))
            else:
                recorder.unknown(operation, str(result.code))
            return
        count = len(operation.asked["values"])
        offsets = [result.offset + at if result.offset >= 0 else result.offset for at in range(count)]
        if operation.verb is Verb.PUBLISH:
            recorder.ok(operation, partition=result.partition, offsets=offsets)
        else:
            recorder.ok(operation, partition=result.partition, offsets=offsets, due_ms=result.due_ms)

    # --- reading

    def _fetch(self, process: str, _request: Fetch) -> list[Operation]:
        return [self._recorder.begin(process, Verb.POLL, group="")]

    def _fetched(self, operations: list[Operation], request: Fetch, reply: Fetched) -> None:
        messages = _messages(reply.batches, request.offset, reply.next_offset)
        parts = [_part(request.topic, request.partition, request.offset, reply.next_offset, messages)]
        self._tell_polled(operations[0], parts)

    def _poll(self, process: str, request: PollGroup) -> list[Operation]:
        return [self._recorder.begin(process, Verb.POLL, group=request.group)]

    def _polled(self, operations: list[Operation], _request: PollGroup, reply: Polled) -> None:
        parts = [
            _part(
                part.topic, part.partition, part.first_offset, part.end_offset,
                _messages(part.batches, part.first_offset, part.end_offset),
            )
            for part in reply.parts
        ]  # fmt: skip
        self._tell_polled(operations[0], parts)

    def _tell_polled(self, operation: Operation, parts: list[dict[str, Any]]) -> None:
        """Note what was read, and that its process went elsewhere, where it did."""
        for part in parts:
            place = operation.process, part["topic"], part["partition"]
            if self._reached.get(place) not in (None, part["begin"]):
                slot = (part["topic"], part["partition"])
                self._recorder.note(operation.process, Verb.ASSIGN, group=operation.asked["group"], partitions=[slot])
            self._reached[place] = part["position"]
        self._recorder.ok(operation, parts=parts)

    # --- offsets

    def _is_beside(self, group: str) -> bool:
        """Whether nothing is written down of what a group has committed."""
        return group in self._shared or group.startswith(VISITED)

    def _commit(self, process: str, request: CommitOffsets) -> list[Operation]:
        if self._is_beside(request.group):
            return []
        rows = [(one.topic, one.partition, one.offset) for one in request.offsets]
        return [self._recorder.begin(process, Verb.COMMIT, group=request.group, offsets=rows)]

    def _committed(self, operations: list[Operation], _request: CommitOffsets, reply: CommittedOffsets) -> None:
        refused = [(one.topic, one.partition, str(one.refusal.code)) for one in reply.refusals]
        self._recorder.ok(operations[0], refused=refused)

    def _ask_offsets(self, process: str, request: FetchOffsets) -> list[Operation]:
        if self._is_beside(request.group):
            return []
        return [self._recorder.begin(process, Verb.COMMITTED, group=request.group)]

    def _told_offsets(self, operations: list[Operation], _request: FetchOffsets, reply: Sequence[GroupOffset]) -> None:
        self._recorder.ok(operations[0], offsets=[(one.topic, one.partition, one.offset) for one in reply])

    def _reset(self, process: str, request: ResetOffsets) -> list[Operation]:
        if request.dry_run:
            return []
        return [self._recorder.begin(process, Verb.RESET, group=request.group, topic=request.topic)]

    def _was_reset(self, operations: list[Operation], _request: ResetOffsets, reply: Sequence[OffsetChange]) -> None:
        self._recorder.ok(operations[0], offsets=[(one.partition, one.after) for one in reply])

    def _delete_group(self, process: str, request: DeleteGroup) -> list[Operation]:
        return [self._recorder.begin(process, Verb.DELETE_GROUP, group=request.group)]

    # --- topics

    def _create(self, process: str, request: CreateTopic) -> list[Operation]:
        return [self._recorder.begin(process, Verb.CREATE, topic=request.name, config=_known(request.config))]

    def _alter(self, process: str, request: AlterTopic) -> list[Operation]:
        return [self._recorder.begin(process, Verb.ALTER, topic=request.name, config=_known(request.config))]

    def _delete(self, process: str, request: DeleteTopic) -> list[Operation]:
        return [self._recorder.begin(process, Verb.DELETE, topic=request.name)]

    def _describe(self, process: str, request: DescribeTopic) -> list[Operation]:
        return [self._recorder.begin(process, Verb.DESCRIBE, topic=request.name)]

    def _described(self, operations: list[Operation], _request: DescribeTopic, reply: TopicReply) -> None:
        self._recorder.ok(operations[0], config={"fsync": str(reply.config.get("fsync", "every"))})


def _messages(batches: Readable, begin: int, end: int) -> list[tuple[int, str]]:
    """The messages of an answer that are meant: the first batch may begin before, and the last end behind."""
    return [(one.offset, _text(name_of(one))) for one in records_in(batches) if begin <= one.offset < end]


def _part(topic: str, partition: int, begin: int, position: int, messages: list[tuple[int, str]]) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "begin": begin, "position": position, "messages": messages}


def _known(config: dict[str, object]) -> dict[str, object]:
    return {name: config[name] for name in _SETTINGS if name in config}


def _text(content: bytes) -> str:
    return content.decode("latin-1")
