"""Dead letters over gRPC, one call at a time, as grpcio sees them."""

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
from tests.transports.services.leased_messages import Leased, join_shared, poll, receipts
from tests.transports.services.served_broker import Client, against, failure


def buried(client: Client, *values: bytes, reason: str = "no such customer") -> v1.JoinReply:
    """Messages of orders that a member of mail rejects, one batch; they are dead letters when this returns."""
    before = letters(client)
    publish(client, 0, *values)
    member = join_shared(client)
    got: list[Leased] = []
    while len(got) < len(values):
        got += poll(client, member, wait_ms=10_000)
    assert client.reject(v1.RejectRequest(receipts(got), reason=reason)).done == len(values)
    while letters(client) < before + len(values):
        time.sleep(0.01)
    return member


def letters(client: Client) -> int:
    """How many letters there are in orders.dlq."""
    topics = client.dead_letters_list(v1.ListDeadTopicsRequest()).topics
    return sum(each.letters for each in topics if each.topic == "orders.dlq")


def ended(client: Client, redrive: v1.RedriveReply) -> v1.RedriveReply:
    """What a redrive has come to in the end."""
    found = redrive
    while found.state == "running":
        found = client.dead_letters_describe_redrive(v1.DescribeRedriveRequest(redrive.redrive_id))
        time.sleep(0.01)
    return found


def test_letters_say_why_and_where_from(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        before_ms = time.time_ns() // 1_000_000
        buried(client, b"a", b"b", b"c")
        page = client.dead_letters_browse(v1.BrowseRequest("orders.dlq", limit=2))
        rest = client.dead_letters_browse(v1.BrowseRequest("orders.dlq", limit=2, after=page.after))
        found = [*page.letters, *rest.letters]
        assert sorted(letter.value for letter in found) == [b"a", b"b", b"c"]
        assert rest.after == {}
        one = next(letter for letter in found if letter.value == b"b")
        assert (one.reason, one.group, one.attempts) == ("rejected", "mail", 1)
        assert (one.source_topic, one.source_partition, one.source_offset) == ("orders", 0, 1)
        assert before_ms <= one.died_ms <= time.time_ns() // 1_000_000
        headers = {header.name: header.value for header in one.headers}
        assert headers["goqueue.dlq.detail"] == b"no such customer"
        none = client.dead_letters_browse(v1.BrowseRequest("orders.dlq", v1.LetterFilter(reason="expired")))
        assert none == v1.BrowseReply()

    against(tmp_path, work)


def test_letters_are_sent_back_and_come_again(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        member = buried(client, b"a", b"b")
        dry = ended(client, client.dead_letters_redrive(v1.RedriveRequest("orders.dlq", dry_run=True)))
        assert (dry.state, dry.matched, dry.moved, dry.dry_run) == ("done", 2, 0, True)
        assert letters(client) == 2
        done = ended(client, client.dead_letters_redrive(v1.RedriveRequest("orders.dlq", limit=1)))
        assert (done.state, done.topic, done.moved, done.purge, done.error) == ("done", "orders.dlq", 1, False, "")
        assert done.ended_ms >= done.started_ms > 1_700_000_000_000
        assert len(poll(client, member, wait_ms=10_000)) == 1
        assert letters(client) == 1
        listed = client.dead_letters_list_redrives(v1.ListRedrivesRequest()).redrives
        assert done.redrive_id in [each.redrive_id for each in listed]
        assert client.dead_letters_list_redrives(v1.ListRedrivesRequest("orders.dlq")).redrives == listed

    against(tmp_path, work)


def test_letters_are_dropped(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        buried(client, b"a", b"b")
        wanted = v1.PurgeRequest("orders.dlq", v1.LetterFilter(group="nobody"))
        assert ended(client, client.dead_letters_purge(wanted)).moved == 0
        done = ended(client, client.dead_letters_purge(v1.PurgeRequest("orders.dlq")))
        assert (done.state, done.purge, done.moved) == ("done", True, 2)
        assert letters(client) == 0
        assert client.dead_letters_browse(v1.BrowseRequest("orders.dlq")).letters == []

    against(tmp_path, work)


def test_a_redrive_is_cancelled(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        buried(client, *(b"%d" % number for number in range(50)))
        begun = client.dead_letters_redrive(v1.RedriveRequest("orders.dlq", rate=1))
        assert (begun.state, begun.rate) == ("running", 1)
        stopped = client.dead_letters_cancel_redrive(v1.CancelRedriveRequest(begun.redrive_id))
        assert stopped.redrive_id == begun.redrive_id
        assert ended(client, stopped).state == "cancelled"

    against(tmp_path, work)


@pytest.mark.parametrize(
    ("call", "status", "code"),
    [
        (lambda client: client.dead_letters_browse(v1.BrowseRequest()), "INVALID_ARGUMENT", "invalid_request"),
        (
            lambda client: client.dead_letters_browse(v1.BrowseRequest("nothing")),
            "NOT_FOUND",
            ("topic_not_found", "no_dead_letters"),
        ),
        (lambda client: client.dead_letters_browse(v1.BrowseRequest("orders")), "NOT_FOUND", "no_dead_letters"),
        (lambda client: client.dead_letters_purge(v1.PurgeRequest("orders")), "NOT_FOUND", "no_dead_letters"),
        (
            lambda client: client.dead_letters_describe_redrive(v1.DescribeRedriveRequest("nothing")),
            "NOT_FOUND",
            "redrive_not_found",
        ),
        (
            lambda client: client.dead_letters_cancel_redrive(v1.CancelRedriveRequest("nothing")),
            "NOT_FOUND",
            "redrive_not_found",
        ),
    ],
)
def test_what_is_not_there_is_not_found(tmp_path: Path, call: Any, status: str, code: Any) -> None:  # noqa: ANN401
    def work(client: Client) -> None:
        error = failure(lambda: call(client))
        assert error.code() is grpc.StatusCode[status]
        assert refusal_code(error) in ([code] if isinstance(code, str) else code)

    against(tmp_path, work)


def test_letters_do_not_go_to_where_they_lie(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        buried(client, b"a")
        error = failure(lambda: client.dead_letters_redrive(v1.RedriveRequest("orders.dlq", to="orders.dlq")))
        assert (error.code(), refusal_code(error)) == (grpc.StatusCode.INVALID_ARGUMENT, "invalid_request")

    against(tmp_path, work)


@pytest.mark.parametrize("kind", ["Browse", "Redrive", "Purge", "DescribeRedrive", "ListRedrives", "CancelRedrive"])
def test_whatever_is_asked_is_answered_or_refused(tmp_path: Path, kind: str) -> None:
    codec, request_type = StrictCodec(), getattr(v1, f"{kind}Request")
    method = "dead_letters_" + "".join(f"_{each.lower()}" if each.isupper() else each for each in kind).lstrip("_")

    def work(client: Client) -> None:
        buried(client, b"a")
        refused: list[tuple[grpc.StatusCode, str]] = []

        @settings(max_examples=30, deadline=None, database=None)
        @given(contents(request_type))
        def ask(drawn: dict[str, Any]) -> None:
            fixed = {"topic": "orders.dlq", "to": ""} if kind == "Redrive" else {"topic": "orders.dlq"}
            content = {**drawn, **fixed} if "topic" in drawn or kind in ("Browse", "Redrive", "Purge") else drawn
            request: betterproto.Message = message_of(request_type, content)
            try:
                getattr(client, method)(codec.encode(request))
            except grpc.RpcError as error:
                refused.append((error.code(), refusal_code(error)))

        ask()
        assert {code for code, _ in refused} <= {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND}
        assert all(code for _, code in refused)
        assert client.dead_letters_list(v1.ListDeadTopicsRequest()).topics[0].topic == "orders.dlq"

    against(tmp_path, work)
