"""Who votes: the list in the last entry that names one, agreed or not.

One voter comes or goes at a time, so that a majority before and one after always share a node (Ongaro's thesis, 4.1),
and only when the change before it is agreed and the leader has had something agreed in its own term: without the latter
two leaders may each believe in a change of their own. Nodes that are no voters get the log as well, if the leader is
told of them; they count for nothing and are not known here. Voters are known by node and disk (`voter_id.py`).

Invariant: what is known of indexes before the log's start is one list, the first.
"""

from collections.abc import Iterable

from attrs import define, field

from goqueue.core.quorum.entries import Entry, Voters, voters_in


@define(eq=False)
class Membership:
    """The lists of voters in the log, by the index of the entry that names them; the first may be older than it."""

    # An index of -1 is that of a node that was alone, whose log names no voters yet.
    _lists: list[tuple[int, Voters]] = field(factory=lambda: [(-1, Voters())])

    def begin(self, voters: list[str], entries: Iterable[Entry]) -> None:
        """Read a log from its start; `voters` vote for as long as it names nobody."""
        self._lists = [(-1, Voters([*voters]))]
        for entry in entries:
            self.entered(entry)

    @property
    def current(self) -> Voters:
        """The list as an entry names it."""
        return self._lists[-1][1]

    @property
    def voters(self) -> list[str]:
        """Who votes."""
        return self.current.voters

    @property
    def changed_at(self) -> int:
        """The index of the entry that made it so; -1 where none did."""
        return self._lists[-1][0]

    @property
    def majority(self) -> int:
        """How many voters decide."""
        return len(self.voters) // 2 + 1

    def entered(self, entry: Entry) -> None:
        """An entry is in the log."""
        voters = voters_in(entry)
        if voters is not None:
            self._lists.append((entry.index, voters))

    def restarted(self, entry: Entry) -> None:
        """The log begins anew with an entry."""
        self._lists = [(-1, Voters())]
        self.entered(entry)

    def cut(self, end: int) -> None:
        """Everything at `end` and later was taken back."""
        while len(self._lists) > 1 and self._lists[-1][0] >= end:
            self._lists.pop()

    def forget_before(self, index: int) -> None:
        """The log has let go of what lies before an index."""
        while len(self._lists) > 1 and self._lists[1][0] <= index:
            del self._lists[0]

    def may_need(self, voter: str, agreed: int) -> bool:
        """Whether a voter votes, or did before changes that are not known to be agreed.

        It may be the only one with the entry that says it does not, and then nobody else can be elected: 1. A of A and
        B removes B, which B has on its disk and A has not; 2. A begins anew without the entry; 3. A needs B's vote, and
        B's log is longer. So B must stand, lead by A's vote alone, and leave (Ongaro's thesis, 4.2.2).
        """
        for index, named in reversed(self._lists):
            if voter in named.voters:
                return True
            if index < agreed:
                return False
        return False

    def with_voter(self, voter: str) -> Voters:
        """The voters with one more."""
        return Voters([*self.voters, voter], self.current.origin)

    def without_voter(self, voter: str) -> Voters:
        """The voters with one less."""
        return Voters([one for one in self.voters if one != voter], self.current.origin)

    def median(self, numbers: dict[str, int], absent: int) -> int:
        """The highest number that a majority of the voters has reached; `absent` is what others count with."""
        reached = sorted((numbers.get(one, absent) for one in self.voters), reverse=True)
        return reached[self.majority - 1] if reached else absent

    def check(self) -> None:
        """Assert that the lists stand in order, and that neighbours differ by one voter at most."""
        assert all(one[0] < two[0] for one, two in zip(self._lists, self._lists[1:], strict=False))
        assert all(len(set(named.voters)) == len(named.voters) for _, named in self._lists)
