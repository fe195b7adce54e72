"""Somebody with a group of his own, who comes back now and then: after less time than it is kept, or more.

Nobody else knows of the group, so he knows what he has to find there. He is a member for a while, or commits without
being one; he leaves, falls silent, and looks whether there is anything left of it.
"""

from random import Random

from goqueue.core.requests.groups import (
    AlterGroup,
    CommitOffsets,
    CommittedOffsets,
    DescribeGroup,
    FetchOffsets,
    GroupHeartbeat,
    GroupReply,
    Joined,
    JoinGroup,
    LeaveGroup,
    PartitionOffset,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client

VISITED = "visited-by-"
_MS = 1_000_000


class Visitor(Client):
    """One group, and what may be left of it."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self.group = f"{VISITED}{name}"
        self._config: dict[str, object] = {"offsets_retention": f"{options.visit_ms}ms"}
        self._member_id = ""
        self._generation = 0
        # Whether there may be a group that is kept for as long as others.
        self._is_unset = False
        self._away_until = 0

    def idle_ns(self) -> int:
        """There is always a next time to look."""
        return max(self._away_until - self.now, _MS)

    def next_request(self) -> Request | None:
        """A question, or something that makes or keeps the group."""
        random, group = self.random, self.group
        if self.now < self._away_until:
            return None
        if self._is_unset:
            return AlterGroup(group, {**self._config})
        drawn = random.random()
        if drawn < 0.3:
            self._away_until = self.now + int(random.choice((0.5, 2.0)) * random.random() * self.options.visit_ms * _MS)
        if self._member_id and drawn < 0.6:
            return GroupHeartbeat(group, self._member_id, self._generation)
        if self._member_id:
            member_id, self._member_id = self._member_id, ""
            return LeaveGroup(group, member_id) if drawn < 0.9 else DescribeGroup(group)
        if drawn < 0.5:
            return random.choice((DescribeGroup(group), FetchOffsets(group)))
        if drawn < 0.75:
            self._is_unset = True
            return CommitOffsets(group, "", 0, [PartitionOffset(self.draw_topic(), self.draw_partition(), 0)])
        session_ms = random.choice((1_000, 2_000))
        return JoinGroup(group, ["t0"], "", self.name, self.name, session_ms, config={**self._config})

    def answered(self, request: Request, reply: Reply) -> None:
        """Know who one is."""
        if isinstance(reply, Joined):
            self._member_id, self._generation = reply.member_id, reply.generation
        elif isinstance(request, GroupHeartbeat) and isinstance(reply, Refusal):
            self._member_id = ""
        elif isinstance(request, AlterGroup):
            is_gone = isinstance(reply, Refusal) and reply.code is Code.GROUP_NOT_FOUND
            self._is_unset = not (is_gone or isinstance(reply, GroupReply))
        elif isinstance(request, CommitOffsets):
            self._is_unset = isinstance(reply, CommittedOffsets)
