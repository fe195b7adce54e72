"""The service Groups: membership, offsets, leases and operation, each method one request to the broker.

Two methods take the call itself: the stream, and Poll, whose batches are queued as they were read.
"""

from collections.abc import Callable

from grpclib.const import Handler

from goqueue.core.records.varint import Readable
from goqueue.core.requests.groups import (
    CommittedOffsets,
    GroupBeat,
    GroupReply,
    Joined,
    RebalancesReply,
    RevokedPartitions,
)
from goqueue.core.requests.queues import PolledWork, WorkDone
from goqueue.core.requests.refusals import Refusal
from goqueue.proto import groups, v1, work
from goqueue.transports.broker import Broker
from goqueue.transports.grpc.call import ServerCall, current_call
from goqueue.transports.services.calls import ask
from goqueue.transports.services.envelopes import bytes_field
from goqueue.transports.services.gathering import AckGathering
from goqueue.transports.services.group_stream import GroupStream
from goqueue.transports.services.leased import leased_head
from goqueue.transports.services.reading import ask_for_messages
from goqueue.transports.services.refusals import refused

_PATH = "/goqueue.v1.Groups/"


class Groups(v1.GroupsBase):
    """Consumer groups over gRPC."""

    def __init__(self, broker: Broker, wall_ms: Callable[[], int]) -> None:
        self._broker = broker
        self._wall_ms = wall_ms
        self._acks = AckGathering(broker)

    def __mapping__(self) -> dict[str, Handler]:
        """The generated methods, but for those that take the call itself."""
        methods: dict[str, Handler] = super().__mapping__()
        for name, serve in (("Poll", self._poll), ("Consume", self._consume)):
            methods[_PATH + name] = methods[_PATH + name]._replace(func=serve)
        return methods

    # --- membership

    async def join(self, join_request: v1.JoinRequest) -> v1.JoinReply:
        """See goqueue.proto."""
        wanted = groups.join_group_request(join_request)
        return groups.joined_reply(await ask(self._broker, wanted, Joined))

    async def heartbeat(self, heartbeat_request: v1.HeartbeatRequest) -> v1.HeartbeatReply:
        """See goqueue.proto."""
        wanted = groups.group_heartbeat_request(heartbeat_request)
        return groups.group_beat_reply(await ask(self._broker, wanted, GroupBeat))

    async def watch(self, watch_request: v1.WatchRequest) -> v1.HeartbeatReply:
        """See goqueue.proto."""
        wanted = groups.watch_group_request(watch_request)
        return groups.group_beat_reply(await ask(self._broker, wanted, GroupBeat))

    async def leave(self, leave_request: v1.LeaveRequest) -> v1.LeaveReply:
        """See goqueue.proto."""
        wanted = groups.leave_group_request(leave_request)
        await ask(self._broker, wanted, type(None))
        return groups.leave_reply(None)

    async def revoke(self, revoke_request: v1.RevokeRequest) -> v1.RevokeReply:
        """See goqueue.proto."""
        wanted = groups.revoke_partitions_request(revoke_request)
        return groups.revoked_partitions_reply(await ask(self._broker, wanted, RevokedPartitions))

    # --- offsets

    async def commit(self, commit_request: v1.CommitRequest) -> v1.CommitReply:
        """See goqueue.proto."""
        wanted = groups.commit_offsets_request(commit_request)
        return groups.committed_offsets_reply(await ask(self._broker, wanted, CommittedOffsets))

    async def fetch_offsets(self, fetch_offsets_request: v1.FetchOffsetsRequest) -> v1.FetchOffsetsReply:
        """See goqueue.proto."""
        wanted = groups.fetch_offsets_request(fetch_offsets_request)
        return groups.group_offsets_reply(await ask(self._broker, wanted, list))

    async def reset_offsets(self, reset_offsets_request: v1.ResetOffsetsRequest) -> v1.ResetOffsetsReply:
        """See goqueue.proto."""
        wanted = groups.reset_offsets_request(reset_offsets_request)
        return groups.offset_changes_reply(await ask(self._broker, wanted, list))

    # --- groups

    async def list_groups(self, list_groups_request: v1.ListGroupsRequest) -> v1.ListGroupsReply:
        """See goqueue.proto."""
        wanted = groups.list_groups_request(list_groups_request)
        return groups.groups_reply(await ask(self._broker, wanted, list))

    async def describe_group(self, describe_group_request: v1.DescribeGroupRequest) -> v1.Group:
        """See goqueue.proto."""
        wanted = groups.describe_group_request(describe_group_request)
        return groups.group_reply(await ask(self._broker, wanted, GroupReply))

    async def alter_group(self, alter_group_request: v1.AlterGroupRequest) -> v1.Group:
        """See goqueue.proto."""
        wanted = groups.alter_group_request(alter_group_request)
        return groups.group_reply(await ask(self._broker, wanted, GroupReply))

    async def delete_group(self, delete_group_request: v1.DeleteGroupRequest) -> v1.DeleteGroupReply:
        """See goqueue.proto."""
        wanted = groups.delete_group_request(delete_group_request)
        await ask(self._broker, wanted, type(None))
        return groups.delete_group_reply(None)

    async def describe_rebalances(self, describe_rebalances_request: v1.DescribeRebalancesRequest) -> v1.Rebalances:
        """See goqueue.proto."""
        wanted = groups.describe_rebalances_request(describe_rebalances_request)
        return groups.rebalances_reply(await ask(self._broker, wanted, RebalancesReply))

    # --- messages under a lease

    async def _poll(self, call: ServerCall) -> None:
        wanted = work.poll_request(await call.recv_message())
        polled = await ask_for_messages(call, self._broker, wanted, PolledWork)
        call.send_headers()
        now_ms = self._wall_ms()
        pieces: list[Readable] = []
        for part in polled.parts:
            head, size = leased_head(part, now_ms), len(part.batches)
            pieces += (bytes_field(1, len(head) + size), head, part.batches)
        call.put(b"".join(pieces))

    async def ack(self, ack_request: v1.AckRequest) -> v1.AckReply:
        """See goqueue.proto."""
        wanted = work.ack_request(ack_request)
        done = wanted if isinstance(wanted, Refusal) else await self._acks.ask(current_call.get().caller, wanted)
        if isinstance(done, Refusal):
            raise refused(done)
        return work.acked_reply(done)

    async def nack(self, nack_request: v1.NackRequest) -> v1.NackReply:
        """See goqueue.proto."""
        return work.nacked_reply(await ask(self._broker, work.nack_request(nack_request), WorkDone))

    async def reject(self, reject_request: v1.RejectRequest) -> v1.RejectReply:
        """See goqueue.proto."""
        return work.rejected_reply(await ask(self._broker, work.reject_request(reject_request), WorkDone))

    async def extend(self, extend_request: v1.ExtendRequest) -> v1.ExtendReply:
        """See goqueue.proto."""
        return work.extended_reply(await ask(self._broker, work.extend_request(extend_request), WorkDone))

    async def release(self, release_request: v1.ReleaseRequest) -> v1.ReleaseReply:
        """See goqueue.proto."""
        return work.released_reply(await ask(self._broker, work.release_request(release_request), WorkDone))

    # --- the stream

    async def _consume(self, call: ServerCall) -> None:
        await GroupStream(call, self._broker, self._wall_ms).serve()
