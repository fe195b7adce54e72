"""Acknowledgements that are asked together are answered one by one, as if each had been asked alone."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.requests.queues import AckWork, ReceiptRefusal, ReceiptRun, WorkDone
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.transports.services.settling import RECEIPTS_TOGETHER, AckBatch

WHY = Refusal(Code.RECEIPT_EXPIRED, "somebody else has it")
runs = st.lists(
    st.builds(ReceiptRun, st.sampled_from("ab"), st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=3
)
receipts = st.tuples(st.sampled_from("ab"), st.integers(0, 12))


def answered(shown: list[ReceiptRun], bad: set[tuple[str, int]]) -> tuple[int, set[tuple[str, int]]]:
    """What a request comes to: how many receipts it shows, and which of them are bad."""
    every = spelled(shown)
    return len(every), {one for one in every if one in bad}


def spelled(shown: list[ReceiptRun]) -> list[tuple[str, int]]:
    """Receipts one by one."""
    return [(run.stem, run.first_offset + at) for run in shown for at in range(run.count)]


@given(requests=st.lists(runs, min_size=1, max_size=4), bad=st.sets(receipts, max_size=8))
def test_each_request_is_told_of_its_own_receipts(requests: list[list[ReceiptRun]], bad: set[tuple[str, int]]) -> None:
    sheaf = AckBatch()
    for number, shown in enumerate(requests):
        sheaf.add(number, AckWork(shown), 100)
    asked = sheaf.request("billing")
    assert asked.group == "billing"
    every = [receipt for shown in requests for receipt in spelled(shown)]
    assert spelled(asked.receipts) == every
    count, refused = answered(asked.receipts, bad)
    refusals = [ReceiptRefusal(stem, offset, WHY) for stem, offset in sorted(refused)]
    told = sheaf.answers(WorkDone(count - len(refusals), refusals))
    assert [number for number, _ in told] == [*range(len(requests))]
    assert sheaf.size == 100 * len(requests)
    for (_, done), shown in zip(told, requests, strict=True):
        shown_count, own = answered(shown, bad)
        assert {(one.stem, one.offset) for one in done.refusals} == own
        assert len(done.refusals) == len(own)
        if len(requests) > 1:
            assert done.done == shown_count - len(own)


def test_receipts_that_follow_one_another_are_asked_as_one_run() -> None:
    sheaf = AckBatch()
    shown = [ReceiptRun("a", 4), ReceiptRun("a", 5, 2), ReceiptRun("b", 7), ReceiptRun("b", 9), ReceiptRun("b", 8)]
    for number, run in enumerate(shown):
        sheaf.add(number, AckWork([run]), 0)
    joined = [ReceiptRun("a", 4, 3), ReceiptRun("b", 7), ReceiptRun("b", 9), ReceiptRun("b", 8)]
    assert sheaf.request("") == AckWork(joined)
    assert [run.count for run in shown] == [1, 2, 1, 1, 1]


def test_so_many_receipts_are_asked_together_and_a_larger_request_by_itself() -> None:
    sheaf, one, large = AckBatch(), AckWork([ReceiptRun("a", 0)]), AckWork([ReceiptRun("a", 1, RECEIPTS_TOGETHER * 3)])
    assert sheaf.has_room(large)
    sheaf.add(1, one, 50)
    assert not sheaf.has_room(large)
    while sheaf.has_room(one):
        sheaf.add(2, one, 50)
    assert sheaf.count == RECEIPTS_TOGETHER
