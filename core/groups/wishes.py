"""What the groups of a node ask of the node itself, each question under a number below zero that its answer bears."""

from attrs import define, field

from goqueue.core.metadata import MakeOwnTopic
from goqueue.core.verbs import Fetch, FindOffset, PublishBatch

Wish = MakeOwnTopic | Fetch | FindOffset | PublishBatch


@define
class Wishes:
    """What is to be asked, and the numbers given out so far."""

    asked: list[tuple[int, Wish]] = field(factory=list)
    _last: int = 0

    def ask(self, wish: Wish) -> int:
        """Ask for something; the number of it."""
        self._last -= 1
        self.asked.append((self._last, wish))
        return self._last

    def take(self) -> list[tuple[int, Wish]]:
        """What was asked since the last call."""
        asked, self.asked = self.asked, []
        return asked
