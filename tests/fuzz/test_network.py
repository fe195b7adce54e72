"""The network of a world: in order on one connection, and silent about what it lost."""

from random import Random

import pytest

from goqueue.core.requests.messages import Fetch, PublishBatch
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import DescribeTopic
from goqueue.fuzz.network import Connection
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client
from goqueue.fuzz.world import World


class Listener(Client):
    """Writes down what it hears."""

    def __init__(self) -> None:
        super().__init__("listener", Random(1), Options())
        self.heard: list[str] = []
        self.missed: list[str] = []

    def next_request(self) -> Request | None:
        """It asks when the test says so."""
        return None

    def answered(self, request: Request, reply: Reply) -> None:
        """An answer came."""
        assert isinstance(request, DescribeTopic)
        self.heard.append(request.name)

    def lost(self, request: Request) -> None:
        """No answer will come."""
        assert isinstance(request, DescribeTopic)
        self.missed.append(request.name)


def world_with(listener: Listener, delay_ns_max: int = 1_000_000) -> World:
    """A world in which a process has started, and nobody else asks anything."""
    world = World(3, Options(producers=0, consumers=0, delay_ns_max=delay_ns_max))
    world.trouble = None
    world.later(0, world.processes[0].start)
    world.step(1_000_000_000)
    world.later(0, lambda _: world.network.connect(listener))
    while world.step(1_000_000_000):
        pass
    listener.is_parked = False
    return world


def ask(world: World, listener: Listener, *names: str) -> None:
    """Send questions, one after another."""
    for name in names:
        world._last_to += 1
        listener.in_flight += 1
        world.network.send(listener, world._last_to, DescribeTopic(name))


def rest(world: World, ns: int = 1_000_000_000) -> None:
    """Let time pass."""
    until = world.now + ns
    while world.step(until):
        pass


NAMES = [str(number) for number in range(30)]


def test_what_is_sent_on_one_connection_stays_in_order() -> None:
    listener = Listener()
    world = world_with(listener, 20_000_000)
    ask(world, listener, *NAMES)
    rest(world)
    assert listener.heard == NAMES
    assert listener.in_flight == 0


def test_a_stalled_link_loses_nothing() -> None:
    listener = Listener()
    world = world_with(listener)
    connection = world.network._connections["listener"]
    connection.request_due = world.now + 20_000_000
    ask(world, listener, *NAMES)
    rest(world, 19_000_000)
    assert listener.heard == []
    rest(world)
    assert listener.heard == NAMES


def test_a_cut_link_tells_the_client_that_it_does_not_know() -> None:
    listener = Listener()
    world = world_with(listener)
    ask(world, listener, *NAMES)
    world.network.cut(world.network._connections["listener"])
    rest(world)
    assert listener.heard + listener.missed == NAMES
    assert listener.missed
    assert not world.network.is_connected(listener)


@pytest.mark.parametrize("direction", ["loses_requests", "loses_replies"])
def test_a_half_open_link_ends_with_the_clients_patience(direction: str) -> None:
    listener = Listener()
    world = world_with(listener)
    connection = world.network._connections["listener"]
    setattr(connection, direction, True)
    ask(world, listener, *NAMES)
    rest(world, 40_000_000)
    assert (listener.heard, listener.missed) == ([], [])
    rest(world)
    assert (listener.heard, listener.missed) == ([], NAMES)
    took = world.counts.get("request DescribeTopic", 0)
    assert took == (0 if direction == "loses_requests" else len(NAMES))


def test_what_was_sent_before_hanging_up_still_arrives() -> None:
    listener = Listener()
    world = world_with(listener)
    ask(world, listener, *NAMES)
    world.network.hang_up(listener)
    assert listener.missed == NAMES
    rest(world)
    assert world.counts["request DescribeTopic"] > 0
    assert listener.heard == []


@pytest.mark.parametrize("crash", [False, True])
def test_a_killed_process_resets_its_connections_and_a_dead_machine_does_not(crash: bool) -> None:
    listener = Listener()
    world = world_with(listener)
    ask(world, listener, *NAMES)
    world.processes[0].die(crash=crash)
    rest(world, 2_000_000)
    assert listener.missed == ([] if crash else NAMES)
    rest(world)
    assert listener.missed == NAMES
    assert listener.heard == []


def test_a_request_to_a_process_that_is_gone_is_answered_by_a_reset() -> None:
    listener = Listener()
    world = world_with(listener)
    world.processes[0].die(crash=True)
    rest(world)
    assert world.network.is_connected(listener)
    ask(world, listener, "late")
    rest(world, 3_000_000)
    assert listener.missed == ["late"]


def test_the_node_gets_a_copy_of_what_it_changes() -> None:
    sent: list[Request] = []
    listener = Listener()
    world = world_with(listener)

    def receive(to: int, connection: Connection, request: Request) -> None:
        sent.append(request)

    world.processes[0].receive = receive  # type: ignore[method-assign, assignment]
    batch, fetch = PublishBatch("t", 0, bytearray(b"x")), Fetch("t", 0, 5)
    world.network.send(listener, 1000, batch)
    world.network.send(listener, 1001, fetch)
    rest(world, 10_000_000)
    assert sent == [batch, fetch]
    assert isinstance(sent[0], PublishBatch)
    assert sent[0].batch is not batch.batch
    assert sent[1] is not fetch
