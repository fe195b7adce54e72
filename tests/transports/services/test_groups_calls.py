"""Consumer groups over gRPC, one call at a time, as grpcio sees them."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest

from goqueue.proto import v1
from tests.transports.services.group_member import publish, refusal_code
from tests.transports.services.served_broker import Client, against, failure

# Of messages young enough to be kept.
BEGIN_MS = time.time_ns() // 1_000_000 - 60_000
ALL_ORDERS = [v1.TopicPartition("orders", 0), v1.TopicPartition("orders", 1)]


def join(client: Client, group: str = "billing", **more: Any) -> v1.JoinReply:  # noqa: ANN401 - fields
    """Become a member."""
    reply: v1.JoinReply = client.join(v1.JoinRequest(group=group, topics=["orders"], **more))
    return reply


def commit(client: Client, member: v1.JoinReply, *offsets: int) -> v1.CommitReply:
    """Say how far the partitions of orders are, one by one."""
    wanted = [v1.PartitionOffset("orders", partition, offset) for partition, offset in enumerate(offsets)]
    request = v1.CommitRequest("billing", member.member_id, member.generation, wanted)
    reply: v1.CommitReply = client.commit(request)
    return reply


def test_a_member_lives_from_its_join_to_its_leave(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a", b"b", b"c")
        member = join(client, client_id="till", session_timeout_ms=9000)
        assert member.member_id.startswith("till-")
        assert (member.generation, member.mode, member.assigned) == (1, v1.GroupMode.EXCLUSIVE, ALL_ORDERS)
        assert (member.heartbeat_interval_ms, member.members) == (3000, [member.member_id])
        beat = client.heartbeat(v1.HeartbeatRequest("billing", member.member_id, 1))
        assert (beat.generation, beat.state, beat.assigned, beat.to_revoke) == (1, "stable", ALL_ORDERS, [])
        assert commit(client, member, 2).refusals == []
        told = client.fetch_offsets(v1.FetchOffsetsRequest("billing", ["orders"])).offsets
        assert [(each.partition, each.offset, each.lag) for each in told] == [(0, 2, 1), (1, -1, 0)]
        assert client.leave(v1.LeaveRequest("billing", member.member_id)) == v1.LeaveReply()
        assert client.describe_group(v1.DescribeGroupRequest("billing")).members == []

    against(tmp_path, work)


def test_a_partition_moves_once_its_owner_has_let_go(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        first = join(client)
        second = join(client)
        news = client.watch(v1.WatchRequest("billing", first.member_id, first.seen, wait_ms=10_000))
        assert (news.generation, news.state, len(news.assigned), len(news.to_revoke)) == (2, "reconciling", 1, 1)
        assert news.revocation_deadline_ms > 0
        assert news.seen != first.seen
        beat = client.heartbeat(v1.HeartbeatRequest("billing", second.member_id, second.generation))
        assert beat.assigned == []
        revoked = client.revoke(v1.RevokeRequest("billing", first.member_id, news.generation, news.to_revoke))
        assert (revoked.pending, revoked.state) == (0, "stable")
        beat = client.watch(v1.WatchRequest("billing", second.member_id, beat.seen, wait_ms=10_000))
        assert beat.assigned == news.to_revoke
        refused = commit(client, second, 0, 0).refusals
        assert {each.refusal.code for each in refused} == {"fenced_generation"}
        assert [each.partition.topic for each in refused] == ["orders", "orders"]

    against(tmp_path, work)


def test_an_eager_member_learns_from_its_joins(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        first = join(client, eager=True)
        second = join(client, eager=True)
        beat = v1.HeartbeatReply(seen=first.seen)
        while not beat.rebalance_required:
            beat = client.watch(v1.WatchRequest("billing", first.member_id, beat.seen, wait_ms=5_000))
        again = join(client, eager=True, member_id=first.member_id)
        beat = client.heartbeat(v1.HeartbeatRequest("billing", second.member_id, again.generation))
        assert beat.rebalance_required
        other = join(client, eager=True, member_id=second.member_id)
        assert sorted([*again.assigned, *other.assigned], key=lambda each: each.partition) == ALL_ORDERS

    against(tmp_path, work)


def test_a_watch_waits_for_news(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        first = join(client)
        answers: list[v1.HeartbeatReply] = []
        request = v1.WatchRequest("billing", first.member_id, first.seen, wait_ms=60_000)
        waiting = threading.Thread(target=lambda: answers.append(client.watch(request)))
        waiting.start()
        join(client)
        waiting.join()
        assert answers[0].generation == 2

    against(tmp_path, work)


def test_a_group_is_listed_described_altered_and_deleted(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        config = {"start": v1.Setting(text="latest"), "max_attempts": v1.Setting(number=9)}
        member = join(client, instance_id="till-1", client_id="till", session_timeout_ms=5000, config=config)
        join(client, "audit", assignor="range")
        listed = client.list_groups(v1.ListGroupsRequest()).groups
        assert [(each.group, each.assignor) for each in listed] == [("audit", "range"), ("billing", "sticky")]
        found = client.describe_group(v1.DescribeGroupRequest("billing"))
        assert (found.state, found.generation, found.mode) == ("stable", 1, v1.GroupMode.EXCLUSIVE)
        assert (found.config["start"].text, found.config["max_attempts"].number) == ("latest", 9)
        assert not found.config["key_ordered"].flag
        one = found.members[0]
        assert (one.member_id, one.instance_id, one.client_id) == (member.member_id, "till-1", "till")
        assert (one.assigned, one.topics, one.session_timeout_ms, one.eager) == (ALL_ORDERS, ["orders"], 5000, False)
        assert one.last_heartbeat_ms > 1_700_000_000_000
        changes = {"start": v1.Setting(reset=True), "assignor": v1.Setting(text="roundrobin")}
        altered = client.alter_group(v1.AlterGroupRequest("billing", changes))
        assert (altered.config["start"].text, altered.assignor) == ("earliest", "roundrobin")
        client.leave(v1.LeaveRequest("billing", member.member_id))
        client.delete_group(v1.DeleteGroupRequest("billing"))
        assert [each.group for each in client.list_groups(v1.ListGroupsRequest()).groups] == ["audit"]

    against(tmp_path, work)


def test_rebalances_are_counted_for_a_group_and_for_all(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        join(client)
        join(client, "audit")
        one = client.describe_rebalances(v1.DescribeRebalancesRequest("billing"))
        assert (one.total, one.successful, one.failed, one.partitions_assigned) == (1, 1, 0, 2)
        assert one.by_reason == {"member_joined": 1}
        assert one.last_at_ms > 1_700_000_000_000
        assert client.describe_rebalances(v1.DescribeRebalancesRequest()).total == 2

    against(tmp_path, work)


@pytest.mark.parametrize(
    ("place", "after"),
    [
        ({"earliest": True}, 0),
        ({"latest": True}, 4),
        ({"offset": 3}, 3),
        ({"timestamp_ms": BEGIN_MS + 1_500}, 2),
        ({"timestamp_ms": BEGIN_MS + 9_000}, 4),
    ],
)
def test_a_group_goes_on_from_where_it_is_reset_to(tmp_path: Path, place: dict[str, Any], after: int) -> None:
    def work(client: Client) -> None:
        for step in range(4):
            draft = v1.NewMessage(value=b"v", partition=0, timestamp_ms=BEGIN_MS + step * 1000)
            client.publish(v1.PublishRequest("orders", [draft]))
        client.commit(v1.CommitRequest("billing", offsets=[v1.PartitionOffset("orders", 0, 1)]))
        request = v1.ResetOffsetsRequest("billing", "orders", [0], dry_run=True, **place)
        meant = client.reset_offsets(request).changes
        assert [(each.partition, each.before, each.after) for each in meant] == [(0, 1, after)]
        assert client.fetch_offsets(v1.FetchOffsetsRequest("billing")).offsets[0].offset == 1
        request.dry_run = False
        assert client.reset_offsets(request).changes == meant
        assert client.fetch_offsets(v1.FetchOffsetsRequest("billing")).offsets[0].offset == after

    against(tmp_path, work)


def test_who_takes_an_instance_id_over_fences_who_had_it(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        first = join(client, instance_id="till")
        second = join(client, instance_id="till")
        assert (second.assigned, second.generation) == (first.assigned, first.generation)
        error = failure(lambda: commit(client, first, 0))
        assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
        assert refusal_code(error) == "fenced_instance"

    against(tmp_path, work)


def nobody(client: Client) -> Any:  # noqa: ANN401 - a reply
    return client.heartbeat(v1.HeartbeatRequest("billing", "ghost", 1))


def from_the_future(client: Client) -> Any:  # noqa: ANN401
    return client.heartbeat(v1.HeartbeatRequest("billing", join(client).member_id, 99))


def of_another_mode(client: Client) -> Any:  # noqa: ANN401
    join(client)
    return join(client, mode=v1.GroupMode(v1.GroupMode.SHARED))


def with_members(client: Client) -> Any:  # noqa: ANN401
    join(client)
    return client.delete_group(v1.DeleteGroupRequest("billing"))


def without_a_name(client: Client) -> Any:  # noqa: ANN401
    return client.commit(v1.CommitRequest())


def without_a_group(client: Client) -> Any:  # noqa: ANN401
    return client.describe_group(v1.DescribeGroupRequest("nothing"))


def beyond_the_end(client: Client) -> Any:  # noqa: ANN401
    client.commit(v1.CommitRequest("billing", offsets=[v1.PartitionOffset("orders", 0, 0)]))
    return client.reset_offsets(v1.ResetOffsetsRequest("billing", "orders", [0], offset=5))


@pytest.mark.parametrize(
    ("call", "status", "code"),
    [
        (nobody, grpc.StatusCode.NOT_FOUND, "unknown_member"),
        (from_the_future, grpc.StatusCode.FAILED_PRECONDITION, "fenced_generation"),
        (of_another_mode, grpc.StatusCode.FAILED_PRECONDITION, "wrong_mode"),
        (with_members, grpc.StatusCode.FAILED_PRECONDITION, "group_not_empty"),
        (without_a_name, grpc.StatusCode.INVALID_ARGUMENT, "invalid_request"),
        (without_a_group, grpc.StatusCode.NOT_FOUND, "group_not_found"),
        (beyond_the_end, grpc.StatusCode.OUT_OF_RANGE, "offset_out_of_range"),
    ],
)
def test_what_a_group_refuses_has_a_status_and_a_code(
    tmp_path: Path, call: Callable[[Client], Any], status: grpc.StatusCode, code: str
) -> None:
    def work(client: Client) -> None:
        error = failure(lambda: call(client))
        assert (error.code(), refusal_code(error)) == (status, code)
        assert error.details()

    against(tmp_path, work)
