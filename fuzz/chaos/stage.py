"""The brokers of a storm, the network between them, and what can be done to either.

Where network namespaces are permitted each broker has one, and a cut makes packets vanish, for brokers and clients
alike. Elsewhere every link between brokers goes through a proxy of ours (`proxies.py`), and a cut is between brokers.

A broker that ends without being told to is noted: nothing that happens here is a reason to.
"""

import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Protocol

from attrs import define, field

from goqueue.cli.bench import namespaces
from goqueue.cli.bench.local_cluster import INTERNAL_PORT, LocalBroker, LocalCluster, cluster_of
from goqueue.cli.starting import is_loopback
from goqueue.fuzz.chaos.proxies import Proxies

SETTLED_S = 90.0


class Net(Protocol):
    """What is between brokers, which are known by number."""

    def cut(self, sender: int, receiver: int) -> None:
        """What one sends to the other vanishes."""

    def mend(self, sender: int, receiver: int) -> None:
        """It arrives again."""

    def isolate(self, place: int) -> None:
        """Nothing comes or goes there."""

    def rejoin(self, place: int) -> None:
        """Undo `isolate`."""


@define(eq=False)
class Stage:
    """See the module; `spare` is a broker that has yet to join."""

    cluster: LocalCluster
    spare: LocalBroker
    net: Net
    # How the network is cut, for people.
    network: str
    # Where other brokers reach one, by number.
    reached_at: Callable[[int], str]
    topics: list[str] = field(factory=list)
    factor: int = 3
    # Brokers that are meant not to run.
    down: set[str] = field(factory=set)
    # What no broker should do: a line for each time one did.
    defects: list[str] = field(factory=list)

    @property
    def brokers(self) -> list[LocalBroker]:
        """The brokers by number."""
        return [*self.cluster.brokers.values()]

    def look(self) -> None:
        """Note brokers that have ended by themselves; they are started again, so that the storm goes on."""
        for broker in self.brokers:
            process = broker.process
            if broker.node_id not in self.down and process is not None and process.poll() is not None:
                self.defects.append(
                    f"{broker.node_id} ended by itself with status {process.returncode}: {broker.said[-1000:]}"
                )
                broker.start()

    def kill(self, broker: LocalBroker) -> None:
        """End it at once."""
        self.down.add(broker.node_id)
        broker.kill()

    def term(self, broker: LocalBroker) -> None:
        """Tell it to end, and wait for that."""
        self.down.add(broker.node_id)
        status = broker.stop()
        # One that has only begun to start ends by the signal itself.
        if status not in (0, -signal.SIGTERM):
            self.defects.append(f"{broker.node_id} ended with status {status} when it was told to end")

    def start(self, broker: LocalBroker) -> None:
        """Have it run again."""
        if not broker.is_running:
            broker.start()
        self.down.discard(broker.node_id)

    def settle(self) -> None:
        """Wait until every broker can be used and every partition has all its replicas in sync; raises BenchError."""
        for broker in self.brokers:
            broker.await_ready()
        for topic in self.topics:
            self.cluster.await_in_sync(topic, self.factor)

    def empty(self, broker: LocalBroker) -> None:
        """End a broker and remove all that it has."""
        self.kill(broker)
        shutil.rmtree(broker.folder / "data")

    def readmit(self, broker: LocalBroker) -> None:
        """Let a broker with an empty folder come back, once it is known that the old one is dead."""

        def readmitted() -> bool | None:
            path = f"/admin/nodes/{broker.node_id}/readmit"
            return True if self.cluster.ask("POST", path, without=broker.node_id)[0] == 200 else None

        self.cluster.until(f"{broker.node_id} is readmitted", readmitted, SETTLED_S)

    def begin_another(self) -> LocalBroker:
        """Have one more broker join."""
        self.spare.start()
        self.cluster.brokers[self.spare.node_id] = self.spare
        return self.spare

    def give_replicas(self, newcomer: LocalBroker) -> None:
        """Give a broker a replica of each topic's first partition, once it has joined."""
        newcomer.await_ready()
        others = [broker.node_id for broker in self.brokers if broker is not newcomer][: self.factor - 1]
        replicas = [newcomer.node_id, *others]
        body = {"partitions": [{"topic": topic, "partition": 0, "new_replicas": replicas} for topic in self.topics]}

        def moved() -> bool | None:
            return True if self.cluster.ask("POST", "/admin/reassignment", body)[0] == 202 else None

        def has_arrived() -> bool | None:
            placed = [self.cluster.partitions(topic) for topic in self.topics]
            return True if all(each and sorted(each[0]["replicas"]) == sorted(replicas) for each in placed) else None

        self.cluster.until("replicas are given to the newcomer", moved, SETTLED_S)
        self.cluster.until("the newcomer has its replicas", has_arrived, SETTLED_S)

    def clear(self) -> None:
        """End whatever runs, whatever it is doing."""
        self.cluster.clear()
        self.spare.clear()


@contextmanager
def staged(folder: Path, count: int, *, by_proxies: bool = False) -> Iterator[Stage]:
    """So many brokers, and one to spare, none of them started; whatever runs at the end of the block is killed."""
    net: Net
    reached_at: Callable[[int], str]
    with ExitStack() as stack:
        if by_proxies or namespaces.why_impossible():
            proxies = stack.enter_context(Proxies.between(count + 1))
            cluster, net, network = (
                proxies.cluster_of(folder),
                proxies,
                "proxies between brokers; clients stay connected",
            )
            reached_at = proxies.front
        else:
            spaces = stack.enter_context(namespaces.network(count + 1))
            cluster, net, network = (
                cluster_of(folder, spaces.places),
                spaces,
                "network namespaces, for brokers and clients alike",
            )

            def reached_at(place: int) -> str:
                return f"{spaces.places[place].host}:{INTERNAL_PORT}"

        brokers = [*cluster.brokers.values()]
        peers = ",".join(f"{broker.node_id}@{reached_at(at)}" for at, broker in enumerate(brokers[:-1]))
        for at, broker in enumerate(brokers):
            found = ["--peers", peers] if broker is not brokers[-1] else ["--join", reached_at(0)]
            # A network of namespaces is this machine's own, though none of its addresses is loopback.
            unguarded = [] if is_loopback(broker.host) else ["--insecure"]
            host = reached_at(at).partition(":")[0]
            broker.flags = ["--internal", broker.internal_address, "--advertise", host, *found, *unguarded]
        del cluster.brokers[brokers[-1].node_id]
        stage = Stage(cluster, brokers[-1], net, network, reached_at)
        stack.callback(stage.clear)
        yield stage
