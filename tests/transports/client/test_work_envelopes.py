"""What goes over a member's stream, compared with the general codec; and what cannot be meant."""

from typing import Any

import betterproto
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.client.work_session import GrantCredit, WorkRequest
from goqueue.core.requests.groups import GroupMode, JoinGroup, LeaveGroup
from goqueue.core.requests.queues import AckWork, ExtendWork, NackWork, ReceiptRun, RejectWork, ReleaseWork, WorkDone
from goqueue.core.requests.refusals import Refusal
from goqueue.proto import v1
from goqueue.transports.client.errors import CODEC
from goqueue.transports.client.work_envelopes import Leased, StreamBroken, consume_body, read_consume_reply

RUNS = [ReceiptRun("s" * 36, 7, 300), ReceiptRun("t" * 36, 1 << 40)]
REQUESTS: dict[str, WorkRequest] = {
    "join": JoinGroup("crew", ["jobs"], mode=GroupMode.SHARED, session_timeout_ms=30_000),
    "leave": LeaveGroup("crew", "m1"),
    "credit": GrantCredit(200, 1 << 25, 1000),
    "ack": AckWork(RUNS),
    "nack": NackWork(RUNS, 5, "boom"),
    "reject": RejectWork(RUNS, "bad"),
    "extend": ExtendWork(RUNS, 30_000),
    "release": ReleaseWork(RUNS),
}


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("number", [1, 127, 128, 1 << 40])
def test_a_request_is_what_the_general_codec_reads(name: str, number: int) -> None:
    read = CODEC.decode(v1.ConsumeRequest, consume_body(number, REQUESTS[name]))
    assert read.request_id == number
    assert betterproto.which_one_of(read, "request")[0] == name


def test_receipts_travel_as_runs() -> None:
    read = CODEC.decode(v1.ConsumeRequest, consume_body(1, REQUESTS["ack"]))
    assert [(each.stem, each.first_offset, each.count) for each in read.ack.ranges] == [
        ("s" * 36, 7, 300),
        ("t" * 36, 1 << 40, 1),
    ]
    assert read.ack.receipts == []


def reply(**fields: Any) -> bytes:  # noqa: ANN401 - one field of the oneof
    return CODEC.encode(v1.ConsumeReply(**fields))


def test_answers_come_with_the_number_of_what_they_answer() -> None:
    assert read_consume_reply(reply(request_id=3, acked=v1.AckReply(done=2))) == (3, WorkDone(2))
    found = read_consume_reply(reply(request_id=4, refusal=v1.Refusal(code="invalid", message="no")))
    assert found is not None
    assert isinstance(found[1], Refusal)
    assert read_consume_reply(reply(request_id=5, left=v1.LeaveReply())) == (5, None)


def test_leased_messages_come_with_the_brokers_clock() -> None:
    lease = v1.Lease(first_offset=5, count=2, attempt=1, stem="s", expires_ms=9)
    part = v1.LeasedBatches(topic="jobs", partition=1, batches=b"xy", leases=[lease], now_ms=4)
    found = read_consume_reply(reply(leased=part))
    assert found is not None
    assert isinstance(found[1], Leased)
    assert found[1].now_ms == 4
    assert found[1].part.leases[0].count == 2


def test_what_says_nothing_to_such_a_member_is_passed_over() -> None:
    assert read_consume_reply(reply(assignment=v1.HeartbeatReply(generation=1))) is None


@pytest.mark.parametrize(("first", "count"), [(-1, 1), (0, 0), (0, 1 << 30)])
def test_leases_that_cannot_be_break_the_stream(first: int, count: int) -> None:
    part = v1.LeasedBatches(topic="jobs", batches=b"", leases=[v1.Lease(first_offset=first, count=count, stem="s")])
    with pytest.raises(StreamBroken) as raised:
        read_consume_reply(reply(leased=part))
    assert raised.value.failure.code == "bad_reply"


def test_a_broker_that_is_about_to_stop_breaks_the_stream_for_now() -> None:
    with pytest.raises(StreamBroken) as raised:
        read_consume_reply(reply(leaving=v1.Leaving()))
    assert raised.value.failure.code == "shutting_down"


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_break_the_stream(body: bytes) -> None:
    try:
        read_consume_reply(body)
    except StreamBroken as broken:
        assert broken.failure.code in ("bad_reply", "shutting_down")  # noqa: PT017 - it may be raised, or not
