"""Clients of one port by both protocols, and a bare one of HTTP/2 for what no decent client does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import trio
from hpack import Decoder, Encoder
from hyperframe.frame import (
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)

from goqueue.transports.http2.frames import PREFACE
from tests.transports.rest.rest_client import Served

PROTOCOLS = ("http/1.1", "http/2")
GOAWAY = "GOAWAY"


def client_of(served: Served, protocol: str, **settings: object) -> httpx.AsyncClient:
    """A client that speaks one protocol only, without asking first."""
    is_new = protocol == "http/2"
    return httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{served.port}", http2=is_new, http1=not is_new, timeout=30, **settings  # type: ignore[arg-type]
    )  # fmt: skip


class BareHttp2:
    """One connection of HTTP/2, frame by frame; it acknowledges what it must and grants what it is sent."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.goaways: list[int] = []
        self.status: dict[int, int] = {}
        self.bodies: dict[int, bytes] = {}
        self.ended: set[int] = set()
        self.resets: dict[int, int] = {}
        self._encoder, self._decoder = Encoder(), Decoder()
        self._buffer = b""

    async def greet(self) -> None:
        """The first words."""
        await self.stream.send_all(PREFACE + SettingsFrame(0).serialize())

    def asked(self, stream_id: int, method: str, path: str, *, end: bool = True, **headers: str) -> bytes:
        """A request's headers."""
        named = {":method": method, ":scheme": "http", ":path": path, ":authority": "localhost"}
        more = {name.replace("_", "-"): text for name, text in headers.items()}
        frame = HeadersFrame(stream_id, flags=["END_HEADERS", "END_STREAM"] if end else ["END_HEADERS"])
        frame.data = self._encoder.encode([*named.items(), *more.items()])
        return frame.serialize()

    async def ask(self, stream_id: int, method: str, path: str, **options: object) -> None:
        """Send a request's headers."""
        await self.stream.send_all(self.asked(stream_id, method, path, **options))  # type: ignore[arg-type]

    async def send(self, stream_id: int, content: bytes, *, end: bool = False) -> None:
        """Send a part of a body."""
        frame = DataFrame(stream_id, flags=["END_STREAM"] if end else [])
        frame.data = content
        await self.stream.send_all(frame.serialize())

    async def hear(self) -> bool:
        """Take in what comes next; False at the end of the connection."""
        try:
            received = await self.stream.receive_some(65_536)
        except trio.BrokenResourceError:
            return False
        if not received:
            return False
        self._buffer += received
        while len(self._buffer) >= 9:
            frame, size = Frame.parse_frame_header(memoryview(self._buffer[:9]))
            if len(self._buffer) < 9 + size:
                break
            frame.parse_body(memoryview(self._buffer[9 : 9 + size]))
            self._buffer = self._buffer[9 + size :]
            await self._take(frame)
        return True

    async def answer(self, stream_id: int) -> tuple[int, bytes]:
        """Status and body of an answer, once it is whole."""
        while stream_id not in self.ended and stream_id not in self.resets:
            assert await self.hear(), "the connection ended before the answer did"
        return self.status[stream_id], self.bodies.get(stream_id, b"")

    async def _take(self, frame: Frame) -> None:
        number = frame.stream_id
        if isinstance(frame, HeadersFrame):
            self.status[number] = int(dict(self._decoder.decode(frame.data, raw=True))[b":status"])
        elif isinstance(frame, DataFrame):
            self.bodies[number] = self.bodies.get(number, b"") + frame.data
            grants = [WindowUpdateFrame(each, window_increment=len(frame.data)) for each in (0, number)]
            if frame.data:
                await self.stream.send_all(b"".join(grant.serialize() for grant in grants))
        elif isinstance(frame, RstStreamFrame):
            self.resets[number] = frame.error_code
        elif isinstance(frame, GoAwayFrame):
            self.goaways.append(frame.last_stream_id)
        elif isinstance(frame, PingFrame) and "ACK" not in frame.flags:
            answer = PingFrame(0, flags=["ACK"])
            answer.opaque_data = frame.opaque_data
            await self.stream.send_all(answer.serialize())
        if "END_STREAM" in frame.flags:
            self.ended.add(number)


@asynccontextmanager
async def bare_http2(served: Served) -> AsyncIterator[BareHttp2]:
    """A bare connection that has said hello."""
    stream = await trio.open_tcp_stream("127.0.0.1", served.port)
    bare = BareHttp2(stream)
    await bare.greet()
    try:
        yield bare
    finally:
        stream.socket.close()
