"""Programs of simulated worlds use the real client library: what they do there, and that a seed decides all of it."""

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from goqueue.core.client.failure import CONNECTION_LOST, Failure
from goqueue.core.client.membership import Standing
from goqueue.core.client.work_session import WorkSession, WorkTerms
from goqueue.core.requests.groups import GroupMode, JoinGroup
from goqueue.core.requests.refusals import Outcome
from goqueue.fuzz.options import Options
from goqueue.fuzz.plants.clusters import short_worlds
from goqueue.fuzz.sim import run_world
from goqueue.fuzz.users.loop import SimulatedLoop
from goqueue.fuzz.users.publisher import Publisher, Sent
from goqueue.fuzz.world import World
from goqueue.transports.client.brokers import Brokers
from goqueue.transports.client.errors import ClientError
from goqueue.transports.client.leased_message import LeasedMessage
from goqueue.transports.client.work_stream import WorkStream
from tests.core.client.leased_parts import NOW_MS, SECOND, batch, part


def programs(**others: object) -> Options:
    """A world of one node and few programs."""
    options = Options(
        steps=300, publishers=1, producers=0, consumers=0, topics=1, partitions_max=2, think_ns=60_000_000
    )
    for name, value in others.items():
        setattr(options, name, value)
    return options


@pytest.mark.parametrize("others", [{"readers": 2}, {"laborers": 2}])
def test_a_seed_gives_the_same_world_each_time(others: dict[str, object]) -> None:
    first, second = (run_world(3, options=programs(**others, wire_trouble_ns=300_000_000)) for _ in range(2))
    assert first.violation is None
    assert first.digest == second.digest
    assert first.counts == second.counts
    assert first.counts["wire"] > 1


def test_what_is_published_is_read_and_worked_on() -> None:
    verdict = run_world(1, options=programs(readers=2, laborers=1))
    assert verdict.violation is None
    assert verdict.counts["handed to a reader"] >= verdict.acknowledged - 5
    assert verdict.counts["handed to a laborer"] > 0


def test_with_hardly_any_memory_all_is_done_in_the_end() -> None:
    options = programs(readers=1, laborers=1, answer_bytes_max=2_000, publish_bytes_max=1, stream_bytes_max=1)
    verdict = run_world(2, options=options)
    assert verdict.violation is None
    assert verdict.counts["handed to a reader"] > 0


def test_programs_of_a_cluster_go_to_the_leaders() -> None:
    options = short_worlds("kill", producers=0, consumers=0, publishers=1, readers=1, seconds=8, partitions_max=3)
    verdict = run_world(4, options=options)
    assert verdict.violation is None
    # One connection for whatever any broker can answer, and others straight to leaders.
    assert verdict.counts["wire"] > 3
    assert verdict.counts["handed to a reader"] > 0


def test_a_member_that_cannot_connect_hands_back_in_time_what_it_holds_and_waits() -> None:
    """Time passes for what it holds also while there is no stream: else it would be due at once, for ever."""
    world = World(1, Options(producers=0, consumers=0))
    loop = SimulatedLoop(world, "b0", Random(1))
    brokers = Brokers(loop, ["node-1:9000"], random=Random(2), clock=loop.now)
    join = JoinGroup("crew", ["jobs"], session_timeout_ms=30_000, mode=GroupMode.SHARED)
    session: WorkSession[LeasedMessage] = WorkSession(WorkTerms(join, 10, 1 << 20, SECOND), Random(3), LeasedMessage)
    session.standing = Standing.MEMBER
    session.leased(loop.now(), part(batch(0, 3), (0, 3), span_ms=1_000), NOW_MS)
    session.opened()
    session.lost(loop.now(), Failure(CONNECTION_LOST, "cut"))
    WorkStream(brokers, session, lambda: None, lambda: None)
    while world.step(5 * SECOND):
        pass
    assert session.handed_back == 3
    loop.end()


def sent(name: bytes, since_s: int, error: ClientError | None = None) -> Sent:
    """A message without an answer, or one that failed."""

    def fail() -> None:
        assert error is not None
        raise error

    pending: Any = SimpleNamespace(done=error is not None, result=fail)
    return Sent(name, "t0", pending, since_s * SECOND, is_later=False)


@pytest.mark.parametrize(("outcome", "patience_s"), [(Outcome.NONE, 15), (Outcome.UNKNOWN, 61)])
def test_what_waits_behind_one_that_failed_and_may_be_stored_has_its_own_time(
    outcome: Outcome, patience_s: int
) -> None:
    """Others in doubt behind it keep their numbers until their time is over; no other failure excuses anybody."""
    world = World(1, Options(producers=0, consumers=0))
    # One that gives each message a minute.
    publisher = Publisher(world, "x0", Random(2))
    publisher.is_idempotent, publisher.calm_since = True, 0
    refused = ClientError("too far ahead", "invalid_timestamp", outcome=outcome)
    publisher.open = [sent(b"refused", 100, refused), sent(b"behind", 100)]
    world.now = (100 + patience_s) * SECOND
    publisher.look()
    assert publisher.flaws == []
    world.now += 1
    publisher.look()
    assert len(publisher.flaws) == 1
