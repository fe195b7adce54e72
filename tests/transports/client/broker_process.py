"""A broker as its users run it: a process of its own on a folder and a port that outlive it."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[3]
SECONDS_MAX = 60


class BrokerProcess:
    """May be killed and started again; clients find it where it was."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port: int = listener.getsockname()[1]
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where it speaks gRPC."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it listens."""
        command = [sys.executable, "-m", "goqueue", "serve", "--http", self.address, "--grpc", "off"]
        command += ["--metrics", "off", "--log-level", "warning", "--data-dir", str(self._folder)]
        self._process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
        due = time.monotonic() + SECONDS_MAX
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                assert self._process.poll() is None, "the broker did not start"
                assert time.monotonic() < due
                time.sleep(0.02)

    def end(self, number: signal.Signals) -> None:
        """Send it a signal and wait until it is gone."""
        assert self._process is not None
        self._process.send_signal(number)
        self._process.wait(SECONDS_MAX)

    def kill(self) -> None:
        """End it in the middle of whatever it does, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self.end(signal.SIGKILL)


@contextmanager
def broker_process(folder: Path) -> Iterator[BrokerProcess]:
    """A broker that runs, and is killed at the end."""
    process = BrokerProcess(folder)
    process.start()
    try:
        yield process
    finally:
        process.kill()
