"""Timeouts, metadata and statuses as headers, and back."""

import pytest
from grpclib.const import Status
from grpclib.exceptions import GRPCError
from hypothesis import given
from hypothesis import strategies as st

from goqueue.transports.grpc.metadata import (
    MetadataError,
    format_timeout,
    metadata_headers,
    parse_metadata,
    parse_timeout,
)
from goqueue.transports.grpc.status import (
    DETAILS_BYTES_MAX,
    MESSAGE_BYTES_MAX,
    OK_TRAILERS,
    Detail,
    encode_message,
    error_of,
    error_trailers,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [(b"1H", 3600 * 10**9), (b"2M", 120 * 10**9), (b"3S", 3 * 10**9), (b"4m", 4 * 10**6), (b"5u", 5000), (b"6n", 6)],
)
def test_a_timeout_is_read_in_every_unit(text: bytes, expected: int) -> None:
    assert parse_timeout(text) == expected


@pytest.mark.parametrize("text", [b"", b"1", b"S", b"-1S", b"1.5S", b"123456789S", b"1s", b"1S "])
def test_a_timeout_that_is_none_is_refused(text: bytes) -> None:
    with pytest.raises(MetadataError):
        parse_timeout(text)


@given(st.integers(0, 10**20))
def test_a_timeout_is_never_written_longer_and_hardly_shorter(timeout_ns: int) -> None:
    written = parse_timeout(format_timeout(timeout_ns))
    assert written <= timeout_ns
    assert timeout_ns - written <= timeout_ns // 10**4 or timeout_ns > 10**8 * 3600 * 10**9


names = st.text("abcz09_.-", min_size=1, max_size=10).map(str.encode)
pairs = st.tuples(names.map(lambda name: name + b"-bin"), st.binary()) | st.tuples(
    names.filter(lambda name: not name.endswith(b"-bin")), st.text(st.characters(min_codepoint=32, max_codepoint=126))
    .map(str.encode)
)  # fmt: skip


@given(st.lists(pairs))
def test_metadata_comes_back_as_it_was(metadata: list[tuple[bytes, bytes]]) -> None:
    assert parse_metadata(metadata_headers(metadata)) == metadata


@pytest.mark.parametrize(
    "pair", [(b"Upper", b"x"), (b"grpc-x", b"x"), (b"te", b"x"), (b":path", b"x"), (b"x", b"\n"), (b"", b"x")]
)
def test_metadata_that_cannot_travel_is_refused(pair: tuple[bytes, bytes]) -> None:
    with pytest.raises(MetadataError):
        metadata_headers([pair])


def test_binary_metadata_may_be_padded_and_several() -> None:
    assert parse_metadata([(b"a-bin", b"AAE=,AAE, AAI=")]) == [
        (b"a-bin", b"\x00\x01"),
        (b"a-bin", b"\x00\x01"),
        (b"a-bin", b"\x00\x02"),
    ]
    with pytest.raises(MetadataError):
        parse_metadata([(b"a-bin", b"?")])


@given(
    st.sampled_from([each for each in Status if each is not Status.OK]), st.text(max_size=80), st.binary(max_size=80)
)
def test_an_error_comes_back_as_it_was(status: Status, message: str, content: bytes) -> None:
    message = message.encode(errors="replace").decode()
    error = error_of(error_trailers(GRPCError(status, message, [Detail("a.B", content)])))
    assert error is not None
    assert (error.status, error.message) == (status, message or None)
    assert error.details == [Detail("a.B", content)]


@given(st.text(min_size=300, max_size=2000))
def test_a_long_message_is_cut_between_characters_escapes(message: str) -> None:
    encoded = encode_message(message)
    assert len(encoded) <= MESSAGE_BYTES_MAX
    assert b"%" not in encoded[-2:]


def test_details_that_no_client_would_take_are_left_out() -> None:
    trailers = dict(error_trailers(GRPCError(Status.ABORTED, "x", [Detail("a.B", bytes(DETAILS_BYTES_MAX))])))
    assert trailers == {b"grpc-status": b"10", b"grpc-message": b"x"}


def test_ok_is_no_error_and_nonsense_is_unknown() -> None:
    assert error_of(OK_TRAILERS) is None
    for trailers in ([], [(b"grpc-status", b"99")], [(b"grpc-status", b"x")]):
        error = error_of(trailers)
        assert error is not None
        assert error.status is Status.UNKNOWN
    broken = error_of([(b"grpc-status", b"5"), (b"grpc-status-details-bin", b"??")])
    assert broken is not None
    assert (broken.status, broken.details) == (Status.NOT_FOUND, None)
