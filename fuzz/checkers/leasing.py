"""A message of a shared group is given to one member at a time, never again once acknowledged, and as often as agreed.

Attempts count up: one by one on a node that does not die, where members heard all that they were told. What is given
is there: at its offset, as it was acknowledged when it was sent. A receipt that nobody was given does nothing.
"""

from goqueue.core.queues.expiry import expiry
from goqueue.core.requests.queues import AckWork, PolledWork, PollWork, WorkDone
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.deliveries import Given
from goqueue.fuzz.history import Asked, Violation, name_of


class Leasing(Checker):
    """Holds what polls give against what was given before."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._lives = 0

    def started(self) -> None:
        """Another process; polls of the one before it may have been given what nobody heard of."""
        self._lives += 1

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Judge what is given, and note what is done."""
        deliveries, request = self.history.deliveries, asked.request
        if isinstance(request, PollWork) and isinstance(reply, PolledWork):
            for given in [] if deliveries.has_left(request.member_id) else asked.given:
                self._check_given(asked, given)
        elif isinstance(request, AckWork) and isinstance(reply, WorkDone):
            known = deliveries.done(request, reply)
            count = sum(run.count for run in request.receipts)
            if reply.done + len(reply.refusals) != count:
                raise Violation(f"of {count} receipts {reply.done} were done and {len(reply.refusals)} refused")
            for hold in known:
                deliveries.fate(hold.spot).is_acked = True

    def _check_given(self, asked: Asked, given: Given) -> None:
        deliveries, spot = self.history.deliveries, given.spot
        message = self.history.promised.get(spot[1:3], {}).get(spot[3])
        if message is not None and message.name != name_of(given.record):
            raise Violation(f"{message.name!r} was acknowledged at {spot}, and {name_of(given.record)!r} is given")
        if spot[0] in deliveries.meddled or spot[1:3] in self.history.rotten:
            return
        fate, now, run = deliveries.fate(spot), self.sight.now, given.run
        if fate.is_acked:
            raise Violation(f"{spot} was acknowledged, and is given again, as attempt {run.attempt}")
        other = deliveries.live(now, fate)
        if other is not None and now < asked.at + deliveries.terms[spot[0]].span_ns:
            raise Violation(f"{spot} is {other.member_id}'s until {other.until}, and is given to somebody at {now}")
        least = max(fate.attempt, fate.attempt_least)
        if self.history.is_strong(spot[1]):
            least = max(least, deliveries.attempt_least(spot))
        if run.attempt < least and not deliveries.is_late(given):
            raise Violation(f"{spot} is to be given as attempt {least} at least, and is as attempt {run.attempt}")
        self._check_time(asked, given)
        exact = None if self._lives > 1 or self.sight.is_cluster else deliveries.next_attempt(now, spot)
        if exact is not None and run.attempt != exact and self.history.is_strong(spot[1]):
            raise Violation(f"{spot} is to be given as attempt {exact}, and is as attempt {run.attempt}")
        if run.attempt > deliveries.terms[spot[0]].attempts_max:
            raise Violation(f"{spot} is given as attempt {run.attempt}, more than there are")

    def _check_time(self, asked: Asked, given: Given) -> None:
        """What has expired when somebody asks is not given any more."""
        until_ms = expiry(given.record.headers)
        if until_ms is not None and until_ms <= asked.least_ms and not self.sight.went_back:
            what = f"{given.spot} was to be given until {until_ms}"
            raise Violation(f"{what}, and is to one who asked at {asked.least_ms}")

    def lost(self, topic_id: int | None) -> None:
        """What a weak topic promised of deliveries is gone with it."""
        ids = {spot[1] for spot in self.history.deliveries.fates if topic_id is None or spot[1] == topic_id}
        self.history.deliveries.lost({each for each in ids if not self.history.is_strong(each)})
