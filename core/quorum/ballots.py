"""Who has to grant a candidate its wish: a majority of the voters in its log, or all founders where the log is empty.

Founders know each other by name, and a name alone does not say whether its disk is the one that took part before. So
the founding needs the grant of every founder, each from one disk whose log is empty. The grants bear the disk ids, and
the leader makes them the voters of the first entry. That entry counts once all of them have it on their disks
(`leader.py`), and nothing is agreed before. From then on as many founders as like may lose their disks: as long as one
keeps it, that one refuses to found another cluster, and nobody can found one without it.
"""

from collections.abc import Sequence
from typing import Protocol

from goqueue.core.quorum.membership import Membership
from goqueue.core.quorum.voter_id import node_of

# Two disks of one founder are too many already.
_DISKS_MAX = 2


class Ballots(Protocol):
    """The answers to one candidate's ballots."""

    @property
    def electors(self) -> Sequence[str]:
        """Who is asked: voters, or founders by name."""

    def count(self, voter: str, *, is_granted: bool) -> None:
        """Take an answer."""

    @property
    def are_won(self) -> bool:
        """Whether enough have granted it."""

    @property
    def are_lost(self) -> bool:
        """Whether too many have refused for that to happen still."""

    @property
    def founding(self) -> list[str]:
        """The voters that the first entry is to name; none where the log names them."""


class Majority:
    """The ballots of a candidate whose log names voters."""

    def __init__(self, membership: Membership) -> None:
        self._membership = membership
        self._votes: dict[str, bool] = {}
        self.founding: list[str] = []

    @property
    def electors(self) -> Sequence[str]:
        """See Ballots."""
        return self._membership.voters

    def count(self, voter: str, *, is_granted: bool) -> None:
        """See Ballots."""
        self._votes[voter] = is_granted

    @property
    def are_won(self) -> bool:
        """See Ballots."""
        granted = sum(self._votes.get(one, False) for one in self._membership.voters)
        return granted >= self._membership.majority

    @property
    def are_lost(self) -> bool:
        """See Ballots."""
        refused = sum(not self._votes.get(one, True) for one in self._membership.voters)
        return refused >= self._membership.majority


class Founding:
    """The ballots of a founder whose log is empty."""

    def __init__(self, founders: list[str]) -> None:
        self._granted: dict[str, set[str]] = {founder: set() for founder in founders}
        self.are_lost = False

    @property
    def electors(self) -> Sequence[str]:
        """See Ballots."""
        return [*self._granted]

    def count(self, voter: str, *, is_granted: bool) -> None:
        """See Ballots."""
        if node_of(voter) in self._granted:
            self.are_lost = self.are_lost or not is_granted
            if is_granted and len(self._granted[node_of(voter)]) < _DISKS_MAX:
                self._granted[node_of(voter)].add(voter)

    @property
    def are_won(self) -> bool:
        """See Ballots: two disks of one founder are one too many, for one of them is gone."""
        return all(len(voters) == 1 for voters in self._granted.values())

    @property
    def founding(self) -> list[str]:
        """See Ballots."""
        return [voter for voters in self._granted.values() for voter in voters]
