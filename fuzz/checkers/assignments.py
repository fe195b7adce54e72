"""In one generation of a group a partition is meant for one member; in a group that is told to be stable each is.

Whoever comes back under its name while its session lasts has what it had.
"""

from goqueue.core.groups.state import Slot
from goqueue.core.requests.groups import (
    DeleteGroup,
    GroupBeat,
    GroupHeartbeat,
    GroupMode,
    GroupReply,
    GroupState,
    Joined,
    JoinGroup,
    Partitions,
    RevokedPartitions,
    WatchGroup,
)
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker, Sight
from goqueue.fuzz.history import Asked, Violation
from goqueue.fuzz.memberships import slots_of

_LAG_NS = 20_000_000_000


class Assignments(Checker):
    """Remembers whom each partition was meant for, by generation."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._meant: dict[str, dict[tuple[int, Slot], str]] = {}
        # The topics as they are, and the turn after which they were so.
        self._topics: dict[str, int] = {}
        self._changed_in = self._changed_at = 0
        self._asked_in: dict[int, int] = {}

    def stepped(self) -> None:
        """Topics come and go."""
        node = self.sight.node()
        topics = {} if node is None else node.led.partition_counts()
        if topics != self._topics:
            self._topics, self._changed_in, self._changed_at = topics, self.sight.turns, self.sight.now

    def asked(self, asked: Asked) -> None:
        """A group that is made anew begins with the first generation."""
        self._asked_in[asked.to] = self.sight.turns
        if isinstance(asked.request, DeleteGroup):
            self._meant.pop(asked.request.group, None)

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Look at what somebody is told of assignments."""
        request, asked_in = asked.request, self._asked_in.pop(asked.to, 0)
        if isinstance(reply, Joined) and isinstance(request, JoinGroup):
            self._note(request.group, reply.generation, reply.member_id, reply.assigned)
            withheld = self.history.memberships.withheld
            if withheld:
                raise Violation(f"{reply.member_id} had {withheld}, and is given {reply}"[:500])
        elif isinstance(reply, GroupBeat) and isinstance(request, GroupHeartbeat | WatchGroup):
            self._note(request.group, reply.generation, request.member_id, reply.assigned)
            if reply.state is GroupState.STABLE and reply.to_revoke:
                raise Violation(f"{request.group} is stable, and {request.member_id} is to let go: {reply}")
        elif isinstance(reply, RevokedPartitions) and reply.state is GroupState.STABLE and reply.pending:
            raise Violation(f"a group is stable, and {reply.pending} are to be let go of: {request}")
        elif isinstance(reply, GroupReply):
            self._check_group(reply, asked_in)
        elif isinstance(reply, list):
            for group in reply:
                if isinstance(group, GroupReply):
                    self._check_group(group, asked_in)

    def _note(self, group: str, generation: int, member_id: str, assigned: Partitions) -> None:
        name = member_id.rpartition("@")[0] or member_id
        meant = self._meant.setdefault(group, {})
        for slot in slots_of(assigned):
            other = meant.setdefault((generation, slot), name)
            if other != name:
                raise Violation(f"in generation {generation} of {group} {slot} is {name}'s and {other}'s")

    def _check_group(self, reply: GroupReply, asked_in: int) -> None:
        for member in reply.members:
            self._note(reply.group, reply.generation, member.member_id, member.assigned)
        # A node takes note of its topics at the end of a turn.
        is_settled = asked_in > self._changed_in + 1 and self.sight.now >= self._changed_at + self._lag_ns()
        if reply.state is GroupState.STABLE and reply.mode is GroupMode.EXCLUSIVE and is_settled:
            self._check_complete(reply)

    def _lag_ns(self) -> int:
        """How long a coordinator may take to hear of topics: what is agreed on comes to it by letters."""
        return _LAG_NS if self.sight.is_cluster else 0

    def _check_complete(self, reply: GroupReply) -> None:
        assigned = [slot for member in reply.members for slot in slots_of(member.assigned)]
        topics = sorted({topic for member in reply.members for topic in member.topics})
        wanted = [(topic, partition) for topic in topics for partition in range(self._topics.get(topic, 0))]
        if sorted(assigned) != wanted or any(member.to_revoke for member in reply.members):
            raise Violation(f"{reply.group} is stable, {wanted} are to be read, and {reply.members}"[:500])
