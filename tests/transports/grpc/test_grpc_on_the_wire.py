"""Calls as bytes: what no client library would send, and what the answer says exactly."""

import struct

import pytest
from hpack import Decoder, Encoder
from hyperframe.frame import DataFrame, Frame, HeadersFrame, RstStreamFrame, SettingsFrame, WindowUpdateFrame

from goqueue.transports.grpc.service import GrpcLimits, GrpcService
from goqueue.transports.http2.frames import PREFACE
from tests.transports.grpc.echo_messages import Parcel
from tests.transports.grpc.echo_service import Echo
from tests.transports.serving import Served, in_thread, run, serving, until

PATH = b"/goqueue.testing.v1.Echo/"
MIB = 1 << 20
MESSAGE = bytes(Parcel(count=1))
Answer = dict[bytes, bytes]


class Caller:
    """A client that sends what it is told."""

    def __init__(self, served: Served) -> None:
        self.socket = served.connect()
        self.encoder, self.decoder = Encoder(), Decoder()
        self.stream_id = -1
        self.received = b""
        self.send(PREFACE + SettingsFrame(0).serialize() + WindowUpdateFrame(0, window_increment=MIB).serialize())

    def __enter__(self) -> "Caller":
        return self

    def __exit__(self, *error: object) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self.socket.sendall(data)

    def call(self, method: bytes, body: bytes | None, *headers: tuple[bytes, bytes], end: bool = True) -> None:
        """Begin a call with this body, framed or not."""
        self.stream_id += 2
        frame = HeadersFrame(self.stream_id, flags=["END_HEADERS"])
        lines = [
            (b":method", b"POST"), (b":scheme", b"http"), (b":path", PATH + method), (b":authority", b"here"),
            (b"content-type", b"application/grpc"), (b"te", b"trailers"), *headers,
        ]  # fmt: skip
        # Later headers take the place of earlier ones of their name.
        frame.data = self.encoder.encode(list(dict(lines).items()))
        if body is None and end:
            frame.flags.add("END_STREAM")
        self.send(frame.serialize())
        if body is not None:
            data = DataFrame(self.stream_id, flags=["END_STREAM"] if end else [])
            data.data = body
            self.send(data.serialize())

    def frame(self) -> Frame:
        """The next frame that comes."""
        while True:
            if len(self.received) >= 9:
                frame, size = Frame.parse_frame_header(memoryview(self.received[:9]))
                if len(self.received) >= 9 + size:
                    frame.parse_body(memoryview(self.received[9 : 9 + size]))
                    self.received = self.received[9 + size :]
                    return frame
            more = self.socket.recv(65_536)
            assert more, "the server closed the connection"
            self.received += more

    def answer(self) -> tuple[Answer, bytes]:
        """All headers and trailers of the call's response, and its body."""
        headers: Answer = {}
        body = b""
        while True:
            frame = self.frame()
            if isinstance(frame, HeadersFrame):
                headers.update(self.decoder.decode(frame.data, raw=True))
            elif isinstance(frame, DataFrame):
                body += frame.data
            elif isinstance(frame, RstStreamFrame):
                headers[b"reset"] = b"%d" % frame.error_code
                return headers, body
            if "END_STREAM" in frame.flags:
                return headers, body


def framed(message: bytes, flag: int = 0, length: int | None = None) -> bytes:
    """A message behind a prefix that may lie."""
    return struct.pack(">BL", flag, len(message) if length is None else length) + message


def answer_to(method: bytes, body: bytes | None, *headers: tuple[bytes, bytes], end: bool = True) -> Answer:
    """What the server says to one call; afterwards it must still serve another on the same connection."""
    answers: list[Answer] = []

    async def test() -> None:
        def talk() -> None:
            with Caller(served) as caller:
                caller.call(method, body, *headers, end=end)
                answers.append(caller.answer()[0])
                caller.call(b"Unary", framed(MESSAGE))
                later, content = caller.answer()
                assert later[b"grpc-status"] == b"0"
                assert content == framed(bytes(Parcel(count=2)))

        async with serving(GrpcService([Echo()], limits=GrpcLimits(message_bytes_max=MIB))) as served:
            await in_thread(talk)

    run(test)
    return answers[0]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (None, b"the request has no message"),
        (b"", b"the request has no message"),
        (framed(MESSAGE)[:3], b"the request ends in the middle of a message"),
        (framed(b"abc", length=4), b"the request ends in the middle of a message"),
    ],
)
def test_a_message_that_is_missing_or_cut_off_is_an_invalid_argument(body: bytes | None, why: bytes) -> None:
    answer = answer_to(b"Unary", body)
    assert (answer[b"grpc-status"], answer[b"grpc-message"]) == (b"3", why)


def test_a_stream_that_is_cut_off_is_an_invalid_argument() -> None:
    assert answer_to(b"Gather", framed(MESSAGE) + framed(b"ab", length=3))[b"grpc-status"] == b"3"


def test_a_message_over_the_limit_is_refused_from_its_length_alone() -> None:
    answer = answer_to(b"Unary", struct.pack(">BL", 0, MIB + 1), end=False)
    assert answer[b"grpc-status"] == b"8"
    assert b"1048577" in answer[b"grpc-message"]


@pytest.mark.parametrize(
    ("flag", "headers", "status"),
    [
        (2, (), b"13"),
        (1, (), b"13"),
        (1, ((b"grpc-encoding", b"identity"),), b"13"),
        (1, ((b"grpc-encoding", b"gzip"),), b"3"),
        (0, ((b"grpc-encoding", b"snappy"),), b"12"),
    ],
)
def test_a_compression_that_is_not_what_it_says(
    flag: int, headers: tuple[tuple[bytes, bytes], ...], status: bytes
) -> None:
    answer = answer_to(b"Unary", framed(b"nothing compressed", flag), *headers)
    assert answer[b"grpc-status"] == status
    assert answer[b"grpc-accept-encoding"] == b"identity,gzip"


@pytest.mark.parametrize(
    ("timeout", "status"), [(b"0n", b"4"), (b"0S", b"4"), (b"1n", b"4"), (b"soon", b"3"), (b"-1S", b"3"), (b"5S", b"0")]
)
def test_a_deadline_that_has_passed_on_arrival_or_makes_no_sense(timeout: bytes, status: bytes) -> None:
    assert answer_to(b"Unary", framed(MESSAGE), (b"grpc-timeout", timeout))[b"grpc-status"] == status


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ((b"content-type", b"application/grpc+proto"), b"200"),
        ((b"content-type", b"application/grpc; charset=x"), b"200"),
        ((b"content-type", b"application/grpc+json"), b"415"),
        ((b"content-type", b"text/plain"), b"415"),
        ((b":method", b"PUT"), b"405"),
    ],
)
def test_what_is_no_grpc_is_answered_as_http(header: tuple[bytes, bytes], status: bytes) -> None:
    assert answer_to(b"Unary", framed(MESSAGE), header)[b":status"] == status


def test_many_unfinished_large_messages_are_refused_on_their_connection_only() -> None:
    service = GrpcService([Echo()], limits=GrpcLimits(message_bytes_max=MIB, assembly_bytes_max=3 * MIB))

    def overreach(greedy: Caller, modest: Caller) -> None:
        for _ in range(4):
            greedy.call(b"Unary", struct.pack(">BL", 0, MIB), end=False)
        assert greedy.answer()[0][b"grpc-status"] == b"8"
        modest.call(b"Gather", struct.pack(">BL", 0, MIB), end=False)

    def cancel(greedy: Caller) -> None:
        # Any of the four may be the one that was refused: the loop runs them in an order of its own.
        greedy.send(b"".join(RstStreamFrame(number, error_code=8).serialize() for number in (1, 3, 5, 7)))

    async def test() -> None:
        async with serving(service) as served:
            with Caller(served) as greedy, Caller(served) as modest:
                await in_thread(lambda: overreach(greedy, modest))
                await until(lambda: service.reserved_bytes == 4 * MIB)
                await in_thread(lambda: cancel(greedy))
                await until(lambda: service.reserved_bytes == MIB)
            await until(lambda: service.reserved_bytes == 0)

    run(test)
