"""Members that wait for news of their assignment, so that a rebalance takes round trips rather than heartbeats.

Invariant: every watch is answered once, or forgotten when nobody waits for it any more, and has its deadline set.
"""

from attrs import define, field

from goqueue.core.requests.call import Call
from goqueue.core.timers.alarms import Alarms


@define
class Watch:
    """Whoever asked as `call` waits until the member's assignment is not the one `seen`, or until `deadline`."""

    call: Call
    group: str
    member_id: str
    seen: int
    deadline: int


@define
class Watches:
    """All watches of a coordinator."""

    _watches: dict[Call, Watch] = field(factory=dict)
    _by_group: dict[str, dict[Call, Watch]] = field(factory=dict)
    _alarms: Alarms[Call] = field(factory=Alarms)

    def add(self, watch: Watch) -> None:
        """Somebody waits."""
        assert watch.call not in self._watches
        self._watches[watch.call] = watch
        self._by_group.setdefault(watch.group, {})[watch.call] = watch
        self._alarms.set(watch.call, watch.deadline)

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call`, or it was given."""
        watch = self._watches.pop(call, None)
        if watch is None:
            return
        others = self._by_group[watch.group]
        del others[call]
        if not others:
            del self._by_group[watch.group]
        self._alarms.drop(call)

    def of(self, group: str) -> list[Watch]:
        """Those who wait for news of a group."""
        return [*self._by_group.get(group, {}).values()]

    def all(self) -> list[Watch]:
        """Everybody who waits."""
        return [*self._watches.values()]

    def deadline(self) -> int | None:
        """When `due` has something."""
        return self._alarms.deadline()

    def due(self, now: int) -> list[Watch]:
        """Those whose wait is over; they wait no more."""
        watches = [self._watches[call] for call in self._alarms.due(now)]
        for watch in watches:
            self.forget(watch.call)
        return watches

    def check(self) -> None:
        """Assert the invariant."""
        self._alarms.check()
        assert len(self._alarms) == len(self._watches)
        assert sum(len(others) for others in self._by_group.values()) == len(self._watches)
        for call, watch in self._watches.items():
            assert call in self._alarms
            assert self._by_group[watch.group][call] is watch
