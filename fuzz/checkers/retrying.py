"""What was to be tried again after a delay is given to nobody before that, whatever happens to its node meanwhile.

A node counts the delay by its monotonic clock, and after a start by the calendar, and ends it by whichever comes first:
so early is what comes before either has passed, by any clock that there is.
"""

from goqueue.core.requests.queues import NackWork, PolledWork, PollWork, WorkDone
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.deliveries import Spot
from goqueue.fuzz.history import Asked, Violation

# Clocks run at different paces.
_SLACK_NS = 5_000_000


class Retrying(Checker):
    """Remembers until when each message is to wait, and after which attempt."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        # By message: the attempt, and the times by the world's clock and by the calendar.
        self._waits: dict[Spot, tuple[int, int, int]] = {}

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Note what is to wait, and judge what is given."""
        request, deliveries = asked.request, self.history.deliveries
        if isinstance(request, NackWork) and isinstance(reply, WorkDone) and request.delay_ms:
            for hold in deliveries.done(request, reply):
                until, until_ms = asked.at + request.delay_ms * 1_000_000, asked.least_ms + request.delay_ms
                self._waits[hold.spot] = hold.attempt, until, until_ms
        elif isinstance(request, PollWork) and isinstance(reply, PolledWork):
            for given in [] if request.group in deliveries.meddled else asked.given:
                attempt, until, until_ms = self._waits.pop(given.spot, (0, 0, 0))
                is_early = self.sight.now + _SLACK_NS < until and self.sight.latest_ms < until_ms
                if 0 < attempt < given.run.attempt and is_early and given.spot[1:3] not in self.history.rotten:
                    what = f"{given.spot} failed as attempt {attempt}, and was to wait until {until} or {until_ms} ms"
                    raise Violation(f"{what}: it is given at {self.sight.now}, when no clock shows more than that")

    def lost(self, topic_id: int | None) -> None:
        """A crash has taken back what was promised of weak topics."""
        for spot in [spot for spot in self._waits if topic_id is None or spot[1] == topic_id]:
            if not self.history.is_strong(spot[1]):
                del self._waits[spot]
