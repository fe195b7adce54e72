"""A protocol that knows nothing of others stands behind a listener: with TLS, limits, detection and an orderly end."""

import errno
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest
import trio
import trustme

from goqueue.transports.http2.limits import SECOND_NS
from goqueue.transports.listening.limits import ListenerLimits
from goqueue.transports.listening.listener import Listener
from goqueue.transports.listening.protocols import Accepted, Conversation, WireProtocol
from tests.transports.port.echo_protocol import ECHO, FAREWELL, OPENING, Echo
from tests.transports.serving import run, until

HOST = "127.0.0.1"
SHORT = SECOND_NS // 10


async def _shouted(accepted: Accepted) -> Conversation | None:
    return Echo(accepted.stream, accepted.received.upper())


SHOUT = WireProtocol(_shouted, alpn="shout")


@asynccontextmanager
async def listening(listener: Listener) -> AsyncIterator[int]:
    """A listener on a free port, as long as the block lasts."""
    sockets = await trio.open_tcp_listeners(0, host=HOST)
    async with trio.open_nursery() as nursery:
        await nursery.start(listener.serve, sockets)
        [(_, port)] = listener.addresses
        yield port
        nursery.cancel_scope.cancel()
    for each in sockets:
        await each.aclose()


async def rest(stream: trio.abc.Stream) -> bytes:
    """All that comes until the end."""
    content = b""
    try:
        while received := await stream.receive_some():
            content += received
    except trio.BrokenResourceError:
        pass
    return content


async def asked(port: int, line: bytes) -> bytes:
    """What one line comes to on a connection that is closed then."""
    async with await trio.open_tcp_stream(HOST, port) as stream:
        with suppress(trio.BrokenResourceError):
            await stream.send_all(line)
            await stream.send_eof()
        return await rest(stream)


@asynccontextmanager
async def connected(port: int, count: int) -> AsyncIterator[list[trio.SocketStream]]:
    """So many connections."""
    async with AsyncExitStack() as stack:
        streams = [await trio.open_tcp_stream(HOST, port) for _ in range(count)]
        for stream in streams:
            await stack.enter_async_context(stream)
        yield streams


def test_lines_come_back() -> None:
    async def scenario() -> None:
        listener = Listener([ECHO])
        async with listening(listener) as port:
            assert await asked(port, b"one\ntwo\n") == b"one\ntwo\n"
            await until(lambda: listener.connection_count == 0)

    run(scenario)


@pytest.mark.parametrize(
    ("said", "heard"),
    [(OPENING + b"one\n", b"one\n"), (b"one\n", b"ONE\n"), (b"ECHOES\n", b"ECHOES\n"), (b"ECH", b""), (b"", b"")],
)
def test_two_protocols_of_one_port_are_told_apart_by_the_first_bytes(said: bytes, heard: bytes) -> None:
    async def scenario() -> None:
        async with listening(Listener([ECHO, SHOUT])) as port:
            assert await asked(port, said) == heard

    run(scenario)


def test_who_speaks_none_of_the_protocols_is_let_go() -> None:
    async def scenario() -> None:
        other = WireProtocol(_shouted, opening=b"SHOUT\n")
        async with listening(Listener([ECHO, other], ListenerLimits(silence_ns=SHORT))) as port:
            assert await asked(port, b"GET / HTTP/1.1\r\n\r\n") == b""
            async with await trio.open_tcp_stream(HOST, port) as silent:
                assert await rest(silent) == b""

    run(scenario)


def test_two_protocols_that_nothing_tells_apart_cannot_share_a_port() -> None:
    with pytest.raises(ValueError, match="nothing tells them apart"):
        Listener([SHOUT, SHOUT])


@pytest.mark.parametrize(
    ("alpn", "said", "heard"),
    [
        (["echo"], b"one\n", b"one\n"),
        (["shout"], b"one\n", b"ONE\n"),
        (["shout"], OPENING + b"one\n", b"one\n"),
        ([], OPENING + b"one\n", b"one\n"),
    ],
)
def test_over_tls_it_is_spoken_what_was_agreed_on(alpn: list[str], said: bytes, heard: bytes) -> None:
    authority = trustme.CA()

    async def scenario() -> None:
        served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert(HOST).configure_cert(served)
        trusting = ssl.create_default_context()
        authority.configure_trust(trusting)
        trusting.set_alpn_protocols(alpn)
        async with listening(Listener([ECHO, SHOUT], tls=served)) as port:
            stream = await trio.open_ssl_over_tcp_stream(HOST, port, ssl_context=trusting)
            await stream.send_all(said)
            assert await stream.receive_some() == heard
            await trio.aclose_forcefully(stream)

    run(scenario)


@pytest.mark.parametrize("sent", [b"no hello of TLS\n", b""])
def test_who_does_not_manage_tls_is_let_go_and_told_of(sent: bytes) -> None:
    async def scenario() -> None:
        away: list[tuple[str, Exception | None]] = []
        served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        trustme.CA().issue_cert(HOST).configure_cert(served)
        limits = ListenerLimits(handshake_ns=SHORT)
        listener = Listener([ECHO], limits, tls=served, turned_away=lambda *told: away.append(told))
        async with listening(listener) as port:
            async with await trio.open_tcp_stream(HOST, port) as stream:
                if sent:
                    await stream.send_all(sent)
                assert b"hello" not in await rest(stream)
            [(remote, error)] = away
            assert remote.startswith(HOST)
            assert isinstance(error, trio.BrokenResourceError if sent else trio.TooSlowError)

    run(scenario)


@pytest.mark.parametrize("limits", [ListenerLimits(connections_max=2), ListenerLimits(connections_per_address_max=2)])
def test_one_connection_too_many_is_closed_and_the_others_stay(limits: ListenerLimits) -> None:
    async def scenario() -> None:
        listener = Listener([ECHO], limits)
        async with listening(listener) as port, connected(port, 2) as streams:
            await until(lambda: listener.connections_from(HOST) == 2)
            assert await asked(port, b"one\n") == b""
            for stream in streams:
                await stream.send_all(b"one\n")
                assert await stream.receive_some() == b"one\n"
                await stream.aclose()
            await until(lambda: listener.connection_count == listener.connections_from(HOST) == 0)
            assert await asked(port, b"one\n") == b"one\n"

    run(scenario)


def test_of_those_that_have_not_begun_the_oldest_gives_way() -> None:
    async def scenario() -> None:
        away: list[Exception | None] = []
        listener = Listener(
            [ECHO, SHOUT], ListenerLimits(newcomers_max=2), turned_away=lambda _, error: away.append(error)
        )
        async with listening(listener) as port, connected(port, 2) as (spoken, first):
            await spoken.send_all(b"one\n")
            assert await spoken.receive_some() == b"ONE\n"
            async with connected(port, 2) as later:
                assert await rest(first) == b""
                assert away == [None]
                for stream in later:
                    await stream.send_all(b"two\n")
                    assert await stream.receive_some() == b"TWO\n"
                await spoken.send_all(b"two\n")
                assert await spoken.receive_some() == b"two\n"

    run(scenario)


def test_a_drain_waits_for_what_is_in_flight_and_lets_nobody_in() -> None:
    async def scenario() -> None:
        listener = Listener([ECHO, SHOUT])
        async with listening(listener) as port, connected(port, 3) as (idle, busy, silent):
            for stream in (idle, busy):
                await stream.send_all(OPENING + b"one\n")
                assert await stream.receive_some() == b"one\n"
            await busy.send_all(b"tw")
            await trio.testing.wait_all_tasks_blocked(0.02)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(listener.drain, 10 * SECOND_NS)
                assert await rest(idle) == FAREWELL
                assert await rest(silent) == b""
                with pytest.raises(OSError, match="failed"):
                    await asked(port, b"one\n")
                await busy.send_all(b"o\n")
                assert await rest(busy) == b"two\n" + FAREWELL
            assert listener.connection_count == 0

    run(scenario)


def test_who_does_not_end_in_time_is_cut() -> None:
    async def scenario() -> None:
        listener = Listener([ECHO])
        async with listening(listener) as port, connected(port, 1) as [stream]:
            await stream.send_all(b"begun")
            await until(lambda: listener.connection_count == 1)
            await trio.testing.wait_all_tasks_blocked(0.02)
            await listener.drain(SHORT)
            assert await rest(stream) == b""
            await until(lambda: listener.connection_count == 0)

    run(scenario)


def test_a_conversation_that_fails_costs_its_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(accepted: Accepted) -> Conversation | None:
        raise ZeroDivisionError(accepted.received)

    async def scenario() -> None:
        async with listening(Listener([ECHO, WireProtocol(fail)])) as port:
            assert await asked(port, b"one\n") == b""
            assert await asked(port, OPENING + b"one\n") == b"one\n"
            assert "a connection from 127.0.0.1:" in caplog.text

    run(scenario)


def test_a_process_without_descriptors_goes_on_accepting_when_it_has_some(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = [OSError(errno.EMFILE, "too many open files")] * 2

    async def scenario() -> None:
        [socket] = await trio.open_tcp_listeners(0, host=HOST)
        accept = socket.socket.accept

        async def accept_later() -> tuple[trio.socket.SocketType, object]:
            if failures:
                raise failures.pop()
            return await accept()

        monkeypatch.setattr(socket.socket, "accept", accept_later)
        async with trio.open_nursery() as nursery:
            listener = Listener([ECHO])
            await nursery.start(listener.serve, [socket])
            assert await asked(listener.addresses[0][1], b"one\n") == b"one\n"
            nursery.cancel_scope.cancel()

    with caplog.at_level(logging.ERROR):
        run(scenario)
    assert caplog.text.count("accept returned EMFILE") == 2
