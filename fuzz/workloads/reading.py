"""What one process reads for a group: where it is in each partition, and what it commits of that.

It reads by fetches from where the group is, or by polls, of which the broker knows where they go on. It commits what it
was given, and nothing else, save where it strays: then a commit comes twice, goes back, goes beyond the end or speaks
of an older generation. Not here: which partitions these are (`member.py`, `eager_member.py`).
"""

from random import Random

from attrs import define

from goqueue.core.groups.state import Slot
from goqueue.core.requests.groups import (
    CommitOffsets,
    CommittedOffsets,
    FetchOffsets,
    GroupOffset,
    PartitionOffset,
    Polled,
    PollGroup,
)
from goqueue.core.requests.messages import Fetch, Fetched, FindOffset, FoundOffset
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.options import Options

_BEYOND = 1_000
# Of a process that strays: how many of its commits are not as they should be.
_P_STRAY_COMMIT = 0.3
_CALM_WAIT_NS = 400_000_000


@define(eq=False)
class Place:
    """A partition that is read: `offset` is the next one to be read, -1 while that is not known."""

    offset: int = -1
    committed: int = -1
    is_asked_about: bool = False
    is_astray: bool = False
    is_closing: bool = False

    @property
    def is_committed(self) -> bool:
        """Whether all that was read is committed."""
        return self.offset <= self.committed


@define(eq=False)
class _UnderWay:
    """A request, and the places that it is about."""

    request: Request
    places: dict[Slot, Place]


class Reading:
    """The places of one process."""

    def __init__(self, group: str, random: Random, options: Options, *, polls: bool = False) -> None:
        self.group = group
        self.places: dict[Slot, Place] = {}
        self.is_calm = False
        # Whether an answer to a poll was lost, and with it messages that are not given again.
        self.has_lost_messages = False
        self._random = random
        self._options = options
        self._polls = polls
        self._under_way: list[_UnderWay] = []
        self._commit_at = 0

    # --- what there is to read

    def begin(self, slots: list[Slot]) -> None:
        """Read these from where the group is."""
        for slot in slots:
            self.places[slot] = Place()

    def keep(self, slots: list[Slot]) -> None:
        """Read these and no others, on from where the broker knows."""
        self.places = {slot: self.places.get(slot) or Place() for slot in slots}

    def close(self, slots: list[Slot]) -> None:
        """Read no more of these; what was read of them is yet to be committed."""
        for slot in slots:
            self.places[slot].is_closing = True

    def reopen(self, slots: list[Slot]) -> None:
        """Read on where it was."""
        for slot in slots:
            self.places[slot].is_closing = False

    def drop(self, slots: list[Slot]) -> None:
        """Know nothing of these any more."""
        for slot in slots:
            self.places.pop(slot, None)

    def is_done(self, slot: Slot) -> bool:
        """Whether nothing is left to be committed of a partition."""
        place = self.places.get(slot)
        return place is None or place.is_committed

    def positions(self, slots: list[Slot] | None = None) -> list[PartitionOffset]:
        """How far it is in those partitions, or in all, that it has read something of."""
        found = ((slot, self.places.get(slot)) for slot in (self.places if slots is None else slots))
        return [PartitionOffset(*slot, place.offset) for slot, place in found if place is not None and place.offset > 0]

    # --- what is asked

    def next_request(self, now: int, member_id: str, generation: int, *, may_read: bool) -> Request | None:
        """What to ask next, if anything."""
        request = self._commit(now, member_id, generation)
        if request is not None or not may_read:
            return request
        return self._poll(member_id) if self._polls else self._locate() or self._fetch()

    def _send(self, request: Request, places: dict[Slot, Place]) -> Request:
        self._under_way.append(_UnderWay(request, places))
        return request

    def _is_asking(self, kind: type) -> bool:
        return any(isinstance(one.request, kind) for one in self._under_way)

    def _commit(self, now: int, member_id: str, generation: int) -> Request | None:
        behind = {slot: place for slot, place in self.places.items() if not place.is_committed}
        is_due = now >= self._commit_at or any(place.is_closing for place in behind.values())
        if not behind or not is_due or self._is_asking(CommitOffsets):
            return None
        span_ns = 10_000_000 if self.is_calm else self._options.think_ns
        self._commit_at = now + self._random.randint(0, 4 * span_ns)
        if not self.is_calm and self._options.p_stray > 0 and self._random.random() < _P_STRAY_COMMIT:
            return self._stray(member_id, generation, behind)
        offsets = [PartitionOffset(*slot, place.offset) for slot, place in behind.items()]
        return self._send(CommitOffsets(self.group, member_id, generation, offsets), behind)

    def _stray(self, member_id: str, generation: int, behind: dict[Slot, Place]) -> Request:
        """A commit as it should not be; whatever comes of it, the right one follows."""
        if self._random.random() < 0.3:
            # Of a partition that maybe somebody else has.
            topic = self._random.choice([*behind])[0]
            foreign = topic, self._random.randrange(self._options.partitions_max)
            if foreign not in self.places:
                return self._send(CommitOffsets(self.group, member_id, generation, [PartitionOffset(*foreign, 1)]), {})
        shift, generations = self._random.choice(((0, 0), (0, 1), (0, -1), (-_BEYOND, 0), (_BEYOND, 0)))
        offsets = []
        for slot, place in (self.places if shift < 0 else behind).items():
            back = self._random.randint(0, max(place.committed, 0))
            offsets.append(PartitionOffset(*slot, back if shift < 0 else place.offset + shift))
        return self._send(CommitOffsets(self.group, member_id, max(generation + generations, 0), offsets), {})

    def _poll(self, member_id: str) -> Request | None:
        if self._is_asking(PollGroup):
            return None
        random = self._random
        bytes_max = 1 << 20 if self.is_calm else random.choice((1, 1_000, 1 << 20))
        records_max = 500 if self.is_calm else random.choice((1, 2, 500))
        return self._send(PollGroup(self.group, member_id, records_max, bytes_max, self._wait_ns()), {})

    def _wait_ns(self) -> int:
        return _CALM_WAIT_NS if self.is_calm else self._random.randint(0, self._options.wait_ns_max)

    def _locate(self) -> Request | None:
        """Ask where the group is, or where a partition begins that is elsewhere."""
        for slot, place in self.places.items():
            if place.is_astray and not place.is_asked_about and not place.is_closing:
                place.is_asked_about = True
                return self._send(FindOffset(*slot, 0), {slot: place})
        unknown = {slot: place for slot, place in self.places.items() if place.offset < 0 and not place.is_asked_about}
        if not unknown:
            return None
        for place in unknown.values():
            place.is_asked_about = True
        topics = sorted({topic for topic, _ in unknown})
        return self._send(FetchOffsets(self.group, topics), unknown)

    def _fetch(self) -> Request | None:
        ready = [
            (slot, place)
            for slot, place in self.places.items()
            if place.offset >= 0 and not (place.is_asked_about or place.is_closing or place.is_astray)
        ]
        if not ready:
            return None
        slot, place = self._random.choice(ready)
        place.is_asked_about = True
        max_bytes = 1 << 20 if self.is_calm else self._random.choice((1, 1_000, 1 << 20))
        return self._send(Fetch(*slot, place.offset, max_bytes, self._wait_ns()), {slot: place})

    # --- what is answered

    def answered(self, request: Request, reply: Reply) -> None:
        """Learn from an answer, if this process has asked."""
        one = self._find(request)
        if one is None:
            return
        if isinstance(reply, Polled):
            self._polled(reply)
        elif isinstance(reply, CommittedOffsets):
            self._committed(one, reply)
        elif isinstance(request, PollGroup | CommitOffsets):
            assert isinstance(reply, Refusal)
        else:
            self._found(one, reply)

    def _polled(self, reply: Polled) -> None:
        for part in reply.parts:
            place = self.places.get((part.topic, part.partition))
            if place is None:
                # The answer that told of this partition was lost; what came of it is not given again.
                self.has_lost_messages = True
            else:
                # Where the topic is another one of that name, it begins anew.
                place.committed = min(place.committed, part.first_offset)
                place.offset = part.end_offset

    def _found(self, one: _UnderWay, reply: Reply) -> None:
        for place in one.places.values():
            place.is_asked_about = False
        if isinstance(reply, list):
            for told in reply:
                assert isinstance(told, GroupOffset)
                place_of = one.places.get((told.topic, told.partition))
                if place_of is not None:
                    place_of.committed, place_of.offset = told.offset, max(told.offset, 0)
            return
        for place in one.places.values():
            if isinstance(reply, Fetched):
                place.offset = reply.next_offset
            elif isinstance(reply, FoundOffset):
                place.offset, place.committed, place.is_astray = reply.offset, -1, False
            elif isinstance(reply, Refusal) and reply.code is Code.OFFSET_OUT_OF_RANGE:
                place.is_astray = True

    def _committed(self, one: _UnderWay, reply: CommittedOffsets) -> None:
        assert isinstance(one.request, CommitOffsets)
        refused = {(refusal.topic, refusal.partition): refusal.refusal for refusal in reply.refusals}
        for offset in one.request.offsets:
            slot = (offset.topic, offset.partition)
            place = one.places.get(slot)
            if place is None:
                continue
            if slot not in refused or place.is_closing:
                place.committed = max(place.committed, offset.offset)
            elif refused[slot].code is Code.OFFSET_OUT_OF_RANGE and not self._polls:
                # The partition is not what it was: begin where the group is.
                place.offset = place.committed = -1

    def lost(self, request: Request) -> None:
        """No answer will come."""
        one = self._find(request)
        if one is None:
            return
        self.has_lost_messages = self.has_lost_messages or isinstance(request, PollGroup)
        for place in one.places.values():
            place.is_asked_about = False

    def _find(self, request: Request) -> _UnderWay | None:
        """What was under way by a request; it is no more."""
        one = next((one for one in self._under_way if one.request is request), None)
        if one is not None:
            self._under_way.remove(one)
        return one
