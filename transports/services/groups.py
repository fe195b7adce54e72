"""The service Groups: membership, offsets and operation, each method one request to the broker; and the stream.

Messages under a lease belong to shared groups, which are not served; their methods say so.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from grpclib.const import Handler, Status
from grpclib.exceptions import GRPCError

from goqueue.core.groups.verbs import (
    CommittedOffsets,
    GroupBeat,
    GroupReply,
    Joined,
    RebalancesReply,
    RevokedPartitions,
)
from goqueue.proto import groups, v1
from goqueue.transports.broker import Broker
from goqueue.transports.grpc.call import ServerCall
from goqueue.transports.services.calls import ask
from goqueue.transports.services.group_stream import GroupStream

_PATH = "/goqueue.v1.Groups/"
_LEASED = ("Poll", "Ack", "Nack", "Reject", "Extend")


class Groups(v1.GroupsBase):
    """Consumer groups over gRPC."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def __mapping__(self) -> dict[str, Handler]:
        """The generated methods, but for the stream, and those that say why they are not served."""
        methods: dict[str, Handler] = super().__mapping__()
        own: dict[str, Callable[[Any], Awaitable[None]]] = {name: _unserved(name) for name in _LEASED}
        own["Consume"] = self._consume
        for name, serve in own.items():
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

    # --- the stream

    async def _consume(self, call: ServerCall) -> None:
        await GroupStream(call, self._broker).serve()


def _unserved(method: str) -> Callable[[Any], Awaitable[None]]:
    sentence = f"{method} is for groups of mode shared, which this release does not serve yet; Consume is for exclusive"

    async def refuse(_call: Any) -> None:  # noqa: ANN401 - a call of whatever kind
        raise GRPCError(Status.UNIMPLEMENTED, sentence)

    return refuse
