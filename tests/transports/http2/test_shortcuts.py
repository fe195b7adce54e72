"""Frames that go past h2 change nothing but what they cost: with and without, a connection says and tells the same."""

from typing import Any

import pytest
from hpack import Encoder
from hyperframe.frame import HeadersFrame
from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.transports.http2.connection import Connection
from goqueue.transports.http2.frames import HEADERS, PREFACE, FrameReader
from goqueue.transports.http2.limits import Limits
from goqueue.transports.http2.request import Request
from goqueue.transports.http2.stream import Stream
from tests.transports.http2.wire import POST, START_NS, Peer, data, ping, rst, server, window

GRPC = [*POST, (b"content-type", b"application/grpc"), (b"te", b"trailers")]
CALLS = [
    GRPC,
    [*GRPC, (b"grpc-timeout", b"5S")],
    [*GRPC, (b"content-length", b"7")],
    [*POST, (b"x-long", b"v" * 3000)],
    [(b":method", b"POST"), (b"x", b"no path")],
    [(b":method", b"HEAD"), *POST[1:]],
    [(b"early", b"1"), *POST],
]
ANSWER = ((b":status", b"200"), (b"content-type", b"application/grpc"))
TRAILERS = ((b"grpc-status", b"0"),)

streams = st.integers(0, 6).map(lambda number: 2 * number + 1) | st.integers(1, 4)
steps = st.one_of(
    st.tuples(st.just("call"), st.sampled_from(CALLS), st.booleans()),
    st.tuples(st.just("call"), st.just(GRPC), st.just(False)),
    st.tuples(st.just("head"), streams, st.sampled_from(CALLS), st.booleans()),
    st.tuples(st.just("data"), streams, st.sampled_from([b"", b"a", b"1234567", b"x" * 3000]), st.booleans()),
    st.tuples(st.just("data"), streams, st.just(b"message"), st.just(True)),
    st.tuples(st.just("reset"), streams),
    st.tuples(st.just("window"), streams, st.integers(1, 1000)),
    st.tuples(st.just("ping")),
    st.tuples(st.just("serve"), st.integers(0, 5)),
)


class Side:
    """One of two connections that are told the same, and what it did."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.open: list[Stream] = []
        self.seen: list[Any] = []

    def hear(self, content: bytes) -> None:
        """Take in bytes, and note what comes of them."""
        self.connection.receive(START_NS, content)
        news = self.connection.take_news()
        if news is not None:
            self.open += news.arrived
            self.seen.append([(stream.id, stream.request) for stream in news.arrived])
            self.seen.append([(stream.id, stream.ended, stream.gone is None) for stream in news.readable.values()])
            self.seen.append([*news.writable])
            for stream in news.readable.values():
                if stream.gone is None:
                    self.seen.append((stream.id, stream.headers, stream.trailers, stream.read()))
        self._note()

    def serve(self, number: int) -> None:
        """Answer one of the requests."""
        if number < len(self.open):
            stream = self.open.pop(number)
            if stream.gone is None:
                stream.send_headers(ANSWER)
                stream.send(b"reply")
                stream.end(TRAILERS)
            self.connection.release(stream)
        self._note()

    def _note(self) -> None:
        connection = self.connection
        self.seen.append((connection.take(START_NS), connection.finished, connection.backlog, [*connection.streams]))
        self.seen.append((str(connection.failed), connection.serving, connection.held_bytes))


def both(limits: dict[str, int], make: Any) -> tuple[Side, Side]:  # noqa: ANN401 - makes a connection
    """One that goes past h2 and one that does not."""
    return Side(make(Limits(**limits))), Side(make(Limits(**limits, plain_data=False)))  # type: ignore[arg-type]


def spoken(step: tuple[Any, ...], peer: Peer, next_id: int) -> bytes:
    """What a client says in a step."""
    match step:
        case ("call", headers, end):
            return peer.headers(next_id, headers, end=end)
        case ("head", stream_id, headers, end):
            return peer.headers(stream_id, headers, end=end)
        case ("data", stream_id, content, end):
            return data(stream_id, content, end=end)
        case ("reset", stream_id):
            return rst(stream_id)
        case ("window", stream_id, size):
            return window(stream_id, size)
    return ping()


@settings(max_examples=400)
@given(st.lists(st.lists(steps, min_size=1, max_size=4), max_size=12))
def test_a_server_says_and_tells_the_same(turns: list[list[tuple[Any, ...]]]) -> None:
    short, long = both({"streams_max": 5, "header_list_bytes_max": 2000}, server)
    peer, next_id = Peer(), 1
    for turn in turns:
        said = b""
        for step in turn:
            if step[0] == "serve":
                for side in (short, long):
                    side.hear(said)
                    side.serve(step[1])
                said = b""
            else:
                said += spoken(step, peer, next_id)
                next_id += 2 * (step[0] == "call")
        for side in (short, long):
            side.hear(said)
        assert short.seen == long.seen


REPLIES = st.lists(
    st.one_of(
        st.tuples(
            st.just("head"), st.sampled_from([ANSWER, ((b":status", b"103"),), (*ANSWER, (b"content-length", b"7"))])
        ),
        st.tuples(st.just("data"), st.sampled_from([b"", b"message", b"x" * 2000]), st.booleans()),
        st.tuples(st.just("end"), st.sampled_from([TRAILERS, ((b"grpc-status", b"5"),), ANSWER])),
        st.tuples(st.just("trailers"), st.just(TRAILERS), st.booleans()),
    ),
    max_size=5,
)


@settings(max_examples=400)
@given(st.lists(st.tuples(st.booleans(), REPLIES), max_size=6))
def test_a_client_says_and_tells_the_same(calls: list[tuple[bool, list[tuple[Any, ...]]]]) -> None:
    short, long = both({}, lambda limits: Connection(START_NS, limits, client=True))
    encoder = Encoder()
    for side in (short, long):
        side.hear(b"\0\0\0\4\0\0\0\0\0")
    for number, (ends, replies) in enumerate(calls):
        stream_id = 2 * number + 1
        for side in (short, long):
            if side.connection.available:
                stream = side.connection.open(Request(b"POST", b"/a", b"http", b"here", []))
                stream.send(b"request")
                if ends:
                    stream.end()
        for reply in [("head", ANSWER), *replies]:
            said = answered(encoder, stream_id, reply)
            for side in (short, long):
                side.hear(said)
            assert short.seen == long.seen


def answered(encoder: Encoder, stream_id: int, reply: tuple[Any, ...]) -> bytes:
    """What a server says in a step."""
    if reply[0] == "data":
        return data(stream_id, reply[1], end=reply[2])
    ends = reply[0] == "end" or reply[2:] == (True,)
    frame = HeadersFrame(stream_id, flags=["END_HEADERS", "END_STREAM"] if ends else ["END_HEADERS"])
    frame.data = encoder.encode(reply[1])
    return frame.serialize()


def test_a_call_like_the_one_before_takes_the_short_way() -> None:
    connection, peer = server(), Peer()
    for number in range(3):
        connection.receive(START_NS, peer.headers(2 * number + 1, GRPC, end=False))
    connection._engine.receive_frame = lambda frame: pytest.fail(f"{frame} went the long way")  # type: ignore[method-assign]
    connection.receive(START_NS, peer.headers(7, GRPC, end=False) + data(7, b"abc", end=True))
    news = connection.take_news()
    assert news is not None
    assert [stream.id for stream in news.arrived] == [1, 3, 5, 7]
    assert (news.arrived[3].read(), news.arrived[3].ended) == (b"abc", True)
    assert news.arrived[3].request == news.arrived[0].request


@pytest.mark.parametrize("size", [1, 64])
def test_a_block_in_parts_and_one_with_a_priority_are_not_plain(size: int) -> None:
    block = Encoder().encode(GRPC)
    reader = FrameReader(Limits(), preface=PREFACE)
    first = HeadersFrame(1)
    first.data = block[:size]
    whole = HeadersFrame(1, flags=["END_HEADERS"])
    whole.data = block
    urgent = HeadersFrame(3, flags=["END_HEADERS", "PRIORITY"])
    urgent.data = block
    reader.feed(PREFACE + whole.serialize() + urgent.serialize() + first.serialize())
    plain = reader.next_plain()
    assert plain is not None
    assert (plain[0], plain[1], bytes(plain[2]), plain[3]) == (HEADERS, 1, block, False)
    reader.skip_plain(len(block))
    assert reader.next_plain() is None
    assert reader.next_frame() is not None
    assert reader.next_plain() is None
