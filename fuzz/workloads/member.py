"""A member of a group as the client library has it: the library's own machine, and a process that reads and commits.

The process may stray, as often as the options say: fall silent for longer than its session, crash and come back, with
or without the name that it is known by, or leave. What it knew before, or of partitions that it has let go of, it still
tells now and then, as a process would that only seemed to be gone.
"""

from random import Random

from goqueue.core.client.failure import CONNECTION_LOST, Failure
from goqueue.core.client.membership import Assigned, Kept, Lost, Membership, Revoking, Standing
from goqueue.core.groups.state import Slot
from goqueue.core.requests.groups import CommitOffsets, GroupHeartbeat, JoinGroup, PartitionOffset
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client
from goqueue.fuzz.workloads.reading import Reading

_MS = 1_000_000
_LOOK_NS = 50 * _MS


class GroupClient(Client):
    """Whoever belongs to a group: its habits, and the time it is away."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self.in_flight_max = 4
        self.goes_on = True
        self.is_calm = False
        self.group = f"g{random.randrange(options.groups)}"
        # One more than there are: some wait for a topic that never comes.
        names = [f"t{number}" for number in range(options.topics + (random.random() < 0.1))]
        self._topics = random.sample(names, random.randint(1, len(names)))
        self._instance_id = name if random.random() < 0.4 else ""
        self._assignor = random.choice(("", "", "sticky", "roundrobin", "range"))
        self._session_ms = random.randint(1_000, max(options.session_ms_max, 1_000))
        self._away_until = 0
        # What a process that is gone had to say.
        self._ghost: CommitOffsets | None = None

    def idle_ns(self) -> int:
        """There is always a next time to look."""
        return max(self._away_until - self.now, _LOOK_NS if self.is_calm else self.think_ns() + _MS)

    def think_ns(self) -> int:
        """A member has to be heard of, however slow the world is."""
        most_ns = 5 * _MS if self.is_calm else min(self.options.think_ns, self._session_ms * _MS // 4)
        return int(self.random.random() * (most_ns + 1))

    def calm(self) -> None:
        """Do as one should from here on."""
        self.is_calm = True
        self._away_until = 0

    def _is_away(self) -> bool:
        return self.now < self._away_until

    def _strays(self) -> bool:
        return not self.is_calm and self.random.random() < self.options.p_stray

    def _is_odd(self) -> bool:
        """Whether to do what few would."""
        return not self.is_calm and self.options.p_stray > 0 and self.random.random() < 0.3

    def _rest(self, sessions: float) -> None:
        """Be away for about so many sessions."""
        self._away_until = self.now + int(sessions * self._session_ms * _MS * self.random.random())

    def _remember(self, member_id: str, generation: int, positions: list[PartitionOffset]) -> None:
        if member_id and positions and self._is_odd():
            self._ghost = CommitOffsets(self.group, member_id, generation, positions)

    def _haunt(self) -> Request | None:
        """Who is gone speaks."""
        ghost = self._ghost
        if ghost is None or not self._is_odd():
            return None
        self._ghost = ghost if self._is_odd() else None
        if self.random.random() < 0.3:
            return GroupHeartbeat(ghost.group, ghost.member_id, ghost.generation)
        return CommitOffsets(ghost.group, ghost.member_id, ghost.generation, [*ghost.offsets])

    def _new_join(self, *, eager: bool) -> JoinGroup:
        return JoinGroup(
            self.group, [*self._topics], "", self._instance_id, self.name, self._session_ms, None, self._assignor, eager
        )


class Member(GroupClient):
    """A cooperative one."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        # Some never let go in time, even when all is well.
        self._dawdles = options.p_stray > 0 and random.random() < 0.12
        self._begin()

    def _begin(self) -> None:
        """A new process."""
        self._membership = Membership(self._new_join(eager=False), self.random)
        self._reading = Reading(self.group, self.random, self.options)
        self._reading.is_calm = self.is_calm
        self._numbers: list[tuple[Request, int]] = []
        # When each partition that is to be let go of is let go of, committed or not.
        self._release_at: dict[Slot, int] = {}

    def calm(self) -> None:
        """Do as one should from here on."""
        super().calm()
        self._reading.is_calm = True
        if not self._dawdles:
            self._release_at = dict.fromkeys(self._release_at, self.now + 200 * _MS)

    @property
    def is_waiting(self) -> bool:
        """Whether it wants to be a member, or to stay one."""
        return not self._is_away() and self._membership.standing is not Standing.OVER

    def reads(self, now: int) -> list[Slot]:
        """The partitions of which it is certain that nobody else reads them."""
        return [*self._membership.reading] if self._membership.is_certain(now) else []

    # --- what is asked

    def next_request(self) -> Request | None:
        """What the membership wants asked, else what is to be read or committed."""
        if self._is_away():
            return None
        haunting = self._haunt()
        if haunting is not None:
            return haunting
        if self._strays():
            self._stray()
            return None
        membership, now = self._membership, self.now
        membership.wake(now)
        self._follow()
        self._release()
        if membership.standing is Standing.OVER:
            self._rest(2)
            self._begin()
            return None
        taken = membership.take(now)
        if taken is not None:
            self._numbers.append((taken[1], taken[0]))
            return taken[1]
        if membership.standing is not Standing.MEMBER:
            return None
        may_read = membership.is_certain(now)
        return self._reading.next_request(now, membership.member_id, membership.generation, may_read=may_read)

    def _stray(self) -> None:
        """Be silent, crash, or leave."""
        drawn, membership = self.random.random(), self._membership
        if drawn < 0.5:
            self._rest(3)
        elif drawn < 0.8:
            self._remember(membership.member_id, membership.generation, self._reading.positions())
            self._begin()
            self._rest(1.5)
        else:
            membership.leave(self.now)
            self._reading.drop([*self._reading.places])

    def _follow(self) -> None:
        """Do as the news say."""
        news, self._membership.news = self._membership.news, []
        for one in news:
            if isinstance(one, Assigned):
                self._reading.begin(one.slots)
            elif isinstance(one, Kept):
                self._reading.reopen(one.slots)
            elif isinstance(one, Revoking):
                self._reading.close(one.slots)
                span_ns = self.random.choice((90_000, 200_000) if self._dawdles else (0, 300, 2_000)) * _MS
                due = self.now + (0 if self.is_calm and not self._dawdles else span_ns)
                self._release_at.update(dict.fromkeys(one.slots, due + 100 * _MS))
            else:
                assert isinstance(one, Lost)
                self._remember_places(one.slots)
                self._reading.drop(one.slots)
            if not isinstance(one, Revoking):
                for slot in one.slots:
                    self._release_at.pop(slot, None)

    def _remember_places(self, slots: list[Slot]) -> None:
        membership = self._membership
        self._remember(membership.member_id, membership.generation, self._reading.positions(slots))

    def _release(self) -> None:
        """Let go of what is done with."""
        done = [
            slot
            for slot, due in self._release_at.items()
            if due <= self.now or (not self._dawdles and self._reading.is_done(slot))
        ]
        if done:
            self._remember_places(done)
            self._reading.drop(done)
            for slot in done:
                del self._release_at[slot]
            self._membership.released(self.now, done)
            self._membership.check()

    # --- what is answered

    def answered(self, request: Request, reply: Reply) -> None:
        """Tell whoever has asked."""
        number = self._number(request)
        if number:
            self._membership.answered(self.now, number, reply)
            self._membership.check()
        else:
            self._reading.answered(request, reply)

    def lost(self, request: Request) -> None:
        """Tell whoever has asked that there is no answer."""
        number = self._number(request)
        if number:
            self._membership.failed(self.now, number, Failure(CONNECTION_LOST, "the connection is gone"))
        else:
            self._reading.lost(request)

    def _number(self, request: Request) -> int:
        """What the membership calls a request; 0 if that has not asked it."""
        found = next((one for one in self._numbers if one[0] is request), None)
        if found is None:
            return 0
        self._numbers.remove(found)
        return found[1]
