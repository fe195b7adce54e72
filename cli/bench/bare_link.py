"""The load that a bare receiver gets, and what it comes to."""

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from goqueue.cli.bench.bare_receiver import ANSWER_BYTES, FRAME
from goqueue.cli.bench.cores import settle, split
from goqueue.cli.bench.workbench import BenchError


@contextlib.contextmanager
def bare_receiver(path: Path) -> Iterator[socket.socket]:
    """A connection to a bare receiver that writes to this file, on the broker's core."""
    command = [sys.executable, "-m", "goqueue.cli.bench.bare_receiver", str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)  # noqa: S603 - our own command
    settle(split()[0], process.pid)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise BenchError("the bare receiver did not start")
        with socket.create_connection(("127.0.0.1", int(line))) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield connection
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def send_batches(path: Path, batches: list[bytes], count: int, window: int) -> float:
    """Send `count` batches in turn, at most `window` of them unanswered; the seconds that took."""
    frames = [FRAME.pack(len(batch)) + batch for batch in batches]
    with bare_receiver(path) as connection:
        begun = time.perf_counter()
        sent = answered = pending = 0
        while answered < count:
            while sent < count and sent - answered < window:
                connection.sendall(frames[sent % len(frames)])
                sent += 1
            pending += len(connection.recv(4096))
            answered, pending = answered + pending // ANSWER_BYTES, pending % ANSWER_BYTES
        return time.perf_counter() - begun
