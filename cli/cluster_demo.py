"""`goqueue cluster demo`: three brokers on this machine, and what a user sees when one of them is killed.

Somebody publishes all the while, message by message, and notes what was acknowledged. The leader is killed with
SIGKILL, another one takes over, the dead one comes back, and everything that was acknowledged is read back. Then the
brokers stay for whoever wants to try things, until Ctrl-C.
"""

import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
from attrs import define, field
from rich.console import Console

from goqueue.cli.bench.local_cluster import HTTP_PORT, LocalBroker, LocalCluster, cluster_of, loopback
from goqueue.cli.bench.workbench import BenchError
from goqueue.cli.endings import Ending

_TOPIC = "demo"
_PAUSE_S = 0.01
_BEFORE_S, _AFTER_S = 1.0, 1.0
_PAGE = 10_000


@define
class Publisher:
    """Publishes numbers one after another, each until it is acknowledged, in a thread of its own."""

    cluster: LocalCluster
    # When each number was acknowledged.
    acknowledged_s: list[float] = field(factory=list)
    _ending: threading.Event = field(factory=threading.Event)
    _thread: threading.Thread | None = None

    def begin(self) -> None:
        """Publish from here on."""
        self._thread = threading.Thread(target=self._publish, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Publish no more."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    def longest_pause_s(self) -> float:
        """The longest time between two acknowledgements."""
        times = self.acknowledged_s
        return max((later - earlier for earlier, later in pairwise(times)), default=0.0)

    def _publish(self) -> None:
        while not self._ending.is_set():
            body = {"value": str(len(self.acknowledged_s)), "key": "demo"}
            status, _ = self.cluster.ask("POST", f"/topics/{_TOPIC}/publish", body)
            if status == 200:
                self.acknowledged_s.append(time.monotonic())
            time.sleep(_PAUSE_S)


@click.command()
@click.option("--nodes", type=click.IntRange(3, 7), default=3, show_default=True, help="How many brokers.")
@click.option("--folder", type=click.Path(file_okay=False), help="Where their data goes; a temporary folder if none.")
@click.option("--once", is_flag=True, help="End after the demonstration, without waiting for Ctrl-C.")
def demo(nodes: int, folder: str | None, once: bool) -> None:
    """Start brokers that form a cluster, kill the leader at work, and count what was acknowledged."""
    console = Console(highlight=False)
    with _folder(folder) as path:
        cluster = cluster_of(path, loopback(nodes))
        try:
            _demonstrate(console, cluster)
            if not once:
                console.print("\nThe brokers stay until Ctrl-C. Try, with any of their addresses:")
                console.print(
                    f"  goqueue cluster info --server {next(iter(cluster.brokers.values())).host}:{HTTP_PORT}"
                )
                threading.Event().wait()
        except BenchError as error:
            raise Ending(str(error)) from error
        except KeyboardInterrupt:
            console.print("Ending the brokers.")
        finally:
            for broker in cluster.brokers.values():
                broker.clear()


@contextmanager
def _folder(given: str | None) -> Iterator[Path]:
    if given is not None:
        Path(given).mkdir(parents=True, exist_ok=True)
        yield Path(given)
        return
    with tempfile.TemporaryDirectory(prefix="goqueue-cluster-", ignore_cleanup_errors=True) as temporary:
        yield Path(temporary)


def _demonstrate(console: Console, cluster: LocalCluster) -> None:
    begun = time.monotonic()
    cluster.start()
    factor = min(3, len(cluster.brokers))
    if not cluster.partitions(_TOPIC):
        cluster.create(_TOPIC, 1, factor, min_insync_replicas=2)
    console.print(f"[bold]Started[/]    {len(cluster.brokers)} brokers in {time.monotonic() - begun:.1f} s:")
    for broker in cluster.brokers.values():
        console.print(
            f"             {broker.node_id}  REST http://{broker.host}:{HTTP_PORT}  gRPC {broker.grpc_address}"
        )
    console.print(f"[bold]Made[/]       topic {_TOPIC} with {factor} copies; acknowledged is what all in sync have")
    publisher = Publisher(cluster)
    publisher.begin()
    try:
        _kill_and_revive(console, cluster, publisher, factor)
    finally:
        publisher.end()
    _conclude(console, cluster, publisher)


def _kill_and_revive(console: Console, cluster: LocalCluster, publisher: Publisher, factor: int) -> None:
    time.sleep(_BEFORE_S)
    leader = cluster.leader(_TOPIC)
    console.print(f"[bold]Publishing[/] one message after another; {len(publisher.acknowledged_s):,} acknowledged")
    leader.kill()
    console.print(f"[bold]Killed[/]     {leader.node_id}, which led, with SIGKILL")
    successor = cluster.until("another broker leads", lambda: _successor(cluster, leader))
    time.sleep(_AFTER_S)
    console.print(
        f"[bold]Took over[/]  {successor}; the publisher waited {publisher.longest_pause_s():.2f} s at the longest, "
        f"and has {len(publisher.acknowledged_s):,} acknowledged"
    )
    leader.start()
    leader.await_ready()
    cluster.await_in_sync(_TOPIC, factor)
    console.print(f"[bold]Came back[/]  {leader.node_id}, and is in sync again")


def _successor(cluster: LocalCluster, gone: LocalBroker) -> str | None:
    found = cluster.partitions(_TOPIC, without=gone.node_id)
    leader = str(found[0]["leader"]) if found else ""
    return leader if leader not in ("", gone.node_id) else None


def _conclude(console: Console, cluster: LocalCluster, publisher: Publisher) -> None:
    promised = len(publisher.acknowledged_s)
    found = _values(cluster)
    missing = [number for number in range(promised) if str(number) not in found]
    if missing:
        console.print(f"[red]{len(missing)} acknowledged messages are missing, the first is {missing[0]}.[/]")
        sys.exit(1)
    console.print(f"[green]All {promised:,} acknowledged messages are there[/], read back from the brokers.")


def _values(cluster: LocalCluster) -> set[str]:
    """All that is in the topic."""
    values: set[str] = set()
    offset = 0
    while True:
        path = f"/topics/{_TOPIC}/partitions/0/messages?offset={offset}&limit={_PAGE}"

        def page(path: str = path) -> dict[str, Any] | None:
            status, found = cluster.ask("GET", path)
            return found if status == 200 else None

        found = cluster.until("the messages can be read", page)
        if not found["messages"]:
            return values
        values.update(str(message["value"]) for message in found["messages"])
        offset = found["next_offset"]
