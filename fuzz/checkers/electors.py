"""Whoever leads a term has the votes of a majority, each on the disk that is the voter.

A grant that reaches a candidate proves nothing here: what counts is what lies on disks, or lay there when they were
lost. A voter that has come to a later term since may have voted.
"""

from goqueue.core.ready import SaveVote
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Violation
from goqueue.fuzz.insight import leads, own_voter, saved_vote, term, voters


class Electors(Checker):
    """Looks at the disks of the voters when a node begins to lead."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        # In which life of each node which term was looked at.
        self._seen: dict[str, tuple[int, int]] = {}

    def stepped(self) -> None:
        """Look at the node of which something was heard."""
        broker = self.sight.stirred
        if not self.sight.is_cluster or broker is None or broker.node is None or not leads(broker.node):
            return
        node, who = broker.node, (broker.disk.life, term(broker.node))
        if self._seen.get(broker.node_id) == who:
            return
        self._seen[broker.node_id] = who
        electors = voters(node)
        granted = [one for one in electors if self._has_granted(one, term(node), own_voter(node))]
        if 2 * len(granted) <= len(electors):
            raise Violation(f"{broker.node_id} leads term {term(node)} by the votes of {granted} among {electors}")

    def _has_granted(self, voter: str, at: int, leader: str) -> bool:
        saved = self._last_vote(voter)
        return saved.term > at or (saved.term == at and saved.vote == leader)

    def _last_vote(self, voter: str) -> SaveVote:
        """What was last voted on a voter's disk."""
        disk = self.sight.disks.get(voter)
        return self.sight.lost_votes.get(voter, SaveVote(-1, "")) if disk is None else saved_vote(disk)
