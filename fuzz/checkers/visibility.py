"""Readers see what is acknowledged and nothing beyond: an answer ends at the high watermark that it names."""

from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, FoundOffset
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker
from goqueue.fuzz.history import Asked, Violation


class Visibility(Checker):
    """Holds answers against the partition's high watermark."""

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Judge one answer."""
        request = asked.request
        if isinstance(request, Fetch) and isinstance(reply, Fetched):
            if reply.next_offset > max(reply.high_watermark, request.offset):
                raise Violation(f"a fetch from {request.offset} got {reply.next_offset}, over {reply.high_watermark}")
        elif isinstance(request, FindOffset) and isinstance(reply, FoundOffset):
            for topic_id, partition in self.sight.partitions():
                if (topic_id, partition.number) == (asked.topic_id, request.partition):
                    if reply.timestamp != -1 and reply.offset >= partition.high_watermark:
                        raise Violation(f"a search found {reply.offset}, over {partition.high_watermark}")
