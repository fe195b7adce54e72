"""A sorted set of times and numbers is what a sorted list is, however it was filled."""

from bisect import bisect_left
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from goqueue.core.delays.agenda import Agenda

times = st.integers(0, 40)
numbers = st.integers(0, 400)


class AgendaModel(RuleBasedStateMachine):
    """Beside a plain sorted list."""

    def __init__(self) -> None:
        super().__init__()
        self.agenda = Agenda()
        self.model: list[tuple[int, int]] = []
        self.next_number = 1000

    @rule(time=times, number=numbers)
    def add(self, time: int, number: int) -> None:
        if (time, number) not in self.model:
            self.agenda.add(time, number)
            self.model = sorted([*self.model, (time, number)])

    @rule(time=times, count=st.integers(1, 3000))
    def add_many(self, time: int, count: int) -> None:
        items = [(time, self.next_number + at) for at in range(count)]
        self.next_number += count
        for item in items:
            self.agenda.add(*item)
        self.model = sorted([*self.model, *items])

    @precondition(lambda self: self.model)
    @rule(choice=st.randoms(use_true_random=False))
    def drop(self, choice: Random) -> None:
        item = self.model.pop(choice.randrange(len(self.model)))
        self.agenda.drop(*item)

    @rule(count=st.integers(0, 2000))
    def drop_from_the_front(self, count: int) -> None:
        for item in self.model[:count]:
            self.agenda.drop(*item)
        self.model = self.model[count:]

    @rule(time=st.integers(0, 41), number=numbers, count=st.integers(0, 50))
    def read_a_page(self, time: int, number: int, count: int) -> None:
        page = [item for item, _ in zip(self.agenda.since(time, number), range(count), strict=False)]
        begin = bisect_left(self.model, (time, number))
        assert page == self.model[begin : begin + count]

    @invariant()
    def agrees(self) -> None:
        self.agenda.check()
        assert len(self.agenda) == len(self.model)
        assert self.agenda.first == (self.model[0][0] if self.model else None)


TestAgendaModel = AgendaModel.TestCase
TestAgendaModel.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


def test_ten_thousand_in_any_order_come_out_in_order() -> None:
    random = Random(1)
    items = [(random.randrange(1 << 47), number) for number in range(10_000)]
    agenda = Agenda()
    for time, number in items:
        agenda.add(time, number)
    agenda.check()
    assert list(agenda.since(0, 0)) == sorted(items)
    for item in items:
        agenda.drop(*item)
    assert len(agenda) == 0
