"""A member of a group that knows joins and heartbeats only, as over HTTP: it reads what its last join has told it.

Told to join again it stops reading, commits what it has read, or does not, and joins. Some read by polls; one that has
lost the answer to a poll leaves and joins anew, since what was in it is not given again.
"""

from random import Random

from goqueue.core.requests.groups import GroupBeat, GroupHeartbeat, Joined, JoinGroup, LeaveGroup, Partitions
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.member import GroupClient
from goqueue.fuzz.workloads.reading import Reading

_MS = 1_000_000
_STRANGE = (Code.UNKNOWN_MEMBER, Code.GROUP_NOT_FOUND, Code.FENCED_INSTANCE)


class EagerMember(GroupClient):
    """An eager one."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self._polls = options.polls and random.random() < 0.7
        self._begin()

    def _begin(self) -> None:
        """A new process."""
        self._member_id, self._generation = "", 0
        self._reading = Reading(self.group, self.random, self.options, polls=self._polls)
        self._reading.is_calm = self.is_calm
        self._wants_join = True
        self._leaves = False
        # The one request about the membership that is under way.
        self._asking: Request | None = None
        self._beat_at = 0
        # Until when what was read may yet be committed before the next join.
        self._join_at = 0

    def calm(self) -> None:
        """Do as one should from here on."""
        super().calm()
        self._reading.is_calm = True

    # --- what is asked

    def next_request(self) -> Request | None:
        """A join, a heartbeat, or what is to be read or committed."""
        if self._is_away():
            return None
        haunting = self._haunt()
        if haunting is not None:
            return haunting
        if self._strays():
            self._stray()
            return None
        self._leaves = self._leaves or self._reading.has_lost_messages
        if self._asking is None:
            self._asking = self._membership_request()
            if self._asking is not None:
                return self._asking
        if not self._member_id:
            return None
        is_joining = self._wants_join or self._leaves
        return self._reading.next_request(self.now, self._member_id, self._generation, may_read=not is_joining)

    def _membership_request(self) -> Request | None:
        if self._leaves and self._member_id:
            member_id = self._member_id
            self._begin()
            return LeaveGroup(self.group, member_id)
        if self._wants_join and (self.now >= self._join_at or all(map(self._reading.is_done, self._reading.places))):
            join = self._new_join(eager=True)
            join.member_id = self._member_id
            self._remember(self._member_id, self._generation, self._reading.positions())
            if not self._polls:
                self._reading.drop([*self._reading.places])
            return join
        if self._member_id and not self._wants_join and self.now >= self._beat_at:
            self._beat_at = self.now + self._session_ms * _MS // self.random.choice((3, 4, 6))
            return GroupHeartbeat(self.group, self._member_id, self._generation)
        return None

    def _stray(self) -> None:
        """Be silent, crash, leave, or join again for no reason."""
        drawn = self.random.random()
        if drawn < 0.4:
            self._rest(3)
        elif drawn < 0.7:
            self._remember(self._member_id, self._generation, self._reading.positions())
            self._begin()
            self._rest(1.5)
        elif drawn < 0.85:
            self._leaves = bool(self._member_id)
        else:
            self._wants_join = True

    # --- what is answered

    def answered(self, request: Request, reply: Reply) -> None:
        """Follow what is told."""
        if request is not self._asking:
            self._reading.answered(request, reply)
            return
        self._asking = None
        if isinstance(reply, Joined):
            self._joined(reply)
        elif isinstance(reply, GroupBeat):
            if reply.rebalance_required:
                self._wants_join = True
                self._join_at = self.now + self.random.choice((0, 200 * _MS))
        elif isinstance(reply, Refusal):
            self._refused(request, reply)

    def _joined(self, reply: Joined) -> None:
        self._member_id, self._generation = reply.member_id, reply.generation
        self._wants_join = False
        self._beat_at = self.now + reply.heartbeat_interval_ms * _MS
        slots = _slots(reply.assigned)
        if self._polls:
            self._reading.keep(slots)
        else:
            self._reading.begin(slots)

    def _refused(self, request: Request, reply: Refusal) -> None:
        if isinstance(request, GroupHeartbeat) and reply.code is Code.FENCED_GENERATION:
            self._wants_join = True
        elif reply.code in _STRANGE and not isinstance(request, LeaveGroup):
            self._begin()
            if reply.code is Code.FENCED_INSTANCE:
                self._rest(1)

    def lost(self, request: Request) -> None:
        """A join may have made a member that nobody is; a leave is not asked for twice."""
        if request is not self._asking:
            self._reading.lost(request)
            return
        self._asking = None
        if isinstance(request, JoinGroup):
            self._wants_join = True
        self._beat_at = self.now


def _slots(partitions: Partitions) -> list[tuple[str, int]]:
    return [(topic, partition) for topic, numbers in partitions.items() for partition in numbers]
