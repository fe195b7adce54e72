"""What lies in the log of a producer that numbers its records: every sequence once, in order, and none left out.

The log is read from its headers once the world is at rest. Retention may have taken the beginning and compaction
anything, so there the sequences have to grow and no more.
"""

from goqueue.core.cluster.apply import FIRST_PRODUCER_ID
from goqueue.core.records.batch import read_header, split
from goqueue.core.requests.messages import Fetch, Fetched
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import HEALER, Checker, Sight
from goqueue.fuzz.history import Asked, Place, Violation


class Sequences(Checker):
    """Follows each producer through each partition."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._expected: dict[tuple[Place, int, int], int] = {}
        self._reached: dict[Place, int] = {}

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Go on with the last reading of a partition."""
        if asked.client != HEALER or not isinstance(asked.request, Fetch) or not isinstance(reply, Fetched):
            return
        if asked.topic_id is None or asked.topic_id in self.history.given_up:
            return
        terms = self.history.terms[asked.topic_id]
        place = asked.topic_id, asked.request.partition
        for batch in split(reply.batches):
            header = read_header(batch)
            # The broker's own numbers go on where they were in another stream.
            is_sent = header.producer_id >= FIRST_PRODUCER_ID
            if not is_sent or header.base_offset < self._reached.get(place, 0):
                continue
            self._reached[place] = header.next_offset
            key = place, header.producer_id, header.producer_epoch
            expected, first = self._expected.get(key, 0), header.base_sequence
            if first < expected or (first > expected and not terms.retains and not terms.compacts):
                who = f"producer {header.producer_id}, epoch {header.producer_epoch}"
                raise Violation(f"{who} is at sequence {first} at {header.base_offset} of {place}, not at {expected}")
            self._expected[key] = first + header.last_offset_delta + 1
