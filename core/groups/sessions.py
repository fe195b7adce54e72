"""Who is alive, and who is late in letting go: times that begin anew with each coordinator.

None of this survives: after a start or a failover every member has a whole session before it, and the whole time to let
go of what it was asked for. A heartbeat only notes when it came; the alarm looks at that when it rings, and is set on
if the member was heard of since. So a heartbeat costs no more with a thousand members than with one.
"""

from attrs import define, field

from goqueue.core.groups.rebalance import to_revoke
from goqueue.core.groups.state import Group, Member, Slot
from goqueue.core.requests.groups import Partitions
from goqueue.core.timers.alarms import Alarms

REVOCATION_NS = 60_000_000_000

MemberKey = tuple[str, str]


@define
class Revocation:
    """A partition that a member is to let go of: until when, and since which generation."""

    deadline: int
    generation: int


@define
class Session:
    """A member's time: when it was last heard of, what it was last told, and what it is to let go of."""

    last: int
    timeout_ns: int
    told: int = 0
    # What the last join was answered: an eager member knows of nothing else.
    answered: dict[Slot, int] = field(factory=dict)
    revoking: dict[Slot, Revocation] = field(factory=dict)

    def deadline(self) -> int | None:
        """Until when the member is to let go of something."""
        return min((revocation.deadline for revocation in self.revoking.values()), default=None)

    def asked(self, partitions: Partitions, generation: int) -> Partitions:
        """Those partitions that a member was asked for by a generation, or by one before.

        A word that comes late speaks of an earlier time: the partition may have become the member's own again since,
        and be asked for once more while it is being read.
        """
        told: Partitions = {}
        for topic, numbers in partitions.items():
            for partition in numbers:
                revocation = self.revoking.get((topic, partition))
                if revocation is not None and revocation.generation <= generation:
                    told.setdefault(topic, []).append(partition)
        return told


@define
class Sessions:
    """The sessions of all members of all groups."""

    _sessions: dict[MemberKey, Session] = field(factory=dict)
    _ends: Alarms[MemberKey] = field(factory=Alarms)
    _revocations: Alarms[MemberKey] = field(factory=Alarms)

    def begin(self, now: int, group: str, member: Member) -> Session:
        """A member joined, for the first time or again."""
        key = (group, member.member_id)
        session = self._sessions.setdefault(key, Session(now, 0))
        session.last = now
        session.timeout_ns = member.session_timeout_ms * 1_000_000
        self._ends.set(key, now + session.timeout_ns)
        return session

    def get(self, group: str, member_id: str) -> Session:
        """The session of a member."""
        return self._sessions[group, member_id]

    def end(self, group: str, member_id: str) -> None:
        """A member is gone."""
        key = (group, member_id)
        del self._sessions[key]
        self._ends.drop(key)
        self._revocations.drop(key)

    def follow(self, now: int, group: Group) -> None:
        """Give the members of a group time for what they are to let go of, from when it was first asked of them."""
        for member in group.members.values():
            session = self._sessions.get((group.name, member.member_id))
            if session is None:
                continue
            going = [(topic, each) for topic, partitions in to_revoke(member).items() for each in partitions]
            if going or session.revoking:
                fresh = Revocation(now + REVOCATION_NS, group.generation)
                session.revoking = {slot: session.revoking.get(slot, fresh) for slot in going}
                self._watch_revocation((group.name, member.member_id), session)

    def _watch_revocation(self, key: MemberKey, session: Session) -> None:
        deadline = session.deadline()
        if deadline is None:
            self._revocations.drop(key)
        else:
            self._revocations.set(key, deadline)

    def deadline(self) -> int | None:
        """When `expired` or `overdue` has something."""
        ends, revocations = self._ends.deadline(), self._revocations.deadline()
        return min((due for due in (ends, revocations) if due is not None), default=None)

    def expired(self, now: int) -> list[MemberKey]:
        """Members that were not heard of for too long."""
        silent: list[MemberKey] = []
        for key in self._ends.due(now):
            session = self._sessions[key]
            end = session.last + session.timeout_ns
            if end > now:
                self._ends.set(key, end)
            else:
                silent.append(key)
        return silent

    def overdue(self, now: int) -> list[tuple[MemberKey, Partitions]]:
        """What members should have let go of by now."""
        late: list[tuple[MemberKey, Partitions]] = []
        for key in self._revocations.due(now):
            session = self._sessions[key]
            partitions: Partitions = {}
            for (topic, partition), revocation in session.revoking.items():
                if revocation.deadline <= now:
                    partitions.setdefault(topic, []).append(partition)
            late.append((key, partitions))
            self._revocations.set(key, now + REVOCATION_NS)
        return late

    def check(self, groups: dict[str, Group]) -> None:
        """Assert that every member has a session that will end, and whoever is to let go of something a time for it."""
        self._ends.check()
        self._revocations.check()
        keys = {(name, member_id) for name, group in groups.items() for member_id in group.members}
        assert self._sessions.keys() == keys
        for key, session in self._sessions.items():
            assert key in self._ends
            going = to_revoke(groups[key[0]].members[key[1]])
            assert session.revoking.keys() == {
                (topic, each) for topic, partitions in going.items() for each in partitions
            }
            assert (key in self._revocations) == bool(session.revoking)
