"""What peers have said that cannot be true, or cannot be meant: counted, with the last sentence about each.

A message that is refused has changed nothing, and the node goes on. Whoever drives the node tells an operator, at a
rate of its own; here a peer that never stops costs one sentence.
"""

from attrs import define, field

_PEERS_MAX = 16


@define(eq=False)
class PeerFaults:
    """The count since the node began, and what is yet to be told."""

    count: int = 0
    _untold: dict[str, str] = field(factory=dict)

    def note(self, peer: str, sentence: str) -> None:
        """A message of a peer was refused."""
        self.count += 1
        if peer in self._untold or len(self._untold) < _PEERS_MAX:
            self._untold[peer] = sentence

    def take(self) -> dict[str, str]:
        """By peer the last sentence since the last call."""
        untold, self._untold = self._untold, {}
        return untold
