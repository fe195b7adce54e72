"""Cursors that are paused, dropped, read again and moved at any moment: each hands out what comes next, only that."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from goqueue.core.client.fetching import PAUSED_BYTES, Cursor, Fetching
from tests.core.client.test_client_fetching import Taken, batch, drained

PARTITIONS = 3
CURSORS = st.integers(0, PARTITIONS - 1)


def test_a_paused_cursor_keeps_what_came_and_has_enough_at_some_point() -> None:
    cursors = [Cursor("orders", partition, 0, 0) for partition in range(2)]
    fetching = Fetching(cursors, Taken)
    fetching.received(cursors[0], batch(0, 3), 3)
    fetching.received(cursors[1], batch(0, 2), 2)
    fetching.pause(cursors[0])
    fetching.received(cursors[0], batch(3, 3), 6)
    assert drained(fetching) == [0, 1]
    assert fetching.wanted() == cursors
    large = batch(6, 3) * (PAUSED_BYTES // len(batch(6, 3)) + 1)
    fetching.received(cursors[0], large, 9)
    assert fetching.is_full(cursors[0])
    assert fetching.wanted() == cursors[1:]
    fetching.resume(cursors[0])
    assert fetching.wanted() == cursors
    assert drained(fetching)[:6] == [0, 1, 2, 3, 4, 5]


def test_a_batch_that_is_taken_back_is_given_again_from_where_it_was_left() -> None:
    cursor = Cursor("orders", 0, 0, 0)
    fetching = Fetching([cursor], Taken)
    fetching.received(cursor, batch(0, 2) + batch(2, 5), 7)
    fetching.next()
    fetching.handed(cursor, 2)
    fetching.next()
    fetching.handed(cursor, 4)
    fetching.take_back(cursor)
    fetching.pause(cursor)
    assert fetching.next() is None
    fetching.resume(cursor)
    assert drained(fetching) == [4, 5, 6]


class Pauses(RuleBasedStateMachine):
    """A reader with a batch in hand, and a broker whose partitions hold every offset."""

    def __init__(self) -> None:
        super().__init__()
        self.cursors = [Cursor("orders", partition, 0, 0) for partition in range(PARTITIONS)]
        self.fetching = Fetching([*self.cursors], Taken)
        self.due = [0] * PARTITIONS
        self.paused: set[int] = set()
        self.dropped: set[int] = set()
        self.hand: list[int] = []
        self.held: Cursor | None = None

    @rule(pick=CURSORS, counts=st.lists(st.integers(1, 5), min_size=1, max_size=3), early=st.integers(0, 2))
    def receive(self, pick: int, counts: list[int], early: int) -> None:
        """Batches come, of which the first may begin before what was asked for."""
        cursor = self.cursors[pick]
        if cursor not in self.fetching.wanted():
            return
        at, batches = max(cursor.fetched - early, 0), b""
        for count in [counts[0] + early, *counts[1:]]:
            batches += batch(at, count)
            at += count
        self.fetching.received(cursor, batches, at)

    @rule(count=st.integers(1, 4))
    def read(self, count: int) -> None:
        """Messages are asked for, one after another."""
        for _ in range(count):
            if not self.hand and not self.refill():
                return
            assert self.held is not None
            pick = self.cursors.index(self.held)
            assert pick not in self.paused | self.dropped
            assert self.hand.pop(0) == self.due[pick]
            self.due[pick] += 1

    def refill(self) -> bool:
        """The next batch, if there is one."""
        self.hand_over()
        found = self.fetching.next()
        if found is None:
            return False
        self.held, self.hand = found[0], [record.offset for record in found[1]]
        return True

    def hand_over(self) -> None:
        """What was in hand is done."""
        if self.held is not None:
            self.fetching.handed(self.held, self.due[self.cursors.index(self.held)])
            self.held, self.hand = None, []

    @rule(pick=CURSORS)
    def pause(self, pick: int) -> None:
        """Nothing of it for a while, not even of the batch in hand."""
        cursor = self.cursors[pick]
        if cursor is self.held:
            self.fetching.handed(cursor, self.due[pick])
            if self.hand:
                self.fetching.take_back(cursor)
                self.hand = []
        self.fetching.pause(cursor)
        self.paused.add(pick)

    @rule(pick=CURSORS)
    def resume(self, pick: int) -> None:
        """And on."""
        self.fetching.resume(self.cursors[pick])
        self.paused.discard(pick)

    @rule(pick=CURSORS)
    def drop(self, pick: int) -> None:
        """It is another's."""
        if self.held is self.cursors[pick]:
            self.hand = []
        self.fetching.drop(self.cursors[pick])
        self.dropped.add(pick)

    @precondition(lambda self: self.dropped)
    @rule()
    def read_again(self) -> None:
        """What was dropped is read again."""
        for pick in sorted(self.dropped):
            self.fetching.cursors.append(self.cursors[pick])
        self.dropped.clear()

    @rule(pick=CURSORS, offset=st.integers(0, 50))
    def seek(self, pick: int, offset: int) -> None:
        """Elsewhere."""
        if self.held is self.cursors[pick]:
            self.held, self.hand = None, []
        self.fetching.seek(self.cursors[pick], offset)
        self.due[pick] = offset

    @invariant()
    def positions_are_right(self) -> None:
        """Where a cursor stands is what comes next, once the batch in hand is done."""
        for pick, cursor in enumerate(self.cursors):
            if cursor is not self.held:
                assert cursor.position == self.due[pick]
            assert cursor.fetched >= cursor.position or cursor is self.held or pick in self.dropped


TestPauses = Pauses.TestCase
TestPauses.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
