"""Receipts that come as runs are answered like the same receipts one by one."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.cluster.queue_settings import WorkSettings
from goqueue.core.queues.proving import Outcome
from goqueue.core.requests.queues import ReceiptRun
from tests.core.queues.worked import MS, SECRET, WALL_MS, Worked
from tests.core.seeded_secrets import seal_of


def granted(worked: Worked, count: int) -> ReceiptRun:
    """Everything that a member is given, which is one run, as its receipts."""
    grant = worked.poll("a", count)
    assert grant is not None
    [run] = grant.runs
    assert (run.count, run.until_ms) == (count, WALL_MS + 30_000)
    return ReceiptRun(run.stem, run.first_offset, run.count)


def test_a_run_is_settled_as_a_whole() -> None:
    worked = Worked()
    worked.publish(5_000)
    worked.settings.max_in_flight = 5_000
    answer = worked.queue.ack(0, [granted(worked, 5_000)])
    assert (answer.done, answer.others) == (5_000, [])
    assert worked.queue.floor == 5_000
    assert worked.queue.tally.acked == worked.queue.tally.delivered == 5_000


def test_a_run_that_is_open_in_part_is_done_in_part() -> None:
    worked = Worked()
    worked.publish(10)
    run = granted(worked, 10)
    worked.queue.ack(0, [ReceiptRun(run.stem, 3, 2)])
    worked.queue.nack(0, [ReceiptRun(run.stem, 7)], 1_000)
    answer = worked.queue.ack(0, [ReceiptRun(run.stem, 0, 12)])
    assert answer.done == 7
    assert answer.others == [
        (run.stem, 3, Outcome.SETTLED),
        (run.stem, 4, Outcome.SETTLED),
        (run.stem, 7, Outcome.STALE),
        (run.stem, 10, Outcome.STALE),
        (run.stem, 11, Outcome.STALE),
    ]
    assert worked.queue.floor == 7


def test_runs_that_overlap_count_once_and_are_answered_as_often_as_they_are_shown() -> None:
    worked = Worked()
    worked.publish(10)
    run = granted(worked, 10)
    shown = [ReceiptRun(run.stem, 4, 4), ReceiptRun(run.stem, 2, 4), ReceiptRun(run.stem, 5)]
    assert worked.queue.ack(0, shown).done == 9
    assert worked.queue.tally.acked == 6
    assert worked.queue.counts().in_flight == 4


def test_a_run_over_two_attempts_is_a_forgery_where_it_names_the_wrong_one() -> None:
    worked = Worked()
    worked.publish(4)
    run = granted(worked, 4)
    worked.queue.nack(0, [ReceiptRun(run.stem, 1, 2)], 0)
    worked.queue.release(0, [ReceiptRun(run.stem, 0), ReceiptRun(run.stem, 3)])
    grant = worked.poll("a", 4)
    assert grant is not None
    assert [(each.first_offset, each.count, each.attempt) for each in grant.runs] == [(0, 1, 1), (1, 2, 2), (3, 1, 1)]
    first = grant.runs[0].stem
    answer = worked.queue.ack(0, [ReceiptRun(first, 0, 4)])
    assert answer.done == 2
    assert answer.others == [(first, 1, Outcome.FORGED), (first, 2, Outcome.FORGED)]
    assert worked.queue.ack(0, [ReceiptRun(grant.runs[1].stem, 1, 2)]).done == 2


def test_a_stem_that_was_made_up_and_an_offset_that_cannot_be_are_forged() -> None:
    worked = Worked()
    worked.publish(2)
    run = granted(worked, 2)
    lease = worked.queue.ledger.leases.all()[0].number
    other = seal_of(SECRET, "billing", "orders", 4).stem(lease, 1, "a")
    answer = worked.queue.ack(0, [ReceiptRun(other, 0, 2), ReceiptRun(run.stem, -1, 1), ReceiptRun("?", 0)])
    assert (answer.done, [outcome for _, _, outcome in answer.others]) == (0, [Outcome.FORGED] * 4)
    for attempt in (0, 2, (1 << 16) - 1):
        assert worked.queue.ack(0, [ReceiptRun(worked.queue.seal.stem(lease, attempt, "a"), 0, 2)]).done == 0


def test_a_nack_says_when_the_last_comes_again_and_how_many_never_do() -> None:
    worked = Worked(WorkSettings(max_attempts=2))
    worked.publish(4)
    run = granted(worked, 4)
    assert worked.queue.nack(0, [ReceiptRun(run.stem, 0, 2)], 0).at == 0
    worked.queue.release(0, [ReceiptRun(run.stem, 2, 2)])
    grant = worked.poll("a", 4)
    assert grant is not None
    shown = [ReceiptRun(each.stem, each.first_offset, each.count) for each in grant.runs]
    answer = worked.queue.nack(0, shown, 700)
    assert (answer.done, answer.at, answer.dead) == (4, 700 * MS, 2)


def test_an_extension_says_when_it_ends() -> None:
    worked = Worked()
    worked.publish(1)
    run = granted(worked, 1)
    assert worked.queue.extend(5 * MS, [run], 900).at == 905 * MS
    assert worked.queue.extend(5 * MS, [ReceiptRun(run.stem, 1)], 900).at == 0


@given(
    st.lists(st.integers(0, 29), max_size=6),
    st.lists(st.integers(0, 29), max_size=6),
    st.lists(st.tuples(st.integers(0, 32), st.integers(1, 12)), max_size=8),
)
def test_a_run_is_answered_like_its_receipts_one_by_one(
    settled: list[int], nacked: list[int], shown: list[tuple[int, int]]
) -> None:
    answers = []
    for is_split in (False, True):
        worked = Worked()
        worked.publish(30)
        run = granted(worked, 30)
        worked.queue.ack(0, [ReceiptRun(run.stem, offset) for offset in settled])
        worked.queue.nack(0, [ReceiptRun(run.stem, offset) for offset in nacked], 0)
        runs = [ReceiptRun(run.stem, first, count) for first, count in shown]
        if is_split:
            runs = [ReceiptRun(each.stem, each.first_offset + at) for each in runs for at in range(each.count)]
        answer = worked.queue.ack(0, runs)
        worked.queue.check()
        answers.append((answer.done, answer.others, worked.queue.floor, worked.queue.counts()))
    assert answers[0] == answers[1]
