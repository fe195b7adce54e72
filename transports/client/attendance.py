"""Keeps a member in its group: carries what `core.client.membership` asks to the broker and brings back the answers.

What is decided is decided there. Here every request is a call of its own beside the others, broken off once it does not
count any more; the time is told when it is wanted; and whoever follows the news is told that there are some.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from grpclib.exceptions import GRPCError

from goqueue.core.client.failure import BAD_REPLY, PASSING, Failure
from goqueue.core.client.membership import MemberRequest, Membership, Standing
from goqueue.core.requests.groups import JoinGroup, LeaveGroup, RevokePartitions, WatchGroup
from goqueue.core.requests.refusals import Code
from goqueue.core.requests.replies import Reply
from goqueue.proto import groups, v1
from goqueue.proto.wire import WireError
from goqueue.transports.client import lost
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.channel import Channel
from goqueue.transports.client.errors import CODEC, failure_of
from goqueue.transports.client.loops import SECOND_NS, Task

# The method, how its request is written, what answers, and how that is read.
_CALLS: dict[type, tuple[str, Callable[[Any], object], type, Callable[[Any], Reply]]] = {
    JoinGroup: ("Join", groups.join_group_message, v1.JoinReply, groups.read_joined),
    WatchGroup: ("Watch", groups.watch_group_message, v1.HeartbeatReply, groups.read_group_beat),
    RevokePartitions: (
        "Revoke", groups.revoke_partitions_message, v1.RevokeReply, groups.read_revoked_partitions,
    ),
    LeaveGroup: ("Leave", groups.leave_group_message, v1.LeaveReply, lambda _reply: None),
}  # fmt: skip


class Attendance:
    """See the module."""

    def __init__(self, brokers: Brokers, membership: Membership, heard: Callable[[], None]) -> None:
        self._brokers = brokers
        self._loop = brokers.loop
        self._membership = membership
        self._heard = heard
        self._stirred = self._loop.parking()
        self._call: Task | None = None
        self._number = 0
        self._task = self._loop.start(self._run)

    def stir(self) -> None:
        """The membership was told something: see what follows from it."""
        self._stirred.wake()

    async def until_over(self) -> None:
        """Wait until nothing more is to be said to the group."""
        await self._task.wait()

    def stop(self) -> None:
        """Say nothing more."""
        self._task.cancel()
        self._break_off()

    async def _run(self) -> None:
        membership, loop = self._membership, self._loop
        while True:
            now = loop.now()
            membership.wake(now)
            taken = membership.take(now)
            if membership.live != self._number or taken is not None:
                self._break_off()
            if taken is not None:
                self._number = taken[0]
                self._call = loop.start(partial(self._ask, *taken))
            self._heard()
            due = membership.deadline()
            if due is None:
                break
            await loop.within(due, self._stirred.wait)

    def _break_off(self) -> None:
        call, self._call, self._number = self._call, None, 0
        if call is not None:
            call.cancel()

    async def _ask(self, number: int, request: MemberRequest) -> None:
        method, write, kind, read = _CALLS[type(request)]
        membership, loop = self._membership, self._loop
        # The membership gives it up first; this is for the broker, which need not answer after that.
        deadline = (membership.deadline() or loop.now()) + SECOND_NS
        channel: Channel | None = None
        try:
            channel = await self._brokers.channel()
            # A join that is made twice may make two members.
            stays = isinstance(request, JoinGroup) or not self._brokers.has_others
            path = f"/goqueue.v1.Groups/{method}"
            body = await channel.call(path, CODEC.encode(write(request)), deadline, stays=stays)
            answer = read(CODEC.decode(kind, body))
        except (GRPCError, lost.ConnectionLost) as error:
            failure = failure_of(error)
            if channel is not None and failure.code in (Code.SHUTTING_DOWN, "deadline_exceeded"):
                self._brokers.turn_from(channel)
            elif channel is not None and failure.code in PASSING:
                self._brokers.troubled(channel)
            membership.failed(loop.now(), number, failure)
        except WireError as error:
            said = f"the broker sent a {kind.__name__} that cannot be decoded: {error}"
            membership.failed(loop.now(), number, Failure(BAD_REPLY, said))
        else:
            membership.answered(loop.now(), number, answer)
        self.stir()

    @property
    def is_over(self) -> bool:
        """Whether the member has left, or may not come back."""
        return self._membership.standing is Standing.OVER
