"""Messages survive any cut of the stream that carries them, and lies about their length do not."""

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from hypothesis import given
from hypothesis import strategies as st

from goqueue.transports.grpc.compression import deflate, inflate
from goqueue.transports.grpc.framing import Assembly, MessageReader, frame_message

LARGE = Assembly.FROM_BYTES


def reader(bytes_max: int = 1 << 20, assembly: Assembly | None = None) -> MessageReader:
    return MessageReader(bytes_max, assembly or Assembly(1 << 30))


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=50))), st.lists(st.integers(0, 500)))
def test_messages_come_out_however_they_are_cut(messages: list[tuple[bool, bytes]], cuts: list[int]) -> None:
    body = b"".join(frame_message(message, compressed=compressed) for compressed, message in messages)
    reading = reader()
    start = 0
    for stop in [*sorted(cut for cut in cuts if cut < len(body)), len(body)]:
        reading.feed(body[start:stop])
        start = stop
    assert list(reading.ready) == messages
    assert not reading.partial


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=20))
def test_any_bytes_are_messages_or_a_refusal(parts: list[bytes]) -> None:
    assembly = Assembly(1000)
    reading = reader(2000, assembly)
    refusal = None
    try:
        for part in parts:
            reading.feed(part)
    except GRPCError as error:
        refusal = error.status
    assert refusal in (None, Status.INTERNAL, Status.RESOURCE_EXHAUSTED)
    reading.abandon()
    assert assembly.reserved_bytes == 0


@pytest.mark.parametrize("size", [1, 4, 5, 6])
def test_what_is_cut_off_is_partial(size: int) -> None:
    reading = reader()
    reading.feed(frame_message(b"ab")[:size])
    assert reading.partial
    assert not reading.ready


def test_a_length_over_the_bound_is_refused_before_the_message() -> None:
    reading = reader(100)
    reading.feed(frame_message(bytes(100)))
    with pytest.raises(GRPCError) as caught:
        reading.feed(b"\x00\x00\x00\x00\x65")
    assert caught.value.status is Status.RESOURCE_EXHAUSTED


def test_room_for_large_messages_is_reserved_while_they_come_and_then_free() -> None:
    assembly = Assembly(2 * LARGE)
    first, second, third = (reader(assembly=assembly) for _ in range(3))
    large = frame_message(bytes(LARGE))
    first.feed(large[:10])
    second.feed(large[:10])
    with pytest.raises(GRPCError):
        third.feed(large[:10])
    first.feed(large[10:])
    second.abandon()
    assert assembly.reserved_bytes == 0
    assert len(first.ready) == 1


@given(st.binary(max_size=5000))
def test_gzip_goes_back_and_forth(message: bytes) -> None:
    assert inflate(deflate(message), len(message)) == message


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"no gzip", Status.INVALID_ARGUMENT),
        (b"", Status.INVALID_ARGUMENT),
        (deflate(b"abc")[:-5], Status.INVALID_ARGUMENT),
        (deflate(bytes(1001)), Status.RESOURCE_EXHAUSTED),
    ],
)
def test_gzip_that_is_none_or_too_much_is_refused(data: bytes, status: Status) -> None:
    with pytest.raises(GRPCError) as caught:
        inflate(data, 1000)
    assert caught.value.status is status
