"""What nodes make of what is agreed is the same on all of them, at each index, however they came to it.

Every entry is applied here once, in order, and those that stand for all before them are passed over: so the state of a
node that began with such an entry, because it was behind or because it was started again, is held against the state
that comes of all that was ever agreed.
"""

import attrs

from goqueue.core.cluster.applied import records_in
from goqueue.core.cluster.apply import ClusterState
from goqueue.core.node import Node
from goqueue.core.quorum.entries import SNAPSHOT
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Violation
from goqueue.fuzz.insight import agreed_index, agreed_state, entry_log


class States(Checker):
    """Remembers the state at each index."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._state = ClusterState()
        self._end = 0
        self._at: dict[int, ClusterState] = {}
        # By node: in which life it was looked at, at which index.
        self._seen: dict[str, tuple[int, int]] = {}

    def stepped(self) -> None:
        """Look at the node of which something was heard."""
        broker = self.sight.stirred
        if not self.sight.is_cluster or broker is None or broker.node is None or not broker.node.has_metadata:
            return
        index = agreed_index(broker.node)
        if self._seen.get(broker.node_id) == (broker.disk.life, index):
            return
        self._seen[broker.node_id] = broker.disk.life, index
        if index > self._end:
            self._follow(broker.node, index)
        expected, state = self._at.get(index), agreed_state(broker.node)
        if expected is not None and expected != state:
            raise Violation(
                f"{broker.node_id} at {index} has other metadata than others: {_differing(expected, state)}"
            )

    def _follow(self, node: Node, index: int) -> None:
        """Apply what nobody knew of before."""
        log = entry_log(node)
        if log.start > self._end:
            # Nobody is left who was looked at while it had what lies before that.
            self._state = agreed_state(node).copy()
        else:
            for entry in log.entries[self._end - log.start : index - log.start]:
                for record in [] if entry.kind == SNAPSHOT else records_in(entry):
                    self._state.apply(record)
                self._end = entry.index + 1
                self._at[self._end] = self._state.copy()
        self._end = index
        self._at.setdefault(index, self._state.copy())


def _differing(expected: ClusterState, state: ClusterState) -> str:
    """The fields in which two states differ."""
    names = [one.name for one in attrs.fields(ClusterState)]
    differing = [name for name in names if getattr(expected, name) != getattr(state, name)]
    return "; ".join(f"{name} is {getattr(state, name)}, not {getattr(expected, name)}" for name in differing)[:1500]
