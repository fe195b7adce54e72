"""What is coded by hand says the same as the general codec, or leaves the word to it."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.proto import v1
from goqueue.proto.codec import StrictCodec
from goqueue.transports.services.envelopes import bytes_field, number_field, open_publish, publish_reply

CODEC = StrictCodec()
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
UINT64 = st.integers(0, (1 << 64) - 1)
UINT32 = st.integers(0, (1 << 32) - 1)
REQUESTS = st.builds(
    v1.PublishBatchRequest,
    topic=st.text(max_size=300),
    partition=UINT32,
    batch=st.binary(max_size=400),
    acks=st.sampled_from([v1.Acks.ALL, v1.Acks.LEADER, v1.Acks.NONE]),
    request_id=UINT64,
    due=st.sampled_from([v1.Due.NOW, v1.Due.AT, v1.Due.AFTER]),
)


@given(REQUESTS)
def test_a_request_says_what_it_said(request_: v1.PublishBatchRequest) -> None:
    opened = open_publish(memoryview(bytes(request_)))
    assert opened is not None
    topic, partition, batch, acks, request_id, due = opened
    said = v1.PublishBatchRequest(topic, partition, bytes(batch), v1.Acks(acks), request_id, v1.Due(due))
    assert said == request_


@given(REQUESTS, st.data())
def test_what_is_opened_here_the_general_codec_opens_alike(
    request_: v1.PublishBatchRequest, draw: st.DataObject
) -> None:
    spoilt = bytearray(bytes(request_)) or bytearray(1)
    for _ in range(draw.draw(st.integers(1, 3))):
        spoilt[draw.draw(st.integers(0, len(spoilt) - 1))] = draw.draw(st.integers(0, 255))
    compare(bytes(spoilt[: draw.draw(st.integers(0, len(spoilt)))]))


@given(st.binary(max_size=60))
def test_noise_that_is_opened_here_the_general_codec_opens_alike(noise: bytes) -> None:
    compare(noise)


def compare(content: bytes) -> None:
    """Whatever is opened here must be a message, and say the same."""
    opened = open_publish(memoryview(content))
    if opened is None:
        return
    topic, partition, batch, acks, request_id, due = opened
    decoded = CODEC.decode(v1.PublishBatchRequest, content)
    assert (decoded.topic, decoded.partition, decoded.batch) == (topic, partition, bytes(batch))
    assert (int(decoded.acks), decoded.request_id, int(decoded.due)) == (acks, request_id, due)


@given(UINT64, INT64, INT64)
def test_a_reply_has_the_bytes_of_the_general_codec(request_id: int, offset: int, timestamp_ms: int) -> None:
    expected = CODEC.encode(v1.PublishBatchReply(request_id, offset, timestamp_ms))
    assert publish_reply(request_id, offset, timestamp_ms) == expected


@given(UINT32, st.binary(max_size=40_000), INT64, INT64, INT64)
def test_fields_put_together_make_the_message(
    position: int, batches: bytes, next_offset: int, high_watermark: int, start_offset: int
) -> None:
    written = (
        number_field(1, position)
        + number_field(3, next_offset)
        + number_field(4, high_watermark)
        + number_field(5, start_offset)
        + bytes_field(2, len(batches))
        + batches
    )
    expected = v1.SubscribeReply(position, batches, next_offset, high_watermark, start_offset)
    assert CODEC.decode(v1.SubscribeReply, written) == expected
