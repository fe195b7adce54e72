"""Looks for an order in which a register could have taken some events, each between its two moments.

The search is that of Wing and Gong with Lowe's memory: take any event before which no other one had to come, see
whether the register allows it, and go on from there; what was tried once, a set of events taken and what the register
then held, is not tried again. An event of unknown outcome may be taken at any moment after it began, or never; one that
would change nothing is not worth taking. Registers are independent of each other, so each is searched by itself.

The search is bounded by how many such sets it tries. Beyond that it says that it does not know.
"""

from collections.abc import Hashable, Sequence
from enum import StrEnum

from attrs import define

from goqueue.fuzz.histories.registers.models import Event, Model

TRIED_MAX = 200_000
# Kinds of events that change nothing.
OBSERVING = ("read", "see", "there", "not there")


class Answer(StrEnum):
    """Whether there is such an order; `TIRED` where the bound came first."""

    YES = "yes"
    NO = "no"
    TIRED = "tired"


@define(eq=False)
class _Node:
    """The beginning or the end of an event in the list of those that are not taken."""

    event: int
    is_begin: bool
    before: "_Node | None" = None
    after: "_Node | None" = None
    # Of a beginning: the end, if there is one.
    end: "_Node | None" = None


def search(model: Model, events: Sequence[Event], tried_max: int = TRIED_MAX) -> Answer:
    """Whether the events have an order that the register allows."""
    attempt = _Attempt(model, events)
    tried = {(0, model.initial)}
    at = attempt.see_all()
    while attempt.certain:
        if at is not None and at.is_begin:
            event = events[at.event]
            stepped = model.step(attempt.state, event)
            key = (attempt.taken | 1 << at.event, stepped[0]) if stepped is not None else None
            is_worth = event.is_certain or (stepped is not None and stepped[0] != attempt.state)
            if key is not None and is_worth and key not in tried:
                if len(tried) >= tried_max:
                    return Answer.TIRED
                tried.add(key)
                attempt.take(at, key[1])
                at = attempt.see_all()
            else:
                at = at.after
            continue
        # An end that nobody can go past, or the end of the list: what was taken last was taken too early.
        last = attempt.take_back()
        if last is None:
            return Answer.NO
        at = last.after
    return Answer.YES


class _Attempt:
    """An order as far as it has come: what was taken, and what the register then holds.

    What only looks at the register, and may by now, is taken as soon as it sees what is there: it changes nothing,
    so to take it later cannot help, and whoever takes back what came before takes it back as well.
    """

    def __init__(self, model: Model, events: Sequence[Event]) -> None:
        self.state: Hashable = model.initial
        self.taken = 0
        self.certain = sum(one.is_certain for one in events)
        self._model = model
        self._events = events
        self._head = _list(events)
        # What was taken, what the register held before, and whether it was by choice.
        self._stack: list[tuple[_Node, Hashable, bool]] = []

    def see_all(self) -> _Node | None:
        """Take all that looks at the register and sees what is there; what is first in the list after that."""
        at = self._head.after
        while at is not None and at.is_begin:
            event, after = self._events[at.event], at.after
            if event.kind in OBSERVING and self._model.step(self.state, event) is not None:
                self.take(at, self.state, by_choice=False)
                after = self._head.after if after is at.end else after
            at = after
        return self._head.after

    def take(self, node: _Node, state: Hashable, *, by_choice: bool = True) -> None:
        """An event happens."""
        self._stack.append((node, self.state, by_choice))
        self.taken |= 1 << node.event
        self.state = state
        self.certain -= self._events[node.event].is_certain
        _lift(node)

    def take_back(self) -> _Node | None:
        """Undo the last choice and what followed from it; None where there was none."""
        while self._stack:
            node, self.state, by_choice = self._stack.pop()
            self.taken &= ~(1 << node.event)
            self.certain += self._events[node.event].is_certain
            _put_back(node)
            if by_choice:
                return node
        return None


def _list(events: Sequence[Event]) -> _Node:
    """Beginnings and ends by time; what ends and begins at one moment was under way together."""
    points: list[tuple[int, int, int, _Node]] = []
    for number, event in enumerate(events):
        begin = _Node(number, True)
        points.append((event.since_ns, 0, number, begin))
        if event.is_certain:
            begin.end = _Node(number, False)
            points.append((event.until_ns, 1, number, begin.end))
    head = last = _Node(-1, True)
    for *_, node in sorted(points, key=lambda one: one[:3]):
        last.after, node.before = node, last
        last = node
    return head


def _lift(begin: _Node) -> None:
    """Take an event out of the list."""
    for node in (begin, begin.end):
        if node is not None:
            assert node.before is not None
            node.before.after = node.after
            if node.after is not None:
                node.after.before = node.before


def _put_back(begin: _Node) -> None:
    """Undo `_lift`, in the opposite order."""
    for node in (begin.end, begin):
        if node is not None:
            assert node.before is not None
            node.before.after = node
            if node.after is not None:
                node.after.before = node


def smallest(model: Model, events: Sequence[Event], tried_max: int = TRIED_MAX) -> list[Event]:
    """Few of some events that have no order by themselves: what a person has to look at.

    First all goes that began after the first moment by which no order is left. Then goes one event after another that
    changes nothing, or that raised an offset which nobody read, as long as no order is left without it: to leave such
    events out cannot make an impossible history of a possible one.
    """
    ends = sorted({one.until_ns for one in events if one.is_certain})
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        if search(model, _until(events, ends[middle]), tried_max) is Answer.NO:
            high = middle
        else:
            low = middle + 1
    kept = _until(events, ends[high])
    for one in sorted(kept, key=lambda event: event.kind not in OBSERVING):
        fewer = [other for other in kept if other is not one]
        if _may_go(one, fewer) and search(model, fewer, tried_max) is Answer.NO:
            kept = fewer
    return kept


def _until(events: Sequence[Event], moment: int) -> list[Event]:
    """The events by a moment: those that had to be taken by then, and of the others that they may have been."""
    found = []
    for one in events:
        if one.since_ns <= moment:
            is_certain = one.is_certain and one.until_ns <= moment
            found.append(Event(one.kind, one.value, one.since_ns, one.until_ns, is_certain, one.operation))
    return found


def _may_go(one: Event, others: Sequence[Event]) -> bool:
    """Whether an event can be left out without making the others impossible: it changes nothing, or nobody saw it."""
    if one.kind == "commit":
        return not any(other.kind == "read" and other.value == one.value for other in others)
    return one.kind in OBSERVING
