"""Polls of members that are not known here: this node's copy of the groups may be behind.

The coordinator is asked whether there is such a member. If not, its word is the answer. If so, the poll waits until the
copy has come so far. A poll that another node passed on was asked about there, and only waits.
"""

from attrs import define, field

from goqueue.core.alarms import Alarms
from goqueue.core.groups.leader import GroupLeader
from goqueue.core.requests.groups import WatchGroup
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.queues import PollWork
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.work.errands import Errands

# Shorter than any session: whoever polls again is heard of again.
_WAIT_NS = 500_000_000
_WAITING_MAX = 1000


@define(eq=False)
class Newcomers:
    """The polls that wait to be known."""

    _groups: GroupLeader
    _errands: Errands
    # Those that are none, or that were waited for long enough.
    refused: list[tuple[int, Refusal]] = field(factory=list)
    _waiting: dict[int, PollWork] = field(factory=dict)
    _asked: dict[int, int] = field(factory=dict)
    _alarms: Alarms[int] = field(factory=Alarms)

    def add(self, now: int, to: int, request: PollWork, *, asks: bool) -> None:
        """A poll of a member that is not known here."""
        if len(self._waiting) >= _WAITING_MAX:
            self.refused.append((to, _unknown(request)))
            return
        self._waiting[to] = request
        self._alarms.set(to, now + _WAIT_NS)
        coordinator = self._groups.counterpart()
        if asks and coordinator:
            wish = AskNode(coordinator, WatchGroup(request.group, request.member_id))
            self._asked[self._errands.ask(self, wish)] = to

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """What the coordinator says."""
        to = self._asked.pop(number)
        if to in self._waiting and isinstance(reply, Refusal) and not reply.retry_after_ms:
            self.forget(to)
            self.refused.append((to, reply))

    def forget(self, to: int) -> None:
        """Nobody waits for a poll any more."""
        if self._waiting.pop(to, None) is not None:
            self._alarms.drop(to)

    def take_known(self) -> list[tuple[int, PollWork]]:
        """The polls whose members are known by now."""
        groups = self._groups
        known = [
            (to, request)
            for to, request in self._waiting.items()
            if groups.is_ready or groups.is_member(request.group, request.member_id)
        ]
        for to, _ in known:
            self.forget(to)
        return known

    def take_refused(self) -> list[tuple[int, Refusal]]:
        """The polls to be refused."""
        refused, self.refused = self.refused, []
        return refused

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        return 0 if self.refused else self._alarms.deadline()

    def wake(self, now: int) -> None:
        """Wait no longer for those who are not known after all that time."""
        for to in self._alarms.due(now):
            self.refused.append((to, _unknown(self._waiting.pop(to))))

    def check(self) -> None:
        """Assert that whoever waits will be told."""
        self._alarms.check()
        assert all(to in self._alarms for to in self._waiting)
        assert len(self._alarms) == len(self._waiting)


def _unknown(request: PollWork) -> Refusal:
    message = f"member {request.member_id!r} of group {request.group!r} is not known here yet"
    return Refusal(Code.UNAVAILABLE, message, "member_id", retry_after_ms=100)
