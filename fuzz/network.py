"""The network between clients and the node: connections that deliver late, in order, and sometimes not at all.

A client has one connection at a time, and what it sends on it arrives in the order in which it was sent; so do
answers. Between connections nothing is ordered. A connection ends in one of these ways, and each end learns of it by
itself, or never:

- a client hangs up: what it sent before still arrives, what the node answers is lost;
- the link is cut: both ends notice, at moments of their own, and what is under way by then is lost;
- the link loses one direction silently: the client notices when its patience ends, the node does not;
- the process dies: killed, its system resets the connection; with the machine, nobody does.

A link that stalls loses nothing and delivers late. Whoever waits on a connection that ends does not know whether the
node took the request. What to do about that is the client's business (`workloads/`): the network repeats nothing.

Invariant: a request is in `waiting` from when it was sent until its answer came or the client gave the connection up.
"""

from random import Random
from typing import TYPE_CHECKING

from attrs import define, evolve, field

from goqueue.core.requests.groups import PollGroup, ResetOffsets, WatchGroup
from goqueue.core.requests.messages import Fetch, PublishBatch
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client

if TYPE_CHECKING:
    from goqueue.fuzz.process import Process
    from goqueue.fuzz.world import World


@define(eq=False)
class Connection:
    """One connection of a client to one process; each end has its own opinion of whether it stands."""

    client: Client
    process: "Process"
    life: int
    waiting: dict[int, tuple[int, Request]] = field(factory=dict)
    held: dict[int, None] = field(factory=dict)
    is_up: bool = True
    is_served: bool = True
    is_watched: bool = False
    loses_requests: bool = False
    loses_replies: bool = False
    request_due: int = 0
    reply_due: int = 0

    @property
    def name(self) -> str:
        """Who asks."""
        return self.client.name

    def reply(self, to: int, reply: Reply) -> None:
        """The node has answered."""
        self.process.world.network.reply(self, to, reply)


class Network:
    """All connections of a world."""

    def __init__(self, random: Random, world: "World", options: Options) -> None:
        self._random = random
        self._world = world
        self._delay_ns_max = options.delay_ns_max
        self._patience_ns = options.patience_ns + options.wait_ns_max
        self._connections: dict[str, Connection] = {}

    def _delay(self) -> int:
        return int(self._random.random() * (self._delay_ns_max + 1))

    # --- what clients do

    def is_connected(self, client: Client) -> bool:
        """Whether a client believes that it has a connection."""
        return client.name in self._connections

    def connect(self, client: Client) -> None:
        """Begin a connection to a process that lives."""
        assert not self.is_connected(client)
        living = self._world.living()
        process = living[0] if len(living) == 1 else self._random.choice(living)
        self._connections[client.name] = Connection(client, process, process.life)

    def send(self, client: Client, to: int, request: Request) -> None:
        """Put a request on its way; `Client.answered` or `Client.lost` tells what came of it."""
        world, connection = self._world, self._connections[client.name]
        wait_ns = request.wait_ns if isinstance(request, Fetch | WatchGroup | PollGroup) else 0
        patience_ns = max(self._patience_ns, world.options.patience_ns + wait_ns)
        connection.waiting[to] = (world.now + patience_ns, request)
        if not connection.is_watched:
            connection.is_watched = True
            world.later(patience_ns, self._watch, connection)
        self._put(connection, to, _copied(request))

    def _put(self, connection: Connection, to: int, request: Request) -> None:
        world = self._world
        connection.request_due = max(world.now + self._delay(), connection.request_due)
        world.later(connection.request_due - world.now, self._arrive, (connection, to, request))

    def hang_up(self, client: Client) -> None:
        """The client gives its connection up; the node learns of it behind all that was sent before."""
        connection = self._connections.get(client.name)
        if connection is not None:
            connection.request_due = max(self._world.now + self._delay(), connection.request_due)
            self._world.later(connection.request_due - self._world.now, self._fin, connection)
            self._give_up(connection)

    def _watch(self, connection: Connection) -> None:
        """Give up when a request has waited too long."""
        if not connection.is_up:
            return
        if not connection.waiting:
            connection.is_watched = False
            return
        due = min(due for due, _ in connection.waiting.values())
        if due <= self._world.now:
            self._lose_patience(connection)
        else:
            self._world.later(due - self._world.now, self._watch, connection)

    def _lose_patience(self, connection: Connection) -> None:
        self._world.count("patience at its end")
        self.hang_up(connection.client)

    def _give_up(self, connection: Connection) -> None:
        if not connection.is_up:
            return
        connection.is_up = False
        client = connection.client
        del self._connections[client.name]
        waiting, connection.waiting = connection.waiting, {}
        client.in_flight, client.now = 0, self._world.now
        client.patience_until = max(client.patience_until, self._world.now + self._random.randint(0, 2_000_000))
        for _, request in waiting.values():
            self._world.scribe.lost(request)
            client.lost(request)
        self._world.unpark(client)

    # --- what arrives

    def _arrive(self, sent: tuple[Connection, int, Request]) -> None:
        connection, to, request = sent
        if connection.loses_requests:
            return
        if self._is_served(connection):
            connection.held[to] = None
            connection.process.receive(to, connection, request)
        elif connection.process.is_up and not connection.loses_replies:
            # A system that knows nothing of a connection resets it.
            self._world.later(self._delay(), self._give_up, connection)

    def _fin(self, connection: Connection) -> None:
        if not connection.loses_requests:
            self._node_notices(connection)

    def _node_notices(self, connection: Connection) -> None:
        """The node learns that a connection is gone, and forgets who waits there."""
        if self._is_served(connection):
            connection.is_served = False
            held, connection.held = connection.held, {}
            self._world.forget(connection.process, held)

    def _is_served(self, connection: Connection) -> bool:
        process = connection.process
        return connection.is_served and process.is_up and connection.life == process.life

    def reply(self, connection: Connection, to: int, reply: Reply) -> None:
        """Send an answer of the node on its way back."""
        world = self._world
        connection.held.pop(to, None)
        connection.reply_due = max(world.now + self._delay(), connection.reply_due)
        world.later(connection.reply_due - world.now, self._come_back, (connection, to, reply))

    def _come_back(self, sent: tuple[Connection, int, Reply]) -> None:
        connection, to, reply = sent
        if connection.is_up and not connection.loses_replies:
            self._hear(connection, to, reply)

    def _hear(self, connection: Connection, to: int, reply: Reply) -> None:
        _, request = connection.waiting.pop(to)
        client = connection.client
        client.in_flight -= 1
        self._world.deliver(client, request, reply)

    # --- what goes wrong

    def trouble(self) -> None:
        """Draw a connection, and let something happen to it as the options say."""
        world, random, options = self._world, self._random, self._world.options
        if not self._connections:
            return
        assert world.trouble is not None
        connection, strikes_home = self._connections[random.choice(list(self._connections))], world.trouble.strikes_home
        if random.random() < options.p_cut and strikes_home():
            world.count("link cut")
            self.cut(connection)
        if random.random() < options.p_hang_up and strikes_home():
            world.count("hang-up")
            self.hang_up(connection.client)
        if random.random() < options.p_half_open:
            loses_requests = random.random() < 0.5
            if strikes_home():
                world.count("link half open")
                connection.loses_requests = connection.loses_requests or loses_requests
                connection.loses_replies = connection.loses_replies or not loses_requests
        if random.random() < options.p_stall:
            until = self._world.now + random.randint(0, 2 * self._patience_ns)
            if not strikes_home():
                return
            world.count("link stalled")
            connection.request_due = max(connection.request_due, until)
            connection.reply_due = max(connection.reply_due, until)
        self._worsen(connection)

    def _worsen(self, connection: Connection) -> None:
        """Something may have happened to a link."""

    def cut(self, connection: Connection) -> None:
        """Cut a link: each end notices some time later, and what has not arrived by then never does."""
        self._world.later(self._delay(), self._node_notices, connection)
        self._world.later(self._delay(), self._give_up, connection)

    def started(self, process: "Process") -> None:
        """A process has begun."""

    def leaving(self, process: "Process") -> None:
        """A process is about to stop."""

    def node_died(self, process: "Process", *, silently: bool) -> None:
        """The process is gone; with its machine, nobody tells the clients."""
        for connection in list(self._connections.values()):
            if connection.process is process and not silently and not connection.loses_replies:
                self._world.later(self._delay(), self._give_up, connection)

    def heal(self) -> None:
        """From here on links lose nothing; those that did are cut."""
        for connection in list(self._connections.values()):
            if connection.loses_requests or connection.loses_replies:
                connection.loses_requests = connection.loses_replies = False
                self.cut(connection)


def _copied(request: Request) -> Request:
    """What arrives is not what was sent: the node stamps and changes it."""
    if isinstance(request, PublishBatch):
        return PublishBatch(request.topic, request.partition, bytearray(request.batch), request.acks, due=request.due)
    if isinstance(request, Fetch):
        return Fetch(request.topic, request.partition, request.offset, request.max_bytes, request.wait_ns)
    if isinstance(request, ResetOffsets):
        return evolve(request, found={})
    return request
