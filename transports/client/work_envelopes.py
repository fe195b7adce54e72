"""What goes over a member's stream: requests as messages, replies as they are or as what broke the stream off.

Messages that come are numbered by the request they answer; what answers none, messages under a lease among it, has 0.
"""

from collections.abc import Callable
from typing import Any

import betterproto

from goqueue.core.client.failure import BAD_REPLY, Failure
from goqueue.core.client.work_session import GrantCredit, WorkAnswer, WorkRequest
from goqueue.core.requests.groups import JoinGroup, LeaveGroup
from goqueue.core.requests.queues import AckWork, ExtendWork, LeasedBatches, NackWork, RejectWork, ReleaseWork
from goqueue.core.requests.refusals import Code
from goqueue.proto import groups, v1, work
from goqueue.proto.fields import made
from goqueue.proto.refusals import read_refusal
from goqueue.proto.wire import WireError, unsigned
from goqueue.transports.client.errors import CODEC
from goqueue.transports.client.times import wall_ms

# Of one lease; each message takes some memory here before its bytes are looked at.
_COUNT_MAX = 1 << 20


def _credit(granted: GrantCredit) -> v1.Credit:
    return made(v1.Credit, messages=granted.messages, bytes=granted.size, visibility_timeout_ms=granted.visibility_ms)


# The fields of a ConsumeRequest by their tags, of one byte each: the message around a request is spelled here, since
# to make an object of it would cost more than all the rest.
_REQUEST_ID = b"\x08"
_FIELDS: dict[type, tuple[bytes, Callable[[Any], object]]] = {
    JoinGroup: (b"\x12", groups.join_group_message),
    GrantCredit: (b"\x1a", _credit),
    AckWork: (b"\x22", work.ack_message),
    NackWork: (b"\x2a", work.nack_message),
    RejectWork: (b"\x32", work.reject_message),
    ExtendWork: (b"\x3a", work.extend_message),
    LeaveGroup: (b"\x5a", groups.leave_group_message),
    ReleaseWork: (b"\x6a", work.release_message),
}

_ANSWERS: dict[str, Callable[[Any], WorkAnswer]] = {
    "joined": groups.read_joined,
    "acked": work.read_acked,
    "nacked": work.read_nacked,
    "rejected": work.read_rejected,
    "extended": work.read_extended,
    "released": work.read_released,
    "refusal": read_refusal,
    "left": lambda _left: None,
}
# What says nothing to a member without partitions.
_IGNORED = ("assignment", "batches", "committed", "revoked", "sought")


def consume_body(number: int, request: WorkRequest) -> bytes:
    """A request on a member's stream."""
    tag, write = _FIELDS[type(request)]
    content = CODEC.encode(write(request))
    return b"".join((_REQUEST_ID, unsigned(number), tag, unsigned(len(content)), content))


class StreamBroken(Exception):
    """The stream can carry no more, and why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Leased:
    """Messages that came, and how the broker's clock stood when it sent them."""

    __slots__ = ("now_ms", "part")

    def __init__(self, part: LeasedBatches, now_ms: int) -> None:
        self.part = part
        self.now_ms = now_ms


def read_consume_reply(body: bytes) -> tuple[int, WorkAnswer | Leased] | None:
    """Which request it answers, and how; None for what says nothing here. Raises StreamBroken."""
    try:
        reply = CODEC.decode(v1.ConsumeReply, body)
    except WireError as error:
        raise StreamBroken(Failure(BAD_REPLY, f"the broker sent a reply that cannot be decoded: {error}")) from error
    found: Any
    which, found = betterproto.which_one_of(reply, "reply")
    if which == "leased":
        return 0, _leased(found)
    answer = _ANSWERS.get(which)
    if answer is not None:
        return int(reply.request_id), answer(found)
    if which == "leaving":
        raise StreamBroken(Failure(str(Code.SHUTTING_DOWN), "the broker is about to stop"))
    if which in _IGNORED:
        return None
    raise StreamBroken(Failure(BAD_REPLY, "the broker sent a reply with nothing in it that is known here"))


def _leased(message: v1.LeasedBatches) -> Leased:
    part = work.read_leased(message)
    for run in part.leases:
        if run.first_offset < 0 or not 0 < run.count <= _COUNT_MAX:
            said = f"the broker leased {run.count} messages from offset {run.first_offset} on, which cannot be"
            raise StreamBroken(Failure(BAD_REPLY, said))
    return Leased(part, int(message.now_ms) or wall_ms())
