"""What a ledger keeps of moves: the same state live, replayed, and restored from a snapshot at any point."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.errors import ProtocolError
from goqueue.core.queues.move_records import (
    Abandoned,
    Arrived,
    Closed,
    Cut,
    DeadRecord,
    Enlisted,
    Intent,
    Job,
    Passed,
    Tally,
)
from goqueue.core.queues.moves import JOBS_REMEMBERED, Moves
from goqueue.core.queues.records import packed
from goqueue.core.requests.deadletters import RedriveState


def intent(moves: Moves, offsets: list[int], topic: str = "orders", job: str = "") -> Intent:
    deaths = packed([0, 1] * len(offsets))
    group = "" if job else "billing"
    place = (topic, 0, moves.producer_id, moves.sequence(topic, 0))
    position = max(offsets) + 1
    return Intent(
        moves.last_number + 1, group, job, *place, 0, 0, 5, packed(offsets), deaths, [""], False, position, 9, 3
    )


def job(redrive_id: str, state: RedriveState = RedriveState.RUNNING) -> Job:
    return Job(
        redrive_id, "orders.dlq", "", False, False, 0, 0, "", "", None, {}, None, None, 1, 9, {0: 0}, {0: 9}, state
    )


def moved(moves: Moves, offsets: list[int], topic: str = "orders", job: str = "") -> None:
    moves.keep(intent(moves, offsets, topic, job))
    moves.keep(Arrived(moves.last_number, len(offsets)))


def state(moves: Moves) -> object:
    sequences = {topic: moves.sequence(topic, 0) for topic in ("a", "b", "orders")}
    gone = [offset for offset in range(100) if offset in moves.gone]
    return moves.producer_id, moves.intent, moves.tallies, moves.jobs, moves.last_number, sequences, gone


STEPS = st.sampled_from(["enlist", "intend", "redrive", "arrive", "abandon", "pass", "close", "cut", "job"])


def step(moves: Moves, name: str, at: int) -> DeadRecord | None:
    """A record that may come next in this state, if one of that kind may."""
    if name == "enlist" and moves.intent is None:
        return Enlisted(1000 + at)
    if name in ("intend", "redrive") and moves.intent is None and moves.producer_id >= 0:
        return intent(moves, [at, at + 2], "ab"[at % 2], "job" if name == "redrive" else "")
    if name == "arrive" and moves.intent is not None:
        return Arrived(moves.intent.number, 2 - at % 2)
    if name == "abandon" and moves.intent is not None:
        return Abandoned(moves.intent.number)
    if name == "pass":
        return Passed("job", at, at, 1, 1, packed([at, at + 1]))
    if name == "close":
        return Closed("job")
    if name == "cut" and moves.intent is None:
        return Cut(at)
    return job(f"job{at}", [*RedriveState][at % 4]) if name == "job" else None


@given(st.lists(STEPS, max_size=40), st.integers(0, 40))
def test_replay_and_snapshots_give_the_state_that_was(names: list[str], snapshot_at: int) -> None:
    live, contents = Moves(), list[bytes]()
    for at, name in enumerate(names):
        if at == snapshot_at:
            contents += [*live.take(), live.snapshot(0)]
        record = step(live, name, at)
        if record is not None:
            live.keep(record)
        live.check()
    contents += live.take()
    again = Moves()
    for content in contents:
        again.replay(0, content)
        again.check()
    assert state(again) == state(live)


def test_a_stream_that_begins_in_the_middle_is_right_from_its_snapshot_on() -> None:
    live = Moves()
    live.keep(Enlisted(7))
    moved(live, [1, 2])
    live.keep(intent(live, [3]))
    early = live.take()
    live.keep(Arrived(2, 1))
    late = [*live.take(), live.snapshot(0)]
    again = Moves()
    for content in [*early[-1:], *late]:
        again.replay(0, content)
    assert state(again) == state(live)


def test_sequences_go_on_by_target_and_begin_anew_with_another_producer() -> None:
    moves = Moves()
    moves.keep(Enlisted(7))
    moved(moves, [1, 2, 3], "a")
    moved(moves, [4], "b")
    assert (moves.sequence("a", 0), moves.sequence("b", 0), moves.sequence("a", 1)) == (3, 1, 0)
    moves.keep(intent(moves, [5], "a"))
    moves.keep(Abandoned(3))
    assert moves.sequence("a", 0) == 3
    moves.keep(Enlisted(8))
    assert (moves.sequence("a", 0), moves.sequence("b", 0)) == (0, 0)


def test_letters_of_a_redrive_are_gone_when_they_arrived_and_counted_with_it() -> None:
    moves = Moves()
    moves.keep(Enlisted(7))
    moves.keep(intent(moves, [0, 1, 5], job="redrive"))
    assert moves.left(0, 10) == 10
    moves.keep(Arrived(1, 3))
    assert moves.left(0, 10) == 7
    assert moves.tallies == {"redrive": Tally(6, 9, 3, 3)}
    moves.keep(Closed("redrive"))
    assert moves.tallies == {}


def test_the_targets_that_are_remembered_are_bounded() -> None:
    moves = Moves()
    moves.keep(Enlisted(7))
    for at in range(100):
        moved(moves, [at], f"topic{at}")
    moves.check()
    assert moves.sequence("topic99", 0) == 1
    assert moves.sequence("topic0", 0) == 0


def test_the_last_jobs_that_ended_are_remembered_and_all_that_run() -> None:
    moves = Moves()
    moves.keep(job("first"))
    for at in range(JOBS_REMEMBERED + 5):
        moves.keep(job(f"job{at}", RedriveState.DONE))
    moves.check()
    assert "first" in moves.jobs
    assert "job4" not in moves.jobs
    assert "job5" in moves.jobs


@pytest.mark.parametrize("content", [b"", b"\x00", b"\xff" * 20, b"\x02\x02"])
def test_what_is_no_record_is_refused(content: bytes) -> None:
    with pytest.raises(ProtocolError):
        Moves().replay(0, content)
