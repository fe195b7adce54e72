"""A broker in a process of its own, started by the command that people use, on a core of its own.

It listens on ports that were free a moment ago, works in the benchmark's folder and is told to stop at the end; one
that does not stop in time is killed. What it says goes to a file in that folder, and is shown when it does not start.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attrs import define

from goqueue.cli.bench.cores import settle, split
from goqueue.cli.bench.workbench import BenchError

_READY_S = 60.0
_STOP_S = 30.0


@define
class ServedBroker:
    """A running broker; `ready_s` is how long it took from the command to the first good answer."""

    process: subprocess.Popen[bytes]
    http_port: int
    grpc_port: int
    ready_s: float

    @property
    def pid(self) -> int:
        """The broker's process."""
        return self.process.pid

    @property
    def grpc_address(self) -> str:
        """Where it speaks gRPC."""
        return f"127.0.0.1:{self.grpc_port}"

    def create(self, name: str, partitions: int = 1, **config: object) -> None:
        """Make a topic."""
        body = {"name": name, "num_partitions": partitions, "config": config}
        status, answer = self.post("/topics", body)
        if status != 201:
            raise BenchError(f"topic {name} could not be made: {answer}")

    def delete(self, name: str) -> None:
        """Remove a topic, so that one figure's bytes are not the next one's burden."""
        self._ask("DELETE", f"/topics/{name}", None)

    def get(self, path: str) -> tuple[int, object]:
        """Status and answer of a request."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: object) -> tuple[int, object]:
        """Status and answer of a request."""
        return self._ask("POST", path, json.dumps(body).encode())

    def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, object]:
        connection = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=60)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"null")
        finally:
            connection.close()


@contextmanager
def served(folder: Path, *options: str, profile: Path | None = None) -> Iterator[ServedBroker]:
    """A broker on the data in `folder`, with options of its command besides, until the block ends.

    With `profile` it runs under cProfile, which writes that file when the broker ends.
    """
    http_port, grpc_port, metrics_port = _free_ports(3)
    python = [sys.executable] if profile is None else [sys.executable, "-m", "cProfile", "-o", str(profile)]
    command = [*python, "-m", "goqueue", "serve", "--data-dir", str(folder / "data"), "--log-level", "warning"]
    listeners = ["--http", f":{http_port}", "--grpc", f":{grpc_port}", "--metrics", f":{metrics_port}"]
    said = folder / "broker.log"
    begun = time.perf_counter()
    with said.open("wb") as output:
        process = subprocess.Popen([*command, *listeners, *options], stdout=output, stderr=output)  # noqa: S603 - our own command
    broker_cores, _ = split()
    settle(broker_cores, process.pid)
    try:
        _await_ready(process, http_port, said)
        yield ServedBroker(process, http_port, grpc_port, time.perf_counter() - begun)
    finally:
        _stop(process)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _await_ready(process: subprocess.Popen[bytes], port: int, said: Path) -> None:
    until = time.perf_counter() + _READY_S
    while time.perf_counter() < until:
        if process.poll() is not None:
            raise BenchError(f"the broker ended with status {process.returncode}: {said.read_text()[-2000:]}")
        if _is_ready(port):
            return
        time.sleep(0.005)
    raise BenchError(f"the broker was not ready after {_READY_S:.0f} s: {said.read_text()[-2000:]}")


def _is_ready(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
