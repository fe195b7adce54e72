"""The base of all invariants: a checker that may look into every node, its logs and its disk."""

from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.invariants.copies import Copies

Invariant = Checker
"""What is called after every event, as checkers are."""


class OfCopies(Invariant):
    """An invariant about what nodes have of each other's logs."""

    def __init__(self, sight: Sight, copies: Copies) -> None:
        super().__init__(sight)
        self.copies = copies
