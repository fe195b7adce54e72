"""Groups after the trouble: no more is demanded of them than was promised, also where the coordinator changes."""

import pytest

from goqueue.core.groups.journal import JOURNAL_TOPIC
from goqueue.core.requests.cluster import Drain
from goqueue.core.requests.groups import ListGroups
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.checkers.checker import HEALER, Checker
from goqueue.fuzz.checkers.rebalances import Rebalances
from goqueue.fuzz.history import Asked, Violation
from goqueue.fuzz.options import Options
from goqueue.fuzz.settling import Settling
from goqueue.fuzz.workloads.member import Member
from goqueue.fuzz.world import World

_S = 1_000_000_000
_SESSION_NS = 12 * _S


class Heard(Checker):
    """The answers to whoever asks here."""

    def __init__(self, world: World) -> None:
        super().__init__(world.sight)
        self._world = world
        self._replies: dict[int, Reply] = {}
        world.checkers.append(self)

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Keep it."""
        if asked.client == HEALER:
            self._replies[asked.to] = reply

    def ask(self, request: Request) -> Reply:
        """Ask a node, and wait for its answer."""
        to = self._world.ask(request)
        while to not in self._replies:
            assert self._world.step()
        return self._replies.pop(to)


def pass_by(world: World, span_ns: int) -> None:
    """Let time pass."""
    until = world.now + span_ns
    while world.step(until):
        pass


def coordinator(world: World) -> str:
    """The node that leads the groups."""
    return world.sight.topics()[JOURNAL_TOPIC].placements[0].leader


@pytest.fixture
def settled() -> tuple[World, Settling, Heard]:
    """Three nodes on which a group has come to rest, whose members then fall silent."""
    options = Options(nodes=3, seconds=5, steps=0, replicas_max=3, members=2, producers=1, topics=1)
    options.think_ns = 200_000_000
    options.session_ms_max = _SESSION_NS // 1_000_000
    world = World(1, options)
    for client in world.clients:
        if isinstance(client, Member):
            client._session_ms = options.session_ms_max
            client._begin()
    heard = Heard(world)
    settling = Settling(world, heard.ask)
    world.begin()
    pass_by(world, 5 * _S)
    world.heal()
    settling.run()
    return world, settling, heard


def test_members_have_a_whole_session_after_a_change_of_coordinators(settled: tuple[World, Settling, Heard]) -> None:
    world, settling, heard = settled
    former = coordinator(world)
    pass_by(world, 4 * _S)
    heard.ask(Drain(former, True))
    pass_by(world, _SESSION_NS - 3 * _S)
    assert coordinator(world) != former
    rebalances = next(one for one in world.checkers if isinstance(one, Rebalances))
    heard.ask(ListGroups())
    assert rebalances.are_any_left()
    settling.see_end()
    assert rebalances.groups
    assert not rebalances.are_any_left()
    world.close()


def test_a_member_that_never_goes_is_refused(settled: tuple[World, Settling, Heard]) -> None:
    world, settling, _ = settled
    for client in world.clients:
        if isinstance(client, Member):
            client.goes_on = client.is_parked = True
            world.unpark(client)
    with pytest.raises(Violation, match="all members are silent"):
        settling.see_end()
    world.close()
