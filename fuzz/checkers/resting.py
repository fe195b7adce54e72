"""A node that has nothing to do waits until it has.

A deadline that has passed, and stays although the node was woken for it, has its driver turn without end, and costs a
machine one of its cores. A second turn may be in order, where the first has found something for it; a hundred in a row
in which nobody told the node anything and it wanted nothing are not.
"""

from goqueue.fuzz.checkers.checker import Checker
from goqueue.fuzz.history import Violation

_TURNS_MAX = 100


class Resting(Checker):
    """Looks at how often in a row a node was woken for nothing."""

    def stepped(self) -> None:
        """Look at the node that had a turn."""
        broker = self.sight.stirred
        if broker is not None and broker.vain_turns > _TURNS_MAX:
            raise Violation(f"{broker.node_id} wants to be woken at once, again and again, and then does nothing")
