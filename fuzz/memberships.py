"""What members of groups were told and have said: who may believe to have which partition, at any moment.

A member has a partition from the answer that gave it. It has it no more once it has let go of it, by a revocation, by
leaving or, an eager one, by joining again; once another process has joined under its name, or may have done so by a
request that is under way for long; and once it may have been given up: its session can have run out, or the time in
which to let go of what it may not have heard that it should.

What a member says counts from when it came to the node. What it is told was true some time between its question and the
answer, so it speaks of nothing that the member has said since. Not here: what is wrong with any of it (`checkers/`).
"""

from attrs import define, field

from goqueue.core.groups.sessions import REVOCATION_NS
from goqueue.core.groups.state import Slot
from goqueue.core.requests.groups import (
    CommitOffsets,
    CommittedOffsets,
    DeleteGroup,
    GroupBeat,
    GroupHeartbeat,
    Joined,
    JoinGroup,
    LeaveGroup,
    Partitions,
    RevokedPartitions,
    RevokePartitions,
    WatchGroup,
)
from goqueue.core.requests.refusals import Code, Outcome, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request

_SPOKEN = JoinGroup | GroupHeartbeat | WatchGroup | RevokePartitions | CommitOffsets | LeaveGroup
_GONE = (Code.UNKNOWN_MEMBER, Code.FENCED_INSTANCE, Code.GROUP_NOT_FOUND)


@define
class Hold:
    """A partition that a member was given: in which generation, when it was last told so, and how many had asked."""

    generation: int
    told: int
    serial: int


@define(eq=False)
class Seat:
    """One member as it knows itself."""

    member_id: str
    instance_id: str
    eager: bool
    timeout_ns: int
    heard: int
    # How many requests there were when it was told that it is a member.
    since: int = 0
    generation: int = 0
    holds: dict[Slot, Hold] = field(factory=dict)
    # Of every partition that it ever had: the number of requests there were when it was last told, and the generation.
    told: dict[Slot, tuple[int, int]] = field(factory=dict)
    # The request by which each partition was let go of, and the last by which all were.
    let_go: dict[Slot, int] = field(factory=dict)
    all_let_go: int = 0
    # By which request it can be gone, and since which it is for good.
    gone: int = 0
    ended: int = 0
    # Whether it has ever asked to leave, heard or not.
    has_left: bool = False
    # Requests to join under its name that were there before it, and may yet arrive and take its place.
    rivals: set[int] = field(factory=set)

    def lives(self, now: int) -> bool:
        """Whether its session cannot be over."""
        return not (self.gone or self.rivals) and now < self.heard + self.timeout_ns

    def has(self, slot: Slot, now: int) -> bool:
        """Whether nobody else can have a partition."""
        hold = self.holds.get(slot)
        return hold is not None and self.lives(now) and now < hold.told + REVOCATION_NS


@define
class Memberships:
    """All members of all groups."""

    groups: dict[str, dict[str, Seat]] = field(factory=dict)
    # The member that was just told that it is none, though its session could not be over.
    dismissed: Seat | None = None
    # What a member that has just joined under a name of its own had under it, and was not given.
    withheld: list[Slot] = field(factory=list)
    # By group and name: the requests to join that have had no answer, or one that leaves open what became of them.
    _joining: dict[tuple[str, str], set[int]] = field(factory=dict)

    def seat(self, group: str, member_id: str) -> Seat | None:
        """A member that has heard of itself."""
        return self.groups.get(group, {}).get(member_id)

    def others(self, group: str, seat: Seat) -> list[Seat]:
        """All members there ever were, but this one and those of its name."""
        return [
            one
            for one in self.groups.get(group, {}).values()
            if one is not seat and not (seat.instance_id and one.instance_id == seat.instance_id)
        ]

    # --- what is said

    def asked(self, serial: int, now: int, request: Request) -> None:
        """Somebody spoke."""
        if isinstance(request, JoinGroup):
            self._joins(serial, request)
        elif isinstance(request, DeleteGroup):
            former = self.groups.get(request.group, {}).values()
            if not any(one.lives(now) for one in former):
                # If it is made anew, it counts its generations anew.
                for one in former:
                    one.told.clear()
        elif isinstance(request, LeaveGroup | RevokePartitions):
            seat = self.seat(request.group, request.member_id)
            if seat is None:
                return
            if isinstance(request, LeaveGroup):
                seat.gone, seat.has_left = serial, True
                return
            for slot in slots_of(request.revoked):
                seat.let_go[slot] = serial
                seat.holds.pop(slot, None)

    def _joins(self, serial: int, request: JoinGroup) -> None:
        if request.instance_id and not request.member_id:
            self._joining.setdefault((request.group, request.instance_id), set()).add(serial)
        for seat in self.groups.get(request.group, {}).values():
            if request.member_id == seat.member_id and request.eager:
                seat.all_let_go = serial
                seat.holds.clear()
            elif not request.member_id and request.instance_id and request.instance_id == seat.instance_id:
                seat.gone = serial

    # --- what is told

    def answered(self, serial: int, count: int, asked_at: int, now: int, request: Request, reply: Reply) -> None:
        """An answer to the request of that serial number, when there were `count` requests."""
        self.dismissed, self.withheld = None, []
        if isinstance(request, JoinGroup) and not _is_in_doubt(reply):
            self._has_arrived(serial, request)
        if isinstance(request, DeleteGroup) and reply is None:
            gone = self.groups.pop(request.group, {})
            self.dismissed = next((one for one in gone.values() if one.lives(now)), None)
        if not isinstance(request, _SPOKEN):
            return
        if isinstance(reply, Joined):
            assert isinstance(request, JoinGroup)
            self._joined(serial, count, asked_at, now, request, reply)
            return
        seat = self.seat(request.group, request.member_id)
        if seat is None:
            return
        if isinstance(reply, Refusal) and reply.code in _GONE:
            self.dismissed = seat if seat.lives(now) else None
            seat.gone = serial
        elif isinstance(request, LeaveGroup) and reply is None:
            seat.gone = seat.ended = serial
        elif isinstance(reply, GroupBeat | RevokedPartitions | CommittedOffsets):
            self._heard(seat, serial, asked_at)
            if isinstance(reply, GroupBeat) and not seat.eager:
                seat.generation = reply.generation
                self._told(seat, serial, count, asked_at, reply.assigned, reply.to_revoke)

    def _has_arrived(self, serial: int, request: JoinGroup) -> None:
        """A request to join takes nobody's place later."""
        self._joining.get((request.group, request.instance_id), set()).discard(serial)
        for seat in self.groups.get(request.group, {}).values():
            seat.rivals.discard(serial)

    def _heard(self, seat: Seat, serial: int, asked_at: int) -> None:
        seat.heard = max(seat.heard, asked_at)
        if serial > seat.gone:
            seat.gone = 0

    def _joined(self, serial: int, count: int, asked_at: int, now: int, request: JoinGroup, reply: Joined) -> None:
        seats = self.groups.setdefault(request.group, {})
        seat = seats.get(reply.member_id)
        if seat is None:
            timeout_ns = request.session_timeout_ms * 1_000_000
            seat = Seat(reply.member_id, request.instance_id, request.eager, timeout_ns, asked_at, count)
            seats[reply.member_id] = seat
            seat.rivals |= self._joining.get((request.group, request.instance_id), set())
            for one in seats.values():
                if request.instance_id and one is not seat and one.instance_id == request.instance_id:
                    self._follow(one, seat, serial, now, reply)
        self._heard(seat, serial, asked_at)
        seat.generation = reply.generation
        self._told(seat, serial, count, asked_at, reply.assigned, {} if request.eager else reply.to_revoke)

    def _follow(self, former: Seat, seat: Seat, serial: int, now: int, reply: Joined) -> None:
        """Two members of one name: the one that was asked for once the other was known has taken its place.

        Where both were asked for at a time, either may have. Who is answered from here on is the one that is left.
        """
        if serial > former.since:
            self._inherit(former, serial, now, reply)
            former.gone = former.ended = former.ended or serial
        else:
            former.gone = seat.gone = seat.since

    def _inherit(self, former: Seat, serial: int, now: int, reply: Joined) -> None:
        """What a member has in a generation, the next one of its name has."""
        stays = former.gone in (0, serial) and not former.ended and not former.has_left
        if stays and now < former.heard + former.timeout_ns:
            mine = slots_of(reply.assigned)
            held = [slot for slot in former.holds if former.told.get(slot, (0, 0))[1] == reply.generation]
            self.withheld = [slot for slot in held if slot not in mine]

    def _told(
        self, seat: Seat, serial: int, count: int, asked_at: int, assigned: Partitions, to_revoke: Partitions
    ) -> None:
        mine, going = slots_of(assigned), slots_of(to_revoke)
        for slot in [slot for slot in seat.holds if slot not in mine and slot not in going]:
            del seat.holds[slot]
        for slot in mine:
            if max(seat.let_go.get(slot, 0), seat.all_let_go) > serial:
                continue
            seat.told[slot] = count, seat.generation
            hold = seat.holds.get(slot)
            if hold is None:
                seat.holds[slot] = Hold(seat.generation, asked_at, count)
            else:
                hold.told = asked_at


def _is_in_doubt(reply: Reply) -> bool:
    """Whether a request may yet be carried out, though it was answered."""
    return isinstance(reply, Refusal) and reply.outcome is Outcome.UNKNOWN


def slots_of(partitions: Partitions) -> list[Slot]:
    """Partitions one by one."""
    return [(topic, partition) for topic, numbers in partitions.items() for partition in numbers]
