"""Leader epochs of a log: which leader wrote from which offset on.

After a failover a follower asks where the leader's history of an epoch ends, and cuts its own log there. That is all
that truncation needs to be right; offsets alone are not enough, since two leaders may have written different batches
at the same offsets (KIP-101). Epochs and offsets both rise strictly from entry to entry.
"""

from bisect import bisect_right


class EpochCache:
    """(epoch, first offset) in rising order."""

    __slots__ = ("_epochs", "_starts")

    def __init__(self, entries: list[tuple[int, int]] | None = None) -> None:
        self._epochs: list[int] = []
        self._starts: list[int] = []
        for epoch, start in entries or []:
            self.assign(epoch, start)

    @property
    def latest(self) -> int:
        """The epoch of the newest batch; -1 before the first."""
        return self._epochs[-1] if self._epochs else -1

    def entries(self) -> list[tuple[int, int]]:
        """All entries, oldest first."""
        return list(zip(self._epochs, self._starts, strict=True))

    def assign(self, epoch: int, start: int) -> bool:
        """Note that `epoch` writes from `start` on; True when that was news."""
        if epoch < 0 or epoch <= self.latest:
            return False
        while self._starts and self._starts[-1] >= start:
            # An epoch in which nothing was written leaves no trace.
            self._epochs.pop()
            self._starts.pop()
        self._epochs.append(epoch)
        self._starts.append(start)
        return True

    def end_offset(self, epoch: int, log_end: int) -> tuple[int, int] | None:
        """(largest known epoch at or below `epoch`, the offset where it ends); None when all known ones are above."""
        at = bisect_right(self._epochs, epoch)
        if at == 0:
            return None
        return self._epochs[at - 1], self._starts[at] if at < len(self._starts) else log_end

    def epoch_at(self, offset: int) -> int:
        """The epoch that wrote `offset`; -1 when it is older than all that is known."""
        at = bisect_right(self._starts, offset)
        return self._epochs[at - 1] if at else -1

    def cut_from(self, offset: int) -> None:
        """Forget what was written at `offset` and later."""
        while self._starts and self._starts[-1] >= offset:
            self._epochs.pop()
            self._starts.pop()

    def cut_before(self, offset: int) -> None:
        """Forget what lies before `offset`; the epoch in force there stays, and begins there."""
        at = bisect_right(self._starts, offset) - 1
        if at >= 0:
            del self._epochs[:at], self._starts[:at]
            self._starts[0] = max(self._starts[0], offset)

    def check(self) -> None:
        """Assert that both columns rise strictly."""
        assert all(a < b for a, b in zip(self._epochs, self._epochs[1:], strict=False))
        assert all(a < b for a, b in zip(self._starts, self._starts[1:], strict=False))
