"""What stands still is seen, whatever it is that does, and a verdict says who waits for whom."""

import threading

import pytest

from goqueue.fuzz import watchdog
from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.history import Violation
from goqueue.fuzz.report import explain_violation
from goqueue.fuzz.sim import Verdict, run_world
from goqueue.fuzz.watchdog import EVENTS_A_SECOND_MAX, EVENTS_AT_ONCE_MAX, TAKES_MAX, WORK_THREAD, Turn, Watchdog


def nothing(_: object) -> None:
    """An event."""


def first_broken(plant: str, *without: str) -> tuple[Case, Verdict]:
    """The first world that shows a plant, where these clients are not there."""
    cases = (Case(seed, plant=plant, without=without) for seed in range(10))
    return next((case, verdict) for case in cases if (verdict := live_through(case)).violation is not None)


def test_many_events_at_one_time_stand_still() -> None:
    dog = Watchdog()
    for _ in range(EVENTS_AT_ONCE_MAX):
        dog.event(5, None, nothing)
    with pytest.raises(Violation, match=r"time stands still: .* the last of them nothing"):
        dog.event(5, None, nothing)


def test_as_many_events_at_different_times_do_not() -> None:
    dog = Watchdog()
    for at in range(EVENTS_A_SECOND_MAX):
        dog.event(at, None, nothing)
    with pytest.raises(Violation, match="time hardly passes"):
        dog.event(EVENTS_A_SECOND_MAX, None, nothing)


def test_a_second_that_is_over_counts_no_more() -> None:
    dog = Watchdog()
    for second in range(3):
        for at in range(EVENTS_A_SECOND_MAX):
            dog.event(second * 1_000_000_000 + at, None, nothing)
    assert dog.events == 3 * EVENTS_A_SECOND_MAX


def test_a_turn_without_end_is_seen() -> None:
    turn = Turn("node-1")
    for _ in range(TAKES_MAX):
        turn.taken()
    with pytest.raises(Violation, match="a turn of node-1 does not end"):
        turn.taken()


def test_work_that_does_not_end_is_ended_with_its_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watchdog, "PATIENCE_S", 1)
    case, verdict = first_broken("recovery-never-ends")
    assert verdict.violation is not None
    assert "the world stands still: Process._go_on of node-1 does not end" in verdict.violation
    assert "in _spin" in verdict.stack
    assert WORK_THREAD not in [thread.name for thread in threading.enumerate()]
    assert live_through(case) == verdict


def test_a_verdict_says_who_waits_for_whom() -> None:
    case, verdict = first_broken("lost-with-its-node")
    told = "\n".join(verdict.waits)
    assert "to answer Publish of t0:" in told
    assert "has passed it on to node-" in told
    assert "knows nothing of it" in told
    report = explain_violation(case, verdict)
    assert "who waits for whom:" in report
    assert "the second run" not in report


def test_a_publish_that_is_forgotten_is_found_where_it_lies() -> None:
    _, verdict = first_broken("followers-unnoticed", "c0")
    assert "has acknowledged it, and nobody has looked since" in "\n".join(verdict.waits)


def test_a_client_that_gets_nowhere_is_seen_while_there_is_trouble() -> None:
    _, verdict = first_broken("office-never-regained")
    assert verdict.violation is not None
    assert "has got nowhere for" in verdict.violation
    assert "it was last refused with:" in verdict.violation


def test_where_nothing_waits_nothing_is_said() -> None:
    assert run_world(3).waits == []


def test_a_world_is_watched_only_in_the_main_thread() -> None:
    verdicts: list[Verdict] = []
    thread = threading.Thread(target=lambda: verdicts.append(run_world(3)))
    thread.start()
    thread.join()
    assert verdicts == [run_world(3)]
