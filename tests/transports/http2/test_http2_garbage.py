"""Whatever bytes come: nothing is raised, what is held stays bounded, and a failure says GOAWAY and ends."""

from hyperframe.frame import FRAMES
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DataObject

from goqueue.transports.http2.connection import Connection
from goqueue.transports.http2.frames import PREFACE
from goqueue.transports.http2.limits import SECOND_NS, Limits
from goqueue.transports.http2.request import Request
from tests.transports.http2.wire import (
    GET,
    POST,
    START_NS,
    Peer,
    continuation,
    data,
    frames,
    goaway,
    ping,
    rst,
    window,
)
from tests.transports.http2.wire import settings as settings_frame

SMALL = Limits(
    streams_max=5, frame_bytes_max=20_000, header_block_bytes_max=2000, header_list_bytes_max=1000,
    stream_window_bytes=70_000, connection_window_bytes=100_000, unread_bytes_max=100_000, turn_weight_max=30,
)  # fmt: skip
HELD_BYTES_MAX = 100_000 + 100_000 + 20_000 + 300_000
stream_ids = st.integers(0, 12)
values = st.sampled_from([0, 1, 255, 65_535, (1 << 31) - 1]) | st.integers(0, (1 << 32) - 1)


def raw_frame(kind: int, flags: int, stream_id: int, body: bytes) -> bytes:
    """A frame of any kind with any body."""
    return len(body).to_bytes(3, "big") + bytes((kind, flags)) + stream_id.to_bytes(4, "big") + body


raw_frames = st.builds(
    raw_frame, st.sampled_from([*FRAMES, 0x10, 0xFA]), st.integers(0, 255), stream_ids, st.binary(max_size=60)
)
header_lists = st.sampled_from([GET, POST, [*POST, (b"content-length", b"3")], GET[1:], [(b"grpc-status", b"0")]])


@st.composite
def speech(draw: st.DrawFn) -> list[bytes]:
    """Frames that mostly make sense, in an order that mostly does not."""
    peer = Peer()
    said: list[bytes] = []
    for _ in range(draw(st.integers(1, 40))):
        stream_id = draw(stream_ids)
        ways = (
            lambda i: peer.headers(i or 1, draw(header_lists), end=draw(st.booleans())),
            lambda i: data(i or 1, draw(st.binary(max_size=100)), end=draw(st.booleans())),
            lambda i: data(i or 1, bytes(draw(st.integers(0, 16_384)))),
            lambda i: rst(i or 1, draw(values)),
            lambda i: window(i, draw(st.integers(1, (1 << 31) - 1))),
            lambda i: ping(ack=draw(st.booleans())),
            lambda i: settings_frame({draw(st.integers(0, 12)): draw(values)}),
            lambda i: goaway(draw(stream_ids), draw(values)),
            lambda i: continuation(i or 1, draw(st.binary(max_size=20)), end=draw(st.booleans())),
            lambda i: draw(raw_frames),
            lambda i: draw(st.binary(max_size=30)),
        )
        said.append(draw(st.sampled_from(ways))(stream_id))
    return said


def act(connection: Connection, choose: DataObject) -> None:
    """Do with the streams what an application might."""
    news = connection.take_news()
    for stream in news.arrived if news is not None else []:
        if stream.gone is None and choose.draw(st.booleans()):
            stream.send_headers(((b":status", b"200"),))
            stream.send(bytes(choose.draw(st.integers(0, 100_000))))
            if choose.draw(st.booleans()):
                stream.end(((b"grpc-status", b"0"),) if choose.draw(st.booleans()) else None)
        if choose.draw(st.booleans()):
            connection.release(stream)
    for stream in list(connection.streams.values()):
        if stream.gone is None and choose.draw(st.booleans()):
            stream.read()


def survive(connection: Connection, said: list[bytes], choose: DataObject) -> None:
    now = START_NS
    for part in said:
        now += choose.draw(st.sampled_from([0, 1000, SECOND_NS]))
        connection.receive(now, part)
        act(connection, choose)
        while connection.backlog:
            connection.work(now)
            act(connection, choose)
        assert connection.held_bytes <= HELD_BYTES_MAX
        sent = connection.take(now)
        if connection.failed is not None:
            assert connection.finished
            assert type(frames(sent)[-1]).__name__ == "GoAwayFrame"
            assert connection.take(now) == b""
            assert connection.streams == {}
            connection.receive(now, part)
            assert connection.take(now) == b""
            return
        assert len(connection.streams) <= SMALL.streams_max
        assert connection.outbox.queued_bytes == sum(stream.queued_bytes for stream in connection.streams.values())
        assert connection._unread_bytes == sum(stream.unread_bytes for stream in connection.streams.values())
        connection.wake(now)


@settings(max_examples=300)
@given(speech(), st.data())
def test_a_server_survives_whatever_is_said(said: list[bytes], choose: DataObject) -> None:
    connection = Connection(START_NS, SMALL)
    survive(connection, [PREFACE + settings_frame({}), *said], choose)


@given(st.lists(st.binary(max_size=200), max_size=10), st.booleans(), st.data())
def test_a_server_survives_noise(said: list[bytes], polite: bool, choose: DataObject) -> None:
    survive(Connection(START_NS, SMALL), [PREFACE, *said] if polite else said, choose)


@settings(max_examples=300)
@given(speech(), st.data())
def test_a_client_survives_whatever_is_said(said: list[bytes], choose: DataObject) -> None:
    connection = Connection(START_NS, SMALL, client=True)
    for _ in range(3):
        connection.open(Request(b"POST", b"/", b"http", b"here", [])).send(bytes(choose.draw(st.integers(0, 9000))))
    survive(connection, [settings_frame({}), *said], choose)
