"""The set of letters that are gone, against a plain set."""

from hypothesis import given
from hypothesis import strategies as st

from goqueue.core.queues.gone import PAGE, Gone

OFFSETS = st.integers(0, 5 * PAGE)
RUNS = st.tuples(OFFSETS, st.integers(1, 2 * PAGE)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(st.one_of(RUNS, OFFSETS), max_size=30), RUNS)
def test_it_holds_what_a_set_would(steps: list[tuple[int, int] | int], asked: tuple[int, int]) -> None:
    gone, model = Gone(), set[int]()
    for step in steps:
        if isinstance(step, tuple):
            gone.add(*step)
            model.update(range(*step))
        else:
            gone.cut(step)
            model = {offset for offset in model if offset < step}
        gone.check()
    assert gone.count(*asked) == sum(offset in model for offset in range(*asked))
    assert all((offset in gone) == (offset in model) for offset in range(0, 8 * PAGE, 7))
    assert gone.end == max(model, default=-1) + 1


def test_a_letter_that_is_left_at_the_start_costs_no_page_for_each_that_is_gone() -> None:
    gone = Gone()
    gone.add(1, 100 * PAGE)
    pages = [*gone.pages.values()]
    assert len({id(page) for page in pages}) <= 2
    gone.add(0, 1)
    assert not gone.pages
    assert gone.floor == 100 * PAGE


def test_what_was_saved_by_pages_is_what_it_was() -> None:
    gone = Gone()
    for run in ((0, 10), (20, 30), (PAGE, 3 * PAGE)):
        gone.add(*run)
    again = Gone()
    again.add(0, gone.floor)
    for number, page in gone.pages.items():
        again.restore(number, bytes(page))
    again.check()
    assert [offset for offset in range(4 * PAGE) if offset in again] == [
        offset for offset in range(4 * PAGE) if offset in gone
    ]
