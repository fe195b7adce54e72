"""When to look again at what: one time a key, set, moved and dropped at will.

A heap holds every time that was ever set and is not past; what was moved or dropped since stays in it until it comes
up or until such leftovers are the larger part, when they are swept out. So setting costs the logarithm of what is
pending, dropping next to nothing, and memory stays within twice what is set.

Invariant: `due` hands over a key exactly when its last set time has come, and then only once.
"""

from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

from attrs import define, field

Key = TypeVar("Key")

_LEFTOVERS_MIN = 64


@define
class Alarms(Generic[Key]):
    """A set of keys, each with the time at which it wants to be looked at."""

    _times: dict[Key, int] = field(factory=dict)
    # The number tells entries of one time apart, so that keys are never compared.
    _heap: list[tuple[int, int, Key]] = field(factory=list)
    _count: int = 0

    def __len__(self) -> int:
        return len(self._times)

    def __contains__(self, key: Key) -> bool:
        return key in self._times

    def set(self, key: Key, due: int) -> None:
        """Look at `key` at `due`, and no longer when it was set to before."""
        if self._times.get(key) != due:
            self._times[key] = due
            self._count += 1
            heappush(self._heap, (due, self._count, key))
            self._sweep()

    def drop(self, key: Key) -> None:
        """Look at `key` no more."""
        if self._times.pop(key, None) is not None:
            self._sweep()

    def deadline(self) -> int | None:
        """The first time at which `due` has something."""
        heap, times = self._heap, self._times
        while heap and times.get(heap[0][2]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def due(self, now: int) -> list[Key]:
        """The keys whose time has come, in order of their times; they are set no more."""
        come: list[Key] = []
        heap, times = self._heap, self._times
        if not heap or heap[0][0] > now:
            return come
        while heap and heap[0][0] <= now:
            at, _, key = heappop(heap)
            if times.get(key) == at:
                del times[key]
                come.append(key)
        self._sweep()
        return come

    def _sweep(self) -> None:
        if len(self._heap) > _LEFTOVERS_MIN + 2 * len(self._times):
            times = self._times
            kept: dict[Key, tuple[int, int, Key]] = {}
            for entry in self._heap:
                if times.get(entry[2]) == entry[0]:
                    kept[entry[2]] = entry
            self._heap = list(kept.values())
            heapify(self._heap)

    def check(self) -> None:
        """Assert that every set time will come up, and that leftovers are bounded."""
        assert len(self._heap) <= _LEFTOVERS_MIN + 2 * len(self._times) + 1
        entries = {(key, at) for at, _, key in self._heap}
        assert all(entry in entries for entry in self._times.items())
