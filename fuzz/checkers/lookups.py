"""Who looks for a time finds the first message from that time on: no earlier message of the partition is as late.

The answers are held against all that there is when the world is read once more. Where messages go by retention or by
compaction nobody knows what there was; and a time that lies ahead of every clock may be anything.
"""

from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, FoundOffset
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import HEALER, Checker, Sight
from goqueue.fuzz.history import Asked, Place, Violation


class Lookups(Checker):
    """Remembers what was found, and which time each message bears."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._found: list[tuple[Place, int, FoundOffset, int]] = []
        self._times: dict[Place, dict[int, int]] = {}

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Take note of an answer, or of what is there at last."""
        request, topic_id = asked.request, asked.topic_id
        if topic_id is None or not self._is_sure(topic_id):
            return
        if isinstance(request, FindOffset) and isinstance(reply, FoundOffset) and request.timestamp > 0:
            self._found.append(((topic_id, request.partition), request.timestamp, reply, asked.least_ms))
        elif isinstance(request, Fetch) and isinstance(reply, Fetched) and asked.client == HEALER:
            times = self._times.setdefault((topic_id, request.partition), {})
            times.update((record.offset, record.timestamp) for record in asked.records)

    def _is_sure(self, topic_id: int) -> bool:
        terms = self.history.terms.get(topic_id)
        return terms is not None and self.history.is_strong(topic_id) and not terms.retains and not terms.compacts

    def ended(self) -> None:
        """Judge all that was found."""
        for place, timestamp, found, least_ms in self._found:
            if place in self.history.rotten or place[0] in self.history.is_doomed:
                continue
            times = self._times.get(place, {})
            missed = [at for at, time in times.items() if at < found.offset and timestamp <= time <= least_ms]
            if missed:
                what = f"the first of {timestamp} or later in {place} is said to be at {found.offset}"
                raise Violation(f"{what}, and {min(missed)} is of {times[min(missed)]}")
            if found.timestamp >= 0 and times.get(found.offset, timestamp) < timestamp:
                raise Violation(f"{timestamp} was looked for in {place}, and found at {found.offset}, which is earlier")
