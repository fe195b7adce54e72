"""Polls of members that are not known here: this node's copy of the groups may be behind.

The coordinator is asked whether there is such a member. If not, its word is the answer. If so, the poll waits until the
copy has come so far. A poll that another node passed on was asked about there, and only waits.
"""

from attrs import define, field

from goqueue.core.groups.leader import GroupLeader
from goqueue.core.queues.errands import Errands
from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import WatchGroup
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.queues import PollWork
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.timers.alarms import Alarms

# Shorter than any session: whoever polls again is heard of again.
_WAIT_NS = 500_000_000
_WAITING_MAX = 1000


@define(eq=False)
class Newcomers:
    """The polls that wait to be known."""

    _groups: GroupLeader
    _errands: Errands
    # Those that are none, or that were waited for long enough.
    refused: list[tuple[Call, Refusal]] = field(factory=list)
    _waiting: dict[Call, PollWork] = field(factory=dict)
    _asked: dict[int, Call] = field(factory=dict)
    _alarms: Alarms[Call] = field(factory=Alarms)

    def add(self, now: int, call: Call, request: PollWork, *, asks: bool) -> None:
        """A poll of a member that is not known here."""
        if len(self._waiting) >= _WAITING_MAX:
            self.refused.append((call, _unknown(request)))
            return
        self._waiting[call] = request
        self._alarms.set(call, now + _WAIT_NS)
        coordinator = self._groups.counterpart()
        if asks and coordinator:
            wish = AskNode(coordinator, WatchGroup(request.group, request.member_id))
            self._asked[self._errands.ask(self, wish)] = call

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """What the coordinator says."""
        call = self._asked.pop(number)
        if call in self._waiting and isinstance(reply, Refusal) and not reply.retry_after_ms:
            self.forget(call)
            self.refused.append((call, reply))

    def forget(self, call: Call) -> None:
        """Nobody waits for a poll any more."""
        if self._waiting.pop(call, None) is not None:
            self._alarms.drop(call)

    def take_known(self) -> list[tuple[Call, PollWork]]:
        """The polls whose members are known by now."""
        groups = self._groups
        known = [
            (call, request)
            for call, request in self._waiting.items()
            if groups.is_ready or groups.is_member(request.group, request.member_id)
        ]
        for call, _ in known:
            self.forget(call)
        return known

    def take_refused(self) -> list[tuple[Call, Refusal]]:
        """The polls to be refused."""
        refused, self.refused = self.refused, []
        return refused

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        return 0 if self.refused else self._alarms.deadline()

    def wake(self, now: int) -> None:
        """Wait no longer for those who are not known after all that time."""
        for call in self._alarms.due(now):
            self.refused.append((call, _unknown(self._waiting.pop(call))))

    def check(self) -> None:
        """Assert that whoever waits will be told."""
        self._alarms.check()
        assert all(call in self._alarms for call in self._waiting)
        assert len(self._alarms) == len(self._waiting)


def _unknown(request: PollWork) -> Refusal:
    message = f"member {request.member_id!r} of group {request.group!r} is not known here yet"
    return Refusal(Code.UNAVAILABLE, message, "member_id", retry_after_ms=100)
