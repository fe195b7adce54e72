"""No two members have one partition at one time, and no member is dismissed while its session lasts.

Members of the client library's own kind know when they are certain to be alone: then they are.
"""

from goqueue.core.groups.state import Slot
from goqueue.core.requests.groups import GroupBeat, Joined, JoinGroup, WatchGroup
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Checker
from goqueue.fuzz.history import Asked, Violation
from goqueue.fuzz.workloads.member import Member


class Exclusive(Checker):
    """Holds what a member is given against what others have."""

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Look at whoever has just been told something."""
        dismissed = self.history.memberships.dismissed
        if dismissed is not None:
            spans = f"heard of at {dismissed.heard} for {dismissed.timeout_ns}"
            raise Violation(f"{dismissed.member_id}, {spans}, was dismissed at {self.sight.now}: {reply}"[:500])
        request = asked.request
        if isinstance(reply, Joined) and isinstance(request, JoinGroup):
            self._look(request.group, reply.member_id)
        elif isinstance(reply, GroupBeat) and isinstance(request, WatchGroup):
            self._look(request.group, request.member_id)

    def stepped(self) -> None:
        """Whoever is certain to be alone is."""
        readers: dict[tuple[str, Slot], str] = {}
        for client in self.sight.clients:
            if isinstance(client, Member):
                for slot in client.reads(self.sight.now):
                    other = readers.setdefault((client.group, slot), client.name)
                    if other != client.name:
                        raise Violation(f"{slot} of {client.group} is read by {client.name} and {other}, both certain")

    def _look(self, group: str, member_id: str) -> None:
        seat = self.history.memberships.seat(group, member_id)
        assert seat is not None
        others = self.history.memberships.others(group, seat)
        for slot in seat.holds:
            if not seat.has(slot, self.sight.now):
                continue
            for other in others:
                if other.has(slot, self.sight.now):
                    raise Violation(f"{slot} of {group} was given to {member_id}, and {other.member_id} has it")
