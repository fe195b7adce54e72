"""Whoever grants a vote has it on its disk: what a node forgets it could promise to somebody else in the same term."""

from goqueue.core.quorum.messages import QuorumLetter, Voted
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.ready import Letter
from goqueue.fuzz.checkers.checker import Broker, Checker
from goqueue.fuzz.history import Violation
from goqueue.fuzz.insight import saved_vote


class Votes(Checker):
    """Reads what a crash at this very moment would leave of a vote."""

    def posted(self, broker: Broker, letter: Letter) -> None:
        """Look at every vote that is granted, not at those that are only tried."""
        voted = letter.message.message if isinstance(letter.message, QuorumLetter) else None
        if not isinstance(voted, Voted) or not voted.is_granted or voted.is_trial:
            return
        saved = saved_vote(broker.disk)
        if saved.term < voted.term or (saved.term == voted.term and node_of(saved.vote) != letter.to):
            raise Violation(f"{broker.node_id} votes for {letter.to} in term {voted.term}, and has {saved} on its disk")
