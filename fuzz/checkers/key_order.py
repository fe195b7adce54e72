"""Where a shared group goes by keys, a message waits for all before it of its key; elsewhere lanes keep their order.

A message before another is done with when it was acknowledged, given up or may have expired; what only may be so is no
reason to complain. In a group without order by key, messages of one lane are given for the first time in the order of
their offsets; that is known only as long as no poll was given up and no process died.
"""

from bisect import bisect_left

from goqueue.core.requests.groups import LeaveGroup
from goqueue.core.requests.queues import PollWork
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.deliveries import Given
from goqueue.fuzz.history import Asked, Place, Violation


class KeyOrder(Checker):
    """Looks at what lies before a message that is given."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._lives = 0
        self._is_shaken = False
        # By group, place and lane: when answers came, and the furthest offset given by then.
        self._furthest: dict[tuple[str, Place, int], list[tuple[int, int]]] = {}

    def started(self) -> None:
        """Another process; polls of the one before it may have been given what nobody heard of."""
        self._lives += 1
        self._is_shaken = self._lives > 1 or self.sight.is_cluster

    def asked(self, asked: Asked) -> None:
        """A second poll of a member, as its leaving, ends the first, and hands back what that was about to be given."""
        request, others = asked.request, self.history.open.values()
        self._is_shaken |= isinstance(request, LeaveGroup)
        if isinstance(request, PollWork):
            polls = [one.request for one in others if isinstance(one.request, PollWork) and one is not asked]
            self._is_shaken |= any(poll.member_id == request.member_id for poll in polls)

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Judge what is given."""
        is_refused = isinstance(asked.request, PollWork) and isinstance(reply, Refusal)
        self._is_shaken = self._is_shaken or asked.is_forgotten or is_refused
        deliveries = self.history.deliveries
        for given in asked.given:
            spot = given.spot
            if spot[0] in deliveries.meddled or spot[1:3] in self.history.rotten:
                continue
            if deliveries.terms[spot[0]].key_ordered:
                self._check_key(given)
            elif not self._is_shaken and given.run.attempt == 1 and not deliveries.fate(spot).holds:
                self._check_lane(asked, given)

    def _check_key(self, given: Given) -> None:
        group, topic_id, partition, offset = given.spot
        if given.record.key is None or not self.history.is_strong(topic_id) or self.history.terms[topic_id].retains:
            return
        deliveries, key = self.history.deliveries, bytes(given.record.key)
        for before, message in self.history.promised.get((topic_id, partition), {}).items():
            if before >= offset or message.key != key or message.ttl_ms:
                continue
            spot = group, topic_id, partition, before
            if deliveries.fate(spot).may_be_settled or deliveries.may_have_failed(self.sight.now, spot):
                continue
            if not self.sight.is_given_up_unheard(spot):
                raise Violation(f"{given.spot} is given before {spot} of the same key {key!r} is done with")

    def _check_lane(self, asked: Asked, given: Given) -> None:
        """Compare with what was given before this poll came: answers to two at a time come in any order."""
        group, topic_id, partition, offset = given.spot
        message = self.history.promised.get((topic_id, partition), {}).get(offset)
        if message is None:
            return
        lane = (group, (topic_id, partition), max(message.lane, 0))
        furthest = self._furthest.setdefault(lane, [])
        before = bisect_left(furthest, (asked.at, -1))
        if before and offset < furthest[before - 1][1]:
            raise Violation(f"{given.spot} of lane {lane[2]} is given for the first time after {furthest[before - 1]}")
        furthest.append((self.sight.now, max(offset, furthest[-1][1] if furthest else -1)))

    def lost(self, topic_id: int | None) -> None:
        """Offsets are given anew."""
        for lane in [lane for lane in self._furthest if topic_id is None or lane[1][0] == topic_id]:
            if not self.history.is_strong(lane[1][0]):
                del self._furthest[lane]
