"""What cannot be read, or claims what is not so, is refused, with a code that says that it is final and a sentence.

That everybody else goes on is what all other checkers are about.
"""

from goqueue.core.requests.messages import Published, PublishReply
from goqueue.core.requests.refusals import Code
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker
from goqueue.fuzz.history import Asked, Violation
from goqueue.fuzz.workloads.hostile import Hostile

_FINAL = (Code.CORRUPT_BATCH, Code.INVALID, Code.INVALID_TIMESTAMP, Code.TOO_LARGE)
# What says nothing of the batch: another node is to be asked, or there is no such topic.
_PASSING = (
    Code.UNAVAILABLE, Code.NOT_LEADER, Code.NOT_CONTROLLER, Code.NOT_ENOUGH_REPLICAS, Code.OUTCOME_UNKNOWN,
    Code.DISK_FULL, Code.SHUTTING_DOWN, Code.TOPIC_NOT_FOUND, Code.PARTITION_NOT_FOUND,
)  # fmt: skip


class Hostility(Checker):
    """Looks at what hostile clients are answered."""

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Nothing of theirs is taken."""
        if not isinstance(reply, PublishReply) or not self._is_hostile(asked.client):
            return
        for result in reply.results:
            if isinstance(result, Published):
                raise Violation(f"a batch that is wrong for certain was taken at {result.offset}")
            if result.code not in (*_FINAL, *_PASSING) or not result.message:
                raise Violation(f"a batch that is wrong for certain was refused as {result.code}: {result.message}")

    def _is_hostile(self, name: str) -> bool:
        return any(client.name == name for client in self.sight.clients if isinstance(client, Hostile))
