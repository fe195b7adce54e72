"""Load and time: how much a node was told and wrote in each second of its own clock, and steps of the wall clock."""

from goqueue.core.capture.events import Event
from goqueue.core.log.effects import Append
from goqueue.core.node import Node
from goqueue.spark.facts.listening import Errand, Hears, Listener, Stream
from goqueue.spark.facts.notebook import Notebook

_SECOND_NS = 1_000_000_000
# A reading strays by a millisecond or two; what is further off was set, or has drifted so far since the last note.
STEP_MS = 100


class Load(Listener):
    """Notes `load`: turns belong to the second in which they end, with all that came in them."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__(notebook)
        self._second = -1
        # The event after the last of the second before, and the one after the last turn.
        self._first = -1
        self._next = -1
        self._bytes = 0
        self._turns = 0

    def hears(self) -> Hears:
        """The ends of turns, and what is written."""
        return Hears(verbs={"take": self._turned}, effects={Append: self._handed})

    def _handed(self, node: Node, stream: Stream, effect: Append) -> None:
        if self.notebook.at // _SECOND_NS != self._second:
            self._begin(self.notebook.event)
        self._bytes += sum(map(len, effect.buffers))

    def _turned(self, node: Node, event: Event, came: object) -> None:
        if event.now // _SECOND_NS != self._second:
            self._begin(event)
        self._turns += 1
        self._next = event.number + 1

    def _begin(self, event: Event) -> None:
        self._tell()
        self._first = event.number if self._next < 0 else self._next
        self._second, self._bytes, self._turns = event.now // _SECOND_NS, 0, 0

    def _tell(self) -> None:
        if self._turns:
            self.notebook.note(
                "load", count=self._next - self._first, bytes=self._bytes, value=self._turns,
                since=self._second * _SECOND_NS,
            )  # fmt: skip

    def end(self, node: Node) -> None:
        """The last second has not ended."""
        self._tell()


class WallClock(Listener):
    """Notes `clock_stepped`."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__(notebook)
        self._origin_ms = 0

    def hears(self) -> Hears:
        """Readings of the wall clock."""
        return Hears(verbs={"clock_moved": self._moved})

    def begin(self, node: Node) -> list[tuple[int, Errand]]:
        """What the wall said when the node's own clock began."""
        self._origin_ms = node.clock.wall_ms(0)
        return []

    def _moved(self, node: Node, event: Event, came: object) -> None:
        step_ms = node.clock.wall_ms(0) - self._origin_ms
        if abs(step_ms) >= STEP_MS:
            self._origin_ms += step_ms
            self.notebook.note("clock_stepped", value=step_ms)
