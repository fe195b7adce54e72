"""Messages under a lease over gRPC, one call at a time, as grpcio sees them."""

import threading
import time
from pathlib import Path
from typing import Any

import betterproto
import grpc
import pytest
from hypothesis import given, settings

from goqueue.proto import v1
from goqueue.proto.codec import StrictCodec
from tests.proto.messages import contents, message_of
from tests.transports.services.group_member import publish, refusal_code
from tests.transports.services.leased_messages import SHARED, Leased, join_shared, poll, receipt_of, receipts
from tests.transports.services.served_broker import Client, against, failure


def refusals(reply: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - of any settlement
    """Which receipts were refused, and why."""
    return [(one.receipt, one.refusal.code) for one in reply.refusals]


def codes(reply: Any) -> list[str]:  # noqa: ANN401 - of any settlement
    """Why receipts were refused."""
    return [code for _, code in refusals(reply)]


def again(client: Client, member: v1.JoinReply, count: int = 1) -> list[Leased]:
    """What is leased once more, when it is."""
    return poll(client, member, count, wait_ms=10_000)


def test_what_was_acknowledged_is_not_delivered_again(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a", b"b", b"c")
        publish(client, 1, b"d")
        member = join_shared(client)
        got = poll(client, member, wait_ms=5_000)
        while len(got) < 4:
            got += poll(client, member, wait_ms=5_000)
        assert sorted((one.partition, one.offset, one.value) for one in got) == [
            (0, 0, b"a"),
            (0, 1, b"b"),
            (0, 2, b"c"),
            (1, 0, b"d"),
        ]
        assert {one.attempt for one in got} == {1}
        assert len({one.receipt for one in got}) == 4
        reply = client.ack(v1.AckRequest(receipts(got)))
        assert (reply.done, reply.refusals) == (4, [])
        assert client.ack(v1.AckRequest(receipts(got[:1]))).done == 1
        assert codes(client.nack(v1.NackRequest(receipts(got[:1])))) == ["already_settled"]
        told = client.fetch_offsets(v1.FetchOffsetsRequest("mail", ["orders"])).offsets
        assert [(each.partition, each.offset, each.lag) for each in told] == [(0, 3, 0), (1, 1, 0)]
        assert poll(client, member) == []

    against(tmp_path, work)


def test_receipts_travel_as_ranges_as_well(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a", b"b", b"c")
        member = join_shared(client)
        got = poll(client, member, wait_ms=5_000)
        stem = got[0].receipt[:56]
        ranges = [v1.ReceiptRange(stem, 0, 2), v1.ReceiptRange(stem, 2)]
        assert client.ack(v1.AckRequest(ranges=ranges, group="mail")).done == 3
        assert poll(client, member) == []

    against(tmp_path, work)


def test_a_message_that_is_given_back_is_tried_again(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a")
        member = join_shared(client)
        got = again(client, member)
        reply = client.nack(v1.NackRequest(receipts(got), delay_ms=0, reason="not today"))
        assert (reply.done, reply.refusals, reply.dead, reply.dead_lettered_to) == (1, [], 0, "")
        assert reply.next_attempt_ms > 1_700_000_000_000
        second = again(client, member)
        assert [(one.offset, one.attempt) for one in second] == [(0, 2)]
        assert refusals(client.ack(v1.AckRequest(receipts(got)))) == [(got[0].receipt, "receipt_expired")]
        released = client.release(v1.ReleaseRequest(receipts(second)))
        assert (released.done, released.refusals) == (1, [])
        assert [(one.offset, one.attempt) for one in again(client, member)] == [(0, 2)]

    against(tmp_path, work)


def test_a_lease_is_extended_and_cut_short(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a")
        member = join_shared(client)
        got = poll(client, member, wait_ms=5_000, visibility_timeout_ms=60_000)
        reply = client.extend(v1.ExtendRequest(receipts(got), timeout_ms=120_000))
        assert (reply.done, reply.refusals) == (1, [])
        assert reply.expires_ms > got[0].expires_ms + 50_000
        assert client.extend(v1.ExtendRequest(receipts(got), timeout_ms=1)).done == 1
        second = again(client, member)
        assert [(one.offset, one.attempt) for one in second] == [(0, 2)]
        assert codes(client.extend(v1.ExtendRequest(receipts(got), timeout_ms=5))) == ["receipt_expired"]

    against(tmp_path, work)


def test_a_lease_that_runs_out_makes_its_message_somebody_elses(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a")
        first, second = join_shared(client), join_shared(client)
        before_ms = time.time_ns() // 1_000_000
        got = poll(client, first, wait_ms=5_000, visibility_timeout_ms=100)
        assert before_ms < got[0].expires_ms < before_ms + 10_000
        other = again(client, second)
        assert [(one.offset, one.attempt) for one in other] == [(0, 2)]
        assert codes(client.ack(v1.AckRequest(receipts(got)))) == ["receipt_expired"]
        assert client.ack(v1.AckRequest(receipts(other))).done == 1

    against(tmp_path, work)


def test_what_is_rejected_is_a_dead_letter(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"poison")
        member = join_shared(client)
        got = again(client, member)
        reply = client.reject(v1.RejectRequest(receipts(got), reason="no such customer"))
        assert (reply.done, reply.refusals, reply.dead_lettered_to) == (1, [], "orders.dlq")
        # The letter may be written by then: what is settled is settled, and to acknowledge it is no mistake.
        assert codes(client.ack(v1.AckRequest(receipts(got)))) in (["receipt_expired"], [])
        assert poll(client, member) == []

    against(tmp_path, work)


def test_groups_do_not_see_each_other(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a")
        mail, audit = join_shared(client), join_shared(client, "audit")
        one, other = again(client, mail), poll(client, audit, group="audit", wait_ms=10_000)
        assert [message.value for message in (*one, *other)] == [b"a", b"a"]
        assert codes(client.ack(v1.AckRequest(receipts(one), group="audit"))) == ["receipt_invalid"]
        assert client.ack(v1.AckRequest(receipts(one), group="mail")).done == 1
        assert client.ack(v1.AckRequest(receipts(other))).done == 1

    against(tmp_path, work)


def test_a_poll_waits_for_a_message_and_no_longer_than_it_says(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        member = join_shared(client)
        assert poll(client, member, wait_ms=20) == []
        timer = threading.Timer(0.1, publish, [client, 1, b"late"])
        timer.start()
        assert [one.value for one in again(client, member)] == [b"late"]
        timer.join()

    against(tmp_path, work)


def test_leases_come_in_the_order_of_delivery(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        for name in ("LOW", "NORMAL", "CRITICAL"):
            draft = v1.NewMessage(value=name.encode(), partition=0, priority=v1.Priority.from_string(name))
            client.publish(v1.PublishRequest("orders", [draft]))
        member, got = join_shared(client), list[Leased]()
        while len(got) < 3:
            got += poll(client, member, wait_ms=10_000)
        assert [one.value for one in got] == [b"CRITICAL", b"NORMAL", b"LOW"]

    against(tmp_path, work)


def test_a_message_that_is_too_old_is_not_delivered(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        drafts = [v1.NewMessage(value=b"old", partition=0, ttl_ms=1), v1.NewMessage(value=b"good", partition=0)]
        client.publish(v1.PublishRequest("orders", drafts))
        time.sleep(0.05)
        assert [one.value for one in poll(client, join_shared(client), wait_ms=10_000)] == [b"good"]

    against(tmp_path, work)


# --- what is refused


def forged(receipt: str) -> str:
    """A receipt that nobody gave out: the proof in it is another one."""
    return f"{receipt[:30]}{'A' if receipt[30] != 'A' else 'B'}{receipt[31:]}"


def test_a_bad_receipt_is_told_by_itself_and_the_others_count(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        publish(client, 0, b"a", b"b")
        member = join_shared(client)
        got = poll(client, member, 2, wait_ms=10_000)
        stem, false = got[0].receipt[:56], forged(got[0].receipt)
        beyond = receipt_of(stem, 77)
        shown = ["", "x" * 5_000, stem, beyond, false, *receipts(got)]
        reply = client.ack(v1.AckRequest(shown))
        assert reply.done == 2
        told = dict(refusals(reply))
        assert told[false] == told["x" * 5_000] == told[""] == "receipt_invalid"
        assert told[beyond] in ("receipt_expired", "receipt_invalid")
        assert len(told) == 5
        for reply in (
            client.nack(v1.NackRequest([false])),
            client.reject(v1.RejectRequest([false])),
            client.extend(v1.ExtendRequest([false], timeout_ms=1000)),
            client.release(v1.ReleaseRequest([false])),
        ):
            assert (reply.done, refusals(reply)) == (0, [(false, "receipt_invalid")])

    against(tmp_path, work)


def shared_poll(client: Client, **fields: Any) -> Any:  # noqa: ANN401 - of a message
    """A poll of a member of mail, with some fields of its own."""
    member = join_shared(client)
    return client.poll(v1.PollRequest(**{"group": "mail", "member_id": member.member_id, **fields}))


def exclusive_poll(client: Client) -> Any:  # noqa: ANN401 - of a message
    """A poll of a member of an exclusive group."""
    member = client.join(v1.JoinRequest("billing", topics=["orders"]))
    return client.poll(v1.PollRequest("billing", member.member_id))


@pytest.mark.parametrize(
    ("call", "status", "code"),
    [
        (lambda client: client.poll(v1.PollRequest()), "INVALID_ARGUMENT", "invalid_request"),
        (lambda client: client.poll(v1.PollRequest("nobody", "m")), "NOT_FOUND", "unknown_member"),
        (lambda client: shared_poll(client, member_id="ghost"), "NOT_FOUND", "unknown_member"),
        (lambda client: shared_poll(client, group="\x00"), "NOT_FOUND", "unknown_member"),
        (exclusive_poll, "FAILED_PRECONDITION", "wrong_mode"),
        (
            lambda client: shared_poll(client, visibility_timeout_ms=(1 << 32) - 1),
            "INVALID_ARGUMENT",
            "invalid_request",
        ),
        (lambda client: client.ack(v1.AckRequest()), "INVALID_ARGUMENT", "invalid_request"),
        (lambda client: client.extend(v1.ExtendRequest(timeout_ms=5)), "INVALID_ARGUMENT", "invalid_request"),
        (
            lambda client: client.extend(v1.ExtendRequest(["r"], timeout_ms=(1 << 32) - 1)),
            "INVALID_ARGUMENT",
            "invalid_request",
        ),
        (
            lambda client: client.nack(v1.NackRequest(["r"], delay_ms=(1 << 64) - 1)),
            "INVALID_ARGUMENT",
            "invalid_request",
        ),
        (
            lambda client: client.nack(v1.NackRequest(["r"], reason="so " * 1_000)),
            "INVALID_ARGUMENT",
            "invalid_request",
        ),
        (
            lambda client: client.ack(v1.AckRequest(ranges=[v1.ReceiptRange("r", 0, (1 << 32) - 1)])),
            "INVALID_ARGUMENT",
            "invalid_request",
        ),
        (
            lambda client: client.commit(commit_of(join_shared(client))),
            "FAILED_PRECONDITION",
            "wrong_mode",
        ),
    ],
)
def test_a_call_that_cannot_be_granted_is_refused(tmp_path: Path, call: Any, status: str, code: str) -> None:  # noqa: ANN401
    def work(client: Client) -> None:
        error = failure(lambda: call(client))
        assert (error.code(), refusal_code(error)) == (grpc.StatusCode[status], code)
        assert error.details()

    against(tmp_path, work)


def commit_of(member: v1.JoinReply) -> v1.CommitRequest:
    """A commit that a shared group has no use for."""
    offsets = [v1.PartitionOffset("orders", 0, 1)]
    return v1.CommitRequest("mail", member.member_id, member.generation, offsets)


@pytest.mark.parametrize("kind", ["Poll", "Ack", "Nack", "Reject", "Extend", "Release"])
def test_whatever_is_asked_is_answered_or_refused_and_the_broker_goes_on(tmp_path: Path, kind: str) -> None:
    codec, request_type = StrictCodec(), getattr(v1, f"{kind}Request")

    def work(client: Client) -> None:
        publish(client, 0, b"a")
        member = join_shared(client)

        refused: list[tuple[grpc.StatusCode, str]] = []

        @settings(max_examples=40, deadline=None, database=None)
        @given(contents(request_type))
        def ask(drawn: dict[str, Any]) -> None:
            if kind == "Poll":
                drawn = {**drawn, "wait_ms": 0, "group": "mail", "member_id": member.member_id}
            request: betterproto.Message = message_of(request_type, drawn)
            try:
                getattr(client, kind.lower())(codec.encode(request))
            except grpc.RpcError as error:
                refused.append((error.code(), refusal_code(error)))

        ask()
        assert {code for code, _ in refused} <= {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND}
        assert all(code for _, code in refused)
        assert client.describe_group(v1.DescribeGroupRequest("mail")).mode is SHARED

    against(tmp_path, work)
