"""The coordinator of some groups: requests of members in; entries for the journal and held replies out.

A request is planned against the state as it stands in memory, its changes are applied at once, and its reply waits
until all that was appended so far is durable. So nobody is told of a partition before the journal knows to whom it
belongs, and requests do not wait for each other's disk writes. When the disk fails, memory is ahead of it: `restore`
goes back to what the journal holds, and what was not durable was told to nobody.

It serves two kinds of members by one protocol (see `rebalance`). A cooperative one is told what to let go of by beats,
and confirms it with `RevokePartitions`. An eager one is told to join again; its join, or a heartbeat in the present
generation, says that it holds what it was answered and nothing besides.

Invariants: of `Groups`; every member has a session; while no rebalance is due, every partition of every topic that
somebody reads is the target of exactly one member; every request is answered once, or forgotten.
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

from attrs import define, field

from goqueue.core.clock import Clock
from goqueue.core.groups import describe, plan, rebalance
from goqueue.core.groups.bounds import GroupBounds
from goqueue.core.groups.expiries import Expiries
from goqueue.core.groups.metrics import Rebalances
from goqueue.core.groups.pacing import Pacing
from goqueue.core.groups.plan import Ends
from goqueue.core.groups.sessions import Session, Sessions
from goqueue.core.groups.shared import SharedNews
from goqueue.core.groups.state import Change, Group, Groups, GroupStands, Member, change_of, entry_of
from goqueue.core.groups.watches import Watch, Watches
from goqueue.core.records.entries import Entry
from goqueue.core.requests.call import Call
from goqueue.core.requests.groups import (
    AlterGroup,
    CommitOffsets,
    DeleteGroup,
    DescribeGroup,
    DescribeRebalances,
    FetchOffsets,
    GroupBeat,
    GroupHeartbeat,
    GroupMode,
    GroupReply,
    GroupState,
    Joined,
    JoinGroup,
    LeaveGroup,
    ListGroups,
    Partitions,
    ResetOffsets,
    RevokedPartitions,
    RevokePartitions,
    WatchGroup,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request

# What keeps a shared group from being forgotten is looked for again so much later.
_HELD_NS = 10_000_000_000


@define
class Coordinator:
    """All groups that this node coordinates; `topics` are those that exist, with their numbers of partitions."""

    _clock: Clock
    _random: Random
    _ends: Ends
    _topics: dict[str, int]
    bounds: GroupBounds = field(factory=GroupBounds)
    # What is to be appended to the journal, and what to say once everything appended so far is durable.
    entries: list[Entry] = field(factory=list)
    replies: list[tuple[Call, Reply]] = field(factory=list)
    # Groups of which somebody may have other partitions than before; emptied by whoever follows that.
    changed: dict[str, None] = field(factory=dict)
    shared: SharedNews = field(factory=SharedNews)
    heartbeats: int = 0
    session_timeouts: int = 0
    # Shared groups to be forgotten when their queues have nothing under way; emptied by whoever finds that out.
    idle: dict[str, None] = field(factory=dict)
    groups: Groups = field(init=False)
    expiries: Expiries = field(init=False)
    _sessions: Sessions = field(factory=Sessions)
    _pacing: Pacing = field(factory=Pacing)
    _watches: Watches = field(factory=Watches)
    rebalances: Rebalances = field(factory=Rebalances)
    # Groups in which something is to be let go of.
    _moving: dict[str, None] = field(factory=dict)
    _topic_ids: dict[str, int] = field(factory=dict)
    # The ends as they are shown, which may be known where none is known that a commit can be judged by.
    _shown: Ends | None = None

    def __attrs_post_init__(self) -> None:
        self.groups, self.expiries = Groups(bounds=self.bounds), Expiries(self._clock)

    # --- what is asked

    def ask(self, now: int, call: Call, request: Request) -> None:
        """Take a request; its reply comes under `call`."""
        if isinstance(request, WatchGroup):
            self._watch(now, call, request)
        else:
            self.replies.append((call, _ASK[type(request)](self, now, request)))

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call` any more."""
        self._watches.forget(call)

    def alive(self, now: int, group: str, member_id: str) -> Refusal | None:
        """A member was heard of otherwise, as by a poll."""
        found = self._member(now, group, member_id)
        return found if isinstance(found, Refusal) else None

    def session(self, group: str, member_id: str) -> Session:
        """What is known of a member besides what the journal holds."""
        return self._sessions.get(group, member_id)

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has; none if it is not there."""
        return self._topics.get(topic, 0)

    def topics_changed(self, now: int, topics: dict[str, int], topic_ids: dict[str, int]) -> None:
        """These are all topics there are, with their numbers of partitions, and their ids."""
        changed = (self._topics.items() ^ topics.items()) | (self._topic_ids.items() ^ topic_ids.items())
        names, self._topics, self._topic_ids = {name for name, _ in changed}, dict(topics), dict(topic_ids)
        self._apply(plan.pruned(self.groups, self._topics, self._topic_ids))
        for group in [*self.groups.groups.values()]:
            if any(topic in names for member in group.members.values() for topic in member.topics):
                self.changed[group.name] = None
                self._unsettle(now, group.name, "topics_changed")

    def suspend(self) -> list[Call]:
        """Give up what was not appended, and all answers; whom they were for."""
        waiting = [call for call, _ in self.replies] + [watch.call for watch in self._watches.all()]
        self.entries, self.replies, self._watches = [], [], Watches()
        return waiting

    def restore(self, now: int, entries: Iterable[Entry]) -> None:
        """Make the state what the journal holds; sessions begin anew, and whoever waits is told to ask again.

        Raises ProtocolError, and changes nothing, where an entry is none of a group.
        """
        # Only the last value of a key is read: a journal that is yet to be compacted holds a group at every step.
        changes = [change_of(key, value) for key, value in dict(entries).items()]
        refusal = Refusal(Code.UNAVAILABLE, "the group's coordinator begins anew", retry_after_ms=100)
        self.replies = [(call, refusal) for call in self.suspend()]
        self.groups = Groups(bounds=self.bounds)
        self.shared = SharedNews(all_differ=True)
        self._sessions, self._pacing = Sessions(), Pacing()
        self.rebalances, self._moving, self.idle = Rebalances(), {}, {}
        self.expiries.begin()
        for change in changes:
            self.groups.apply(change)
        self.groups.check()
        self._apply(plan.pruned(self.groups, self._topics, self._topic_ids))
        for group in self.groups.groups.values():
            for member in group.members.values():
                self._sessions.begin(now, group.name, member)
            self._sessions.follow(now, group)
            self._note_moves(group)
            self.expiries.watch(now, self.groups, group)
            if group.members:
                self._unsettle(now, group.name, "coordinator_started")
        self._expire_due(now)

    # --- time

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        alarms = self._sessions, self._pacing, self._watches, self.expiries
        times = [each.deadline() for each in alarms]
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Do what is due."""
        for name, member_id in self._sessions.expired(now):
            self.session_timeouts += 1
            self._remove(now, self.groups.groups[name], member_id, "session_expired")
        for (name, member_id), partitions in self._sessions.overdue(now):
            self._release(now, self.groups.groups[name], member_id, partitions, cut_off=True)
        for name in self._pacing.due(now):
            self._rebalance(now, name)
        for watch in self._watches.due(now):
            group = self.groups.groups[watch.group]
            self.replies.append((watch.call, self._beat(group, group.members[watch.member_id])))
        self._expire_due(now)

    def _expire_due(self, now: int) -> None:
        for name in self.expiries.due(now):
            self._expire(now, self.groups.groups[name])

    def _expire(self, now: int, group: Group) -> None:
        if self.expiries.is_over(now, self.groups, group):
            if group.mode is GroupMode.SHARED:
                self.idle[group.name] = None
                self.expiries.later(group.name, now + _HELD_NS)
            else:
                self._forget(group)
            return
        self._apply(self.expiries.over(now, self.groups, group))
        self.expiries.watch(now, self.groups, group)

    def found_idle(self, now: int, name: str) -> None:
        """The queues of a shared group that is to be forgotten have nothing under way."""
        group = self.groups.groups.get(name)
        if group is not None and self.expiries.is_over(now, self.groups, group):
            self._forget(group)

    def _forget(self, group: Group) -> None:
        self.expiries.forgot(self.groups, group)
        self._end(group.name)

    # --- changes

    def _apply(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self.groups.apply(change)
            self.entries.append(entry_of(change))

    def _stand(self, now: int, group: Group) -> None:
        """A group is this from here on."""
        self._apply([GroupStands(group.name, group)])
        self.shared.stands(group)
        self._sessions.follow(now, group)
        self.expiries.watch(now, self.groups, group)
        if not group.members:
            self._pacing.drop(group.name)
        self._tell(now, group)

    def _tell(self, now: int, group: Group) -> None:
        """Answer those who wait for news, and note when there is none to come."""
        self.changed[group.name] = None
        self._note_moves(group)
        if group.name not in self._pacing and group.name not in self._moving:
            self.rebalances.settled(now, group.name)
        for watch in self._watches.of(group.name):
            member = plan.member_of(group, watch.member_id)
            if isinstance(member, Refusal):
                self._watches.forget(watch.call)
                self.replies.append((watch.call, member))
            elif describe.fingerprint(group, member) != watch.seen:
                self._watches.forget(watch.call)
                self.replies.append((watch.call, self._beat(group, member)))

    def _note_moves(self, group: Group) -> None:
        if rebalance.is_settled(group):
            self._moving.pop(group.name, None)
        else:
            self._moving[group.name] = None

    def _unsettle(self, now: int, name: str, reason: str) -> None:
        self.rebalances.triggered(now, name, reason)
        self._pacing.trigger(now, name)

    def _rebalance(self, now: int, name: str) -> None:
        before = self.groups.groups[name]
        group = rebalance.rebalanced(before, self._topics)
        if group is None:
            self._tell(now, before)
            return
        self.rebalances.assigned(name, self._clock.wall_ms(now), describe.gained(before, group))
        self._stand(now, group)

    def _release(
        self, now: int, group: Group, member_id: str, partitions: Partitions, *, cut_off: bool = False
    ) -> Group:
        after = rebalance.released(group, member_id, partitions)
        if after is None:
            return group
        count = describe.count_owned(group.members[member_id]) - describe.count_owned(after.members[member_id])
        self.rebalances.revoked(group.name, count, cut_off=cut_off)
        self._stand(now, after)
        return after

    def _remove(self, now: int, group: Group, member_id: str, reason: str) -> None:
        self._sessions.end(group.name, member_id)
        lost = member_id if reason == "session_expired" else ""
        self.shared.departed(group, member_id, lost=bool(lost))
        after = rebalance.without(group, member_id, self.expiries.at_most_ms(now))
        after.lost = lost
        if after.members:
            self._unsettle(now, group.name, reason)
        self._stand(now, after)

    def _end(self, name: str) -> None:
        self._apply(plan.ending(self.groups, name))
        self.shared.ended(name)
        self.expiries.drop(name)
        self.idle.pop(name, None)
        self._pacing.drop(name)
        self.rebalances.forget(name)

    # --- members

    def _member(self, now: int, group: str, member_id: str, *, heard: bool = True) -> tuple[Group, Member] | Refusal:
        """A member that was heard of, unless somebody else asks on its behalf."""
        found = self.groups.groups.get(group)
        if found is None:
            return Refusal(Code.UNKNOWN_MEMBER, f"there is no group {group!r}", "member_id")
        member = plan.member_of(found, member_id)
        if isinstance(member, Refusal):
            return member
        if heard:
            self._sessions.get(group, member_id).last = now
        return found, member

    def _join(self, now: int, request: JoinGroup) -> Reply:
        planned = plan.plan_join(self.groups, request, plan.unused_id(self.groups, request, self._random))
        if isinstance(planned, Refusal):
            return planned
        name, member_id = planned.group.name, planned.member_id
        before = self.groups.groups.get(name)
        is_first = before is None or not before.members
        if planned.fenced_id:
            self._sessions.end(name, planned.fenced_id)
            self.shared.departed(planned.group, planned.fenced_id, lost=True)
            planned.group.lost = planned.fenced_id
        self._sessions.begin(now, name, planned.group.members[member_id])
        if planned.reason:
            self._unsettle(now, name, planned.reason)
        if planned.group is not before:
            self._stand(now, planned.group)
        if is_first:
            # There is nobody to take anything from, and no reason to believe that others come.
            self._pacing.drop(name)
            self._rebalance(now, name)
        group = self.groups.groups[name]
        member = group.members[member_id]
        if planned.fenced_id or member.eager:
            group = self._release(now, group, member_id, rebalance.to_revoke(member))
        return self._joined(group, group.members[member_id])

    def _joined(self, group: Group, member: Member) -> Joined:
        session = self._sessions.get(group.name, member.member_id)
        session.told = describe.fingerprint(group, member)
        assigned = rebalance.assigned(member)
        session.answered = rebalance.tenures(member, assigned)
        self.changed[group.name] = None
        is_required = group.name in self._pacing or assigned != member.target
        return describe.joined(group, member, session.told, is_required=is_required)

    def _heartbeat(self, now: int, request: GroupHeartbeat) -> Reply:
        self.heartbeats += 1
        found = self._member(now, request.group, request.member_id)
        if isinstance(found, Refusal):
            return found
        group, member = found
        refusal = plan.generation_refusal(group, request.generation)
        if refusal is not None:
            return refusal
        if member.eager and request.generation == group.generation:
            group = self._release(now, group, member.member_id, rebalance.to_revoke(member))
        return self._beat(group, group.members[member.member_id])

    def _beat(self, group: Group, member: Member) -> GroupBeat:
        session = self._sessions.get(group.name, member.member_id)
        deadline = session.deadline()
        deadline_ms = 0 if deadline is None else self._clock.wall_ms(deadline)
        return describe.beat(group, self.state(group), member, session.told, deadline_ms)

    def _watch(self, now: int, call: Call, request: WatchGroup) -> None:
        self.heartbeats += request.counts
        found = self._member(now, request.group, request.member_id, heard=request.counts)
        if isinstance(found, Refusal):
            self.replies.append((call, found))
            return
        group, member = found
        wait_ns = min(request.wait_ns, member.session_timeout_ms * 1_000_000 // 3)
        if wait_ns <= 0 or describe.fingerprint(group, member) != request.seen:
            self.replies.append((call, self._beat(group, member)))
        else:
            self._watches.add(Watch(call, group.name, member.member_id, request.seen, now + wait_ns))

    def _leave(self, now: int, request: LeaveGroup) -> Reply:
        found = self._member(now, request.group, request.member_id)
        if isinstance(found, Refusal):
            return found
        self._remove(now, found[0], request.member_id, "member_left")
        return None

    def _revoke(self, now: int, request: RevokePartitions) -> Reply:
        found = self._member(now, request.group, request.member_id)
        if isinstance(found, Refusal):
            return found
        refusal = plan.generation_refusal(found[0], request.generation)
        if refusal is not None:
            return refusal
        told = self._sessions.get(request.group, request.member_id).asked(request.revoked, request.generation)
        group = self._release(now, found[0], request.member_id, told)
        pending = rebalance.to_revoke(group.members[request.member_id])
        return RevokedPartitions(sum(len(partitions) for partitions in pending.values()), self.state(group))

    # --- offsets

    def _commit(self, now: int, request: CommitOffsets) -> Reply:
        if request.member_id:
            found = self._member(now, request.group, request.member_id)
            if isinstance(found, Refusal):
                return found
        planned = plan.plan_commit(self.groups, request, self._topics, self._ends, self.expiries.at_most_ms(now))
        if isinstance(planned, Refusal):
            return planned
        self._apply(plan.named(planned[0], self._topic_ids))
        group = self.groups.groups.get(request.group)
        if group is not None and not group.members:
            self.expiries.used(now, self.groups, group)
        return planned[1]

    def _fetch(self, now: int, request: FetchOffsets) -> Reply:
        group, ends = plan.group_of(self.groups, request.group), self._shown or self._ends
        return group if isinstance(group, Refusal) else plan.fetched(self.groups, group, request, self._topics, ends)

    def _reset(self, now: int, request: ResetOffsets) -> Reply:
        partitions = self._topics.get(request.topic, 0)
        planned = plan.plan_reset(self.groups, request, partitions, self._ends, self.expiries.at_most_ms(now))
        if isinstance(planned, Refusal):
            return planned
        self._apply(plan.named(planned[0], self._topic_ids))
        group = self.groups.groups[request.group]
        if not group.members:
            self.expiries.used(now, self.groups, group)
        return planned[1]

    def state(self, group: Group) -> GroupState:
        """How a group is."""
        if not group.members:
            return GroupState.EMPTY
        if group.name in self._pacing:
            return GroupState.ASSIGNING
        return GroupState.RECONCILING if group.name in self._moving else GroupState.STABLE

    def _alter(self, now: int, request: AlterGroup) -> Reply:
        group = plan.group_of(self.groups, request.group)
        if isinstance(group, Refusal):
            return group
        altered = plan.plan_alter(group, request)
        if isinstance(altered, Refusal):
            return altered
        if altered.members and rebalance.chosen_assignor(altered) != rebalance.chosen_assignor(group):
            self._unsettle(now, group.name, "assignor_changed")
        self._stand(now, altered)
        return self._described(altered)

    def _list(self, now: int, request: ListGroups) -> Reply:
        return [self._described(self.groups.groups[name]) for name in sorted(self.groups.groups)]

    def _describe(self, now: int, request: DescribeGroup) -> Reply:
        group = plan.group_of(self.groups, request.group)
        return group if isinstance(group, Refusal) else self._described(group)

    def _described(self, group: Group) -> GroupReply:
        heard_ms = [self._clock.wall_ms(self._sessions.get(group.name, member_id).last) for member_id in group.members]
        expires_ms = self.expiries.whole_end_ms(self.groups, group)
        return describe.group_reply(group, self.state(group), heard_ms, self.bounds.retention_ms, expires_ms)

    def _describe_rebalances(self, now: int, request: DescribeRebalances) -> Reply:
        found = plan.group_of(self.groups, request.group) if request.group else None
        return found if isinstance(found, Refusal) else self.rebalances.describe(request.group)

    def _delete(self, now: int, request: DeleteGroup) -> Reply:
        planned = plan.plan_delete(self.groups, request.group)
        if isinstance(planned, Refusal):
            return planned
        self._end(request.group)
        return None

    def check(self) -> None:
        """Assert the invariants."""
        self.groups.check()
        self._sessions.check(self.groups.groups)
        self._pacing.check()
        self._watches.check()
        self.expiries.check(self.groups.groups)
        self.rebalances.check(self.groups.groups)
        for name, group in self.groups.groups.items():
            assert (name in self._moving) == (not rebalance.is_settled(group))
            if group.members and name not in self._pacing and group.mode is GroupMode.EXCLUSIVE:
                describe.check_complete(group, self._topics)
        assert self._moving.keys() <= self.groups.groups.keys()
        for watch in self._watches.all():
            assert watch.member_id in self.groups.groups[watch.group].members


_ASK: dict[type, Callable[[Coordinator, int, Any], Reply]] = {
    JoinGroup: Coordinator._join,
    GroupHeartbeat: Coordinator._heartbeat,
    LeaveGroup: Coordinator._leave,
    RevokePartitions: Coordinator._revoke,
    CommitOffsets: Coordinator._commit,
    FetchOffsets: Coordinator._fetch,
    ResetOffsets: Coordinator._reset,
    AlterGroup: Coordinator._alter,
    ListGroups: Coordinator._list,
    DescribeGroup: Coordinator._describe,
    DescribeRebalances: Coordinator._describe_rebalances,
    DeleteGroup: Coordinator._delete,
}
