"""What producers spell by hand is what the general codec spells, and what they read by hand what it reads."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.records.build import encode
from goqueue.core.requests.messages import Due
from goqueue.proto import v1
from goqueue.proto.wire import WireError
from goqueue.transports.client.envelopes import publish_front, publish_head, read_publish_reply
from goqueue.transports.client.errors import CODEC

NUMBERS = st.integers(0, (1 << 63) - 1) | st.integers(0, 300)


@given(
    st.text(max_size=20),
    st.integers(0, 1 << 20),
    NUMBERS.map(lambda number: number + 1),
    st.integers(0, 2),
    st.sampled_from(Due),
)
def test_a_request_is_the_message_it_claims_to_be(
    topic: str, partition: int, request_id: int, acks: int, due: Due
) -> None:
    batch = encode([(1, None, b"v", ())])
    front = publish_front(publish_head(topic, partition, due), request_id, acks, len(batch))
    assert CODEC.decode(v1.PublishBatchRequest, front + batch) == v1.PublishBatchRequest(
        topic, partition, bytes(batch), v1.Acks(acks), request_id, v1.Due[due.name]
    )


@given(NUMBERS, NUMBERS | st.just(-1), NUMBERS | st.just(-1))
def test_an_answer_is_read_as_it_was_written(request_id: int, offset: int, timestamp_ms: int) -> None:
    body = CODEC.encode(v1.PublishBatchReply(request_id, offset, timestamp_ms))
    assert read_publish_reply(body) == (request_id, offset, timestamp_ms, None)


@given(
    st.sampled_from(["too_large", "unavailable", "new_in_some_release"]),
    st.text(max_size=20),
    st.integers(0, 99),
    st.sampled_from([v1.Outcome.NONE, v1.Outcome.UNKNOWN, v1.Outcome.DONE]),
)
def test_a_refusal_is_read_as_it_was_written(code: str, message: str, retry_after_ms: int, outcome: v1.Outcome) -> None:
    refusal = v1.Refusal(code, message, "batch", retry_after_ms, outcome=outcome)
    request_id, offset, _, failure = read_publish_reply(CODEC.encode(v1.PublishBatchReply(5, refusal=refusal)))
    assert (request_id, offset) == (5, -1)
    assert failure is not None
    assert (failure.code, failure.message, failure.field) == (code, message, "batch")
    assert failure.retry_after_ms == retry_after_ms
    assert failure.what_happened.name == outcome.name


@given(st.binary(max_size=12))
def test_any_other_bytes_are_read_as_the_general_codec_reads_them(body: bytes) -> None:
    try:
        expected = CODEC.decode(v1.PublishBatchReply, body)
    except WireError:
        expected = None
    try:
        request_id, offset, _, failure = read_publish_reply(body)
    except WireError:
        assert expected is None
        return
    assert expected is not None
    assert request_id == expected.request_id
    assert failure is not None or offset == expected.offset
