"""Calamities that wait for an event strike the node to which it happens, when it happens."""

import pytest

from goqueue.fuzz.aiming import CHANGE_EVENTS, DISK_EVENTS, LETTER_EVENTS, Aim
from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.plants.clusters import short_worlds
from goqueue.fuzz.world import World

_S = 1_000_000_000


def world_of_three() -> World:
    """Three machines on which nothing fails."""
    world = World(1, short_worlds())
    world.begin()
    return world


def live_until(world: World, until: int) -> None:
    """Let time pass."""
    while world.step(until):
        pass


@pytest.mark.parametrize(
    ("event", "strike"),
    [("append", "crash"), ("metadata sync", "kill"), ("granted vote", "crash"), ("kept", "kill"), ("office", "kill")],
)
def test_a_node_dies_at_the_event_that_was_waited_for(event: str, strike: str) -> None:
    world = world_of_three()
    aim = Aim(event, strike, passed_by=0, after=0, is_anywhere=True)
    world.aiming.arm(aim, world.processes[0], 2 * _S)
    live_until(world, 8 * _S)
    world.close()
    assert world.counts[f"aimed at {event}"] == 1
    assert world.counts["crash" if strike == "crash" else "kill or stop"] == 1


def test_a_death_may_come_some_operations_after_its_event() -> None:
    world = world_of_three()
    process = world.processes[0]
    aim = Aim("new folder", "crash", passed_by=0, after=5, is_anywhere=False)
    world.aiming.arm(aim, process, 60 * _S)
    while process.life == 1:
        assert world.step()
    world.close()
    assert world.counts["aimed at new folder"] == world.counts["crash"] == 1
    assert process.faults.operations_left is None


def test_events_that_pass_by_are_counted() -> None:
    world = world_of_three()
    aim = Aim("metadata append", "pause", passed_by=3, after=0, is_anywhere=False)
    world.aiming.arm(aim, world.processes[1], _S)
    while aim.passed_by == 3:
        assert world.step()
    assert world.processes[1].still_until == 0
    while world.processes[1].still_until == 0:
        assert world.step()
    world.close()
    assert world.counts["aimed at metadata append"] == 1


def test_a_world_that_is_healed_waits_for_nothing() -> None:
    world = world_of_three()
    world.aiming.arm(Aim("append", "crash", 0, 0, is_anywhere=True), world.processes[0], _S)
    world.heal()
    assert all(process.faults.watch is None for process in world.processes)
    world.close()


def test_worlds_with_aimed_calamities_keep_their_promises() -> None:
    verdict = live_through(Case(3, nodes=3, seconds=10, faults=("aimed",)))
    assert verdict.violation is None, verdict.place
    texts = [calamity.text() for calamity in verdict.calamities]
    assert texts
    assert all(
        any(f" at {event} " in text for event in (*DISK_EVENTS, *LETTER_EVENTS, *CHANGE_EVENTS)) for text in texts
    )
