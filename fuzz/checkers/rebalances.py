"""Every rebalance ends: once nothing fails any more each group comes to rest, and its members read all there is.

When members fall silent then, their sessions end, and the group is empty. Until then there is only to see that no more
rebalances end than begin. The healer asks (`goqueue.fuzz.settling`); how long it asks is its own business.
"""

from goqueue.core.requests.groups import FetchOffsets, GroupReply, GroupState, ListGroups, RebalancesReply
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import HEALER, Checker, Sight
from goqueue.fuzz.history import Asked, Violation


class Rebalances(Checker):
    """Keeps what the healer was told last."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self.groups: dict[str, GroupReply] = {}
        # Of each group, what is left to be read.
        self.lags: dict[str, str] = {}

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Take note."""
        if isinstance(reply, RebalancesReply) and reply.successful + reply.failed > reply.total:
            raise Violation(f"more rebalances have ended than begun: {reply}")
        if asked.client != HEALER:
            return
        if isinstance(asked.request, ListGroups) and isinstance(reply, list):
            self.groups = {group.group: group for group in reply if isinstance(group, GroupReply)}
        elif isinstance(asked.request, FetchOffsets):
            self.lags[asked.request.group] = self._lag(asked.request.group, reply)

    def _lag(self, name: str, reply: Reply) -> str:
        if isinstance(reply, Refusal):
            return reply.message
        assert isinstance(reply, list)
        topics = self.sight.topic_ids()
        group = self.groups.get(name)
        read = {topic for member in group.members for topic in member.topics} if group else set()
        behind = [
            one
            for one in reply
            if getattr(one, "lag", 0)
            and getattr(one, "topic", "") in read
            and (topics.get(getattr(one, "topic", "")), getattr(one, "partition", 0)) not in self.history.rotten
        ]
        return f"{behind} are left to be read" if behind else ""

    def unrest(self, members: dict[str, int]) -> str:
        """Why the groups are not at rest, each with as many members as it should have; "" if they are."""
        for name, count in members.items():
            group = self.groups.get(name)
            if group is None or len(group.members) != count or group.state is not GroupState.STABLE:
                return f"{name} should be stable with {count} members: {group}"
            if self.lags.get(name, "not known"):
                return f"in {name} {self.lags.get(name, 'nothing is known, or some')}"
        return ""

    def refuse(self, unrest: str) -> None:
        """Groups should be at rest by now."""
        if unrest:
            raise Violation(f"nothing fails, and the groups find no rest: {unrest}"[:600])

    def are_any_left(self) -> bool:
        """Whether a group has members."""
        return any(group.members for group in self.groups.values())

    def see_empty(self) -> None:
        """All members have been silent for longer than their sessions."""
        for group in self.groups.values():
            if group.members or group.state is not GroupState.EMPTY:
                raise Violation(f"all members are silent, and {group.group} is {group.state}: {group.members}"[:500])
