"""Lanes that have something have their shares, and none of them waits for ever.

Of two lanes that both had messages before each of some polls, one was not given more by its weight than the other, but
for a turn at the beginning, one at the end, and one more; who may have gone first for having waited too long begins a
new count. A lane that had something for as long as its topic lets it starve is given some of it by the next poll, or
another that has starved is.

What a lane has is known as far as it was acknowledged and never given; what is tried again counts as given. Two polls
at a time may be answered in any order, so they begin a new count. So does whatever takes messages out of a queue
otherwise: a process that dies, and messages that expire.
"""

from bisect import bisect_left

from attrs import define, field

from goqueue.core.cluster.queue_settings import read_weights
from goqueue.core.cluster.topic_settings import setting
from goqueue.core.queues.shares import PRECEDENCE
from goqueue.core.requests.groups import LeaveGroup
from goqueue.core.requests.queues import PolledWork, PollWork
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Asked, Place, Violation, name_of
from goqueue.fuzz.insight import ready_lanes

_MS = 1_000_000
_TURNS = 3


@define
class Backlog:
    """What was acknowledged in a lane of a partition: when, and up to which offset by then."""

    times: list[int] = field(factory=list)
    ends: list[int] = field(factory=list)

    def by(self, at: int) -> int:
        """The last offset that was there at a time; -1 for none."""
        found = bisect_left(self.times, at)
        return self.ends[found - 1] if found else -1


@define(eq=False)
class Queue:
    """One partition as a group has come through it."""

    furthest: dict[int, int] = field(factory=dict)
    # By two lanes that both have had something since: what each was given.
    given: dict[tuple[int, int], list[int]] = field(factory=dict)
    # Since when each lane has had something and was given nothing.
    since: dict[int, int] = field(factory=dict)

    def forget(self) -> None:
        """Begin a new count."""
        self.given.clear()
        self.since.clear()


class Lanes(Checker):
    """Counts what groups without order by key are given of each lane."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._backlogs: dict[tuple[Place, int], Backlog] = {}
        self._queues: dict[tuple[str, Place], Queue] = {}
        self._lives = 0

    def started(self) -> None:
        """Another process: nobody knows what it has read again."""
        self._lives += 1

    def asked(self, asked: Asked) -> None:
        """What is asked at the same time may be answered in any order."""
        request = asked.request
        if isinstance(request, LeaveGroup | PollWork):
            group = request.group
            others = (one.request for one in self.history.open.values() if one is not asked)
            if isinstance(request, LeaveGroup) or any(isinstance(o, PollWork) and o.group == group for o in others):
                self._forget(group)

    def _forget(self, group: str) -> None:
        for (name, _), queue in self._queues.items():
            if name == group:
                queue.forget()

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Take note of what there is, and judge what is given."""
        if self.sight.is_cluster or self._lives > 1:
            return
        for message in asked.messages:
            if message.place is not None and not message.ttl_ms and message.due_ms is None:
                backlog = self._backlogs.setdefault((message.place, max(message.lane, 0)), Backlog())
                backlog.times.append(self.sight.now)
                backlog.ends.append(max(message.offset, backlog.ends[-1] if backlog.ends else -1))
        request = asked.request
        if not isinstance(request, PollWork):
            return
        if asked.is_forgotten or not isinstance(reply, PolledWork):
            self._forget(request.group)
            return
        deliveries = self.history.deliveries
        if request.group in deliveries.meddled or deliveries.terms[request.group].key_ordered:
            return
        counts: dict[Place, dict[int, int]] = {}
        # Lanes that were given what had been given before: how long that has waited is not known.
        again: dict[Place, set[int]] = {}
        lasts: dict[tuple[Place, int], int] = {}
        for given in asked.given:
            place, offset = given.spot[1:3], given.spot[3]
            known = self.history.messages.get(name_of(given.record))
            lane = 0 if known is None else max(known.lane, 0)
            of_place = counts.setdefault(place, {})
            of_place[lane] = of_place.get(lane, 0) + 1
            lasts[place, lane] = max(offset, lasts.get((place, lane), -1))
            queue = self._queues.get((request.group, place))
            if queue is not None and offset <= queue.furthest.get(lane, -1):
                again.setdefault(place, set()).add(lane)
        for place, of_place in counts.items():
            self._judge(asked, request.group, place, of_place, lasts, again.get(place, set()))

    def _judge(
        self,
        asked: Asked,
        group: str,
        place: Place,
        counts: dict[int, int],
        lasts: dict[tuple[Place, int], int],
        again: set[int],
    ) -> None:
        topic = next((one for one in self.sight.topics().values() if one.topic_id == place[0]), None)
        if topic is None or not self.history.is_strong(place[0]) or place in self.history.rotten:
            return
        queue = self._queues.setdefault((group, place), Queue())
        before = self._waiting(queue, place, asked.at)
        for lane in PRECEDENCE:
            if (place, lane) in lasts:
                queue.furthest[lane] = max(lasts[place, lane], queue.furthest.get(lane, -1))
            else:
                # What came before the first poll may be before where the group began.
                queue.furthest.setdefault(lane, self._by(place, lane, self.sight.now))
        # What is leased to somebody who has not heard of it is no more there to be given.
        ready = self._ready(group, topic.name, place)
        before = [lane for lane in before if lane in ready or counts.get(lane)]
        both = [lane for lane in before if lane in self._waiting(queue, place, asked.at) and lane in ready]
        weights = read_weights(str(setting(topic.config, "lane_weights")))
        starvation_ms = setting(topic.config, "starvation_after")
        assert isinstance(starvation_ms, int)
        # Who has waited for that long may have gone first out of turn; half of it leaves room for polls under way.
        patient_from = self.sight.now - starvation_ms * _MS // 2
        both = [lane for lane in both if not counts.get(lane) or queue.since.get(lane, patient_from) >= patient_from]
        self._see_shares(group, place, queue, both, counts, dict(zip(PRECEDENCE, weights, strict=True)))
        self._see_starving(asked, group, place, queue, before, counts, again, starvation_ms)

    def _ready(self, group: str, topic: str, place: Place) -> list[int]:
        node = self.sight.node()
        return [] if node is None else ready_lanes(node, group, topic, place[1])

    def _by(self, place: Place, lane: int, at: int) -> int:
        backlog = self._backlogs.get((place, lane))
        return -1 if backlog is None else backlog.by(at)

    def _waiting(self, queue: Queue, place: Place, at: int) -> list[int]:
        """The lanes that had something at a time that was not given since."""
        return [one for one in PRECEDENCE if one in queue.furthest and self._by(place, one, at) > queue.furthest[one]]

    def _see_shares(
        self, group: str, place: Place, queue: Queue, both: list[int], counts: dict[int, int], weights: dict[int, int]
    ) -> None:
        pairs = [(one, other) for one in both for other in both if one < other]
        queue.given = {pair: queue.given.get(pair, [0, 0]) for pair in pairs}
        for pair, given in queue.given.items():
            for at, lane in enumerate(pair):
                given[at] += counts.get(lane, 0)
            turns = [given[at] / weights[lane] for at, lane in enumerate(pair)]
            if abs(turns[0] - turns[1]) > _TURNS:
                what = f"of lanes {pair} of {place} {group} was given {given}"
                raise Violation(f"{what}, by weights of {weights[pair[0]]} and {weights[pair[1]]}")

    def _see_starving(
        self,
        asked: Asked,
        group: str,
        place: Place,
        queue: Queue,
        before: list[int],
        counts: dict[int, int],
        again: set[int],
        starvation_ms: int,
    ) -> None:
        starving = [one for one in before if asked.at - queue.since.get(one, asked.at) >= starvation_ms * _MS]
        if starving and not again and not any(counts.get(lane) for lane in starving):
            raise Violation(f"lanes {starving} of {place} have starved, and {group} is given {counts}")
        waiting = [lane for lane in before if not counts.get(lane)]
        queue.since = {lane: queue.since.get(lane, self.sight.now) for lane in waiting}
