"""A group that was used is there until its time is over, and then it is gone, whatever befalls its coordinators.

Seen from the one client of a group that nobody else knows of. It was used when something was asked that has succeeded:
at the earliest when that was asked. Who has joined is a member until he leaves, or for a session after he was heard of.

Where clocks are set or differ, nothing can be said of a coordinator that began after the last use; of one that lives
on, no clock that is set makes it hurry. That groups do go is seen by the healer, when all is quiet.
"""

from goqueue.core.requests.groups import (
    CommitOffsets,
    CommittedOffsets,
    DescribeGroup,
    FetchOffsets,
    GroupBeat,
    GroupHeartbeat,
    GroupReply,
    Joined,
    JoinGroup,
    LeaveGroup,
    ListGroups,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import HEALER, Checker, Sight
from goqueue.fuzz.history import Asked, Violation
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.visitor import VISITED

_MS = 1_000_000
_SLACK_NS = 300 * _MS


class Forgetting(Checker):
    """Until when each group is there for certain."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._used: dict[str, int] = {}
        self._sessions: dict[str, int] = {}
        # Until when a group has a member, by what it was told, if nobody wants to leave.
        self._member_until: dict[str, int] = {}
        self._started_at = 0
        # When anything last came of what was asked of each group, at the latest.
        self._touched: dict[str, int] = {}
        # Groups that are known not to be kept for long; a commit may make the next one, which is. What a commit that
        # moves nothing is worth is certain of the first one only.
        self._short: set[str] = set()
        self._certain: set[int] = set()
        # Joins without an answer, whose members may be there, by number: the group, and for how long they would be.
        self._joining: dict[int, tuple[str, int]] = {}
        # What is left of the groups that should be gone.
        self.left: list[str] = []

    def started(self) -> None:
        """Somebody who begins knows the time by the wall alone; what was asked before comes to nothing any more."""
        self._started_at = self.sight.now

    def asked(self, asked: Asked) -> None:
        """Whoever wants to leave may be gone."""
        group = getattr(asked.request, "group", "")
        if isinstance(asked.request, CommitOffsets | JoinGroup | GroupHeartbeat | LeaveGroup):
            self._touched[group] = self.sight.now
        if isinstance(asked.request, JoinGroup):
            self._joining[asked.to] = group, asked.request.session_timeout_ms * _MS
        if isinstance(asked.request, CommitOffsets) and group in self._short:
            self._certain.add(asked.to)
            self._short.discard(group)
        if isinstance(asked.request, LeaveGroup) and asked.request.group in self._member_until:
            until = self._member_until.pop(asked.request.group)
            self._used[asked.request.group] = min(until, max(self._used[asked.request.group], asked.at))

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Note a use, or judge what is said to be gone."""
        request = asked.request
        if isinstance(request, ListGroups) and isinstance(reply, list) and asked.client == HEALER:
            self.left = [one.group for one in reply if isinstance(one, GroupReply) and self._is_short(one)]
        self._joining.pop(asked.to, None)
        group = getattr(request, "group", "")
        if not isinstance(group, str) or not group.startswith(VISITED):
            return
        if isinstance(request, JoinGroup) and isinstance(reply, Joined):
            self._sessions[group] = request.session_timeout_ms * _MS
            self._use(group, asked.at, is_member=True)
        elif isinstance(request, GroupHeartbeat) and isinstance(reply, GroupBeat):
            self._use(group, asked.at, is_member=group in self._member_until)
        elif isinstance(request, CommitOffsets) and isinstance(reply, CommittedOffsets) and not reply.refusals:
            if asked.to in self._certain:
                self._use(group, asked.at, is_member=False)
        elif isinstance(reply, GroupReply) and self._is_short(reply):
            self._short.add(group)
        elif isinstance(request, DescribeGroup | FetchOffsets) and isinstance(reply, Refusal):
            if reply.code is Code.GROUP_NOT_FOUND:
                self._judge(group)
                self._joining = {to: one for to, one in self._joining.items() if one[0] != group}
        elif isinstance(request, LeaveGroup) and reply is None:
            self._sessions.pop(group, None)
        if isinstance(request, DescribeGroup) and isinstance(reply, GroupReply) and not reply.members:
            if self._is_short(reply):
                self._judge_late(group, asked.at)
        if isinstance(request, CommitOffsets | JoinGroup | GroupHeartbeat | LeaveGroup):
            self._touched[group] = self.sight.now

    def _use(self, group: str, at: int, *, is_member: bool) -> None:
        self._used[group] = max(self._used.get(group, 0), at)
        if is_member:
            self._member_until[group] = max(self._member_until.get(group, 0), at + self._sessions[group])

    def _judge(self, group: str) -> None:
        used = max(self._used.get(group, -1), self._member_until.get(group, -1))
        if used < 0:
            return
        # What is committed again and again is written down now and then only.
        kept_ns = self._visit_ms() * _MS * 7 // 8 - 2 * _MS
        if self.sight.now < used + kept_ns and not self._is_excused(min(used, self._used[group])):
            raise Violation(f"{group} was used at {used}, and is forgotten at {self.sight.now}")

    def _judge_late(self, group: str, asked_at: int) -> None:
        """One broker whose disk and clock do what they should forgets in time, however often it is begun anew."""
        if self.sight.is_cluster or not _is_steady(self.sight.clients[0].options) or self.history.rotten:
            return
        # The session of a member begins anew with the broker, and ends before the group does.
        sessions = [length for name, length in (*self._sessions.items(), *self._joining.values()) if name == group]
        touched = max(self._touched.get(group, 0), self._started_at if sessions else 0)
        until = touched + max(sessions, default=0) + self._visit_ms() * _MS + _SLACK_NS
        if asked_at > until:
            raise Violation(f"{group} was to be forgotten by {until}, and is there at {asked_at}")

    def _is_excused(self, used: int) -> bool:
        options = self.sight.clients[0].options
        are_true = not (options.skew_ms_max or options.drift_ppm_max or options.p_clock_jump)
        if self.history.rotten:
            return True
        if are_true and "clock" not in options.calamities:
            return False
        return self.sight.is_cluster or self._started_at >= used

    def _visit_ms(self) -> int:
        return self.sight.clients[0].options.visit_ms

    def _is_short(self, group: GroupReply) -> bool:
        is_visited = group.group.startswith(VISITED)
        return is_visited and group.config["offsets_retention"] != "7d"

    def see_gone(self) -> None:
        """All of them should be."""
        if self.left:
            raise Violation(f"nobody has used {self.left} for long enough, and they are there")


def _is_steady(options: Options) -> bool:
    """Whether nothing keeps a broker from doing what is due, but that it may die."""
    rates = (
        options.p_pause, options.p_slow, options.p_cold, options.p_stall, options.p_clock_jump, options.p_full,
        options.p_sync_error, options.p_write_error, options.p_read_error, options.p_other_error, options.p_stop,
    )  # fmt: skip
    return not any(rates)
