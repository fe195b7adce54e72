"""Hostile clients in a process of their own: `python -m goqueue.cli.bench.hostile_client ATTACK PORT SECONDS TOPIC`.

A client sends its opening, then maybe one byte at a time or the same bytes over and over, and never reads. One whose
connection the broker ends comes again, up to a bound. Only this machine is attacked, and the process ends by itself.
"""

import contextlib
import os
import resource
import select
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import define

from goqueue.cli.bench import hostile_wire as wire
from goqueue.proto import v1
from goqueue.proto.codec import StrictCodec

_SECONDS_MAX = 120.0
_RETURNS_MAX = 5_000
_DRIP_S = 0.5
# How much the system keeps of what a client does not read.
_RECEIVE_BYTES = 4096
_STREAMS = 50
_CLIENTS = 20
_FETCH_BYTES = 8 << 20
# Streams whose window is closed, ones that are out of it after a moment, and ones that only TCP holds back.
_WINDOWS = (0, 65_535, wire.WINDOW_MAX)


@define
class Manner:
    """How a client behaves: what it says first, one byte at a time after that, and over and over."""

    opening: bytes
    drip: bytes = b""
    flood: bytes = b""


@define(eq=False)
class _Client:
    manner: Manner
    socket: socket.socket
    left: memoryview
    dripped: int = 0


def closed_window_http(topic: str) -> list[Manner]:
    """A thousand readers of pages: half of them streams of HTTP/2, half of them connections of HTTP/1.1."""
    path = f"/topics/{topic}/partitions/0/messages?offset=0&limit=100"
    many = [_streams(number, lambda stream_id: wire.http2_get(stream_id, path)) for number in range(_CLIENTS // 2)]
    return many + [Manner(wire.get(path))] * (_STREAMS * _CLIENTS // 2)


def closed_window_grpc(topic: str) -> list[Manner]:
    """A thousand calls that read 8 MiB at a time: half of them fetches, half of them subscriptions."""
    codec = StrictCodec()
    fetch = codec.encode(v1.FetchRequest(topic=topic, bytes_max=_FETCH_BYTES))
    subscribe = codec.encode(
        v1.SubscribeRequest(positions=[v1.Position(topic=topic, earliest=True)], bytes_max=_FETCH_BYTES)
    )

    def call(stream_id: int) -> bytes:
        if stream_id % 4 == 1:
            return wire.grpc_call(stream_id, "/goqueue.v1.Messages/Fetch", fetch)
        return wire.grpc_call(stream_id, "/goqueue.v1.Messages/Subscribe", subscribe)

    return [_streams(number, call) for number in range(_CLIENTS)]


def slow_headers(_topic: str) -> list[Manner]:
    """A thousand connections that send a byte every now and then: heads, bodies, and header blocks of HTTP/2."""
    head = Manner(b"GET / HTTP/1.1\r\n", drip=b"x")
    fields = b"host: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n"
    body = Manner(b"POST /topics HTTP/1.1\r\n" + fields + b"\r\n", drip=b"x")
    block = Manner(wire.hello(65_535) + wire.open_headers(1), drip=b"\x00")
    return [head] * 400 + [body] * 300 + [block] * 300


def floods(_topic: str) -> list[Manner]:
    """Connections without a word, pings, settings, requests broken off at once, and requests whose answers stay."""
    hello = wire.hello(65_535)
    return [
        *[Manner(b"")] * 1500,
        *[Manner(hello, flood=wire.pings(1000))] * 10,
        *[Manner(hello, flood=wire.settings_changes(500))] * 10,
        *[Manner(hello + wire.requests_reset(5000, "/version"))] * 10,
        *[Manner(b"", flood=wire.get("/version") * 200)] * 50,
    ]


ATTACKS: dict[str, Callable[[str], list[Manner]]] = {
    attack.__name__: attack for attack in (closed_window_http, closed_window_grpc, slow_headers, floods)
}


def _streams(number: int, request: Callable[[int], bytes]) -> Manner:
    window = _WINDOWS[number % len(_WINDOWS)]
    return Manner(wire.hello(window) + b"".join(request(2 * each + 1) for each in range(_STREAMS)))


def attack(manners: Sequence[Manner], port: int, seconds: float) -> int:
    """Be these clients for so long; how often one of them came again."""
    until = time.monotonic() + min(seconds, _SECONDS_MAX)
    returned, due = 0, time.monotonic() + _DRIP_S
    with select.epoll() as poll:
        clients = dict(_entered(poll, port, manners))
        while (now := time.monotonic()) < until:
            gone = [client for client in _served(poll, clients) if client is not None]
            for client in gone:
                poll.unregister(client.socket.fileno())
                del clients[client.socket.fileno()]
                client.socket.close()
            if returned < _RETURNS_MAX:
                clients.update(_entered(poll, port, [client.manner for client in gone]))
                returned += len(gone)
            if now >= due:
                due = now + _DRIP_S
                _drip(clients.values())
    return returned


def _entered(poll: select.epoll, port: int, manners: Sequence[Manner]) -> Iterator[tuple[int, _Client]]:
    for manner in manners:
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BYTES)
        one.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            one.connect(("127.0.0.1", port))
        poll.register(one.fileno(), select.EPOLLOUT | select.EPOLLRDHUP)
        yield one.fileno(), _Client(manner, one, memoryview(manner.opening))


def _served(poll: select.epoll, clients: dict[int, _Client]) -> Iterator[_Client | None]:
    """Let clients speak that can; those whose connections have ended."""
    for number, events in poll.poll(0.05):
        client = clients[number]
        if events & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR):
            yield client
            continue
        try:
            if client.left:
                client.left = client.left[client.socket.send(client.left) :]
            elif client.manner.flood:
                client.left = memoryview(client.manner.flood)
            else:
                poll.modify(number, select.EPOLLRDHUP)
        except BlockingIOError:
            continue
        except OSError:
            yield client


def _drip(clients: Iterable[_Client]) -> None:
    for client in clients:
        if client.manner.drip and not client.left:
            with contextlib.suppress(OSError):
                client.socket.send(client.manner.drip)


def main(name: str, port: str, seconds: str, topic: str) -> None:
    """Attack, with the patience of a process that others go before, and say how often a client came again."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # What is measured is the broker's fairness and not this machine's: the reader beside it has the processor first.
    os.nice(10)
    returned = attack(ATTACKS[name](topic), int(port), float(seconds))
    sys.stdout.write(f"{returned}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
