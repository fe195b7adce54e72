"""Load over HTTP/1.1 that costs next to nothing itself: bytes made beforehand, answers looked at as far as needed.

Each connection has one request under way. An answer other than success ends the run: a figure of refusals is none.
"""

import select
import socket
import time

from attrs import define, field

from goqueue.cli.bench.workbench import BenchError

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


def request(path: str, body: bytes) -> bytes:
    """A POST of some JSON."""
    return b"POST %s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (
        path.encode(),
        len(body),
        body,
    )


@define(eq=False)
class _Connection:
    socket: socket.socket
    begun: int = 0
    received: bytearray = field(factory=bytearray)

    def is_answered(self) -> bool:
        """Whether the answer is here, whole; raises BenchError for one that is no success."""
        head, found, rest = self.received.partition(_HEAD_END)
        if not found:
            return False
        if not head.startswith((b"HTTP/1.1 200", b"HTTP/1.1 201")):
            raise BenchError(f"the broker answers {bytes(self.received[:300])!r}")
        lowered = head.lower()
        at = lowered.index(_LENGTH) + len(_LENGTH)
        length = int(lowered[at:].split(b"\r\n", 1)[0])
        return len(rest) >= length


def connect(port: int, count: int) -> list[socket.socket]:
    """Connections to a broker on this machine."""
    connections = []
    for _ in range(count):
        one = socket.create_connection(("127.0.0.1", port))
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connections.append(one)
    return connections


def load(port: int, content: bytes, connections: int, seconds: float) -> tuple[list[int], float]:
    """Send the same request over and over; how long each took, sorted, in nanoseconds, and how long all took."""
    poll = select.epoll()
    by_number: dict[int, _Connection] = {}
    latencies: list[int] = []
    begun = time.perf_counter()
    until = begun + seconds
    try:
        for one in connect(port, connections):
            connection = by_number[one.fileno()] = _Connection(one)
            poll.register(one, select.EPOLLIN)
            connection.begun = time.perf_counter_ns()
            one.sendall(content)
        under_way = connections
        while under_way:
            for number, _ in poll.poll():
                connection = by_number[number]
                chunk = connection.socket.recv(65536)
                if not chunk:
                    raise BenchError("the broker closed a connection")
                connection.received += chunk
                if connection.is_answered():
                    now = time.perf_counter_ns()
                    latencies.append(now - connection.begun)
                    connection.received.clear()
                    if time.perf_counter() < until:
                        connection.begun = now
                        connection.socket.sendall(content)
                    else:
                        under_way -= 1
        return sorted(latencies), time.perf_counter() - begun
    finally:
        poll.close()
        for connection in by_number.values():
            connection.socket.close()
