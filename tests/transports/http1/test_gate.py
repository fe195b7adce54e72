"""What the gate lets through and what it does not: every reading that two servers could differ on is refused."""

import pytest

from goqueue.transports.http1.gate import Chunks, HttpError, check_head, check_start
from goqueue.transports.http1.limits import Http1Limits

LIMITS = Http1Limits(head_bytes_max=1000, line_bytes_max=300, header_count_max=5)


def refusal(head: bytes) -> HttpError:
    with pytest.raises(HttpError) as caught:
        check_head(head, LIMITS)
    return caught.value


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: [::1]:8080\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost:\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET http://a/topics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n",
        b"POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
        b"POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n",
    ],
)
def test_an_ordinary_head_passes(head: bytes) -> None:
    check_head(head, LIMITS)


@pytest.mark.parametrize(
    ("head", "field"),
    [
        (b"GET / HTTP/1.1\nHost: a\r\n\r\n", "headers"),
        (b"GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", "headers"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n", "headers"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", "headers"),
        (b"GET / HTTP/1.1\r\n X: b\r\nHost: a\r\n\r\n", "headers"),
        (b"GET / HTTP/1.1\r\n\r\n", "host"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "host"),
        (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", "host"),
        (b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "host"),
        (b"GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", "host"),
        (b"GET / HTTP/1.1\r\nHost: a:80x\r\n\r\n", "host"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "content-length"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\ncontent-length: 5\r\n\r\n", "content-length"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n", "content-length"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\n", "content-length"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n", "content-length"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\n", "content-length"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\n", "content-length"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999999999999\r\n\r\n", "content-length"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "transfer-encoding"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: a/b\r\nContent-Type: a/b\r\n\r\n", "content-type"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", "transfer-encoding"),
        (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", "transfer-encoding"),
        (b"GET topics HTTP/1.1\r\nHost: a\r\n\r\n", "path"),
        (b"GET * HTTP/1.1\r\nHost: a\r\n\r\n", "path"),
        (b"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", "path"),
        (b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", ""),
        (b"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", ""),
        (b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", ""),
        (b"GET /\r\nHost: a\r\n\r\n", ""),
        (b"GET / HTTP/1.2\r\nHost: a\r\n\r\n", ""),
    ],
)
def test_an_ambiguous_or_malformed_head_is_refused(head: bytes, field: str) -> None:
    error = refusal(head)
    assert (error.status_hint, error.code, error.field) == (400, "bad_request", field)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"a" * 300 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 300 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: a\r\n" * 5 + b"\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n" + (b"X: " + b"a" * 250 + b"\r\n") * 4 + b"\r\n",
    ],
)
def test_a_head_past_a_bound_is_refused_with_431(head: bytes) -> None:
    error = refusal(head)
    assert (error.status_hint, error.code) == (431, "headers_too_large")


def test_another_major_version_is_refused_with_505() -> None:
    assert refusal(b"PRI * HTTP/2.0\r\n\r\n").status_hint == 505


@pytest.mark.parametrize(
    "partial", [b"\x16\x03\x01", b" GET", b"GET / HTTP/1.1\nHost", b"GET / HTTP/1.1\rH", b"(", b"\xff"]
)
def test_what_can_become_no_head_is_refused_before_it_is_whole(partial: bytes) -> None:
    with pytest.raises(HttpError) as caught:
        check_start(partial, LIMITS)
    assert caught.value.status_hint == 400


@pytest.mark.parametrize(
    "partial", [b"G", b"GET / HTTP/1.1\r", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r"]
)
def test_what_may_become_a_head_is_waited_for(partial: bytes) -> None:
    check_start(partial, LIMITS)


@pytest.mark.parametrize("partial", [b"G" * 301, (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200)])
def test_a_partial_head_past_a_bound_is_refused_with_431(partial: bytes) -> None:
    with pytest.raises(HttpError) as caught:
        check_start(partial, LIMITS)
    assert caught.value.status_hint == 431


def read(encoded: bytes, step: int, bytes_max: int = 1 << 20) -> tuple[bytes, bool, bytes]:
    """The content of chunks that arrive `step` bytes at a time, whether they ended, and what is left over."""
    chunks, buffer = Chunks(bytes_max), bytearray()
    for at in range(0, len(encoded), step):
        buffer += encoded[at : at + step]
        chunks.feed(buffer)
    return bytes(chunks.body), chunks.complete, bytes(buffer)


@pytest.mark.parametrize("step", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("encoded", "body"),
    [
        (b"0\r\n\r\n", b""),
        (b"3\r\nabc\r\n0\r\n\r\n", b"abc"),
        (b"A;x=y\r\n0123456789\r\n00\r\n\r\n", b"0123456789"),
        (b'3;x;y="a \\" ;\xc3\xa4";z=1\r\nabc\r\n0;x\r\n\r\n', b"abc"),
        (b"2\r\n\r\n\r\n1\r\nc\r\n0\r\nX-Sum: 1\r\nY:\r\n\r\n", b"\r\nc"),
    ],
)
def test_chunks_are_read_wherever_they_are_cut(encoded: bytes, body: bytes, step: int) -> None:
    assert read(encoded + b"GET", step) == (body, True, b"GET")


@pytest.mark.parametrize("step", [1, 1000])
@pytest.mark.parametrize(
    "encoded",
    [
        b"3 \r\nabc\r\n", b" 3\r\nabc\r\n", b"\t3\r\n", b"3\nabc\r\n", b"3\r\nabcd\r\n", b"3\r\nabc\n\r", b"-3\r\n",
        b"+3\r\n", b"0x3\r\n", b"\r\n", b"\n", b"g\r\n", b"3;\x00\r\n", b"3;a\rb\r\n", b"123456789\r\n",
        b"3;" + b"a" * 300, b"3;\r\n", b"3;;\r\n", b"3; x\r\n", b"3;x y\r\n", b"3;x =y\r\n", b"3;=y\r\n", b"3;x=\r\n",
        b'3;x="y\r\n', b'3;x=y"\r\n', b'3;x="y"z\r\n', b"3;x=y;\r\n", b"3,x\r\n", b"3;x={}\r\n",
        b"0\r\nfolded\r\n", b"0\r\n x: y\r\n", b"0\r\nx: y\n\r\n", b"0\r\nx : y\r\n\r\n",
    ],
)  # fmt: skip
def test_chunks_that_two_servers_could_read_differently_are_refused(encoded: bytes, step: int) -> None:
    with pytest.raises(HttpError) as caught:
        read(encoded, step)
    assert caught.value.status_hint == 400


def test_a_chunk_past_the_bound_is_refused_by_its_size_alone() -> None:
    with pytest.raises(HttpError) as caught:
        read(b"5\r\nabcde\r\n6\r\n", 1000, bytes_max=10)
    assert caught.value.status_hint == 413


def test_a_flood_of_tiny_chunks_is_refused() -> None:
    with pytest.raises(HttpError, match="too small"):
        read(b"1\r\nx\r\n" * 10_000, 1 << 16)


def test_trailers_past_the_bound_are_refused() -> None:
    with pytest.raises(HttpError) as caught:
        read(b"0\r\n" + b"x: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n" * 1000, 1 << 16)
    assert caught.value.status_hint == 431
