"""Where partitions begin and end for those who read them through this node, whoever leads them.

Of a partition that is led here that is known at any time. Of others it is what their leaders have told in answer to a
read, or to a sounding: a search for the first message of all, and one for the end. That is behind the truth by as much
as went by since, and never ahead of it while the same leader leads; with another one it is asked anew.

Whoever waits for messages of such a partition is not told of them by the node. A scout is: a read that waits at the
known end, one a partition for everybody. What it brings is news, and not passed on.

A partition that could not be asked is left alone for a while; its readers have a pause and no error.

Invariant: of a partition there are at most one sounding and one scout.
"""

from attrs import define, field

from goqueue.core.groups.state import Slot
from goqueue.core.replicas.elsewhere import elsewhere
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, FoundOffset
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.services.internal_requests import InternalRequests
from goqueue.core.timers.alarms import Alarms

Span = tuple[int, int]

_ALWAYS_MS, _NEVER_MS = 0, 1 << 62
_SCOUT_NS = 5_000_000_000
_PAUSE_NS = 200_000_000
# Refusals that come of leaders that change, and pass.
PASSING = (
    Code.UNAVAILABLE,
    Code.NOT_LEADER,
    Code.OUTCOME_UNKNOWN,
    Code.SHUTTING_DOWN,
    Code.TOPIC_NOT_FOUND,
    Code.PARTITION_NOT_FOUND,
)


@define
class _Told:
    """What a leader has told, under which epoch of a topic's partition."""

    of: tuple[int, int]
    span: Span


@define
class _Sounding:
    """Two searches: their numbers, and what those have found that are over."""

    first: int
    last: int
    start: int = -1
    end: int = -1


@define(eq=False)
class OffsetLookup:
    """The ends of all partitions as far as they are known."""

    _led: ReplicaSet
    _wishes: InternalRequests
    _told: dict[Slot, _Told] = field(factory=dict)
    _soundings: dict[Slot, _Sounding] = field(factory=dict)
    _scouts: dict[Slot, int] = field(factory=dict)
    # Whose searches and scouts are under way, by number.
    _asked: dict[int, Slot] = field(factory=dict)
    _pauses: Alarms[Slot] = field(factory=Alarms)
    # False where no topic was ever placed, so that a node which is alone looks nothing up.
    _are_several: bool = True

    # --- what is known

    def is_far(self, slot: Slot) -> bool:
        """Whether another node leads a partition."""
        return self._are_several and elsewhere(self._led, *slot) is not None

    def ends(self, topic: str, number: int) -> Span | None:
        """Start and end of a partition, for whoever must not be ahead of them; None where that is to be found out."""
        far = elsewhere(self._led, topic, number) if self._are_several else None
        if far is None:
            return self._led.ends(topic, number)
        told = self._told.get((topic, number))
        return None if told is None or told.of != far[1:] else told.span

    def about(self, topic: str, number: int) -> Span | None:
        """Start and end of a partition, for whoever draws curves of it."""
        lately, told = self._led.ends(topic, number), self.ends(topic, number)
        if lately is None or told is None:
            return lately or told
        return max(lately[0], told[0]), max(lately[1], told[1])

    def is_sounding(self, slot: Slot) -> bool:
        """Whether it is being found out where a partition begins and ends."""
        return slot in self._soundings

    def is_paused(self, slot: Slot) -> bool:
        """Whether a partition could not be asked lately."""
        return slot in self._pauses

    def learn(self, slot: Slot, fetched: Fetched) -> None:
        """A read of another node's partition has told where that begins and ends."""
        self._keep(slot, (fetched.start_offset, fetched.high_watermark))

    def _keep(self, slot: Slot, span: Span) -> None:
        far = elsewhere(self._led, *slot)
        if far is not None:
            self._told[slot] = _Told(far[1:], span)

    def forget(self, slot: Slot) -> None:
        """What was told of a partition is not so."""
        self._told.pop(slot, None)

    # --- finding out

    def sound(self, slot: Slot) -> bool:
        """Find out where a partition begins and ends; False while it cannot be asked."""
        if slot in self._pauses:
            return False
        if slot not in self._soundings:
            numbers = [self._wishes.ask(FindOffset(*slot, moment)) for moment in (_ALWAYS_MS, _NEVER_MS)]
            self._soundings[slot] = _Sounding(*numbers)
            self._asked.update(dict.fromkeys(numbers, slot))
        return True

    def watch(self, slot: Slot) -> None:
        """Hear of what comes behind the known end of a partition."""
        span = self.ends(*slot)
        if span is not None and slot not in self._scouts and slot not in self._pauses:
            number = self._wishes.ask(Fetch(*slot, span[1], 1, _SCOUT_NS))
            self._scouts[slot] = number
            self._asked[number] = slot

    def pause(self, now: int, slot: Slot) -> None:
        """A partition cannot be asked for now."""
        self._pauses.set(slot, now + _PAUSE_NS)

    def answered(self, now: int, number: int, reply: Fetched | FoundOffset | Refusal) -> Slot | None:
        """The answer to a search or a scout; the partition of which there is news, or that may be asked again."""
        slot = self._asked.pop(number, None)
        if slot is None:
            return None
        if self._scouts.get(slot) == number:
            del self._scouts[slot]
            self._scouted(now, slot, reply)
            return slot
        sounding = self._soundings.get(slot)
        if sounding is None or number not in (sounding.first, sounding.last):
            return None
        if isinstance(reply, FoundOffset):
            if number == sounding.first:
                sounding.start = reply.offset
            else:
                sounding.end = reply.offset
            if min(sounding.start, sounding.end) < 0:
                return None
            self._keep(slot, (min(sounding.start, sounding.end), sounding.end))
        else:
            self.pause(now, slot)
        del self._soundings[slot]
        return slot

    def _scouted(self, now: int, slot: Slot, reply: Fetched | FoundOffset | Refusal) -> None:
        if isinstance(reply, Fetched):
            self.learn(slot, reply)
        elif isinstance(reply, Refusal):
            self.forget(slot)
            if reply.code is not Code.OFFSET_OUT_OF_RANGE:
                self.pause(now, slot)

    # --- time

    def topics_changed(self) -> None:
        """There are other topics or leaders: nothing is kept of partitions that are led here or are no more."""
        self._are_several = any(leader.topic.placements for leader in self._led.topics.values())
        self._told = {slot: told for slot, told in self._told.items() if self.is_far(slot)}

    def deadline(self) -> int | None:
        """When `due` has something."""
        return self._pauses.deadline()

    def due(self, now: int) -> list[Slot]:
        """The partitions that may be asked again."""
        return self._pauses.due(now)

    def check(self) -> None:
        """Assert the invariant."""
        self._pauses.check()
        for slot, number in self._scouts.items():
            assert self._asked[number] == slot
        for slot, sounding in self._soundings.items():
            asked = [number for number in (sounding.first, sounding.last) if self._asked.get(number) == slot]
            assert asked, "a sounding that waits for nothing"
