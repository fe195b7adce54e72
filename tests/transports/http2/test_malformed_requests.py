"""Requests that are well framed and no requests: each costs its stream, and the connection serves the next."""

import pytest
from hyperframe.frame import HeadersFrame

from goqueue.transports.http2.connection import Connection
from tests.transports.http2.wire import GET, POST, START_NS, Peer, arrived, data, frames, kinds, server

Fields = list[tuple[bytes, bytes]]
PROTOCOL_ERROR = 1
GRPC = (b"content-type", b"application/grpc")


def resets(connection: Connection) -> list[tuple[int, int]]:
    """The streams that were reset, and the codes."""
    found = frames(connection.take(START_NS))
    return [(each.stream_id, int(each.error_code)) for each in found if type(each).__name__ == "RstStreamFrame"]


@pytest.mark.parametrize("kind", [GRPC, (b"content-type", b"application/json")])
@pytest.mark.parametrize(
    "more",
    [
        [(b"content-type", b"application/grpc")],
        [(b"content-type", b"")],
        [(b"host", b"a"), (b"host", b"b")],
        [(b"content-length", b"1"), (b"content-length", b"2")],
        [(b"grpc-timeout", b"1S"), (b"grpc-timeout", b"1S")],
        [(b"grpc-encoding", b"gzip"), (b"grpc-encoding", b"identity")],
        [(b":path", b"/late")],
    ],
)
def test_a_request_that_says_something_twice_is_reset_alone(kind: tuple[bytes, bytes], more: Fields) -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1, [*POST, kind, *more], end=False))
    assert resets(connection) == [(1, PROTOCOL_ERROR)]
    connection.receive(START_NS, peer.headers(3))
    assert [stream.id for stream in arrived(connection)] == [3]


def test_a_request_that_depends_on_itself_is_reset_alone() -> None:
    connection, peer = server(), Peer()
    frame = HeadersFrame(1, flags=["END_HEADERS", "END_STREAM", "PRIORITY"], depends_on=1)
    frame.data = peer.encoder.encode(GET)
    connection.receive(START_NS, frame.serialize())
    assert resets(connection) == [(1, PROTOCOL_ERROR)]
    connection.receive(START_NS, peer.headers(3))
    assert [stream.id for stream in arrived(connection)] == [3]


def test_trailers_that_depend_on_their_own_stream_end_it() -> None:
    connection, peer = server(), Peer()
    connection.receive(START_NS, peer.headers(1, POST, end=False) + data(1, b"part"))
    (stream,) = arrived(connection)
    frame = HeadersFrame(1, flags=["END_HEADERS", "END_STREAM", "PRIORITY"], depends_on=1)
    frame.data = peer.encoder.encode([(b"x-sum", b"1")])
    connection.receive(START_NS, frame.serialize())
    assert resets(connection) == [(1, PROTOCOL_ERROR)]
    assert stream.gone is not None
    connection.receive(START_NS, peer.headers(3))
    assert "Goaway" not in kinds(connection.take(START_NS))
