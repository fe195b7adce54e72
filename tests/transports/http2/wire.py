"""What a peer of a connection says and hears, frame by frame, with no regard for the rules unless asked for it."""

import struct
from typing import Any

from hpack import Decoder, Encoder
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from goqueue.transports.http2.connection import Connection
from goqueue.transports.http2.frames import PREFACE
from goqueue.transports.http2.limits import SECOND_NS, Limits
from goqueue.transports.http2.stream import Stream

GET = [(b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/"), (b":authority", b"here")]
POST = [(b":method", b"POST"), *GET[1:]]
START_NS = 1000 * SECOND_NS


def server(limits: Limits | None = None, *, opened: bool = True) -> Connection:
    """A server's connection; its peer has said hello unless told otherwise."""
    connection = Connection(START_NS, limits or Limits(), peer="10.0.0.1:5000")
    if opened:
        connection.receive(START_NS, PREFACE + SettingsFrame(0).serialize())
        connection.take(START_NS)
    return connection


class Peer:
    """The other side, as bytes."""

    def __init__(self) -> None:
        self.encoder = Encoder()
        self.decoder = Decoder()

    def headers(self, stream_id: int, headers: list[tuple[bytes, bytes]] = GET, *, end: bool = True) -> bytes:
        """A HEADERS frame."""
        frame = HeadersFrame(stream_id, flags=["END_HEADERS", "END_STREAM"] if end else ["END_HEADERS"])
        frame.data = self.encoder.encode(headers)
        return frame.serialize()

    def responses(self, data: bytes) -> dict[int, list[list[tuple[bytes, bytes]]]]:
        """Header blocks that came, by stream."""
        found: dict[int, list[list[tuple[bytes, bytes]]]] = {}
        for frame in frames(data):
            if isinstance(frame, HeadersFrame):
                block = [(name, value) for name, value in self.decoder.decode(frame.data, raw=True)]
                found.setdefault(frame.stream_id, []).append(block)
        return found


def data(stream_id: int, content: bytes, *, end: bool = False) -> bytes:
    """A DATA frame."""
    frame = DataFrame(stream_id, flags=["END_STREAM"] if end else [])
    frame.data = content
    return frame.serialize()


def ping(content: bytes = b"12345678", *, ack: bool = False) -> bytes:
    """A PING frame."""
    frame = PingFrame(0, flags=["ACK"] if ack else [])
    frame.opaque_data = content
    return frame.serialize()


def rst(stream_id: int, code: int = 8) -> bytes:
    """An RST_STREAM frame."""
    return RstStreamFrame(stream_id, error_code=code).serialize()


def window(stream_id: int, increment: int) -> bytes:
    """A WINDOW_UPDATE frame."""
    return WindowUpdateFrame(stream_id, window_increment=increment).serialize()


def settings(values: dict[int, int]) -> bytes:
    """A SETTINGS frame, also of codes that hyperframe cannot write."""
    body = b"".join(struct.pack(">HL", code, value) for code, value in values.items())
    return len(body).to_bytes(3, "big") + b"\x04\x00\x00\x00\x00\x00" + body


def goaway(last: int, code: int = 0) -> bytes:
    """A GOAWAY frame."""
    return GoAwayFrame(0, last_stream_id=last, error_code=code).serialize()


def continuation(stream_id: int, content: bytes, *, end: bool = False) -> bytes:
    """A CONTINUATION frame."""
    frame = ContinuationFrame(stream_id, flags=["END_HEADERS"] if end else [])
    frame.data = content
    return frame.serialize()


def frames(received: bytes) -> list[Any]:
    """The frames in what came."""
    found = []
    view = memoryview(received)
    while view:
        frame, size = Frame.parse_frame_header(view[:9])
        frame.parse_body(view[9 : 9 + size])
        found.append(frame)
        view = view[9 + size :]
    return found


def kinds(received: bytes) -> list[str]:
    """The names of the frames in what came."""
    return [type(frame).__name__.removesuffix("Frame") for frame in frames(received)]


def arrived(connection: Connection) -> list[Stream]:
    """The streams that have arrived since last time."""
    news = connection.take_news()
    return news.arrived if news is not None else []


def serve_briefly(connection: Connection) -> int:
    """Answer whatever has arrived with 204, as an application would; how many there were."""
    streams = arrived(connection)
    for stream in streams:
        if stream.gone is None:
            stream.send_headers(((b":status", b"204"),), end=True)
        connection.release(stream)
    return len(streams)


class Pair:
    """A client's and a server's connection, joined in memory."""

    def __init__(self, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        self.client = Connection(START_NS, limits, client=True)
        self.server = Connection(START_NS, limits, peer="client")

    def settle(self, now: int = START_NS) -> None:
        """Carry bytes until neither has anything to say."""
        while True:
            to_server = self.client.take(now)
            to_client = self.server.take(now)
            if not to_server and not to_client:
                return
            self.server.receive(now, to_server)
            self.client.receive(now, to_client)
            while self.server.backlog or self.client.backlog:
                self.server.work(now)
                self.client.work(now)
