"""One Consume: a whole member of a group on one stream, for clients that keep no machine of their own for it.

The stream joins as the client says and watches the coordinator for it. To a member of an exclusive group it tells every
assignment that is another one, and sends what the assigned partitions hold (`GroupReading`); the client commits, and
confirms what it has let go of. To a member of a shared group it sends what it leases (`WorkReading`), as the client has
credit; the client says what became of each message (`settling`).

Who is alive: in an exclusive group each request of the client is a heartbeat, and the stream's own watch is none. So a
client that is gone without a word, its connection still open, loses its membership like any other, and the stream ends
with that refusal. In a shared group a client that hangs keeps nothing from others, since its leases end; there the
watch counts, and the open stream is enough.

How it ends: with the client's last answer after it said `leave` or closed its side, with a refusal once the membership
is lost or the coordinator cannot be asked, with `leaving` when the node stops. Only `leave` ends a membership of an
exclusive group. One of a shared group ends as well when the client closes its side: what it holds it can settle no
more, so it is handed back.

Invariant: a stream that has joined, and is neither leaving nor over, has one watch at the broker.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import betterproto
from attrs import define
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.core.records.varint import Readable
from goqueue.core.requests.groups import (
    CommittedOffsets,
    GroupBeat,
    GroupHeartbeat,
    GroupMode,
    Joined,
    JoinGroup,
    LeaveGroup,
    Partitions,
    RevokedPartitions,
    WatchGroup,
)
from goqueue.core.requests.queues import AckWork, WorkDone
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.proto import groups, v1
from goqueue.proto.fields import contents, fields_of, made
from goqueue.proto.refusals import invalid, missing, refusal
from goqueue.transports.broker import Broker
from goqueue.transports.grpc.call import ServerCall
from goqueue.transports.http2.errors import StreamGone
from goqueue.transports.services.group_reading import GroupReading
from goqueue.transports.services.refusals import LEAVING, refused
from goqueue.transports.services.settling import SETTLINGS, AckBatch, Settlement, Settling
from goqueue.transports.services.stream_replies import stream_reply
from goqueue.transports.services.work_reading import WorkReading

_MemberMessage: TypeAlias = v1.CommitRequest | v1.RevokeRequest | v1.HeartbeatRequest | v1.LeaveRequest

UNANSWERED_BYTES_MAX = 1 << 20
# What a request holds besides its bytes, so that empty ones are bounded as well.
_OVERHEAD_BYTES = 512
# The coordinator answers sooner: after a third of the session timeout.
_WAIT_NS = 300_000_000_000


@define
class _Member:
    """Who the stream is, and what it was told last."""

    group: str
    member_id: str
    generation: int
    seen: int
    is_shared: bool = False


class GroupStream:
    """The state of one call."""

    def __init__(self, call: ServerCall, broker: Broker, wall_ms: Callable[[], int]) -> None:
        self._call = call
        self._broker = broker
        self._caller = call.caller
        self._reading = GroupReading(call, broker, self._caller, self._fail)
        self._feed = self._reading.feed
        self._work = WorkReading(broker, self._caller, self._feed, wall_ms, self._fail)
        self._acks = AckBatch()
        self._member: _Member | None = None
        self._watch = 0
        self._is_joining = self._is_hearing = False
        # Of the request that is being taken, and of all that have no answer.
        self._size = self._unanswered_bytes = 0
        self._moved = call.parking()
        self._room = call.parking()
        self._has_heard_all = False
        self._flaw: GRPCError | None = None
        self._lost: Refusal | None = None
        self._is_over = False

    async def serve(self) -> None:
        """Serve the call to its end."""
        self._call.send_headers()
        try:
            if not await self._call.until_leaving(self._run):
                self._work.stop()
                self._reading.close()
                self._lost = self._lost or LEAVING
                while self._unanswered_bytes:
                    await self._moved.wait()
        finally:
            self._is_over = True
            self._unwatch()
            self._work.stop()
            self._reading.close()
        if self._lost is not None and self._lost.code is Code.SHUTTING_DOWN:
            self._call.put(stream_reply(self._call.codec, 0, "leaving", made(v1.Leaving)))
        elif self._lost is not None:
            raise refused(self._lost)
        elif self._flaw is not None:
            raise self._flaw

    async def _run(self) -> None:
        await self._call.beside(self._last, self._hear_all, self._tend)
        member = self._member
        if member is not None and member.is_shared and self._lost is None and self._flaw is None:
            self._hand_back(member)

    async def _last(self) -> None:
        """Wait for the end of the stream."""
        while self._lost is None and not (self._has_heard_all and not self._unanswered_bytes):
            await self._moved.wait()

    async def _hear_all(self) -> None:
        try:
            while not self._has_heard_all and not await self._call.divert(self._take, self._rest):
                if self._flaw is not None:
                    break
                while not self._has_room:
                    await self._room.wait()
        except GRPCError as flaw:
            self._flaw = flaw
        self._has_heard_all = True
        self._moved.wake()

    @property
    def _has_room(self) -> bool:
        return self._feed.is_roomy and self._unanswered_bytes < UNANSWERED_BYTES_MAX

    async def _tend(self) -> None:
        while True:
            await self._feed.stirred.wait()
            await self._feed.resume(self._work.go_on)
            self._room.wake()

    def _fail(self, why: Refusal) -> None:
        """The stream cannot go on."""
        self._lost = self._lost or why
        self._moved.wake()

    # --- what the client says

    def _take(self, body: Readable) -> bool:
        """Act on a request; False once a bound is passed, after the last one, or for what is no request."""
        try:
            message = self._call.codec.decode(v1.ConsumeRequest, bytes(body))
        except ValueError as error:
            self._flaw = GRPCError(Status.INVALID_ARGUMENT, str(error))
            return False
        self._size = len(body) + _OVERHEAD_BYTES
        which, request = betterproto.which_one_of(message, "request")
        if which in SETTLINGS:
            self._settle(which, message.request_id, request)
        elif which in _ACTS:
            self._rest()
            _ACTS[which](self, message.request_id, request)
        else:
            wanted = ", ".join((*_ACTS, *SETTLINGS))
            self._refuse(message.request_id, invalid(f"a request holds one of {wanted}", "request"))
        return self._has_room and not self._has_heard_all

    def _rest(self) -> None:
        """Ask what was gathered of acknowledgements."""
        acks = self._acks
        if acks.requests and self._member is not None:
            self._acks = AckBatch()
            self._post(acks.request(self._member.group), partial(self._acked, acks), acks.size)

    def _settle(self, which: str, request_id: int, message: Any) -> None:  # noqa: ANN401 - of several classes
        settling = SETTLINGS[which]
        wanted = self._settling_refusal(which, message) or settling.read(message)
        if isinstance(wanted, Refusal):
            self._refuse(request_id, wanted)
        elif isinstance(wanted, AckWork):
            if not self._acks.has_room(wanted):
                self._rest()
            self._acks.add(request_id, wanted, self._size)
        else:
            self._rest()
            self._post(wanted, partial(self._answer, request_id, partial(self._settled, settling)))

    def _settling_refusal(self, which: str, message: Any) -> Refusal | None:  # noqa: ANN401 - of several classes
        member = self._member
        if member is None:
            return _NOT_JOINED
        if not member.is_shared:
            why = f"{which} is for groups of mode shared, and group {member.group} is exclusive"
            return Refusal(Code.WRONG_MODE, why, which)
        fields = contents(message)
        if fields["group"] not in ("", member.group):
            return invalid(f"this stream is a member of group {member.group}", "group")
        fields_of(message)["group"] = member.group
        return None

    def _settled(self, settling: Settling, request_id: int, reply: Reply) -> None:
        assert isinstance(reply, WorkDone)
        self._say(request_id, settling.answer, settling.reply(reply))

    def _acked(self, acks: AckBatch, reply: Reply) -> None:
        if isinstance(reply, Refusal):
            for request_id, _ in acks.requests:
                self._refuse(request_id, reply)
            return
        assert isinstance(reply, WorkDone)
        for request_id, share in acks.answers(reply):
            self._settled(SETTLINGS["ack"], request_id, share)

    def _join(self, request_id: int, message: v1.JoinRequest) -> None:
        wanted = groups.join_group_request(message)
        why = wanted if isinstance(wanted, Refusal) else self._join_refusal(wanted)
        if why is not None:
            self._refuse(request_id, why)
            return
        assert isinstance(wanted, JoinGroup)
        if self._member is not None:
            wanted.member_id = self._member.member_id
        self._is_joining = True
        self._post(wanted, partial(self._joined, request_id, wanted.group))

    def _join_refusal(self, wanted: JoinGroup) -> Refusal | None:
        member = self._member
        if wanted.eager:
            return invalid("a member on a stream is told what changes, so it is not eager", "eager")
        if self._is_joining:
            return invalid("the last join has no answer yet", "join")
        if member is not None and wanted.group != member.group:
            return invalid(f"this stream is a member of group {member.group}", "group")
        if member is not None and wanted.member_id not in ("", member.member_id):
            return invalid(f"this stream is member {member.member_id}", "member_id")
        return None

    def _joined(self, request_id: int, group: str, reply: Reply) -> None:
        self._is_joining = False
        if isinstance(reply, Refusal):
            self._refuse(request_id, reply)
            return
        assert isinstance(reply, Joined)
        self._unwatch()
        is_shared = reply.mode is GroupMode.SHARED
        self._member = member = _Member(group, reply.member_id, reply.generation, reply.seen, is_shared)
        self._say(request_id, "joined", groups.joined_reply(reply))
        self._read_on(member, reply.assigned)
        self._watch_for(member)

    def _read_on(self, member: _Member, assigned: Partitions) -> None:
        """Send the member what it is to have."""
        if member.is_shared:
            self._work.begin(member.group, member.member_id)
        else:
            self._reading.follow(member.group, assigned)

    def _commit(self, request_id: int, message: v1.CommitRequest) -> None:
        self._pass_on(request_id, message, groups.commit_offsets_request, self._committed)

    def _committed(self, request_id: int, reply: Reply) -> None:
        assert isinstance(reply, CommittedOffsets)
        self._say(request_id, "committed", groups.committed_offsets_reply(reply))

    def _revoke(self, request_id: int, message: v1.RevokeRequest) -> None:
        self._pass_on(request_id, message, groups.revoke_partitions_request, self._revoked)

    def _revoked(self, request_id: int, reply: Reply) -> None:
        assert isinstance(reply, RevokedPartitions)
        self._say(request_id, "revoked", groups.revoked_partitions_reply(reply))

    def _heartbeat(self, request_id: int, message: v1.HeartbeatRequest) -> None:
        self._pass_on(request_id, message, groups.group_heartbeat_request, self._beaten)

    def _beaten(self, request_id: int, reply: Reply) -> None:
        assert isinstance(reply, GroupBeat)
        self._say(request_id, "assignment", groups.group_beat_reply(reply))
        self._learn(reply)

    def _pass_on(
        self,
        request_id: int,
        message: _MemberMessage,
        read: Callable[[Any], Request | Refusal],
        receive: Callable[[int, Reply], None],
    ) -> None:
        """Ask the coordinator what the client asks of it, in the member's name."""
        wanted = self._named(message) or read(message)
        if isinstance(wanted, Refusal):
            self._refuse(request_id, wanted)
        else:
            self._post(wanted, partial(self._answer, request_id, receive))

    def _named(self, message: _MemberMessage) -> Refusal | None:
        """Put into a message what the client may leave out, or say what is wrong with what it put there."""
        member = self._member
        if member is None:
            return _NOT_JOINED
        if message.group not in ("", member.group):
            return invalid(f"this stream is a member of group {member.group}", "group")
        if message.member_id not in ("", member.member_id):
            return invalid(f"this stream is member {member.member_id}", "member_id")
        message.group, message.member_id = member.group, member.member_id
        if not isinstance(message, v1.LeaveRequest):
            message.generation = message.generation or member.generation
        return None

    def _leave(self, request_id: int, message: v1.LeaveRequest) -> None:
        why = self._named(message)
        member = self._member
        if why is not None or member is None:
            self._refuse(request_id, why or missing("join"))
            return
        self._unwatch()
        self._work.stop()
        self._reading.follow(member.group, {})
        self._member = None
        self._post(LeaveGroup(member.group, member.member_id), partial(self._left, request_id, member))

    def _left(self, request_id: int, member: _Member, reply: Reply) -> None:
        if reply is None:
            self._say(request_id, "left", groups.leave_reply(None))
            self._has_heard_all = True
            return
        assert isinstance(reply, Refusal)
        self._refuse(request_id, reply)
        # Whatever it is told next is news: nothing is being read.
        member.seen = 0
        self._member = member
        if member.is_shared:
            self._work.begin(member.group, member.member_id)
        self._watch_for(member)

    def _hand_back(self, member: _Member) -> None:
        """End a membership of which nobody can settle anything."""
        self._broker.post(self._caller, LeaveGroup(member.group, member.member_id), _drop)

    def _grant(self, _request_id: int, message: v1.Credit) -> None:
        fields = contents(message)
        self._feed.credit.grant(fields["messages"], fields["bytes"])
        self._work.visibility_ms = fields["visibility_timeout_ms"] or self._work.visibility_ms
        self._feed.stirred.wake()
        self._hear()

    def _seek(self, request_id: int, message: v1.SeekRequest) -> None:
        wanted = groups.seek_request(message)
        why = wanted if isinstance(wanted, Refusal) else self._reading.seek(wanted.positions)
        if why is None:
            self._say(request_id, "sought", made(v1.SeekReply))
        else:
            self._refuse(request_id, why)
        self._hear()

    def _hear(self) -> None:
        """The client lives, whatever it said; one heartbeat at a time is enough."""
        member = self._member
        if member is not None and not member.is_shared and not self._is_hearing:
            self._is_hearing = True
            self._post(GroupHeartbeat(member.group, member.member_id, member.generation), self._heard)

    def _heard(self, reply: Reply) -> None:
        self._is_hearing = False
        if isinstance(reply, GroupBeat):
            self._learn(reply)

    # --- what the coordinator says

    def _watch_for(self, member: _Member) -> None:
        request = WatchGroup(member.group, member.member_id, member.seen, _WAIT_NS, counts=member.is_shared)
        self._watch = self._broker.post(self._caller, request, self._watched)

    def _unwatch(self) -> None:
        if self._watch:
            self._broker.forget(self._watch)
        self._watch = 0

    def _watched(self, reply: Reply) -> None:
        self._watch = 0
        if self._is_over:
            return
        if isinstance(reply, Refusal):
            self._fail(reply)
            return
        assert isinstance(reply, GroupBeat)
        assert self._member is not None
        self._learn(reply)
        self._watch_for(self._member)

    def _learn(self, beat: GroupBeat) -> None:
        """Tell the client of an assignment that is another one, and read what it assigns."""
        member = self._member
        if member is None or beat.seen == member.seen:
            return
        member.generation, member.seen = beat.generation, beat.seen
        if not member.is_shared:
            self._say(0, "assignment", groups.group_beat_reply(beat))
            self._reading.follow(member.group, beat.assigned)

    def _post(self, request: Request | Settlement, receive: Callable[[Reply], None], size: int = 0) -> None:
        size = size or self._size
        self._unanswered_bytes += size
        self._broker.post(self._caller, request, partial(self._receive, size, receive))

    def _receive(self, size: int, receive: Callable[[Reply], None], reply: Reply) -> None:
        self._unanswered_bytes -= size
        if not self._is_over:
            receive(reply)
        self._moved.wake()
        self._room.wake()

    def _answer(self, request_id: int, receive: Callable[[int, Reply], None], reply: Reply) -> None:
        if isinstance(reply, Refusal):
            self._refuse(request_id, reply)
        else:
            receive(request_id, reply)

    def _refuse(self, request_id: int, why: Refusal) -> None:
        self._say(request_id, "refusal", refusal(why))

    def _say(self, request_id: int, which: str, message: Any) -> None:  # noqa: ANN401 - of several classes
        body = stream_reply(self._call.codec, request_id, which, message)
        try:
            self._feed.put(body)
        except StreamGone:
            self._is_over = True


def _drop(_reply: Reply) -> None:
    """Nobody is there to be told."""


_NOT_JOINED = invalid("a stream begins with a join, and waits for its answer", "request")
_ACTS: dict[str, Callable[[GroupStream, int, Any], None]] = {
    "join": GroupStream._join,
    "credit": GroupStream._grant,
    "commit": GroupStream._commit,
    "revoke": GroupStream._revoke,
    "heartbeat": GroupStream._heartbeat,
    "seek": GroupStream._seek,
    "leave": GroupStream._leave,
}
