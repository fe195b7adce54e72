"""Connections that cannot be made, that break, that go away in order, and what speaks something else."""

import socket
import ssl
from contextlib import suppress

import pytest
import trustme
from grpclib.const import Status
from grpclib.exceptions import GRPCError

from goqueue.core.errors import GoQueueError
from goqueue.transports.client.channel import CallStream, Channel, open_channel
from goqueue.transports.client.loops import SECOND_NS, Loop
from goqueue.transports.client.lost import ConnectionLost
from goqueue.transports.http2.limits import Limits
from tests.transports.client_loops.on_loops import (
    CHAT,
    SECONDS_MAX,
    SPREAD,
    UNARY,
    Cable,
    drive,
    echo_server,
    on_every_loop,
    parcel,
    raw_server,
    until,
    unused_address,
)
from tests.transports.grpc.echo_messages import Parcel
from tests.transports.serving import ServerLimits


async def refusal_to_connect(loop: Loop, address: str, **terms: object) -> ConnectionLost:
    """The error of a connection that cannot be made."""
    with pytest.raises(ConnectionLost) as caught:
        await open_channel(loop, address, **terms)  # type: ignore[arg-type]
    error = caught.value
    assert isinstance(error, GoQueueError)
    assert f"{error.host}:{error.port}" == address
    assert str(error) == f"{address}: {error.why}"
    assert error.unseen
    return error


@on_every_loop
def test_a_refused_connection_says_where_and_why(kind: str) -> None:
    async def test(loop: Loop) -> None:
        error = await refusal_to_connect(loop, unused_address())
        assert "refused" in error.why

    drive(kind, test)


@on_every_loop
def test_a_name_that_is_none_says_so(kind: str) -> None:
    async def test(loop: Loop) -> None:
        await refusal_to_connect(loop, "no name at all:9000")

    drive(kind, test)


@on_every_loop
def test_a_broker_that_says_nothing_is_given_up(kind: str) -> None:
    def wait_for_the_end(peer: socket.socket) -> None:
        while peer.recv(4096):
            pass

    async def test(loop: Loop) -> None:
        error = await refusal_to_connect(loop, address, tls=ssl.create_default_context(), timeout_ns=SECOND_NS // 10)
        assert error.why == "no connection within 0.1 seconds"

    with raw_server(wait_for_the_end) as address:
        drive(kind, test)


GREETING = b"\0\0\0\x04\0\0\0\0\0"  # empty SETTINGS
PREFACE_BYTES, HEAD_BYTES, HEADERS = 24, 9, 1


def greet_until_asked(peer: socket.socket) -> None:
    """Greet a client, and read until its first request has come."""
    peer.sendall(GREETING)
    received, at = b"", PREFACE_BYTES
    while True:
        while len(received) < at + HEAD_BYTES:
            more = peer.recv(4096)
            assert more
            received += more
        if received[at + 3] == HEADERS:
            return
        at += HEAD_BYTES + int.from_bytes(received[at : at + 3], "big")


@on_every_loop
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n", "HTTP/1"),
        (b"SSH-2.0-OpenSSH_9.6\r\n" * 10, "no HTTP/2"),
        (bytes(range(256)) * 64, "no HTTP/2"),
        (GREETING + b"\0\0\5\1\5\0\0\0\1\xff\xff\xff\xff\xff", "header block"),
        (GREETING + b"\0\0\1\0\0\0\0\0\1x", ""),
        (b"\xff" * 100_000, "no HTTP/2"),
        (GREETING + b"\xff" * 100_000, "bound"),
        (b"", "closed the connection"),
        (GREETING, "closed the connection"),
        (GREETING[:5], "closed the connection"),
    ],
)
def test_what_speaks_something_else_is_a_lost_connection(kind: str, answer: bytes, why: str) -> None:
    def converse(peer: socket.socket) -> None:
        peer.recv(4096)
        peer.sendall(answer)
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(4096):
            pass

    async def test(loop: Loop) -> None:
        opened: list[Channel] = []

        async def call() -> None:
            # What is wrong with the greeting is known before there is a channel.
            opened.append(await open_channel(loop, address))
            await opened[0].call(UNARY, b"")

        with pytest.raises(ConnectionLost, match=f"^{address}: .*{why}"):
            await call()
        if not opened:
            return
        [channel] = opened
        assert not channel.available
        assert not channel.alive
        with pytest.raises(ConnectionLost) as caught:
            await channel.call(UNARY, b"")
        assert caught.value.unseen
        await channel.close()

    with raw_server(converse) as address:
        drive(kind, test)


@on_every_loop
def test_plain_http_says_what_its_status_means(kind: str) -> None:
    # An answer to stream 1: `:status 503` (indexed 8 is 200, so it is spelled out), END_HEADERS and END_STREAM.
    block = b"\x08\x03503"
    answer = len(block).to_bytes(3, "big") + b"\x01\x05\0\0\0\x01" + block

    def converse(peer: socket.socket) -> None:
        greet_until_asked(peer)
        peer.sendall(answer)
        while peer.recv(4096):
            pass

    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, address)
        with pytest.raises(GRPCError, match="HTTP status 503") as caught:
            await channel.call(UNARY, b"")
        assert caught.value.status is Status.UNAVAILABLE
        await channel.close()

    with raw_server(converse) as address:
        drive(kind, test)


@on_every_loop
def test_very_many_frames_at_once_are_worked_off_in_turns(kind: str) -> None:
    # To stream 1: `:status 200`; messages of two bytes, a frame each; trailers `grpc-status: 0`.
    head = b"\0\0\1\x01\4\0\0\0\1\x88"
    frame = b"\0\0\7\0\0\0\0\0\1" + b"\0\0\0\0\2hi"
    status = b"\0\x0bgrpc-status\x010"
    tail = len(status).to_bytes(3, "big") + b"\x01\5\0\0\0\1" + status

    def converse(peer: socket.socket) -> None:
        greet_until_asked(peer)
        peer.sendall(head + frame * 5000 + tail)
        while peer.recv(4096):
            pass

    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, address)
        async with channel.stream(SPREAD) as call:
            count = 0
            while messages := await call.receive():
                assert set(messages) == {b"hi"}
                count += len(messages)
            assert count == 5000
        await channel.close()

    with raw_server(converse) as address:
        drive(kind, test)


async def drained(call: CallStream) -> None:
    """Receive to the end."""
    while await call.receive():
        pass


@on_every_loop
def test_a_broker_gone_in_mid_stream_is_a_lost_connection_for_every_call(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, address)
        why: list[ConnectionLost] = []

        async def sleep() -> None:
            try:
                await channel.call(UNARY, bytes(Parcel(note="sleep:60")))
            except ConnectionLost as error:
                why.append(error)

        beside = loop.start(sleep)
        async with channel.stream(SPREAD) as call:
            await call.send(bytes(Parcel(count=1_000_000, note="pause:0.001")))
            await call.finish()
            assert await call.receive()
            await until(loop, lambda: "sleeping" in server.echo.diary)
            cable.cut()
            with pytest.raises(ConnectionLost) as caught:
                await drained(call)
        assert f"{caught.value.host}:{caught.value.port}" == address
        assert not caught.value.unseen
        await beside.wait()
        assert len(why) == 1
        assert not channel.available
        await channel.close()

    with echo_server() as server, raw_server((cable := Cable(server.address)).converse) as address:
        drive(kind, test)


@on_every_loop
def test_a_sender_hears_of_a_lost_connection_where_it_receives(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, address)
        async with channel.stream(CHAT) as call:
            await call.send(bytes(Parcel()))
            assert await call.receive()
            cable.cut()
            await until(loop, lambda: not channel.alive)
            for _ in range(10):
                await call.send(bytes(1 << 20))
            with pytest.raises(ConnectionLost):
                await call.receive()

    with echo_server() as server, raw_server((cable := Cable(server.address)).converse) as address:
        drive(kind, test)


@on_every_loop
def test_a_broker_that_goes_in_order_finishes_what_is_under_way_and_takes_no_more(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        async with channel.stream(CHAT) as call:
            await call.send(bytes(Parcel(count=1)))
            assert await call.receive()
            draining = server.drain(SECONDS_MAX)
            await until(loop, lambda: not channel.available)
            with pytest.raises(ConnectionLost, match="going away") as caught:
                await channel.call(UNARY, b"")
            assert caught.value.unseen
            await call.send(bytes(Parcel(count=2)))
            (message,) = await call.receive()
            assert parcel(message).count == 2
            await call.finish()
            assert await call.receive() == []
        await until(loop, lambda: not draining.is_alive())
        await channel.close()

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_more_calls_than_the_broker_allows_are_refused_here(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        await channel.call(UNARY, b"")
        async with channel.stream(CHAT), channel.stream(CHAT):
            assert channel.alive
            assert not channel.available
            with pytest.raises(GRPCError) as caught:
                await channel.call(UNARY, b"")
            assert caught.value.status is Status.UNAVAILABLE
        assert channel.available

    with echo_server(limits=ServerLimits(connection=Limits(streams_max=2))) as server:
        drive(kind, test)


@on_every_loop
def test_closing_a_channel_ends_its_calls(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        async with channel.stream(CHAT) as call:
            await channel.close()
            with pytest.raises(ConnectionLost, match="closed here"):
                await call.receive()
        await until(loop, lambda: server.served.server.connection_count == 0)
        await channel.close()

    with echo_server() as server:
        drive(kind, test)


@on_every_loop
def test_leaving_the_loop_closes_its_connections(kind: str) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address)
        await channel.call(UNARY, b"")
        assert server.served.server.connection_count == 1

    with echo_server() as server:
        drive(kind, test)
        while server.served.server.connection_count:
            pass


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def contexts(authority: trustme.CA) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's and a client's."""
    of_server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(of_server)
    of_client = ssl.create_default_context()
    authority.configure_trust(of_client)
    return of_server, of_client


@on_every_loop
def test_calls_travel_under_tls(kind: str, authority: trustme.CA) -> None:
    async def test(loop: Loop) -> None:
        channel = await open_channel(loop, server.address, tls=of_client)
        assert parcel(await channel.call(UNARY, bytes(Parcel(count=1)))).count == 2
        async with channel.stream(CHAT) as call:
            for count in range(4):
                await call.send(bytes(Parcel(body=bytes(1 << 20), count=count)))
                (message,) = await call.receive()
                assert (parcel(message).count, len(parcel(message).body)) == (count, 1 << 20)
        async with channel.stream(SPREAD) as call:
            await call.send(bytes(Parcel(count=100, size=10_000)))
            await call.finish()
            counts: list[int] = []
            while messages := await call.receive():
                counts += [parcel(message).count for message in messages]
            assert counts == list(range(100))
        await channel.close()

    of_server, of_client = contexts(authority)
    with echo_server(tls=of_server) as server:
        drive(kind, test)


@on_every_loop
def test_a_certificate_that_nobody_vouches_for_is_no_connection(kind: str, authority: trustme.CA) -> None:
    async def test(loop: Loop) -> None:
        error = await refusal_to_connect(loop, server.address, tls=ssl.create_default_context())
        assert "certificate" in error.why.lower()

    of_server, _ = contexts(authority)
    with echo_server(tls=of_server) as server:
        drive(kind, test)


@on_every_loop
def test_tls_without_http2_is_no_connection(kind: str, authority: trustme.CA) -> None:
    of_server, of_client = contexts(authority)

    def converse(peer: socket.socket) -> None:
        with suppress(ssl.SSLError), of_server.wrap_socket(peer, server_side=True) as secured:
            while secured.recv(4096):
                pass

    async def test(loop: Loop) -> None:
        error = await refusal_to_connect(loop, address, tls=of_client)
        assert "HTTP/2" in error.why

    with raw_server(converse) as address:
        drive(kind, test)


@on_every_loop
def test_plain_words_to_a_server_of_tls_are_a_lost_connection(kind: str, authority: trustme.CA) -> None:
    async def test(loop: Loop) -> None:
        with pytest.raises(ConnectionLost):
            await open_channel(loop, server.address)

    of_server, _ = contexts(authority)
    with echo_server(tls=of_server) as server:
        drive(kind, test)
