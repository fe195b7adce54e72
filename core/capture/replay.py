"""Tells a node what a capture says it was told, and compares what it says with what was said then.

A file begins with a snapshot, so each can be replayed alone, and all of them at once on as many machines. Replayed one
after another, the node that has come through a file is compared with the snapshot of the next, field by field, so a
difference is found that no output has shown yet.

The first divergence ends a replay: whatever comes after it follows from it, or hides it.
"""

from collections.abc import Callable

from attrs import define

from goqueue.core.capture.comparison import first_difference
from goqueue.core.capture.digest import Shapes, digest, readable
from goqueue.core.capture.events import Event, EventReader, Taken
from goqueue.core.capture.snapshot import restored, snapshot
from goqueue.core.capture.vocabulary import Vocabulary
from goqueue.core.node import Node
from goqueue.core.ready import Ready

# What an event may call, besides whatever else is public in Node: nothing that begins with an underscore.
_OUTPUTS = ("take", "deadline")
_TIMELESS = ("forget", "deadline")
# A wall clock that moves by less is one that is read, not one that is set.
CLOCK_STEP_MS = 1_000


@define
class Divergence:
    """The first place where a node did not do again what it did."""

    event: int
    now: int
    verb: str
    input: str
    expected: str
    actual: str


class Replayer:
    """A node on its way through a capture."""

    def __init__(self, vocabulary: Vocabulary, heard: Callable[[Node, Event, object], None] = lambda *_: None) -> None:
        self._vocabulary = vocabulary
        # Told of every event, and of what came of it.
        self._heard = heard
        self._shapes = Shapes()
        self._node: Node | None = None
        self._reader: EventReader
        self._told_last = ""
        self._skew_ms = 0
        self.events = 0
        # How often the wall clock was set.
        self.clock_steps = 0

    def begin(self, content: bytes, first: int) -> Divergence | None:
        """Go on at a snapshot; the difference to it if this node has come here by itself. Raises CaptureError."""
        found = None
        if self._node is not None:
            assert self._reader.count == first
            found = self._compare(content)
        else:
            self._node = restored(self._vocabulary, content)
        self._skew_ms = self._node.clock.wall_ms(0)
        self._reader = EventReader(self._vocabulary, first)
        return found

    @property
    def node(self) -> Node:
        """The node that is told all this."""
        assert self._node is not None
        return self._node

    @property
    def is_under_way(self) -> bool:
        """Whether there is a node that the next file may go on with."""
        return self._node is not None

    def leave(self) -> None:
        """Events are missing here: the next snapshot is taken as it is."""
        self._node = None

    @property
    def next_event(self) -> int:
        """The number of the event that must come next."""
        return self._reader.count

    def _compare(self, content: bytes) -> Divergence | None:
        assert self._node is not None
        # As the recorder does before it takes a snapshot.
        self._node.forget_recent(0)
        if snapshot(self._vocabulary, self._node) == content:
            return None
        expected = restored(self._vocabulary, content)
        difference = first_difference(expected, self._node)
        if difference is None:
            # The same fields with the same values, told apart by who shares what with whom.
            self._node = expected
            return None
        place = f"the state after event {self._reader.count - 1}: {difference.path}"
        number, now = self._reader.count, self._reader.now
        return Divergence(number, now, "snapshot", place, difference.expected, difference.actual)

    def feed(self, block: bytes) -> Divergence | None:
        """Tell the node the events of the next block, up to the first divergence. Raises CaptureError."""
        assert self._node is not None
        for event in self._reader.events(block):
            self.events += 1
            found = self._tell(self._node, event)
            if found is not None:
                return found
            if event.verb not in _OUTPUTS:
                self._told_last = event.verb
                if event.verb == "clock_moved":
                    self._see_clock(event)
        return None

    def _see_clock(self, event: Event) -> None:
        skew_ms = event.args[0] - event.now // 1_000_000
        self.clock_steps += abs(skew_ms - self._skew_ms) >= CLOCK_STEP_MS
        self._skew_ms = skew_ms

    def _tell(self, node: Node, event: Event) -> Divergence | None:
        verb = getattr(node, event.verb, None) if not event.verb.startswith("_") else None
        if verb is None:
            return _diverged(event, "a verb of the node", "this release has no such verb")
        if event.notes is not None:
            node.options.secrets.recall(event.notes)
        try:
            timed = () if event.verb in _TIMELESS else (event.now,)
            came = verb(*timed, *event.args, **(event.named or {}))
        except Exception as error:  # noqa: BLE001 - whatever a node dies of is what the replay is to show
            return self._died(event, error)
        self._heard(node, event, came)
        if event.died:
            return _diverged(event, "the node died", _said(came))
        if event.verb == "take":
            return self._compare_output(event, came)
        if event.verb == "deadline" and came != event.said:
            return _diverged(event, str(event.said), str(came))
        return None

    def _died(self, event: Event, error: Exception) -> Divergence | None:
        why = f"{type(error).__name__}: {error}"
        return _diverged(event, "the node died" if event.died else "the node lives", f"it dies: {why}")

    def _compare_output(self, event: Event, ready: Ready) -> Divergence | None:
        assert isinstance(event.said, Taken)
        if not ready:
            if not event.said.shape:
                return None
        elif digest(ready) == event.said.digest and event.said.shape:
            return None
        said = event.said
        expected = f"{said.shape} (digest {said.digest:08x})" if said.shape else "nothing"
        expected += f": {said.words}" if said.words else ""
        actual = f"{self._shapes.of(ready)} (digest {digest(ready):08x}): {readable(ready)}" if ready else "nothing"
        return _diverged(event, expected, actual, f"after {self._told_last}")


def _said(came: object) -> str:
    return f"it goes on: {readable(came)}"


def _diverged(event: Event, expected: str, actual: str, context: str = "") -> Divergence:
    named = [f"{name}={readable(value)}" for name, value in (event.named or {}).items()]
    told = f"{event.verb}({', '.join([*map(readable, event.args), *named])})"
    return Divergence(event.number, event.now, event.verb, f"{told} {context}".strip(), expected, actual)
