"""A whole member on one stream, as grpcio sees it."""

import itertools
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

import betterproto
import grpc
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.core.requests.groups import DescribeGroup, GroupReply
from goqueue.core.requests.messages import PublishBatch
from goqueue.core.requests.topics import DeleteTopic
from goqueue.proto import v1
from goqueue.proto.codec import StrictCodec
from goqueue.transports.http2.limits import KIB, SECOND_NS, Limits
from goqueue.transports.services.group_stream import UNANSWERED_BYTES_MAX
from goqueue.transports.trio_grpc_client import TrioStub, open_channel
from tests.proto.messages import contents, message_of
from tests.transports.services.group_member import StreamMember, messages, publish
from tests.transports.services.served_broker import (
    Client,
    ServedBroker,
    Setting,
    StallingDisk,
    against,
    batch,
    with_broker,
)
from tests.transports.serving import until

ALL_ORDERS = [v1.TopicPartition("orders", 0), v1.TopicPartition("orders", 1)]
LEAVE = v1.LeaveRequest()


def offsets(*places: tuple[int, int]) -> list[v1.PartitionOffset]:
    """Offsets of partitions of orders."""
    return [v1.PartitionOffset("orders", partition, offset) for partition, offset in places]


@contextmanager
def repeatedly(work: Callable[[], None]) -> Iterator[None]:
    """Work done over and over in a thread of its own while the block lasts."""
    enough = threading.Event()

    def repeat() -> None:
        while not enough.wait(0.01):
            work()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()


def described(client: Client, group: str = "billing") -> v1.Group:
    """The group as it is known."""
    found: v1.Group = client.describe_group(v1.DescribeGroupRequest(group))
    return found


def test_a_stream_joins_reads_commits_and_leaves(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a", b"b")
        publish(client, 1, b"c")
        member = StreamMember(client)
        joined = member.join(client_id="till", session_timeout_ms=9000)
        assert (joined.generation, joined.assigned, joined.heartbeat_interval_ms) == (1, ALL_ORDERS, 3000)
        assert sorted(member.read(3)) == [(0, 0, b"a"), (0, 1, b"b"), (1, 0, b"c")]
        publish(client, 1, b"d")
        assert member.read(1) == [(1, 1, b"d")]
        assert member.answer(commit=v1.CommitRequest(offsets=offsets((0, 1), (1, 2)))).refusals == []
        assert member.answer(leave=LEAVE) == v1.LeaveReply()
        assert member.status() == (grpc.StatusCode.OK, "")
        assert described(client).members == []

    against(tmp_path, work)


def test_the_next_member_goes_on_where_the_last_one_committed(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a", b"b", b"c")
        first = StreamMember(client)
        first.join()
        first.read(3)
        first.answer(commit=v1.CommitRequest(offsets=offsets((0, 2))))
        first.answer(leave=LEAVE)
        second = StreamMember(client)
        second.join()
        batches = second.await_("batches")
        # The batch is whole, and says which of its messages are meant.
        assert (batches.topic, batches.partition, batches.first_offset, batches.next_offset) == ("orders", 0, 2, 3)
        assert (batches.high_watermark, batches.start_offset) == (3, 0)
        assert messages(batches) == [(0, 2, b"c")]
        second.replies.cancel()

    against(tmp_path, work)


def test_a_partition_moves_from_stream_to_stream(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        first, second = StreamMember(client), StreamMember(client)
        first.join()
        assert second.join().assigned == []
        asked = first.asked()
        assert (len(asked.assigned), len(asked.to_revoke), asked.generation) == (1, 1, 2)
        going, staying = asked.to_revoke[0].partition, asked.assigned[0].partition
        # What is to be let go of is read no more, although nobody else has it yet.
        publish(client, going, b"for the next owner")
        publish(client, staying, b"stays")
        assert first.read(1) == [(staying, 0, b"stays")]
        revoked = first.answer(revoke=v1.RevokeRequest(revoked=asked.to_revoke))
        assert revoked.pending == 0
        second.assigned(*asked.to_revoke)
        assert second.read(1) == [(going, 0, b"for the next owner")]
        second.answer(leave=LEAVE)
        first.assigned(*ALL_ORDERS)
        assert first.read(1) == [(going, 0, b"for the next owner")]
        first.replies.cancel()

    against(tmp_path, work)


def test_a_commit_of_what_was_let_go_of_is_refused_and_the_rest_is_taken(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a")
        publish(client, 1, b"b")
        first, second = StreamMember(client), StreamMember(client)
        first.join()
        second.join()
        asked = first.asked()
        first.answer(revoke=v1.RevokeRequest(revoked=asked.to_revoke))
        reply = first.answer(commit=v1.CommitRequest(offsets=offsets((0, 1), (1, 1))))
        assert [(each.partition, each.refusal.code) for each in reply.refusals] == [
            (asked.to_revoke[0], "fenced_generation")
        ]
        first.replies.cancel()
        second.replies.cancel()

    against(tmp_path, work)


@pytest.mark.parametrize(
    ("start", "first"),
    [
        ("earliest", b"old"),
        ("latest", b"new"),
        ("2000-01-01T00:00:00Z", b"old"),
        ("2999-01-01T00:00:00Z", b"new"),
    ],
)
def test_a_group_without_offsets_begins_where_it_is_set_to(tmp_path: Path, start: str, first: bytes) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"old")
        member = StreamMember(client)
        member.join(config={"start": v1.Setting(text=start)})
        # Where the end is when the partition is looked at is not for the test to say.
        with repeatedly(lambda: publish(client, 0, b"new")):
            assert messages(member.await_("batches"))[0][2] == first
        member.replies.cancel()

    against(tmp_path, work)


def test_a_stream_reads_what_is_added_to_its_topic(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        member = StreamMember(client)
        member.join("billing", "orders", "later")
        client.create_topic(v1.CreateTopicRequest("later", 1))
        member.assigned(v1.TopicPartition("later", 0), *ALL_ORDERS)
        publish(client, 0, b"x", topic="later")
        batches = member.await_("batches")
        assert (batches.topic, messages(batches)) == ("later", [(0, 0, b"x")])
        member.replies.cancel()

    against(tmp_path, work)


def test_a_topic_that_goes_ends_its_partitions_and_not_the_stream(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        token = trio.lowlevel.current_trio_token()

        def work(client: Client) -> None:
            member = StreamMember(client)
            member.join("billing", "orders", "other")
            trio.from_thread.run(broker.ask, DeleteTopic("orders"), trio_token=token)
            member.assigned(v1.TopicPartition("other", 0), v1.TopicPartition("other", 1))
            publish(client, 0, b"x", topic="other")
            assert messages(member.await_("batches")) == [(0, 0, b"x")]
            member.replies.cancel()

        await broker.calls(work)

    with_broker(tmp_path, scenario, Setting(topics=("orders", "other")))


# --- credit


def test_messages_come_as_far_as_there_is_credit(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        for first in range(0, 12, 2):
            publish(client, 0, b"%d" % first, b"%d" % (first + 1))
        member = StreamMember(client)
        member.say(credit=v1.Credit(messages=3))
        member.join()
        # Three are granted; the second batch is whole, so that four come, and one is owed.
        assert [offset for _, offset, _ in messages(member.await_("batches"))] == [0, 1, 2, 3]
        member.say(credit=v1.Credit(messages=1))
        assert nothing_comes(member)
        member.say(credit=v1.Credit(messages=1))
        assert [offset for _, offset, _ in messages(member.await_("batches"))] == [4, 5]
        member.say(credit=v1.Credit(messages=100))
        assert [offset for _, offset, _ in member.read(6)] == [6, 7, 8, 9, 10, 11]
        member.replies.cancel()

    against(tmp_path, work)


def test_bytes_come_as_far_as_there_is_credit(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        for _ in range(4):
            publish(client, 1, bytes(1000))
        size = len(batch(bytes(1000)))
        member = StreamMember(client)
        member.say(credit=v1.Credit(bytes=size + 1))
        member.join()
        got = b""
        while len(got) < 2 * size:
            got += member.await_("batches").batches
        assert len(got) == 2 * size
        assert nothing_comes(member)
        # What came beyond the credit counts against the next one.
        member.say(credit=v1.Credit(bytes=size))
        assert len(member.await_("batches").batches) == size
        member.replies.cancel()

    against(tmp_path, work)


def nothing_comes(member: StreamMember) -> bool:
    """Whether an answer to a heartbeat is the next reply of all."""
    for _ in range(5):
        number = member.say(heartbeat=v1.HeartbeatRequest())
        answers, which, _ = member.hear()
        if (answers, which) != (number, "assignment"):
            return False
    return True


# --- going elsewhere


def test_a_seek_goes_back_and_forth(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        for value in (b"a", b"b", b"c"):
            publish(client, 0, value)
        member = StreamMember(client)
        member.join()
        member.read(3)
        assert member.answer(seek=v1.SeekRequest(offsets((0, 1)))) == v1.SeekReply()
        assert member.read(2) == [(0, 1, b"b"), (0, 2, b"c")]
        member.answer(seek=v1.SeekRequest(offsets((0, 3), (1, 0))))
        publish(client, 0, b"d")
        assert member.read(1) == [(0, 3, b"d")]
        member.replies.cancel()

    against(tmp_path, work)


def test_a_seek_beyond_the_end_stops_its_partition_until_the_next(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a")
        member = StreamMember(client)
        member.join()
        member.read(1)
        member.answer(seek=v1.SeekRequest(offsets((0, 9))))
        stopped = member.await_("batches")
        assert (stopped.topic, stopped.partition, stopped.next_offset) == ("orders", 0, 9)
        assert (stopped.refusal.code, stopped.refusal.field) == ("offset_out_of_range", "offset")
        publish(client, 1, b"b")
        assert member.read(1) == [(1, 0, b"b")]
        member.answer(seek=v1.SeekRequest(offsets((0, 0))))
        assert member.read(1) == [(0, 0, b"a")]
        member.replies.cancel()

    against(tmp_path, work)


def test_what_retention_took_is_passed_over(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        config = {"segment_bytes": v1.Setting(number=1 << 16), "retention_bytes": v1.Setting(number=1 << 16)}
        client.create_topic(v1.CreateTopicRequest("short", 1, 1, config))
        for _ in range(8):
            publish(client, 0, bytes(40_000), topic="short")
        client.commit(v1.CommitRequest("billing", offsets=[v1.PartitionOffset("short", 0, 0)]))
        start = 0
        while not start:
            time.sleep(0.01)
            start = client.describe_partitions(v1.DescribePartitionsRequest("short")).partitions[0].start_offset
        member = StreamMember(client)
        member.join("billing", "short")
        first = member.await_("batches")
        assert first.first_offset >= start
        assert messages(first)
        member.replies.cancel()

    against(tmp_path, work)


# --- what is refused


def first_refusal(member: StreamMember, **request: Any) -> tuple[str, str]:  # noqa: ANN401 - a message
    """Code and field of the refusal of a request."""
    refusal = member.answer(**request)
    assert isinstance(refusal, v1.Refusal), refusal
    assert refusal.message
    return refusal.code, refusal.field


@pytest.mark.parametrize(
    ("request_", "refused"),
    [
        ({}, ("invalid_request", "request")),
        ({"commit": v1.CommitRequest()}, ("invalid_request", "request")),
        ({"heartbeat": v1.HeartbeatRequest("billing", "ghost")}, ("invalid_request", "request")),
        ({"leave": LEAVE}, ("invalid_request", "request")),
        ({"seek": v1.SeekRequest(offsets((0, 0)))}, ("invalid_request", "positions[0]")),
        ({"ack": v1.AckRequest(["r"])}, ("invalid_request", "request")),
        ({"nack": v1.NackRequest(["r"])}, ("invalid_request", "request")),
        ({"reject": v1.RejectRequest(["r"])}, ("invalid_request", "request")),
        ({"extend": v1.ExtendRequest(["r"])}, ("invalid_request", "request")),
        ({"release": v1.ReleaseRequest(["r"])}, ("invalid_request", "request")),
        ({"join": v1.JoinRequest()}, ("invalid_request", "group")),
        ({"join": v1.JoinRequest("billing")}, ("invalid_request", "topics")),
        ({"join": v1.JoinRequest("billing", topics=["t"], eager=True)}, ("invalid_request", "eager")),
        ({"join": v1.JoinRequest("billing", "ghost", topics=["t"])}, ("unknown_member", "member_id")),
        (
            {"join": v1.JoinRequest("billing", topics=["t"], mode=v1.GroupMode(v1.GroupMode.SHARED))},
            ("wrong_mode", "mode"),
        ),
    ],
)
def test_a_stream_begins_with_a_join(tmp_path: Path, request_: dict[str, Any], refused: tuple[str, str]) -> None:
    def work(client: Client) -> None:
        other = StreamMember(client)
        other.join()
        member = StreamMember(client)
        assert first_refusal(member, **request_) == refused
        # A refusal ends nothing.
        assert member.join("audit").assigned == ALL_ORDERS
        other.replies.cancel()
        member.replies.cancel()

    against(tmp_path, work)


@pytest.mark.parametrize(
    ("request_", "refused"),
    [
        ({"join": v1.JoinRequest("audit", topics=["orders"])}, ("invalid_request", "group")),
        ({"join": v1.JoinRequest("billing", "ghost", topics=["orders"])}, ("invalid_request", "member_id")),
        ({"commit": v1.CommitRequest("audit")}, ("invalid_request", "group")),
        ({"commit": v1.CommitRequest("", "ghost")}, ("invalid_request", "member_id")),
        ({"commit": v1.CommitRequest(generation=9)}, ("fenced_generation", "generation")),
        ({"commit": v1.CommitRequest(offsets=offsets((0, -1)))}, ("invalid_request", "offsets[0].offset")),
        ({"leave": v1.LeaveRequest("audit")}, ("invalid_request", "group")),
        ({"seek": v1.SeekRequest(offsets((7, 0)))}, ("invalid_request", "positions[0]")),
        ({"seek": v1.SeekRequest(offsets((0, 0), (0, 1)))}, ("invalid_request", "positions[1]")),
    ],
)
def test_a_stream_is_one_member(tmp_path: Path, request_: dict[str, Any], refused: tuple[str, str]) -> None:
    def work(client: Client) -> None:
        member = StreamMember(client)
        member.join()
        assert first_refusal(member, **request_) == refused
        publish(client, 0, b"goes on")
        assert member.read(1) == [(0, 0, b"goes on")]
        member.replies.cancel()

    against(tmp_path, work)


def test_a_stream_joins_once_more_to_read_other_topics(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        member = StreamMember(client)
        first = member.join()
        again = member.join("billing", "other")
        assert again.member_id == first.member_id
        news = member.await_("assignment")
        while news.to_revoke:
            member.answer(revoke=v1.RevokeRequest(revoked=news.to_revoke))
            news = member.answer(heartbeat=v1.HeartbeatRequest())
        assert {each.topic for each in news.assigned} == {"other"}
        publish(client, 1, b"x", topic="other")
        assert messages(member.await_("batches")) == [(1, 0, b"x")]
        member.replies.cancel()

    against(tmp_path, work, Setting(topics=("orders", "other")))


@pytest.mark.parametrize("which", ["ack", "nack", "reject", "extend", "release"])
def test_a_member_of_an_exclusive_group_has_nothing_to_settle(tmp_path: Path, which: str) -> None:
    def work(client: Client) -> None:
        member = StreamMember(client)
        member.join()
        request = getattr(v1, f"{which.capitalize()}Request")(["r"])
        assert first_refusal(member, **{which: request}) == ("wrong_mode", which)
        member.replies.cancel()

    against(tmp_path, work)


def test_bytes_that_are_no_request_end_the_stream_after_what_was_asked(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        member = StreamMember(client)
        member.join()
        number = member.say(heartbeat=v1.HeartbeatRequest())
        member.say_bytes(b"\xff\xff")
        assert member.hear()[:2] == (number, "assignment")
        assert member.status() == (grpc.StatusCode.INVALID_ARGUMENT, "")
        assert len(described(client).members) == 1

    against(tmp_path, work)


# --- how it ends


def test_a_client_that_says_nothing_loses_its_membership_though_its_stream_is_open(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        member = StreamMember(client)
        member.join(session_timeout_ms=1000)
        assert member.status() == (grpc.StatusCode.NOT_FOUND, "unknown_member")
        assert described(client).members == []

    against(tmp_path, work)


@pytest.mark.parametrize(
    "request_",
    [
        {"credit": v1.Credit(bytes=5)},
        {"seek": v1.SeekRequest(offsets((0, 0)))},
        {"commit": v1.CommitRequest()},
        {"heartbeat": v1.HeartbeatRequest()},
        {"revoke": v1.RevokeRequest()},
    ],
    ids=lambda request: next(iter(request)),
)
def test_every_request_is_a_sign_of_life(tmp_path: Path, request_: dict[str, betterproto.Message]) -> None:
    def work(client: Client) -> None:
        member = StreamMember(client)
        member.join()
        before = described(client).members[0].last_heartbeat_ms
        # The wall clock is set right by a little now and then.
        while described(client).members[0].last_heartbeat_ms < before + 50:
            member.say(**request_)
            time.sleep(0.01)
        member.replies.cancel()

    against(tmp_path, work)


def test_a_client_that_closes_its_side_stays_a_member_until_its_session_ends(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        member = StreamMember(client)
        member.join(instance_id="till")
        member.say(commit=v1.CommitRequest(offsets=offsets((0, 0))))
        member.close()
        assert [which for _, which, _ in iter_all(member)] == ["committed"]
        assert member.status() == (grpc.StatusCode.OK, "")
        back = StreamMember(client)
        assert back.join(member_id=member.joined.member_id, instance_id="till").assigned == ALL_ORDERS
        back.replies.cancel()

    against(tmp_path, work)


def iter_all(member: StreamMember) -> list[tuple[int, str, Any]]:
    """All replies to the end of a stream."""
    return [(reply.request_id, *betterproto.which_one_of(reply, "reply")) for reply in member.replies]


def test_who_is_replaced_is_told_so(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        first, second = StreamMember(client), StreamMember(client)
        first.join(instance_id="till")
        second.join(instance_id="till")
        assert first.status() == (grpc.StatusCode.FAILED_PRECONDITION, "fenced_instance")
        second.replies.cancel()

    against(tmp_path, work)


def test_a_client_that_goes_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        def work(client: Client) -> None:
            publish(client, 0, b"x")
            member = StreamMember(client)
            member.join()
            member.read(1)
            member.replies.cancel()

        await broker.calls(work)
        await until(lambda: broker.runtime.waiting_count == 0)
        # It did not say that it leaves, so that another process may go on in its place.
        group = await broker.ask(DescribeGroup("billing"))
        assert isinstance(group, GroupReply)
        assert len(group.members) == 1

    with_broker(tmp_path, scenario)


def test_a_drain_says_that_the_node_is_leaving(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        def work(client: Client) -> None:
            member = StreamMember(client)
            member.join()
            assert iter_all(member)[-1][:2] == (0, "leaving")
            assert member.status() == (grpc.StatusCode.OK, "")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(broker.calls, work)
            # Its watch, and a fetch for each partition.
            await until(lambda: broker.runtime.waiting_count == 3)
            await broker.server.drain(30 * SECOND_NS)

    with_broker(tmp_path, scenario)


def test_a_deadline_ends_a_stream(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        member = StreamMember(client, timeout=0.3)
        member.join()
        assert member.status() == (grpc.StatusCode.DEADLINE_EXCEEDED, "")

    against(tmp_path, work)


def test_requests_in_one_breath_wait_in_bounded_memory_and_are_answered_in_their_order(tmp_path: Path) -> None:
    disk = StallingDisk(str(tmp_path))
    many = v1.CommitRequest(offsets=offsets(*[(partition % 2, 0) for partition in range(1500)]))
    size = len(StrictCodec().encode(v1.ConsumeRequest(commit=many)))
    numbers = [*range(100, 100 + 3 * UNANSWERED_BYTES_MAX // size)]
    requests = [StrictCodec().encode(v1.ConsumeRequest(request_id=number, commit=many)) for number in numbers]

    async def scenario(broker: ServedBroker) -> None:
        def work(client: Client) -> None:
            member = StreamMember(client)
            member.join()
            disk.stall()
            for body in requests:
                member.say_bytes(body)
            heard = [member.hear()[:2] for _ in numbers]
            assert heard == [(number, "committed") for number in numbers]
            member.replies.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(broker.calls, work)
            most = UNANSWERED_BYTES_MAX // size + 1
            try:
                # Besides the requests there are its watch and two fetches.
                await until(lambda: broker.runtime.waiting_count >= most)
                for _ in range(20):
                    await trio.sleep(0.01)
                    assert broker.runtime.waiting_count <= most + 3
            finally:
                disk.go_on()

    with_broker(tmp_path, scenario, Setting(disk=disk))


def test_whatever_a_client_asks_is_answered_once(tmp_path: Path) -> None:
    codec, groups = StrictCodec(), itertools.count()

    def work(client: Client) -> None:
        @settings(max_examples=60, deadline=None, database=None)
        @given(st.lists(contents(v1.ConsumeRequest), max_size=8))
        def ask(drawn: list[dict[str, Any]]) -> None:
            member = StreamMember(client)
            member.join(f"group-{next(groups)}")
            asked = []
            for number, content in enumerate(drawn, 1000):
                request = message_of(v1.ConsumeRequest, {**content, "request_id": number})
                member.say_bytes(codec.encode(request))
                if betterproto.which_one_of(request, "request")[0] != "credit":
                    asked.append(number)
            member.close()
            heard = iter_all(member)
            answered = sorted(number for number, _, _ in heard if number)
            if any(which == "left" for _, which, _ in heard):
                # Nothing is heard after a leave that was granted.
                asked = asked[: len(answered)]
            assert answered == asked

        ask()

    against(tmp_path, work)


def test_a_member_goes_on_after_a_restart_of_the_broker(tmp_path: Path) -> None:
    joined: list[v1.JoinReply] = []

    def before(client: Client) -> None:
        publish(client, 0, b"a", b"b")
        member = StreamMember(client)
        joined.append(member.join())
        member.read(2)
        member.answer(commit=v1.CommitRequest(offsets=offsets((0, 1))))

    def after(client: Client) -> None:
        member = StreamMember(client)
        again = member.join(member_id=joined[0].member_id)
        assert (again.generation, again.assigned) == (joined[0].generation, ALL_ORDERS)
        assert member.read(1) == [(0, 1, b"b")]
        member.replies.cancel()

    against(tmp_path, before)
    against(tmp_path, after)


class GroupsClient(TrioStub, v1.GroupsStub):
    """Groups by our own client, which reads no more than it is asked for."""


def test_who_takes_nothing_and_says_nothing_costs_little_memory_and_is_let_go(tmp_path: Path) -> None:
    limits, size = Limits(stream_queue_bytes_max=64 * KIB), 100_000

    async def scenario(broker: ServedBroker) -> None:
        content = batch(bytes(size))
        for _ in range(80):
            await broker.ask(PublishBatch("orders", 0, bytearray(content)))

        async def requests() -> AsyncIterator[v1.ConsumeRequest]:
            yield v1.ConsumeRequest(join=v1.JoinRequest("billing", topics=["orders"], session_timeout_ms=1000))
            await trio.sleep_forever()

        window = Limits(stream_window_bytes=64 * KIB)
        async with (
            open_channel("127.0.0.1", broker.port, limits=window) as channel,
            aclosing(GroupsClient(channel).consume(requests())) as replies,  # type: ignore[arg-type, type-var]
        ):
            assert (await anext(replies)).joined.member_id
            await until(lambda: broker.server.held_bytes > 64 * KIB)
            # Its watch, and the fetch of the partition in which there is nothing.
            await until(lambda: broker.runtime.waiting_count == 2)
            # A reply is a megabyte at most, and there is one.
            assert broker.server.held_bytes <= 64 * KIB + (1 << 20) + 2 * size
            await until(lambda: broker.runtime.waiting_count == 0)

    with_broker(tmp_path, scenario, Setting(connection=limits))
