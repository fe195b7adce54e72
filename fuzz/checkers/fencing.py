"""A commit of a partition that somebody else has had since is refused, one by whoever has it is not.

Whose partition it was is known from what members were told. A generation does for a member: a commit from before
another one was given the partition is refused, even if it has come back since. So is whoever wants to reset what a
member has.
"""

from goqueue.core.groups.state import Slot
from goqueue.core.requests.groups import CommitOffsets, CommittedOffsets, ResetOffsets
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Asked, Violation
from goqueue.fuzz.memberships import Seat


class Fencing(Checker):
    """Judges answers to the commits of members."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        # By name: the id of a topic, and the first request by which it was there.
        self._since: dict[str, tuple[int, int]] = {}

    def asked(self, asked: Asked) -> None:
        """What a member has of a topic, it has not of the next one of its name."""
        for name, topic_id in self.sight.topic_ids().items():
            if self._since.get(name, (0, 0))[0] != topic_id:
                self._since[name] = topic_id, asked.serial

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Judge each partition by itself."""
        request = asked.request
        if isinstance(request, ResetOffsets) and isinstance(reply, list):
            self._check_free(asked, request)
        elif isinstance(request, CommitOffsets) and request.member_id:
            self._judge(asked, request, reply)

    def _check_free(self, asked: Asked, request: ResetOffsets) -> None:
        _, since = self._since.get(request.topic, (0, 0))
        for seat in self.history.memberships.groups.get(request.group, {}).values():
            for slot, hold in seat.holds.items():
                is_meant = slot[0] == request.topic and (not request.partitions or slot[1] in request.partitions)
                if is_meant and since <= hold.serial < asked.serial and seat.has(slot, self.sight.now):
                    raise Violation(f"{slot} of {request.group} was reset, and {seat.member_id} has it")

    def _judge(self, asked: Asked, request: CommitOffsets, reply: Reply) -> None:
        seat = self.history.memberships.seat(request.group, request.member_id)
        if seat is None:
            return
        if isinstance(reply, CommittedOffsets):
            refused = {(one.topic, one.partition): one.refusal for one in reply.refusals}
            for one in request.offsets:
                slot = (one.topic, one.partition)
                if slot not in refused:
                    self._check_taken(asked, request, seat, slot)
                elif refused[slot].code is Code.FENCED_GENERATION:
                    self._check_fenced(asked, request, seat, slot)
        elif isinstance(reply, Refusal) and reply.code is Code.FENCED_GENERATION:
            if request.generation <= seat.generation and seat.lives(self.sight.now):
                raise Violation(f"{seat.member_id} was told of generation {seat.generation}, and refused: {reply}")

    def _check_taken(self, asked: Asked, request: CommitOffsets, seat: Seat, slot: Slot) -> None:
        what = f"a commit of {slot} by {seat.member_id} in generation {request.generation} of {request.group}"
        if 0 < seat.ended < asked.serial:
            raise Violation(f"{what} was taken, and the member is gone")
        own_count, own_generation = seat.told.get(slot, (0, 0))
        for other in self.history.memberships.others(request.group, seat):
            count, generation = other.told.get(slot, (0, 0))
            if not 0 < count < asked.serial:
                continue
            # An answer may be late, and speak of a generation that is over.
            is_later = count > own_count and generation >= own_generation
            if is_later or generation > request.generation:
                raise Violation(f"{what} was taken, and {other.member_id} has been given that in {generation}")

    def _check_fenced(self, asked: Asked, request: CommitOffsets, seat: Seat, slot: Slot) -> None:
        hold = seat.holds.get(slot)
        if hold is None or not seat.has(slot, self.sight.now):
            return
        if hold.serial < asked.serial and hold.generation <= request.generation <= seat.generation:
            raise Violation(f"{seat.member_id} has {slot} since {hold.generation}, and may not commit it: {request}")
