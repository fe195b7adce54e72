"""No acknowledged message is lost: whoever reads where it must be finds it, and nothing else.

What compaction may leave out is the business of `compaction.py`.
"""

from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker
from goqueue.fuzz.history import Asked, Violation


class Durability(Checker):
    """Compares answers to fetches with promises; at the end the world reads everything once more."""

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Every promised offset in the range that the answer covers is in it, with its message."""
        if not (isinstance(asked.request, Fetch) and isinstance(reply, Fetched) and asked.topic_id is not None):
            return
        promised = self.history.promised.get((asked.topic_id, asked.request.partition))
        if not promised:
            return
        compacts = self.compacts(asked.topic_id)
        found = asked.found
        for offset in range(asked.request.offset, reply.next_offset):
            message = promised.get(offset)
            if message is None or found.get(offset) == message.name:
                continue
            if not compacts or offset in found:
                raise Violation(
                    f"{message.name!r} was acknowledged at {offset} of {message.place}: {found.get(offset)!r}"
                )

    def stepped(self) -> None:
        """Promised messages lie between the start, which moves by retention alone, and the high watermark."""
        for topic_id, partition in self.sight.stirred_partitions():
            promised = self.history.promised.get((topic_id, partition.number))
            log, terms = partition.log, self.history.terms.get(topic_id)
            if log.start_offset > 0 and terms is not None and not terms.retains:
                raise Violation(f"{log.stream} begins at {log.start_offset} without any retention")
            if promised and log.unsound is None and next(reversed(promised)) >= log.next_offset:
                raise Violation(f"{log.stream} ends at {log.next_offset}, below the acknowledged {max(promised)}")
