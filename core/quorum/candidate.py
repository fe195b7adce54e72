"""Who asks for votes: first on trial, which binds nobody, and only with a majority's promise in earnest.

The trial (Ongaro's thesis, 9.6) keeps a node that was cut off, or was removed, from raising the term of those who have
a leader. A leader that hands over skips it: the others then know that it is wanted.

The voters in the log elect by majority. Where the log is empty the founders do, and all of them have to agree
(`ballots.py`).

Invariant: in earnest the own vote counts when the disk has it, and no ballot leaves before.
"""

from typing import TYPE_CHECKING

from goqueue.core.quorum.ballots import Ballots, Founding, Majority
from goqueue.core.quorum.messages import Append, Ballot, Beat, Install, QuorumMessage, Voted
from goqueue.core.quorum.voter_id import node_of

if TYPE_CHECKING:
    from goqueue.core.quorum.quorum import Quorum


class Candidate:
    """One node that would lead."""

    leader = ""

    def __init__(self, quorum: "Quorum", now: int, *, is_trial: bool, is_transfer: bool = False) -> None:
        self._quorum = quorum
        self._is_trial = is_trial
        self._ballots: Ballots = Founding(quorum.founders) if quorum.is_founding else Majority(quorum.membership)
        # The shortest time for which one of those who have voted for this node has heard of no leader.
        self._silence_ns = quorum.silence_ns(now)
        self._due = quorum.draw_election(now)
        log = quorum.log
        term = quorum.term + 1 if is_trial else quorum.term
        ballot = Ballot(term, log.end, log.last_term, is_trial, is_transfer)
        for voter in self._ballots.electors:
            if voter not in (quorum.own_id, node_of(quorum.own_id)):
                quorum.send(voter, ballot)

    def begin(self, now: int) -> None:
        """Count the own vote, where it counts already."""
        if self._is_trial:
            self._count(now, self._quorum.own_id, is_granted=True)

    def is_loyal(self, now: int) -> bool:
        """It knows of no leader."""
        return False

    def has_voted(self, now: int) -> None:
        """On trial it may vote for another, and then waits for what comes of it."""
        self._due = self._quorum.draw_election(now)

    def receive(self, now: int, sender: str, message: QuorumMessage) -> None:
        """A letter of this term, or a promise for the next."""
        if isinstance(message, Voted) and message.is_trial == self._is_trial:
            term = self._quorum.term + 1 if self._is_trial and message.is_granted else self._quorum.term
            if message.term == term:
                if message.is_granted:
                    self._silence_ns = min(self._silence_ns, message.silence_ns)
                self._count(now, sender, is_granted=message.is_granted)
        elif isinstance(message, Append | Beat | Install):
            self._quorum.follow(now, message.term, sender)
            self._quorum.role.receive(now, sender, message)

    def _count(self, now: int, voter: str, *, is_granted: bool) -> None:
        quorum, ballots = self._quorum, self._ballots
        ballots.count(voter, is_granted=is_granted)
        if ballots.are_won and self._is_trial:
            quorum.stand(now)
        elif ballots.are_won:
            quorum.lead(now, ballots.founding, self._silence_ns)
        elif ballots.are_lost:
            quorum.follow(now, quorum.term, "")

    def synced(self, now: int) -> None:
        """More of the log is on the disk, which says nothing about votes."""

    def vote_saved(self, now: int) -> None:
        """The own vote is on the disk."""
        if not self._is_trial:
            self._count(now, self._quorum.own_id, is_granted=True)

    def peer_lost(self, now: int, peer: str) -> None:
        """The link to a peer broke; its vote may be missing."""

    def flush(self, now: int) -> None:
        """A turn ends."""

    def deadline(self) -> int | None:
        """When this has taken too long."""
        return self._due

    def wake(self, now: int) -> None:
        """Begin again, on trial, when no majority has answered."""
        if now >= self._due:
            if self._quorum.may_stand:
                self._quorum.sound_out(now)
            else:
                self._quorum.follow(now, self._quorum.term, "")

    def check(self) -> None:
        """Assert that only one who votes would lead."""
        assert self._is_trial or self._quorum.vote == self._quorum.own_id
