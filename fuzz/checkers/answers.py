"""Every request is answered once by the process that took it, at the latest when the world comes to rest.

Whether somebody waits for the answer makes no difference, save to a fetch and to what is asked of a group.
"""

from goqueue.core.requests.messages import Fetch, Publish, PublishBatch, PublishReply
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import ServiceName
from goqueue.core.requests.table import of_service
from goqueue.fuzz.checkers.checker import Checker
from goqueue.fuzz.history import Asked, Violation

# What a node does not answer when it knows that nobody waits.
_LET_GO: tuple[type, ...] = (
    Fetch,
    *of_service(ServiceName.GROUPS),
    *of_service(ServiceName.QUEUES),
    *of_service(ServiceName.DELAYS),
    *of_service(ServiceName.DEAD_LETTERS),
)


class Answers(Checker):
    """Counts answers; a second one does not get here, since the world knows no request for it."""

    def answered(self, asked: Asked, reply: Reply) -> None:
        """As many results as messages."""
        if isinstance(asked.request, Publish | PublishBatch) and not isinstance(reply, Refusal):
            wanted = len(asked.request.records) if isinstance(asked.request, Publish) else 1
            if not isinstance(reply, PublishReply) or len(reply.results) != wanted:
                raise Violation(f"request {asked.to} of {asked.client} for {wanted} results was answered by {reply}")

    def ended(self) -> None:
        """Nobody waits any more."""
        for asked in self.history.open.values():
            # What is on its way to another node is let go of whatever it is.
            if self.history.rotten and isinstance(asked.request, Fetch):
                # The world does not rest there until a node notices that a link is dead which somebody has left.
                continue
            if not (asked.is_forgotten and (self.sight.is_cluster or isinstance(asked.request, _LET_GO))):
                raise Violation(f"request {asked.to} of {asked.client} was never answered: {asked.request}"[:500])
