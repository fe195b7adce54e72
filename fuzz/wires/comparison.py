"""What was answered is what arrives, and what was asked is what the node was asked.

A call may ask the node more than once (a fetch first without waiting), and of several calls the broker may make one
request (acknowledgements of one member). So an answer that arrives is looked for among those that the node gave on this
connection to a request of the same meaning; each of them is the answer to one call.
"""

from collections.abc import Hashable

from attrs import evolve, fields, has

from goqueue.core.queues.receipts import STEM_LETTERS
from goqueue.core.requests.groups import PollGroup, ResetOffsets, ResetTo, WatchGroup
from goqueue.core.requests.messages import Fetch, PublishBatch, Published, PublishReply
from goqueue.core.requests.nodes import NodeReply
from goqueue.core.requests.queues import AckWork, PollWork, ReceiptRefusal, RejectWork, WorkDone
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import PartitionReply, TopicReply
from goqueue.fuzz.history import Violation
from goqueue.proto.refusals import field_name

_KEPT_MAX = 500
# With these a broker refuses before it asks its node.
_UNASKED = (Code.SHUTTING_DOWN, Code.UNAVAILABLE, Code.INVALID)
# What does not travel: by type, the names of fields.
_SILENT: dict[type, tuple[str, ...]] = {
    Refusal: ("leader",),
    TopicReply: ("segments",),
    NodeReply: ("streams", "checks", "timestamps_replaced"),
}


class Comparison:
    """Of one connection: what the node has answered, and no call was answered with yet."""

    def __init__(self) -> None:
        self._answered: list[tuple[Hashable, Hashable]] = []
        self._has_gathered = False

    def answered(self, meaning: Hashable, request: Request, reply: Reply) -> None:
        """The node has answered something that came on this connection."""
        self._has_gathered = self._has_gathered or isinstance(request, AckWork)
        self._answered.append((meaning, told(request, reply)))
        del self._answered[:-_KEPT_MAX]

    def arrived(self, request: Request, reply: Reply) -> None:
        """An answer has come to the client. Raises Violation."""
        reply = _alone(request, reply)
        pair = meaning_of(request), told(request, reply)
        if pair in self._answered:
            self._answered.remove(pair)
            return
        if isinstance(request, AckWork) and self._has_gathered:
            return
        if isinstance(reply, Refusal) and reply.code in _UNASKED:
            return
        given = [answer for asked, answer in self._answered if asked == pair[0]]
        others = [asked for asked, _ in self._answered]
        raise Violation(
            f"{_short(pair[0])} was answered with {_short(pair[1])} on the wire, and by the node"
            f" with {_short(given) if given else 'nothing; it was asked ' + _short(others)}"
        )


def meaning_of(request: Request) -> Hashable:
    """A request as far as it travels: how long it waits, and how much it takes at most, are a transport's to change."""
    if isinstance(request, Fetch):
        return "Fetch", request.topic, request.partition, request.offset, request.identity
    if isinstance(request, PollWork):
        return "PollWork", request.group, request.member_id, request.messages_max, request.visibility_ms
    if isinstance(request, PollGroup):
        return "PollGroup", request.group, request.member_id, request.records_max
    if isinstance(request, WatchGroup):
        return "WatchGroup", request.group, request.member_id, request.seen
    if isinstance(request, ResetOffsets):
        places = request.offset if request.to is ResetTo.OFFSET else request.at_ms if request.to is ResetTo.TIME else 0
        return "ResetOffsets", request.group, request.topic, request.to, (*request.partitions,), places, request.dry_run
    return _plain(request)


def told(request: Request, reply: Reply) -> Hashable:
    """A reply as far as it travels."""
    reply = _alone(request, reply)
    if isinstance(request, PublishBatch) and isinstance(reply, Published):
        return "Published", reply.partition, reply.offset, reply.timestamp
    if isinstance(request, RejectWork) and isinstance(reply, WorkDone):
        # Whatever is rejected is a dead letter: how many there are is not said.
        return "Rejected", reply.done, _plain(reply.refusals), reply.topic
    return _plain(reply)


def _alone(request: Request, reply: Reply) -> Reply:
    """The answer to a batch, which is the only one."""
    return reply.results[0] if isinstance(request, PublishBatch) and isinstance(reply, PublishReply) else reply


def _plain(value: object) -> Hashable:
    """Anything as something that can be compared and is not changed any more."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, list | tuple):
        return tuple(_plain(each) for each in value)
    if isinstance(value, dict):
        return tuple(sorted((key, _plain(each)) for key, each in value.items()))
    kind = type(value)
    if not has(kind):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, ReceiptRefusal):
        return value.stem[:STEM_LETTERS], value.offset, _plain(value.refusal)
    if isinstance(value, PartitionReply):
        value = evolve(value, size_bytes=max(value.size_bytes, 0))
    silent = _SILENT.get(kind, ())
    contents = [(each.name, getattr(value, each.name)) for each in fields(kind) if each.name not in silent]
    if isinstance(value, Refusal):
        contents = [(name, field_name(one) if name == "field" else one) for name, one in contents]
    return kind.__name__, *(_plain(one) for _, one in contents)


def _short(what: object) -> str:
    return repr(what)[:200]
