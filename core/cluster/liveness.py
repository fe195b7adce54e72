"""Which nodes live, as the controller hears them: a heartbeat at least so often, or the node is dead.

Theory: the controller counts from when a heartbeat came, the node from when it was sent, and both count `dead_ns`. So a
node knows that it may be taken for dead before it is (`attendance.py`), as far as both clocks run equally fast. A
controller that has just come to office has heard nobody; it gives every node the same span from then on.
"""

from collections.abc import Iterable

from attrs import define, field

from goqueue.core.timers.alarms import Alarms


@define
class Liveness:
    """When each node was heard of last."""

    _suspect_ns: int
    _dead_ns: int
    _heard: dict[str, int] = field(factory=dict)
    # Since when it lives without a gap that would have made it suspect.
    _steady: dict[str, int] = field(factory=dict)
    _alarms: Alarms[str] = field(factory=Alarms)

    def begin(self, now: int, nodes: Iterable[str]) -> None:
        """Wait for these and for nobody else, from this moment on."""
        self._heard.clear()
        self._steady.clear()
        self._alarms = Alarms()
        for node_id in nodes:
            self.heard(now, node_id)

    def heard(self, now: int, node_id: str) -> None:
        """A node was heard of."""
        before = self._heard.get(node_id)
        if before is None or now - before > self._suspect_ns:
            self._steady[node_id] = now
        self._heard[node_id] = now
        self._alarms.set(node_id, now + self._dead_ns)

    def forget(self, node_id: str) -> None:
        """Wait for a node no more."""
        self._heard.pop(node_id, None)
        self._steady.pop(node_id, None)
        self._alarms.drop(node_id)

    def nodes(self) -> list[str]:
        """All that are waited for."""
        return sorted(self._heard)

    def is_suspect(self, now: int, node_id: str) -> bool:
        """Whether a node that is waited for is overdue."""
        heard = self._heard.get(node_id)
        return heard is not None and now - heard > self._suspect_ns

    def silent_ns(self, now: int, node_id: str) -> int | None:
        """How long ago a node was heard of; None for one that is not waited for."""
        heard = self._heard.get(node_id)
        return None if heard is None else now - heard

    def steady_ns(self, now: int, node_id: str) -> int:
        """For how long a node has lived without being overdue."""
        return now - self._steady[node_id] if node_id in self._steady and not self.is_suspect(now, node_id) else 0

    def deadline(self) -> int | None:
        """When somebody may be dead."""
        return self._alarms.deadline()

    def expect(self, node_id: str, at: int) -> None:
        """Take a node for dead once more at `at`, unless it is heard of before."""
        assert node_id in self._heard
        self._alarms.set(node_id, at)

    def dead(self, now: int) -> list[str]:
        """Who was not heard of for too long; each once, until it is heard again."""
        return self._alarms.due(now)

    def check(self) -> None:
        """Assert the invariants."""
        assert self._heard.keys() == self._steady.keys()
        assert all(node_id in self._heard for node_id in self._steady)
        self._alarms.check()
