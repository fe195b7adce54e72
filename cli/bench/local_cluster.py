"""Brokers in processes of their own that form a cluster on this machine: to be killed, paused, stopped, started again.

Each has an address of its own out of 127/8, all of which is this machine on Linux. So ports need not be found, and
nobody takes one while its broker is dead. What a broker says goes to a file in the folder, and is shown when it does
not start. One broker is no cluster and runs as anybody's single broker would.

Not here: what the brokers are asked, beyond what finding a leader needs (`cluster_load.py` has the load).
"""

import http.client
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from attrs import define, field

from goqueue.cli.bench.workbench import BenchError
from goqueue.cli.starting import is_loopback

T = TypeVar("T")

HTTP_PORT, GRPC_PORT, METRICS_PORT, INTERNAL_PORT = 8080, 9000, 9090, 7000
_READY_S = 60.0
_STOP_S = 30.0
_ASK_S = 10.0
_PAUSE_S = 0.02
_COUNTER = itertools.count()


@define
class Place:
    """Where a broker runs: its address, and what its command is put behind, such as that of a network namespace."""

    host: str
    prefix: Sequence[str] = ()


@define(eq=False)
class LocalBroker:
    """One broker: it keeps its folder and its address over all its processes."""

    node_id: str
    folder: Path
    place: Place
    # What it is told besides the addresses.
    flags: Sequence[str] = ()
    process: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        """Its address."""
        return self.place.host

    @property
    def grpc_address(self) -> str:
        """Where it speaks gRPC."""
        return f"{self.host}:{GRPC_PORT}"

    @property
    def internal_address(self) -> str:
        """Where other brokers reach it."""
        return f"{self.host}:{INTERNAL_PORT}"

    @property
    def is_running(self) -> bool:
        """Whether there is a process, paused or not."""
        return self.process is not None and self.process.poll() is None

    @property
    def said(self) -> str:
        """The end of what it wrote to its log."""
        path = self._log_path
        return path.read_text(errors="replace")[-2000:] if path.exists() else ""

    @property
    def _log_path(self) -> Path:
        return self.folder / "broker.log"

    def start(self) -> None:
        """Begin a process on what the folder has."""
        assert not self.is_running
        self.folder.mkdir(exist_ok=True)
        command = [*self.place.prefix, sys.executable, "-m", "goqueue", "serve", "--node-id", self.node_id]
        command += ["--data-dir", str(self.folder / "data"), "--log-level", "warning"]
        for name, port in (("http", HTTP_PORT), ("grpc", GRPC_PORT), ("metrics", METRICS_PORT)):
            command += [f"--{name}", f"{self.host}:{port}"]
        with self._log_path.open("ab") as output:
            self.process = subprocess.Popen(  # noqa: S603 - our own command
                [*command, *self.flags], stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    def kill(self) -> None:
        """End it without a word (SIGKILL), and return once it is gone."""
        process = self._running()
        process.kill()
        process.wait()

    def pause(self) -> None:
        """Have it do nothing, and not know that time passes (SIGSTOP)."""
        self._running().send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Have it go on (SIGCONT)."""
        self._running().send_signal(signal.SIGCONT)

    def stop(self) -> int:
        """Ask it to end in order (SIGTERM), wait for that, and give its exit status."""
        process = self._running()
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise BenchError(f"{self.node_id} did not stop within {_STOP_S:.0f} s: {self.said}") from None

    def clear(self) -> None:
        """End whatever runs, for good."""
        if self.is_running:
            self.kill()

    def _running(self) -> subprocess.Popen[bytes]:
        assert self.process is not None
        if self.process.poll() is not None:
            raise BenchError(f"{self.node_id} has ended with status {self.process.returncode}: {self.said}")
        return self.process

    def ask(self, method: str, path: str, body: object = None, timeout_s: float = _ASK_S) -> tuple[int, Any]:
        """Status and answer of a request; raises OSError or HTTPException where there is none."""
        connection = http.client.HTTPConnection(self.host, HTTP_PORT, timeout=timeout_s)
        try:
            content = None if body is None else json.dumps(body).encode()
            connection.request(method, path, content, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read() or b"null")
        finally:
            connection.close()

    def await_ready(self) -> None:
        """Wait until it says that it can be used; raises BenchError if it ends, or takes too long."""
        until = time.monotonic() + _READY_S
        while time.monotonic() < until:
            self._running()
            try:
                if self.ask("GET", "/readyz")[0] == 200:
                    return
            except (OSError, http.client.HTTPException, ValueError):
                pass
            time.sleep(_PAUSE_S)
        raise BenchError(f"{self.node_id} was not ready after {_READY_S:.0f} s: {self.said}")


@define(eq=False)
class LocalCluster:
    """Some brokers; `ask` finds one that answers."""

    brokers: dict[str, LocalBroker] = field(factory=dict)

    @property
    def addresses(self) -> str:
        """Where clients reach it: all brokers, with commas between."""
        return ",".join(broker.grpc_address for broker in self.brokers.values())

    def start(self) -> None:
        """Start all brokers, and wait until each can be used."""
        for broker in self.brokers.values():
            broker.start()
        for broker in self.brokers.values():
            broker.await_ready()

    def clear(self) -> None:
        """End whatever runs, for good."""
        for broker in self.brokers.values():
            broker.clear()

    def others(self, *node_ids: str) -> list[LocalBroker]:
        """All brokers but these."""
        return [broker for broker in self.brokers.values() if broker.node_id not in node_ids]

    def ask(self, method: str, path: str, body: object = None, *, without: str = "") -> tuple[int, Any]:
        """Status and answer of whichever broker gives one, the first for that it is not unavailable."""
        last: tuple[int, Any] = (503, None)
        for broker in self.others(without):
            try:
                last = broker.ask(method, path, body, timeout_s=2.0)
            except (OSError, http.client.HTTPException, ValueError):
                continue
            if last[0] < 500:
                break
        return last

    def until(self, what: str, found: Callable[[], T | None], timeout_s: float = _READY_S) -> T:
        """What `found` gives as soon as it gives anything; raises BenchError if it never does."""
        until = time.monotonic() + timeout_s
        while time.monotonic() < until:
            result = found()
            if result is not None:
                return result
            time.sleep(_PAUSE_S)
        said = "\n".join(f"{broker.node_id}: {broker.said}" for broker in self.brokers.values() if broker.said)
        raise BenchError(f"{what}: not within {timeout_s:.0f} s\n{said}")

    def create(self, name: str, partitions: int = 1, factor: int = 1, **config: object) -> None:
        """Make a topic, and wait until the leader of every partition answers and all its replicas are in sync."""
        body = {"name": name, "num_partitions": partitions, "replication_factor": factor, "config": config}

        def made() -> bool | None:
            status, answer = self.ask("POST", "/topics", body)
            if status in (400, 404, 422):
                raise BenchError(f"topic {name} could not be made: {answer}")
            return True if status in (201, 409) else None

        self.until(f"topic {name} is made", made)
        self.await_in_sync(name, factor)

        def answers() -> bool | None:
            paths = (f"/topics/{name}/partitions/{number}/messages?limit=1" for number in range(partitions))
            return True if all(self.ask("GET", path)[0] == 200 for path in paths) else None

        self.until(f"the leaders of {name} answer", answers)

    def await_in_sync(self, topic: str, factor: int) -> None:
        """Wait until every partition has a leader and so many replicas in sync."""

        def in_sync() -> bool | None:
            found = self.partitions(topic)
            return True if found and all(each["leader"] and len(each["isr"]) >= factor for each in found) else None

        self.until(f"{factor} replicas of {topic} are in sync", in_sync)

    def partitions(self, topic: str, *, without: str = "") -> list[dict[str, Any]]:
        """The partitions of a topic as a broker describes them; none while none can."""
        status, answer = self.ask("GET", f"/topics/{topic}/partitions", without=without)
        return answer["partitions"] if status == 200 else []

    def leader(self, topic: str, partition: int = 0) -> LocalBroker:
        """The broker that leads a partition."""

        def found() -> LocalBroker | None:
            described = self.partitions(topic)
            return self.brokers.get(described[partition]["leader"]) if len(described) > partition else None

        return self.until(f"partition {partition} of {topic} has a leader", found)

    def controller(self) -> LocalBroker:
        """The broker that decides for the cluster."""
        if len(self.brokers) == 1:
            return next(iter(self.brokers.values()))

        def found() -> LocalBroker | None:
            status, answer = self.ask("GET", "/cluster")
            return self.brokers.get(answer["controller"]) if status == 200 else None

        return self.until("there is a controller", found)


def loopback(count: int) -> list[Place]:
    """Addresses of this machine that no other cluster has, of this process or of another."""
    if sys.platform != "linux":
        raise BenchError("clusters are measured and tested on Linux, where every broker can have an address of its own")
    number, room = os.getpid(), next(_COUNTER) * 8
    assert count <= 8
    high, middle = 16 + (number >> 8) % 200, number & 255
    return [Place(f"127.{high}.{middle}.{room % 240 + at + 1}") for at in range(count)]


def cluster_of(folder: Path, places: Sequence[Place], flags: Mapping[str, Sequence[str]] | None = None) -> LocalCluster:
    """Brokers n1, n2, ... at some places, not started; `flags` are what single ones are told besides."""
    brokers = {f"n{at}": LocalBroker(f"n{at}", folder / f"n{at}", place) for at, place in enumerate(places, 1)}
    peers = ",".join(f"{broker.node_id}@{broker.internal_address}" for broker in brokers.values())
    for broker in brokers.values():
        # A network of namespaces is this machine's own, though none of its addresses is loopback.
        open_flags = [] if is_loopback(broker.host) else ["--insecure"]
        own = [] if len(brokers) == 1 else ["--peers", peers, "--internal", broker.internal_address, *open_flags]
        broker.flags = [*own, *(flags or {}).get(broker.node_id, ())]
    return LocalCluster(brokers)


@contextmanager
def running_cluster(folder: Path, count: int) -> Iterator[LocalCluster]:
    """So many brokers that are ready; whatever is left of them is killed at the end."""
    cluster = cluster_of(folder, loopback(count))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.clear()
