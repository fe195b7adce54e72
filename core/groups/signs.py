"""Signs of life of members that are heard of by another node than the coordinator.

A poll is also a heartbeat, whoever takes it. Whoever does so tells the coordinator, but not of every one: a few times
in the span for which the member may be silent.
"""

from attrs import define, field

from goqueue.core.groups.sessions import MemberKey
from goqueue.core.groups.state import Member
from goqueue.core.requests.groups import WatchGroup
from goqueue.core.requests.internal import AskNode
from goqueue.core.services.internal_requests import InternalRequests

_TIMES_A_SESSION = 6
# Members that were told of are forgotten by the thousand, and told of once more.
_MEMBERS_MAX = 100_000


@define(eq=False)
class SignsOfLife:
    """Of which members it was told, where, and until when that holds."""

    _wishes: InternalRequests
    _told: dict[MemberKey, tuple[str, int]] = field(factory=dict)

    def note(self, now: int, coordinator: str, member: Member, group: str) -> None:
        """A member was heard of."""
        key = (group, member.member_id)
        told = self._told.get(key)
        if told is not None and told[0] == coordinator and now < told[1]:
            return
        if len(self._told) >= _MEMBERS_MAX:
            self._told.clear()
        self._told[key] = coordinator, now + member.session_timeout_ms * 1_000_000 // _TIMES_A_SESSION
        self._wishes.ask(AskNode(coordinator, WatchGroup(group, member.member_id)))
