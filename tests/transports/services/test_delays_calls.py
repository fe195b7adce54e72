"""Messages with a delay over gRPC, one call at a time, as grpcio sees them."""

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
from tests.transports.services.group_member import refusal_code
from tests.transports.services.served_broker import Client, against, failure, values

HOUR_MS = 3_600_000


def wall_ms() -> int:
    """The time."""
    return time.time_ns() // 1_000_000


def delayed(client: Client, value: bytes = b"v", **fields: Any) -> v1.PublishResult:  # noqa: ANN401 - of a message
    """Publish one message for later."""
    draft = v1.NewMessage(value=value, partition=0, **fields)
    result: v1.PublishResult = client.publish(v1.PublishRequest("orders", [draft])).results[0]
    assert not result.refusal.code, result.refusal
    return result


def read(client: Client, offset: int = 0, wait_ms: int = 0) -> list[bytes]:
    """What a partition has."""
    return values(client.fetch(v1.FetchRequest("orders", 0, offset, wait_ms=wait_ms)).batches)


def test_a_delayed_message_comes_when_it_is_due(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        before = wall_ms()
        result = delayed(client, b"later", delay_ms=3_000)
        due_ms = result.deliver_at_ms
        assert due_ms is not None
        assert before + 3_000 <= due_ms <= wall_ms() + 3_000
        assert delayed(client, b"now", deliver_at_ms=before - HOUR_MS).deliver_at_ms is None
        assert read(client) == [b"now"]
        assert read(client, 1, wait_ms=20_000) == [b"later"]
        assert wall_ms() >= due_ms

    against(tmp_path, work)


def test_delayed_messages_are_listed_by_time_page_by_page(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        due = [wall_ms() + HOUR_MS + step for step in (3, 1, 2, 5, 4)]
        for at_ms in due:
            delayed(client, deliver_at_ms=at_ms)
        found, after = [], list[int]()
        for _ in range(3):
            page = client.delays_list(v1.ListDelayedRequest("orders", 2, after))
            assert page.count == 5
            found += [message.deliver_at_ms for message in page.messages]
            after = page.after
        assert found == sorted(due)
        assert after == []

    against(tmp_path, work)


def test_one_is_looked_at_rescheduled_and_cancelled(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        headers = [v1.Header("trace", b"1"), v1.Header("empty")]
        priority = v1.Priority(v1.Priority.HIGH)
        at_ms = wall_ms() + HOUR_MS
        put = delayed(client, b"x", key=b"k", headers=headers, priority=priority, deliver_at_ms=at_ms)
        found = client.delays_get(v1.GetDelayedRequest("orders", put.partition, put.offset))
        assert found == v1.DelayedMessage("orders", 0, put.offset, at_ms, priority, b"k", b"x", headers)
        moved = client.delays_reschedule(v1.RescheduleDelayedRequest("orders", 0, put.offset, deliver_at_ms=at_ms + 5))
        assert moved.deliver_at_ms == at_ms + 5
        cancelled = client.delays_cancel(v1.CancelDelayedRequest("orders", 0, put.offset))
        assert cancelled == v1.CancelDelayedReply()
        for call in (
            lambda: client.delays_get(v1.GetDelayedRequest("orders", 0, put.offset)),
            lambda: client.delays_cancel(v1.CancelDelayedRequest("orders", 0, put.offset)),
            lambda: client.delays_reschedule(v1.RescheduleDelayedRequest("orders", 0, put.offset, delay_ms=1)),
        ):
            error = failure(call)
            assert (error.code(), refusal_code(error)) == (grpc.StatusCode.NOT_FOUND, "delayed_not_found")

    against(tmp_path, work)


def test_one_that_is_rescheduled_to_now_comes_at_once(tmp_path: Path) -> None:
    def work(client: Client) -> None:
        put = delayed(client, b"x", delay_ms=HOUR_MS)
        client.delays_reschedule(v1.RescheduleDelayedRequest("orders", 0, put.offset, delay_ms=0))
        assert read(client, wait_ms=20_000) == [b"x"]

    against(tmp_path, work)


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        (v1.NewMessage(delay_ms=1, deliver_at_ms=1), "messages[0].deliver_at_ms"),
        (v1.NewMessage(deliver_at_ms=-1), "messages[0].deliver_at_ms"),
        (v1.NewMessage(ttl_ms=0), "messages[0].ttl_ms"),
        (v1.NewMessage(ttl_ms=(1 << 64) - 1), "messages[0].ttl_ms"),
    ],
)
def test_times_that_cannot_be_meant_refuse_the_call(tmp_path: Path, draft: v1.NewMessage, field: str) -> None:
    def work(client: Client) -> None:
        error = failure(lambda: client.publish(v1.PublishRequest("orders", [draft])))
        assert (error.code(), refusal_code(error)) == (grpc.StatusCode.INVALID_ARGUMENT, "invalid_request")
        assert field in str(error.details())

    against(tmp_path, work)


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        (v1.NewMessage(partition=0, delay_ms=(1 << 64) - 1), "delay_ms"),
        (v1.NewMessage(partition=0, deliver_at_ms=(1 << 63) - 1), "deliver_at_ms"),
    ],
)
def test_times_beyond_the_calendar_refuse_their_message(tmp_path: Path, draft: v1.NewMessage, field: str) -> None:
    def work(client: Client) -> None:
        good = v1.NewMessage(value=b"v", partition=0)
        results = client.publish(v1.PublishRequest("orders", [good, draft])).results
        assert (results[0].offset, results[0].refusal.code) == (0, "")
        assert (results[1].offset, results[1].refusal.code) == (-1, "invalid_request")
        assert results[1].refusal.field.rpartition(".")[2] == field
        assert read(client) == [b"v"]

    against(tmp_path, work)


@pytest.mark.parametrize(
    ("call", "status", "code"),
    [
        (lambda client: client.delays_list(v1.ListDelayedRequest("nothing")), "NOT_FOUND", "topic_not_found"),
        (lambda client: client.delays_list(v1.ListDelayedRequest()), "INVALID_ARGUMENT", "invalid_request"),
        (lambda client: client.delays_get(v1.GetDelayedRequest("orders", 9, 0)), "NOT_FOUND", "partition_not_found"),
        (lambda client: client.delays_get(v1.GetDelayedRequest("orders", 0, 7)), "NOT_FOUND", "delayed_not_found"),
        (lambda client: client.delays_cancel(v1.CancelDelayedRequest("nothing")), "NOT_FOUND", "topic_not_found"),
    ],
)
def test_what_is_not_there_is_not_found(tmp_path: Path, call: Any, status: str, code: str) -> None:  # noqa: ANN401
    def work(client: Client) -> None:
        error = failure(lambda: call(client))
        assert (error.code(), refusal_code(error)) == (grpc.StatusCode[status], code)

    against(tmp_path, work)


@pytest.mark.parametrize("kind", ["ListDelayed", "GetDelayed", "CancelDelayed", "RescheduleDelayed"])
def test_whatever_is_asked_is_answered_or_refused(tmp_path: Path, kind: str) -> None:
    codec, request_type = StrictCodec(), getattr(v1, f"{kind}Request")
    method = f"delays_{kind.removesuffix('Delayed').lower()}"

    def work(client: Client) -> None:
        put = delayed(client, b"x", delay_ms=HOUR_MS)

        @settings(max_examples=40, deadline=None, database=None)
        @given(contents(request_type))
        def ask(drawn: dict[str, Any]) -> None:
            request: betterproto.Message = message_of(request_type, {**drawn, "topic": "orders"})
            try:
                getattr(client, method)(codec.encode(request))
            except grpc.RpcError as error:
                refused.append((error.code(), refusal_code(error)))

        refused: list[tuple[grpc.StatusCode, str]] = []
        ask()
        assert {code for code, _ in refused} <= {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND}
        assert all(code for _, code in refused)
        assert put.deliver_at_ms is not None

    against(tmp_path, work)
