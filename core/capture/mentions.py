"""Where requests, answers and letters speak of one message: the only place that knows which of them do, and how.

The records of a batch may not be in a capture, so nothing here needs them; offsets and headers say enough. The one
exception are dead letters, whose batches a node makes itself.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from goqueue.core.capture.timeline import Kind, Place
from goqueue.core.deadletters.letters import read_letter
from goqueue.core.errors import BatchError, ProtocolError
from goqueue.core.log.effects import Buffer
from goqueue.core.queues.receipts import ending_of, read_stem
from goqueue.core.records.batch import Header, read_header, split
from goqueue.core.records.record import iterate
from goqueue.core.replication.messages import Kept, Pull, Pulled
from goqueue.core.requests.groups import CommitOffsets, CommittedOffsets, Polled, PollGroup
from goqueue.core.requests.messages import Fetch, Fetched, Publish, PublishBatch, Published, PublishReply, Side
from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    NackWork,
    PolledWork,
    PollWork,
    ReceiptRun,
    RejectWork,
    ReleaseWork,
    WorkDone,
)

# What a request has come to for a message, and what there is to say of that.
Mention = tuple[Kind, str]
PUBLISHES = (Publish, PublishBatch)
_SETTLED: dict[type, Kind] = {
    AckWork: Kind.ACKED,
    NackWork: Kind.NACKED,
    RejectWork: Kind.REJECTED,
    ExtendWork: Kind.EXTENDED,
    ReleaseWork: Kind.RELEASED,
}


def may_mention(place: Place, request: object) -> bool:
    """Whether the answer to a request may be about a message."""
    if isinstance(request, Fetch | PublishBatch):
        return request.topic == place.topic and request.partition == place.partition and request.side is Side.DATA
    return type(request) in _READS and getattr(request, "topic", place.topic) == place.topic


def mentions(place: Place, request: object, reply: object) -> Iterable[Mention]:
    """What a request has come to for a message; nothing where it is about others."""
    read = _READS.get(type(request))
    return () if read is None else read(place, request, reply)


def _published(place: Place, request: Publish | PublishBatch, reply: object) -> Iterator[Mention]:
    if not isinstance(reply, PublishReply):
        return
    count = read_header(request.batch).last_offset_delta + 1 if isinstance(request, PublishBatch) else 1
    for one in reply.results:
        if not isinstance(one, Published) or one.partition != place.partition or one.due_ms >= 0:
            continue
        if one.offset <= place.offset < one.offset + count:
            yield Kind.ANSWERED, f"offset {one.offset}"


def _fetched(place: Place, request: Fetch, reply: object) -> Iterator[Mention]:
    if isinstance(reply, Fetched) and len(reply.batches) and request.offset <= place.offset < reply.next_offset:
        yield Kind.DELIVERED, f"fetch from {request.offset} to {reply.next_offset}"


def _polled(place: Place, request: PollGroup, reply: object) -> Iterator[Mention]:
    for part in reply.parts if isinstance(reply, Polled) else ():
        is_there = (part.topic, part.partition) == (place.topic, place.partition)
        if is_there and part.first_offset <= place.offset < part.end_offset:
            yield Kind.DELIVERED, f"group {request.group}, member {request.member_id}"


def _leased(place: Place, request: PollWork, reply: object) -> Iterator[Mention]:
    for part in reply.parts if isinstance(reply, PolledWork) else ():
        if (part.topic, part.partition) != (place.topic, place.partition):
            continue
        for lease in part.leases:
            if lease.first_offset <= place.offset < lease.first_offset + lease.count:
                yield Kind.LEASED, f"group {request.group}, member {request.member_id}, attempt {lease.attempt}"


def _committed(place: Place, request: CommitOffsets, reply: object) -> Iterator[Mention]:
    refused = [(one.topic, one.partition) for one in reply.refusals] if isinstance(reply, CommittedOffsets) else None
    for one in request.offsets:
        at = one.topic, one.partition
        if at == (place.topic, place.partition) and one.offset > place.offset and refused is not None:
            if at not in refused:
                yield Kind.COMMITTED, f"group {request.group}, up to {one.offset}"


def _settled(place: Place, request: Any, reply: object) -> Iterator[Mention]:
    for run in request.receipts if isinstance(reply, WorkDone) else ():
        if not run.first_offset <= place.offset < run.first_offset + run.count or not _is_of(place, run):
            continue
        assert isinstance(reply, WorkDone)
        of_group = f"group {request.group}, " if request.group else ""
        why = [one.refusal.code for one in reply.refusals if (one.stem, one.offset) == (run.stem, place.offset)]
        refused = f", refused: {why[0]}" if why else ""
        yield _SETTLED[type(request)], f"{of_group}attempt {read_stem(run.stem).attempt}{refused}"


def _is_of(place: Place, run: ReceiptRun) -> bool:
    try:
        return read_stem(run.stem).place == (ending_of(place.topic_id), place.partition)
    except ProtocolError:
        return False


_READS: dict[type, Callable[[Place, Any, object], Iterator[Mention]]] = {
    **dict.fromkeys(PUBLISHES, _published),
    Fetch: _fetched,
    PollGroup: _polled,
    PollWork: _leased,
    CommitOffsets: _committed,
    **dict.fromkeys(_SETTLED, _settled),
}

# --- batches and letters


def batch_with(offset: int, runs: Iterable[Buffer]) -> Header | None:
    """The header of the batch that holds an offset, in runs of whole batches."""
    for run in runs:
        for batch in split(run):
            header = read_header(batch)
            if header.base_offset <= offset <= header.last_offset:
                return header
    return None


def pulled_with(place: Place, message: Pulled) -> Header | None:
    """The header of the batch that holds a message, where an answer to a follower carries it."""
    for part in message.parts:
        if (part.topic_id, part.partition, part.side) == (place.topic_id, place.partition, Side.DATA):
            found = batch_with(place.offset, part.runs)
            if found is not None:
                return found
    return None


def kept_to(place: Place, message: Kept | Pull) -> int | None:
    """How far a follower says that it has a partition on its disk, where that is beyond a message."""
    for part in message.parts:
        if (part.topic_id, part.partition, part.side) == (place.topic_id, place.partition, Side.DATA):
            return part.kept_offset if part.kept_offset > place.offset else None
    return None


def buried_in(place: Place, runs: Iterable[Buffer]) -> tuple[int, str] | None:
    """The offset of the dead letter that a message has become, and what it died of, if it is in these batches."""
    for run in runs:
        for batch in split(run):
            try:
                letters = [read_letter(0, record) for record in iterate(batch)]
            except BatchError:
                # A client's own batch, whose records the capture has not.
                continue
            for one in letters:
                source = one.source_topic, one.source_partition, one.source_offset
                if source == (place.topic, place.partition, place.offset):
                    return one.offset, one.reason
    return None
