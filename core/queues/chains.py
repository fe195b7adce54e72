"""One message of a key at a time, in order: what is in play of each key, and what waits behind it.

A chain is the offsets of one key in order. Its first is ready, waiting or leased; the others are held, and the next one
is freed when the first is settled or given up. Keys are known by a hash: two that share one wait for each other, which
costs time and breaks nothing.

An offset may turn out to have a key when later ones of that key are in their chain: a crash has taken the end of a
topic that is not synced, and what came instead has other keys; or the group has not always gone by keys. It goes by
itself.

Invariant: an offset is in one chain only, and a chain is never empty.
"""

from collections import deque

from attrs import define, field


@define
class Chains:
    """The chains of a ledger; empty where no order by key is asked for."""

    _chains: dict[int, deque[int]] = field(factory=dict)
    _keys: dict[int, int] = field(factory=dict)

    def __contains__(self, key: int) -> bool:
        return key in self._chains

    def add(self, offset: int, key: int) -> None:
        """Put an offset behind the others of its key, if all of them come before it."""
        chain = self._chains.get(key)
        if chain is None:
            self._chains[key] = deque((offset,))
        elif chain[-1] < offset:
            chain.append(offset)
        else:
            return
        self._keys[offset] = key

    def leave(self, start: int, end: int) -> list[int]:
        """Take a run out; the offsets behind it that are freed by that."""
        offsets = [*range(start, end)] if end - start <= len(self._keys) else sorted(self._keys)
        freed = [self._leave(offset) for offset in offsets if start <= offset < end]
        return [offset for offset in freed if offset is not None and offset >= end]

    def _leave(self, offset: int) -> int | None:
        key = self._keys.pop(offset, None)
        if key is None:
            return None
        chain = self._chains[key]
        if chain[0] != offset:
            chain.remove(offset)
            return None
        chain.popleft()
        if chain:
            return chain[0]
        del self._chains[key]
        return None

    def key(self, offset: int) -> int | None:
        """The hash of an offset's key."""
        return self._keys.get(offset)

    def all(self) -> list[tuple[int, int]]:
        """Offsets and hashes, in order of offsets."""
        return sorted(self._keys.items())

    def heads(self) -> set[int]:
        """The offsets that are in play."""
        return {chain[0] for chain in self._chains.values()}

    def check(self) -> None:
        """Assert the invariants."""
        assert sum(map(len, self._chains.values())) == len(self._keys)
        for key, chain in self._chains.items():
            assert chain
            assert list(chain) == sorted(chain)
            assert all(self._keys[offset] == key for offset in chain)
