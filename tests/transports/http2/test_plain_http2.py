"""Plain HTTP on the same connections as gRPC, asked by curl; and peers that behave badly beside it."""

import shutil
import socket
import subprocess
import tracemalloc

import pytest
import trio

from goqueue.transports.exchange import Exchange, by_content_type, not_found
from goqueue.transports.http2.frames import PREFACE
from goqueue.transports.http2.limits import SECOND_NS, Limits
from goqueue.transports.trio_server import ServerLimits
from tests.transports.http2.wire import GET, Peer, ping, rst, settings
from tests.transports.serving import Served, in_thread, run, serving, until

MIB = 1 << 20


async def mirror(exchange: Exchange) -> None:
    """Tell a client what it said, and whatever body it sent."""
    request = exchange.request
    if request.path == b"/crash":
        raise RuntimeError("as asked")
    exchange.start([(b":status", b"200"), (b"x-said", request.method + b" " + request.path)])
    if request.path == b"/endless":
        while True:
            await exchange.send(bytes(10_000))
    while part := await exchange.receive():
        await exchange.send(part)
    exchange.finish()


def curl(served: Served, path: str, *options: str, content: bytes = b"") -> bytes:
    """What curl gets over HTTP/2 without asking first."""
    command = ["curl", "--http2-prior-knowledge", "-sS", "-m", "30", *options, f"http://{served.target}{path}"]
    return subprocess.run(command, input=content, capture_output=True, check=True).stdout


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_curl_gets_and_posts() -> None:
    async def test() -> None:
        def talk() -> None:
            assert b"x-said: GET /a?b=c" in curl(served, "/a?b=c", "-i")
            body = bytes(range(256)) * 40_000
            assert curl(served, "/b", "--data-binary", "@-", content=body) == body
            assert curl(served, "/b", "-I").startswith(b"HTTP/2 200")

        async with serving(by_content_type(not_found, mirror)) as served:
            await in_thread(talk)

    run(test)


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_the_content_type_decides_who_serves() -> None:
    async def test() -> None:
        def talk() -> None:
            grpc = ("-H", "content-type: application/grpc", "-o", "/dev/null", "-w", "%{http_code}")
            assert curl(served, "/x", *grpc) == b"404"
            assert curl(served, "/x", *grpc[2:]) == b"200"

        async with serving(by_content_type(not_found, mirror)) as served:
            await in_thread(talk)

    run(test)


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
def test_an_application_that_crashes_costs_its_own_exchange(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        def talk() -> None:
            with pytest.raises(subprocess.CalledProcessError):
                curl(served, "/crash")
            assert b"x-said" in curl(served, "/a", "-i")

        async with serving(mirror) as served:
            await in_thread(talk)

    run(test)
    assert "as asked" in caplog.text


def greeting(peer: Peer, path: bytes) -> bytes:
    """A client's first words, and a request."""
    headers = [*GET[:2], (b":path", path), GET[3]]
    return PREFACE + settings({}) + peer.headers(1, headers)


def test_who_never_reads_costs_no_memory_and_is_cut_off() -> None:
    limits = ServerLimits(connection=Limits(stall_ns=SECOND_NS))

    async def test() -> None:
        async with serving(mirror, limits=limits) as served:
            await in_thread(lambda: None)
            tracemalloc.start()
            silent = served.connect()
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wide = b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x04\x7f\xff\xff\xff"
            window = b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\xff\x00\x00"
            silent.sendall(greeting(Peer(), b"/endless") + wide + window)
            await until(lambda: served.server.connection_count == 1)
            await trio.sleep(0.5)
            current, _ = tracemalloc.get_traced_memory()
            assert current < 8 * MIB
            await until(lambda: served.server.connection_count == 0)
            tracemalloc.stop()
            silent.close()

    run(test)


@pytest.mark.parametrize("attack", ["pings", "resets", "noise"])
def test_an_attacker_loses_its_connection_and_nobody_else_does(attack: str) -> None:
    peer = Peer()
    hello = greeting(peer, b"/a")
    content = {
        "pings": ping() * 200_000,
        "resets": b"".join(peer.headers(number) + rst(number) for number in range(3, 60_000, 2)),
        "noise": b"\xff" * MIB,
    }[attack]

    def strike(served: Served) -> None:
        attacker = served.connect()
        try:
            attacker.sendall(hello + content)
            while attacker.recv(65_536):
                pass
        except OSError:
            pass
        attacker.close()

    async def test() -> None:
        async with serving(mirror) as served:
            honest = served.connect()
            honest.sendall(greeting(Peer(), b"/a"))
            await in_thread(lambda: honest.recv(65_536))
            await in_thread(lambda: strike(served))
            await until(lambda: served.server.connection_count == 1)
            honest.sendall(ping(b"are you?"))
            await in_thread(lambda: _read_until(honest, b"are you?"))
            honest.close()

    run(test)


def _read_until(connection: socket.socket, wanted: bytes) -> None:
    received = b""
    while wanted not in received:
        more = connection.recv(65_536)
        assert more
        received += more


def test_connections_over_the_limit_are_closed_and_others_are_not() -> None:
    limits = ServerLimits(connections_per_address_max=3)

    async def test() -> None:
        async with serving(mirror, limits=limits) as served:
            kept = [served.connect() for _ in range(3)]
            await until(lambda: served.server.connection_count == 3)
            turned_away = served.connect()
            assert await in_thread(lambda: turned_away.recv(100)) == b""
            kept[0].sendall(greeting(Peer(), b"/a"))
            assert await in_thread(lambda: kept[0].recv(100))
            kept[1].close()
            await until(lambda: served.server.connection_count == 2)
            again = served.connect()
            again.sendall(greeting(Peer(), b"/a"))
            assert await in_thread(lambda: again.recv(100))
            for connection in (*kept, turned_away, again):
                connection.close()

    run(test)


def test_who_connects_and_says_nothing_is_let_go() -> None:
    limits = ServerLimits(connection=Limits(opening_ns=SECOND_NS // 5))

    async def test() -> None:
        async with serving(mirror, limits=limits) as served:
            silent = served.connect()
            await until(lambda: served.server.connection_count == 1)
            await until(lambda: served.server.connection_count == 0)
            silent.close()

    run(test)
