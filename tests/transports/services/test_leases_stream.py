"""A whole member of a shared group on one stream, as grpcio sees it."""

import itertools
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
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
from goqueue.proto import v1
from goqueue.proto.codec import StrictCodec
from goqueue.transports.http2.limits import KIB, SECOND_NS, Limits
from goqueue.transports.services.work_reading import BYTES_MAX
from goqueue.transports.trio_grpc_client import TrioStub, open_channel
from tests.proto.messages import contents, message_of
from tests.transports.services.group_member import publish
from tests.transports.services.leased_messages import (
    SHARED,
    Leased,
    SharedMember,
    join_shared,
    leased,
    poll,
    receipt_of,
    receipts,
)
from tests.transports.services.served_broker import Client, ServedBroker, Setting, against, batch, with_broker
from tests.transports.serving import until


def joined(client: Client, credit: int = 100, **more: Any) -> SharedMember:  # noqa: ANN401 - fields of a join
    """A member that can take so many messages."""
    member = SharedMember(client)
    member.join(**more)
    if credit:
        member.say(credit=v1.Credit(messages=credit))
    return member


def values(messages: list[Any]) -> list[bytes]:
    """What is in some messages, in no order that partitions have."""
    return sorted(message.value for message in messages)


def leave(member: SharedMember) -> None:
    """End a membership."""
    assert isinstance(member.answer(leave=v1.LeaveRequest()), v1.LeaveReply)
    assert member.status() == (grpc.StatusCode.OK, "")


def members(client: Client) -> list[str]:
    """Who is in the group."""
    return [each.member_id for each in client.describe_group(v1.DescribeGroupRequest("mail")).members]


# --- what comes


def test_nothing_comes_without_credit(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a", b"b")
        member = joined(client, 0)
        assert member.joined.mode is SHARED
        assert member.joined.assigned == []
        member.say(credit=v1.Credit(bytes=1 << 20))
        number = member.say(heartbeat=v1.HeartbeatRequest())
        assert member.hear()[:2] == (number, "assignment")
        other = join_shared(client)
        assert values(poll(client, other, wait_ms=10_000)) == [b"a", b"b"]
        member.replies.cancel()

    against(tmp_path, work)


def test_what_comes_is_as_much_as_there_is_credit_for(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, *(b"%d" % number for number in range(5)))
        member = joined(client, 2)
        first = member.lease(2)
        other = join_shared(client)
        assert len(poll(client, other, 1, wait_ms=10_000)) == 1
        member.say(credit=v1.Credit(messages=9))
        assert values(first + member.lease(2)) == [b"0", b"1", b"3", b"4"]
        member.replies.cancel()

    against(tmp_path, work)


def test_credit_in_bytes_bounds_what_comes_as_well(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        for _ in range(3):
            publish(client, 0, bytes(1000))
        member = joined(client, 0)
        member.say(credit=v1.Credit(messages=100, bytes=1))
        assert [one.offset for one in member.lease(1)] == [0]
        member.say(credit=v1.Credit(bytes=500))
        number = member.say(heartbeat=v1.HeartbeatRequest())
        assert member.hear()[:2] == (number, "assignment")
        member.say(credit=v1.Credit(bytes=10_000))
        assert [one.offset for one in member.lease(2)] == [1, 2]
        member.replies.cancel()

    against(tmp_path, work)


def test_messages_that_come_later_are_sent_as_they_come(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        member = joined(client)
        for number in range(5):
            publish(client, number % 2, b"%d" % number)
            assert values(member.lease(1)) == [b"%d" % number]
        member.replies.cancel()

    against(tmp_path, work)


def test_members_share_what_there_is(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        one, other = joined(client, 3), joined(client, 3)
        publish(client, 0, *(b"%d" % number for number in range(6)))
        assert values(one.lease(3) + other.lease(3)) == [b"%d" % number for number in range(6)]
        one.replies.cancel()
        other.replies.cancel()

    against(tmp_path, work)


def test_a_part_tells_the_brokers_clock(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a")
        member = joined(client, 0)
        member.say(credit=v1.Credit(messages=1, visibility_timeout_ms=60_000))
        part = member.await_("leased")
        assert abs(part.now_ms - time.time_ns() // 1_000_000) < 60_000
        assert 30_000 < part.leases[0].expires_ms - part.now_ms < 61_000
        member.replies.cancel()

    against(tmp_path, work)


# --- what becomes of it


def test_each_acknowledgement_is_answered_by_its_number(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, *(b"%d" % number for number in range(20)))
        member = joined(client)
        got = member.lease(20)
        asked = [member.say(ack=v1.AckRequest([one.receipt])) for one in got]
        heard = [member.hear() for _ in asked]
        assert sorted(number for number, _, _ in heard) == asked
        assert {(which, said.done, len(said.refusals)) for _, which, said in heard} == {("acked", 1, 0)}
        leave(member)
        assert poll(client, join_shared(client)) == []

    against(tmp_path, work)


def test_of_requests_in_one_breath_each_is_told_of_its_own_receipts(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a", b"b", b"c", b"d")
        member = joined(client)
        got = member.lease(4)
        one, two, three, four = receipts(got)
        false = f"{one[:30]}{'A' if one[30] != 'A' else 'B'}{one[31:]}"
        beyond = receipt_of(one[:56], 900)
        shown = [[one, false], [two], [beyond, "x"], [three, four]]
        asked = [member.say(ack=v1.AckRequest(each)) for each in shown]
        told = {}
        for _ in asked:
            number, which, said = member.hear()
            assert which == "acked"
            told[number] = (said.done, sorted(refused.receipt for refused in said.refusals))
        assert [told[number] for number in asked] == [(1, [false]), (1, []), (0, sorted([beyond, "x"])), (2, [])]
        member.replies.cancel()

    against(tmp_path, work)


def test_what_is_given_back_comes_again_and_what_is_rejected_does_not(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a", b"b", b"c")
        member = joined(client)
        one, two, three = receipts(member.lease(3))
        nacked = member.answer(nack=v1.NackRequest([one], delay_ms=600_000, reason="later"))
        assert (nacked.done, nacked.dead) == (1, 0)
        assert nacked.next_attempt_ms > time.time_ns() // 1_000_000 + 500_000
        rejected = member.answer(reject=v1.RejectRequest([two], reason="never"))
        assert (rejected.done, rejected.dead_lettered_to) == (1, "orders.dlq")
        extended = member.answer(extend=v1.ExtendRequest([three], timeout_ms=600_000))
        assert extended.done == 1
        assert extended.expires_ms > time.time_ns() // 1_000_000 + 500_000
        member.say(release=v1.ReleaseRequest([three]))
        released = v1.ReleaseReply()
        again: list[Leased] = []
        while not released.done or not again:
            _, which, said = member.hear()
            if which == "released":
                released = said
            else:
                again += leased(said)
        assert (released.done, released.refusals) == (1, [])
        assert [(message.value, message.attempt) for message in again] == [(b"c", 1)]
        member.replies.cancel()

    against(tmp_path, work)


def test_a_lease_as_short_as_the_credit_says_runs_out(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a")
        member = joined(client, 0)
        member.say(credit=v1.Credit(messages=1, visibility_timeout_ms=50))
        first = member.lease(1)
        other = join_shared(client)
        assert [one.attempt for one in poll(client, other, wait_ms=10_000)] == [2]
        refused = member.answer(ack=v1.AckRequest(receipts(first))).refusals
        assert [(one.receipt, one.refusal.code) for one in refused] == [(first[0].receipt, "receipt_expired")]
        member.replies.cancel()

    against(tmp_path, work)


# --- what is refused


@pytest.mark.parametrize(
    ("request_", "refused"),
    [
        ({"ack": v1.AckRequest(["r"], group="audit")}, ("invalid_request", "group")),
        ({"nack": v1.NackRequest()}, ("invalid_request", "receipts")),
        ({"extend": v1.ExtendRequest(["r"], timeout_ms=(1 << 32) - 1)}, ("invalid_request", "timeout_ms")),
        ({"nack": v1.NackRequest(["r"], delay_ms=(1 << 64) - 1)}, ("invalid_request", "delay_ms")),
        ({"reject": v1.RejectRequest(["r"], reason="x" * 5_000)}, ("invalid_request", "reason")),
        ({"seek": v1.SeekRequest([v1.PartitionOffset("orders", 0, 0)])}, ("invalid_request", "positions[0]")),
        ({"join": v1.JoinRequest("audit", topics=["orders"])}, ("invalid_request", "group")),
    ],
)
def test_what_cannot_be_granted_is_refused_and_ends_nothing(
    tmp_path: Path, request_: dict[str, Any], refused: tuple[str, str]
) -> None:
    def work(client: Client) -> None:
        member = joined(client)
        why = member.answer(**request_)
        assert (why.code, why.field) == refused
        publish(client, 0, b"a")
        assert values(member.lease(1)) == [b"a"]
        member.replies.cancel()

    against(tmp_path, work)


def test_nothing_is_settled_before_the_join(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        member = SharedMember(client)
        why = member.answer(ack=v1.AckRequest(["r"]))
        assert (why.code, why.field) == ("invalid_request", "request")
        member.join()
        member.replies.cancel()

    against(tmp_path, work)


# --- who is alive, and how it ends


def test_a_member_that_leaves_hands_back_what_it_has(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a", b"b")
        member = joined(client)
        member.answer(ack=v1.AckRequest(receipts(member.lease(2)[:1])))
        leave(member)
        assert members(client) == []
        got = poll(client, join_shared(client), wait_ms=10_000)
        assert [(one.value, one.attempt) for one in got] == [(b"b", 1)]

    against(tmp_path, work)


def test_a_member_that_closes_its_side_hands_back_what_it_has(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a", b"b")
        member = joined(client)
        got = member.lease(2)
        member.say(ack=v1.AckRequest(receipts(got[:1])))
        member.close()
        said: list[tuple[str, Any]] = [betterproto.which_one_of(reply, "reply") for reply in member.replies]
        assert [(which, reply.done) for which, reply in said] == [("acked", 1)]
        assert member.status() == (grpc.StatusCode.OK, "")
        again = poll(client, join_shared(client), wait_ms=10_000)
        assert [(one.value, one.attempt) for one in again] == [(got[1].value, 1)]

    against(tmp_path, work)


def test_what_a_broken_stream_had_comes_again_when_its_leases_are_over(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a")
        member = joined(client, 0)
        member.say(credit=v1.Credit(messages=1, visibility_timeout_ms=300))
        assert len(member.lease(1)) == 1
        member.replies.cancel()
        got = poll(client, join_shared(client), wait_ms=10_000)
        assert [(one.value, one.attempt) for one in got] == [(b"a", 2)]

    against(tmp_path, work)


def test_an_open_stream_keeps_its_membership_without_a_word(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        member = joined(client, 0, session_timeout_ms=3000)
        began = client.describe_group(v1.DescribeGroupRequest("mail")).members[0].last_heartbeat_ms
        beat = began
        while beat < began + 3_500:
            time.sleep(0.05)
            beat = client.describe_group(v1.DescribeGroupRequest("mail")).members[0].last_heartbeat_ms
        assert members(client) == [member.joined.member_id]
        member.replies.cancel()

    against(tmp_path, work)


def test_who_loses_its_membership_is_told_so(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        member = joined(client)
        client.leave(v1.LeaveRequest("mail", member.joined.member_id))
        assert member.status() == (grpc.StatusCode.NOT_FOUND, "unknown_member")

    against(tmp_path, work)


def test_a_client_that_goes_leaves_nothing_behind(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        def work(client: Client) -> None:
            publish(client, 0, b"x")
            member = joined(client)
            member.lease(1)
            member.replies.cancel()

        await broker.calls(work)
        await until(lambda: broker.runtime.waiting_count == 0)
        group = await broker.ask(DescribeGroup("mail"))
        assert isinstance(group, GroupReply)
        assert len(group.members) == 1

    with_broker(tmp_path, scenario)


def test_a_drain_says_that_the_node_is_leaving(tmp_path: Path) -> None:
    async def scenario(broker: ServedBroker) -> None:
        def work(client: Client) -> None:
            member = joined(client)
            said = [betterproto.which_one_of(reply, "reply")[0] for reply in member.replies]
            assert said == ["leaving"]
            assert member.status() == (grpc.StatusCode.OK, "")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(broker.calls, work)
            # Its watch and its poll.
            await until(lambda: broker.runtime.waiting_count == 2)
            await broker.server.drain(30 * SECOND_NS)

    with_broker(tmp_path, scenario)


def test_nothing_that_was_acknowledged_comes_again_after_a_restart(tmp_path: Path) -> None:
    ids: list[str] = []

    def before(client: Client) -> None:
        publish(client, 0, b"a", b"b", b"c")
        member = joined(client)
        got = member.lease(3)
        assert member.answer(ack=v1.AckRequest([got[1].receipt])).done == 1
        ids.append(member.joined.member_id)

    def after(client: Client) -> None:
        member = joined(client, member_id=ids[0])
        assert member.joined.member_id == ids[0]
        publish(client, 0, b"d")
        assert values(member.lease(1)) == [b"d"]
        member.replies.cancel()

    against(tmp_path, before)
    against(tmp_path, after)


def test_whatever_a_client_asks_is_answered_once(tmp_path: Path) -> None:
    codec, groups = StrictCodec(), itertools.count()

    def work(client: Client) -> None:
        publish(client, 0, *(b"%d" % number for number in range(50)))

        @settings(max_examples=60, deadline=None, database=None)
        @given(st.lists(contents(v1.ConsumeRequest), max_size=8))
        def ask(drawn: list[dict[str, Any]]) -> None:
            member = SharedMember(client)
            member.join(f"group-{next(groups)}")
            asked = []
            for number, content in enumerate(drawn, 1000):
                request = message_of(v1.ConsumeRequest, {**content, "request_id": number})
                member.say_bytes(codec.encode(request))
                if betterproto.which_one_of(request, "request")[0] != "credit":
                    asked.append(number)
            member.close()
            heard = [(reply.request_id, betterproto.which_one_of(reply, "reply")[0]) for reply in member.replies]
            answered = sorted(number for number, _ in heard if number)
            if any(which == "left" for _, which in heard):
                # Nothing is heard after a leave that was granted.
                asked = asked[: len(answered)]
            assert answered == asked

        ask()

    against(tmp_path, work)


class GroupsClient(TrioStub, v1.GroupsStub):
    """Groups by our own client, which reads no more than it is asked for."""


def test_who_takes_nothing_costs_little_memory(tmp_path: Path) -> None:
    limits, size = Limits(stream_queue_bytes_max=64 * KIB), 100_000

    async def scenario(broker: ServedBroker) -> None:
        content = batch(bytes(size))
        for _ in range(80):
            await broker.ask(PublishBatch("orders", 0, bytearray(content)))

        async def requests() -> AsyncIterator[v1.ConsumeRequest]:
            yield v1.ConsumeRequest(join=v1.JoinRequest("mail", topics=["orders"], mode=SHARED))
            yield v1.ConsumeRequest(credit=v1.Credit(messages=10_000))
            await trio.sleep_forever()

        window = Limits(stream_window_bytes=64 * KIB)
        async with (
            open_channel("127.0.0.1", broker.port, limits=window) as channel,
            aclosing(GroupsClient(channel).consume(requests())) as replies,  # type: ignore[arg-type, type-var]
        ):
            assert (await anext(replies)).joined.member_id
            await until(lambda: broker.server.held_bytes > 64 * KIB)
            # Nothing is polled for, so that its watch is all there is.
            await until(lambda: broker.runtime.waiting_count == 1)
            assert broker.server.held_bytes <= 64 * KIB + BYTES_MAX + 2 * size

    with_broker(tmp_path, scenario, Setting(connection=limits))
