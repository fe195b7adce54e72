"""Commits that travel together: those that come while a request is under way share the next one.

Each keeps its own outcome. Where several speak of one partition the furthest offset goes, since it says what the others
say. If that one is refused, those that were content with less are asked again without it.

Invariant: of every commit each partition is settled, waits, or is under way; at most one request is.
"""

from attrs import define, field

from goqueue.core.client.failure import Failure
from goqueue.core.groups.state import Slot


@define(eq=False)
class Commit:
    """What one caller wants committed, and what became of it; `failures` are final once it is settled."""

    offsets: dict[Slot, int]
    failures: dict[Slot, Failure] = field(factory=dict)
    # What is not settled yet.
    open: dict[Slot, int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.open = dict(self.offsets)

    @property
    def is_settled(self) -> bool:
        """Whether all of it was taken or refused."""
        return not self.open

    def settle(self, slot: Slot, failure: Failure | None) -> None:
        """One partition's offset was taken, or not."""
        del self.open[slot]
        if failure is not None:
            self.failures[slot] = failure


@define
class Committing:
    """All commits of one member."""

    _waiting: list[Commit] = field(factory=list)
    _travelling: list[Commit] = field(factory=list)
    _sent: dict[Slot, int] = field(factory=dict)

    def add(self, offsets: dict[Slot, int]) -> Commit:
        """These are to be committed."""
        commit = Commit(offsets)
        if not commit.is_settled:
            self._waiting.append(commit)
        return commit

    def take(self) -> dict[Slot, int]:
        """What to send next; nothing while something is under way."""
        if self._sent or not self._waiting:
            return {}
        self._travelling, self._waiting = self._waiting, []
        for commit in self._travelling:
            for slot, offset in commit.open.items():
                self._sent[slot] = max(offset, self._sent.get(slot, 0))
        return dict(self._sent)

    def answered(self, failures: dict[Slot, Failure]) -> None:
        """The answer to what was taken: all of it but these."""
        sent, self._sent = self._sent, {}
        travelling, self._travelling = self._travelling, []
        again: list[Commit] = []
        for commit in travelling:
            for slot, offset in [*commit.open.items()]:
                failure = failures.get(slot)
                if failure is None or offset == sent[slot]:
                    commit.settle(slot, failure)
            if not commit.is_settled:
                again.append(commit)
        self._waiting[:0] = again

    def failed(self, failure: Failure) -> None:
        """Nothing of what was taken was done."""
        self._sent = {}
        travelling, self._travelling = self._travelling, []
        for commit in travelling:
            for slot in [*commit.open]:
                commit.settle(slot, failure)

    def abandon(self, failure: Failure, slots: list[Slot] | None = None) -> None:
        """What waits for these partitions, or for any, is not to be sent; of what is under way the answer tells."""
        for commit in self._waiting:
            for slot in [*commit.open]:
                if slots is None or slot in slots:
                    commit.settle(slot, failure)
        self._waiting = [commit for commit in self._waiting if not commit.is_settled]

    def check(self) -> None:
        """Assert the invariant."""
        assert bool(self._sent) == bool(self._travelling)
        for commit in self._travelling:
            assert commit.open
            assert all(offset <= self._sent[slot] for slot, offset in commit.open.items())
        for commit in self._waiting:
            assert commit.open
            assert commit not in self._travelling
