"""Answers that rest on records which are not durable yet, each until all that it rests on is, or will never be.

Invariant: an answer is given once, or refused, or forgotten.
"""

from collections import deque
from collections.abc import Iterable

from attrs import define, field

from goqueue.core.queues.errands import Slot
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.requests.call import Call


@define(eq=False)
class Held:
    """An answer, and how many ledgers are behind with it."""

    call: Call
    answer: object
    # The round of polls that it is a part of; 0 for none.
    round: int = 0
    missing: int = 0
    is_over: bool = False


@define(eq=False)
class Holding:
    """All answers that are held back."""

    _by_slot: dict[Slot, deque[tuple[int, Held]]] = field(factory=dict)
    _by_call: dict[Call, Held] = field(factory=dict)
    _by_round: dict[int, Held] = field(factory=dict)

    def hold(self, call: Call, answer: object, books: Iterable[QueueLedger], round_: int = 0) -> bool:
        """Hold an answer until all that was written to some ledgers so far is durable; False if that is so already."""
        held = Held(call, answer, round_)
        for book in books:
            if book.durable < book.appended:
                self._by_slot.setdefault(book.slot, deque()).append((book.appended, held))
                held.missing += 1
        if held.missing:
            self._by_call[call] = held
            if round_:
                self._by_round[round_] = held
        return held.missing > 0

    def durable(self, book: QueueLedger) -> list[Held]:
        """A ledger is more durable than it was: the answers that rest on nothing else."""
        line = self._by_slot.get(book.slot)
        given: list[Held] = []
        while line and line[0][0] <= book.durable:
            _, held = line.popleft()
            held.missing -= 1
            if not held.missing and not held.is_over:
                given.append(self._end(held))
        if line is not None and not line:
            del self._by_slot[book.slot]
        return given

    def void(self, slot: Slot) -> list[Held]:
        """A ledger was lost: the answers that rest on it."""
        line = self._by_slot.pop(slot, None) or ()
        return [self._end(held) for _, held in line if not held.is_over]

    def forget(self, call: Call) -> object | None:
        """Nobody waits for an answer any more; what it was."""
        held = self._by_call.get(call)
        return None if held is None else self._end(held).answer

    def end_round(self, round_: int) -> Held | None:
        """A round is over: the answer that was held for it, of which nobody will hear."""
        held = self._by_round.get(round_)
        return None if held is None else self._end(held)

    def _end(self, held: Held) -> Held:
        held.is_over = True
        del self._by_call[held.call]
        if self._by_round.get(held.round) is held:
            del self._by_round[held.round]
        return held

    def check(self) -> None:
        """Assert the invariants."""
        waiting = {held.call for line in self._by_slot.values() for _, held in line if not held.is_over}
        assert waiting == self._by_call.keys()
        assert all(self._by_call.get(held.call) is held for held in self._by_round.values())
        for line in self._by_slot.values():
            numbers = [number for number, _ in line]
            assert numbers == sorted(numbers)
