"""All that is wired in a world: its tasks, its fabric, and the networks that are built on them."""

from functools import partial
from typing import TYPE_CHECKING

from goqueue.fuzz.network import Network
from goqueue.fuzz.options import Options
from goqueue.fuzz.post import Post
from goqueue.fuzz.wires.fabric import Fabric, Host
from goqueue.fuzz.wires.network import WiredNetwork
from goqueue.fuzz.wires.post import WiredPost
from goqueue.fuzz.wires.tasks import Tasks

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.world import World


class Wires:
    """See the module; `close` must come."""

    def __init__(self, world: "World", options: Options) -> None:
        self._world = world
        self._options = options
        self._random = world.random("wires")
        self._post: WiredPost | None = None
        self.fabric = Fabric(world, self._random, self._delay_ns, self._p_damage)
        for number in range(options.nodes):
            name = f"node-{number + 1}"
            self.fabric.add(name, partial(self._still_until, name), is_node=True)
        self.tasks = self.fabric.tasks = Tasks(world, world.random("tasks"), [self.fabric.install])

    def _still_until(self, name: str) -> int:
        process = self._world.machine(name)
        return 0 if process is None else process.still_until

    def _delay_ns(self, here: Host, there: Host) -> int:
        if self._post is not None and here.is_node and there.is_node:
            return self._post.delay_ns()
        return int(self._random.random() * (self._options.delay_ns_max + 1))

    def _p_damage(self, here: Host, there: Host) -> float:
        return self._post.p_damage if self._post is not None and here.is_node and there.is_node else 0.0

    def network(self) -> Network:
        """The network of clients."""
        random = self._world.random("network")
        if not self._options.wire:
            return Network(random, self._world, self._options)
        return WiredNetwork(random, self._world, self._options, self.fabric)

    def post(self) -> Post:
        """The letters between nodes."""
        random = self._world.random("post")
        if not self._options.peer_bytes:
            return Post(random, self._world, self._options)
        self._post = WiredPost(random, self._world, self._options, self.fabric)
        return self._post

    def started(self, process: "Process") -> None:
        """A process has begun: its machine is up."""
        self._host(process).is_up = True

    def died(self, process: "Process", *, silently: bool) -> None:
        """A process is gone, and what it had open is closed; with the machine, nobody says so."""
        self.fabric.end_of_life(self._host(process), silently=silently)

    def _host(self, process: "Process") -> Host:
        host = self.fabric.named(process.node_id)
        assert host is not None
        return host

    def close(self) -> None:
        """End all tasks."""
        self.tasks.close()
