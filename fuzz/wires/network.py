"""Clients on real connections: what they ask goes as bytes through a simulated socket, and so do the answers.

A client has one line at a time, on which its requests are calls that overlap. What has no form on the wire goes as an
object, as in worlds without wires (`fuzz/network.py`), and so the two have the same faults: a link that is cut, stalls,
is given up by its client, or goes dead in one direction.

What the node answered must be what arrives (`comparison.py`).
"""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import trio
from attrs import define

from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.history import Violation
from goqueue.fuzz.network import Connection, Network
from goqueue.fuzz.options import Options
from goqueue.fuzz.wires.comparison import Comparison
from goqueue.fuzz.wires.fabric import Fabric, Host
from goqueue.fuzz.wires.front import PORT, Errand, Front
from goqueue.fuzz.wires.lines import GrpcLine
from goqueue.fuzz.wires.tasks import raised
from goqueue.fuzz.workloads.client import Client

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.world import World


# For so long nothing moves on a connection only where nothing is to be said.
_STILL_NS = 40_000_000


@define(eq=False)
class Link:
    """A client's side of one connection."""

    network: "WiredNetwork"
    connection: Connection
    host: Host
    there: Host
    comparison: Comparison
    line: GrpcLine | None = None
    scope: trio.CancelScope | None = None

    def heard(self, to: int, reply: Reply) -> None:
        """See Listening."""
        self.network.later(self.network.come_back, (self, to, reply))

    def broken(self, why: str) -> None:
        """See Listening."""
        self.network.later(self.network.forsake, (self.connection, why))

    def wronged(self, violation: Violation) -> None:
        """See Listening."""
        self.network.later(raised, violation)


class WiredNetwork(Network):
    """See the module."""

    def __init__(self, random: Random, world: "World", options: Options, fabric: Fabric) -> None:
        super().__init__(random, world, options)
        self._fabric = fabric
        self._links: dict[str, Link] = {}
        self._clients: dict[str, Client] = {}
        self._fronts: dict[str, Front] = {}
        self._streams = random.random() < 0.5

    def later(self, act: Callable[[Any], None], argument: object) -> None:
        """Let something happen to the world, outside of tasks."""
        self._world.later(0, act, argument)

    # --- processes

    def started(self, process: "Process") -> None:
        """A process has begun: its server as well."""
        host = self._fabric.named(process.node_id)
        assert host is not None
        self._fronts[process.node_id] = Front(process, self._fabric, host, self._client_at, self._saw)

    def leaving(self, process: "Process") -> None:
        """A process is about to stop."""
        self._fronts[process.node_id].leave()

    def node_died(self, process: "Process", *, silently: bool) -> None:
        """The process is gone, and with it whatever it had open."""
        super().node_died(process, silently=silently)
        gone = self._fronts.pop(process.node_id, None)
        if gone is not None:
            gone.scope.cancel()

    def _client_at(self, address: str) -> Client:
        return self._clients[address.rpartition(":")[0]]

    def _saw(self, errand: Errand, reply: Reply) -> None:
        link = self._links.get(errand.client.name)
        if link is not None:
            link.comparison.answered(errand.meaning, errand.request, reply)

    # --- what clients do

    def connect(self, client: Client) -> None:
        """Begin a connection to a process that lives."""
        super().connect(client)
        connection = self._connections[client.name]
        host = self._fabric.named(client.name) or self._fabric.add(client.name)
        there = self._fabric.named(connection.process.node_id)
        assert there is not None
        self._clients[host.ip] = client
        link = self._links[client.name] = Link(self, connection, host, there, Comparison())
        link.line = GrpcLine(host, f"{there.ip}:{PORT}", link, streams=self._streams)
        link.scope = self._fabric.tasks.start(link.line.run)

    def _put(self, connection: Connection, to: int, request: Request) -> None:
        link = self._links[connection.client.name]
        if link.line is None or not link.line.carries(request):
            super()._put(connection, to, request)
            return
        self._world.count("request over the wire")
        self._fabric.tasks.run(partial(link.line.put, to, request))

    def come_back(self, came: tuple[Link, int, Reply]) -> None:
        """An answer has arrived, as bytes said it."""
        link, to, reply = came
        if not link.connection.is_up:
            return
        _, request = link.connection.waiting[to]
        link.comparison.arrived(request, reply)
        self._hear(link.connection, to, reply)

    def forsake(self, broken: tuple[Connection, str]) -> None:
        """Nothing more will come on a connection."""
        connection, why = broken
        if connection.is_up and self._world.options.is_calm:
            raise Violation(f"nothing fails, and the connection of {connection.client.name} broke: {why}")
        self._give_up(connection)

    def _lose_patience(self, connection: Connection) -> None:
        """Where nothing fails, a node that is alone answers what does not wait by itself, or bytes still move."""
        world, link = self._world, self._links.get(connection.client.name)
        waiting = [request for _, request in connection.waiting.values()]
        if link is not None and world.options.is_calm and not any(getattr(one, "wait_ns", 0) for one in waiting):
            still_ns = world.now - self._fabric.last_moved(link.host, link.there)
            if world.options.nodes == 1 and still_ns > _STILL_NS:
                raise Violation(f"nothing fails, and on the wire nothing moves: {waiting}"[:500])
        super()._lose_patience(connection)

    def _give_up(self, connection: Connection) -> None:
        link = self._links.get(connection.client.name)
        if link is not None and link.connection is connection:
            del self._links[connection.client.name]
            assert link.scope is not None
            link.scope.cancel()
            self._fabric.tasks.stir()
        super()._give_up(connection)

    # --- what goes wrong

    def cut(self, connection: Connection) -> None:
        """Cut a link: each end notices some time later, and what has not arrived by then never does."""
        super().cut(connection)
        link = self._links.get(connection.client.name)
        if link is not None:
            self._fabric.break_between(link.host, link.there)

    def _worsen(self, connection: Connection) -> None:
        link = self._links.get(connection.client.name)
        if link is None:
            return
        out, back = self._fabric.passage(link.host, link.there), self._fabric.passage(link.there, link.host)
        if connection.loses_requests:
            self._fabric.lose(link.host, link.there)
        if connection.loses_replies:
            self._fabric.lose(link.there, link.host)
        out.still_until = max(out.still_until, connection.request_due)
        back.still_until = max(back.still_until, connection.reply_due)
