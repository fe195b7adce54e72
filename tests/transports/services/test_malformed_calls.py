"""Calls that no client library makes: each ends with one status, whoever else is served notices nothing, and no log."""

import logging
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import define, field

from goqueue.proto import v1
from goqueue.transports.http2.frames import PREFACE
from tests.transports.http2.wire import Peer, data, frames, goaway, rst, settings
from tests.transports.services.served_broker import Client, ServedBroker, batch, with_broker
from tests.transports.serving import in_thread, until

REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
OLD_REFLECTION = REFLECTION.replace("v1", "v1alpha")
HEALTH = "/grpc.health.v1.Health/Check"
DESCRIBE = "/goqueue.v1.Topics/DescribeTopic"
FETCH = "/goqueue.v1.Messages/Fetch"
SUBSCRIBE = "/goqueue.v1.Messages/Subscribe"
PUBLISH_STREAM = "/goqueue.v1.Messages/PublishStream"
CONSUME = "/goqueue.v1.Groups/Consume"
INVALID_ARGUMENT, NOT_FOUND, EXHAUSTED, UNIMPLEMENTED, INTERNAL = "3", "5", "8", "12", "13"
ORDERS = bytes(v1.DescribeTopicRequest(name="orders"))


def framed(message: bytes, flag: int = 0, length: int | None = None) -> bytes:
    """A message as gRPC frames it, or not quite."""
    return struct.pack(">BL", flag, len(message) if length is None else length) + message


@define
class RawCall:
    """One connection with one call on it."""

    connection: socket.socket
    peer: Peer = field(factory=Peer)

    def begin(self, path: str, *more: tuple[bytes, bytes], grpc: bytes = b"application/grpc") -> None:
        """Send the headers."""
        named = [(b":method", b"POST"), (b":scheme", b"http"), (b":path", path.encode()), (b":authority", b"here")]
        headers = [*named, (b"te", b"trailers"), (b"content-type", grpc), *more]
        self.connection.sendall(PREFACE + settings({}) + self.peer.headers(1, headers, end=False))

    def say(self, content: bytes, *, end: bool = True) -> None:
        """Send a part of the body."""
        self.connection.sendall(data(1, content, end=end))

    def outcome(self) -> dict[bytes, bytes]:
        """All headers and trailers of the response; the code of a reset as `reset`."""
        received, found = b"", {}
        while True:
            part = self.connection.recv(65536)
            received += part
            whole = _whole(received)
            for frame in frames(received[:whole]):
                if type(frame).__name__ == "HeadersFrame":
                    found.update(dict(self.peer.decoder.decode(frame.data, raw=True)))
                if type(frame).__name__ == "RstStreamFrame":
                    return {b"reset": b"%d" % frame.error_code}
                if frame.stream_id == 1 and "END_STREAM" in frame.flags:
                    return found
            received = received[whole:]
            assert part, "the connection ended without an answer"


def _whole(received: bytes) -> int:
    """The length of all frames that are there whole."""
    at = 0
    while len(received) - at >= 9:
        end = at + 9 + int.from_bytes(received[at : at + 3], "big")
        if end > len(received):
            break
        at = end
    return at


def called(tmp_path: Path, act: Callable[[RawCall], dict[bytes, bytes]]) -> dict[bytes, bytes]:
    """The outcome of a call to a broker of its own, which then still answers."""
    outcomes = []

    async def scenario(served: ServedBroker) -> None:
        def call() -> None:
            with socket.create_connection(("127.0.0.1", served.port), timeout=20) as connection:
                outcomes.append(act(RawCall(connection)))

        await in_thread(call)
        await served.calls(lambda client: client.describe_topic(v1.DescribeTopicRequest(name="orders")))

    with_broker(tmp_path, scenario)
    return outcomes[0]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        # A field of the wrong type is one that nobody knows, and so the request asks for nothing.
        (HEALTH, framed(b"\x08\x01"), "0"),
        (HEALTH, framed(b"\x0a\x05ab"), INVALID_ARGUMENT),
        (HEALTH, framed(b"\x0a\x02\xff\xfe"), INVALID_ARGUMENT),
        (HEALTH, framed(b"\xff"), INVALID_ARGUMENT),
        (REFLECTION, framed(b"\x08\x01"), "0"),
        (REFLECTION, framed(b"\x0a\x05ab"), INVALID_ARGUMENT),
        (REFLECTION, framed(b"\x1a\x02\xff\xfe"), INVALID_ARGUMENT),
        (REFLECTION, framed(b"\x2a\x03\x08\x01\xff"), INVALID_ARGUMENT),
        (REFLECTION, framed(b"\x3a"), INVALID_ARGUMENT),
        (REFLECTION, framed(b"\x07"), INVALID_ARGUMENT),
        (OLD_REFLECTION, framed(b"\x08\x01"), "0"),
        (OLD_REFLECTION, framed(b"\x3a"), INVALID_ARGUMENT),
        (DESCRIBE, framed(b"\xff\xff\xff"), INVALID_ARGUMENT),
        (DESCRIBE, b"", INVALID_ARGUMENT),
        (DESCRIBE, b"\x00\x00", INVALID_ARGUMENT),
        (DESCRIBE, framed(ORDERS, length=1000), INVALID_ARGUMENT),
        (DESCRIBE, framed(ORDERS, length=1 << 31), EXHAUSTED),
        (DESCRIBE, framed(ORDERS, flag=2), INTERNAL),
        (DESCRIBE, framed(ORDERS, flag=1), INTERNAL),
        (DESCRIBE, framed(ORDERS) * 2, INTERNAL),
        (DESCRIBE, framed(ORDERS) + b"\x00", INVALID_ARGUMENT),
        (FETCH, framed(b"") * 2, INTERNAL),
        (FETCH, framed(b"\x0a"), INVALID_ARGUMENT),
        (HEALTH, framed(b"") * 2, INTERNAL),
        (CONSUME, framed(b"\xff"), INVALID_ARGUMENT),
        (CONSUME, framed(b"", flag=7), INTERNAL),
        ("/goqueue.v1.Topics/Nothing", framed(b""), UNIMPLEMENTED),
        ("/", framed(b""), UNIMPLEMENTED),
    ],
)
def test_what_is_no_request_ends_with_one_status(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, path: str, body: bytes, status: str
) -> None:
    def act(call: RawCall) -> dict[bytes, bytes]:
        call.begin(path)
        call.say(body)
        return call.outcome()

    assert called(tmp_path, act)[b"grpc-status"].decode() == status
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_second_message_that_comes_later_ends_the_call_before_anything_is_done(tmp_path: Path) -> None:
    def act(call: RawCall) -> dict[bytes, bytes]:
        call.begin("/goqueue.v1.Topics/DeleteTopic")
        call.say(framed(ORDERS), end=False)
        call.say(framed(ORDERS))
        return call.outcome()

    assert called(tmp_path, act)[b"grpc-status"].decode() == INTERNAL


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ((b"content-type", b"application/grpc"), (b"reset", b"1")),
        ((b"content-type", b"text/plain"), (b"reset", b"1")),
        ((b"grpc-timeout", b"soon"), (b"grpc-status", b"3")),
        ((b"grpc-timeout", b""), (b"grpc-status", b"3")),
        ((b"grpc-timeout", b"99999999999S"), (b"grpc-status", b"3")),
        ((b"grpc-encoding", b"zstd"), (b"grpc-status", b"12")),
        ((b"grpc-accept-encoding", b"\xff\xff"), (b"grpc-status", b"0")),
        ((b"traceparent", b"\xff" * 1000), (b"grpc-status", b"0")),
        ((b"goqueue-client-id", b"\x01\xff"), (b"grpc-status", b"0")),
        ((b"any-bin", b"?"), (b"grpc-status", b"0")),
    ],
)
def test_what_is_no_header_of_a_call_ends_it_with_one_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, more: tuple[bytes, bytes], outcome: tuple[bytes, bytes]
) -> None:
    def act(call: RawCall) -> dict[bytes, bytes]:
        call.begin(DESCRIBE, more)
        call.say(framed(ORDERS))
        return call.outcome()

    assert outcome in called(tmp_path, act).items()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("name", [b"grpc-timeout", b"grpc-encoding"])
def test_a_header_that_says_two_things_is_no_request(tmp_path: Path, name: bytes) -> None:
    def act(call: RawCall) -> dict[bytes, bytes]:
        call.begin(DESCRIBE, (name, b"1S"), (name, b"2S"))
        return call.outcome()

    assert called(tmp_path, act) == {b"reset": b"1"}


def hung_up(connection: socket.socket) -> None:
    """The process is gone, and its system says so."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


ENDS: dict[str, Callable[[socket.socket], None]] = {
    "hang up": hung_up,
    "close": socket.socket.close,
    "reset": lambda connection: connection.sendall(rst(1)),
    "leave": lambda connection: connection.sendall(goaway(0) + rst(1)),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("path", [CONSUME, SUBSCRIBE, PUBLISH_STREAM, FETCH])
def test_a_client_that_goes_in_the_middle_leaves_no_trace(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, path: str, end: str
) -> None:
    first = {
        CONSUME: bytes(v1.ConsumeRequest(request_id=1, join=v1.JoinRequest(group="g", topics=["orders"]))),
        FETCH: bytes(v1.FetchRequest(topic="orders", partition=1, wait_ms=60_000)),
        SUBSCRIBE: bytes(v1.SubscribeRequest(positions=[v1.Position(topic="orders", earliest=True)])),
    }
    publish = bytes(v1.PublishBatchRequest(topic="orders", batch=batch(b"value" * 1000)))
    body = first.get(path, publish)

    async def scenario(served: ServedBroker) -> None:
        def work(client: Client) -> None:
            client.publish_batch(publish)
            connections = [socket.create_connection(("127.0.0.1", served.port), timeout=20) for _ in range(3)]
            for connection in connections:
                call = RawCall(connection)
                call.begin(path)
                call.say(framed(body), end=path in (FETCH, SUBSCRIBE))
                if path != FETCH:
                    connection.recv(65536)
            for connection in connections:
                ENDS[end](connection)
                client.publish_batch(publish)
            for connection in connections:
                connection.close()

        await served.calls(work)
        await until(lambda: served.server.connection_count == 0)

    with_broker(tmp_path, scenario)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
