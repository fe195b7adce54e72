"""Whoever grants a vote has it on its disk, and goes by it: what it forgets it could promise to another as well."""

from goqueue.core.quorum.messages import QuorumLetter, Voted
from goqueue.core.quorum.voter_id import node_of
from goqueue.core.ready import Letter
from goqueue.fuzz.checkers.checker import Broker, Checker
from goqueue.fuzz.history import Violation
from goqueue.fuzz.insight import saved_vote, vote


class Votes(Checker):
    """Reads what a crash at this very moment would leave of a vote."""

    def started(self) -> None:
        """A process that has its metadata back knows for whom the ones before it have voted."""
        for broker in self.sight.processes:
            if self.sight.is_cluster and broker.node is not None and broker.node.has_metadata:
                saved, (term, known) = saved_vote(broker.disk), vote(broker.node)
                if term < saved.term or (term == saved.term and known != saved.vote and saved.vote):
                    what = f"{broker.node_id} has {saved} on its disk"
                    raise Violation(f"{what}, and believes to have voted for {known!r} in term {term}")

    def posted(self, broker: Broker, letter: Letter) -> None:
        """Look at every vote that is granted, not at those that are only tried."""
        voted = letter.message.message if isinstance(letter.message, QuorumLetter) else None
        if not isinstance(voted, Voted) or not voted.is_granted or voted.is_trial:
            return
        saved = saved_vote(broker.disk)
        if saved.term < voted.term or (saved.term == voted.term and node_of(saved.vote) != letter.to):
            raise Violation(f"{broker.node_id} votes for {letter.to} in term {voted.term}, and has {saved} on its disk")
