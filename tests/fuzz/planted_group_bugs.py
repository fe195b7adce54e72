"""Bugs of consumer groups that somebody might really write, planted like those of `planted_bugs`."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from attrs import evolve

from goqueue.core.groups import expiries, plan, rebalance
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.expiries import Expiries
from goqueue.core.groups.journal import Journal
from goqueue.core.groups.leader import GroupLeader
from goqueue.core.groups.pacing import Pacing
from goqueue.core.groups.plan import Ends
from goqueue.core.groups.polling import Polls
from goqueue.core.groups.reader import Poll, Reader
from goqueue.core.groups.sessions import Session, Sessions
from goqueue.core.groups.state import Change, Group, Groups, Member
from goqueue.core.groups.verbs import (
    CommitOffsets,
    CommittedOffsets,
    GroupBeat,
    GroupState,
    Joined,
    OffsetChange,
    ResetOffsets,
)
from goqueue.core.records.entries import Entry
from goqueue.core.verbs import Code, Refusal
from goqueue.fuzz.options import Options
from tests.fuzz.planted_bugs import Bug

_LONG_NS = 10**16


def grouped() -> Options:
    """Worlds of members that come and go, on a node that does not die."""
    return Options(
        members=3, eager_members=1, groups=1, partitions_max=3, producers=1, consumers=0, p_topic_change=0.0,
        p_stray=0.1, session_ms_max=4_000, think_ns=100_000_000, steps=250,
    )  # fmt: skip


def operated() -> Options:
    """The same with somebody who looks after the groups."""
    options = grouped()
    options.operators = 2
    return options


def hurried() -> Options:
    """The same in haste."""
    options = operated()
    options.think_ns, options.steps = 30_000_000, 400
    return options


def contended() -> Options:
    """Longer ones, of many members for few partitions."""
    options = grouped()
    options.topics, options.partitions_max, options.members, options.eager_members = 1, 4, 3, 2
    options.think_ns, options.steps, options.value_bytes_max = 50_000_000, 400, 10
    return options


def mortal() -> Options:
    """The same on a machine that crashes."""
    options = grouped()
    options.p_crash = 0.02
    return options


def polling() -> Options:
    """Worlds of members that poll."""
    options = grouped()
    options.members, options.eager_members, options.polls = 0, 3, True
    return options


# --- assignments


def stable_whatever_happens(patch: pytest.MonkeyPatch) -> None:
    def state(coordinator: Coordinator, group: Group) -> GroupState:
        return GroupState.STABLE if group.members else GroupState.EMPTY

    patch.setattr(Coordinator, "state", state)


def one_generation_for_ever(patch: pytest.MonkeyPatch) -> None:
    real_granted = rebalance._granted

    def granted(group: Group, changed: dict[str, Member], generation: int) -> Group:
        return real_granted(group, changed, 1)

    patch.setattr(rebalance, "_granted", granted)


def a_name_that_means_nothing(patch: pytest.MonkeyPatch) -> None:
    """Whoever comes back has to wait for its turn like any other."""
    real_joined = Coordinator._joined

    def joined(coordinator: Coordinator, group: Group, member: Member) -> Joined:
        told = real_joined(coordinator, group, member)
        if member.instance_id and told.generation > 1:
            told.assigned = {}
        return told

    patch.setattr(Coordinator, "_joined", joined)


# --- partitions have one owner


def given_before_it_is_let_go_of(patch: pytest.MonkeyPatch) -> None:
    real_beat = Coordinator._beat

    def beat(coordinator: Coordinator, group: Group, member: Member) -> GroupBeat:
        told = real_beat(coordinator, group, member)
        told.assigned = {topic: [*partitions] for topic, partitions in member.target.items()}
        return told

    patch.setattr(Coordinator, "_beat", beat)


def sessions_that_end_early(patch: pytest.MonkeyPatch) -> None:
    real_begin = Sessions.begin

    def begin(sessions: Sessions, now: int, group: str, member: Member) -> Session:
        shorter = evolve(member, session_timeout_ms=member.session_timeout_ms // 2)
        return real_begin(sessions, now, group, shorter)

    patch.setattr(Sessions, "begin", begin)


def a_member_that_a_restart_forgets(patch: pytest.MonkeyPatch) -> None:
    real_restore = Coordinator.restore

    def restore(coordinator: Coordinator, now: int, entries: Iterable[Entry]) -> None:
        real_restore(coordinator, now, entries)
        for group in [*coordinator.groups.groups.values()]:
            if len(group.members) > 1:
                coordinator._remove(now, group, next(reversed(group.members)), "session_expired")

    patch.setattr(Coordinator, "restore", restore)


# --- commits of others


def commits_of_anybody(patch: pytest.MonkeyPatch) -> None:
    real_refusal: Any = plan._commit_refusal

    def commit_refusal(group: Group, member: Member | None, *rest: object) -> Refusal | None:
        found: Refusal | None = real_refusal(group, None, *rest)
        return found

    patch.setattr(plan, "_commit_refusal", commit_refusal)


def a_generation_that_ends_all_tenures(patch: pytest.MonkeyPatch) -> None:
    """Who keeps a partition has it anew, and its commits that are under way are refused."""
    real_rebalanced = rebalance.rebalanced

    def rebalanced(group: Group, topics: dict[str, int]) -> Group | None:
        after = real_rebalanced(group, topics)
        if after is None:
            return None
        members = {
            member_id: evolve(
                member,
                owned={topic: dict.fromkeys(held, after.generation) for topic, held in member.owned.items()},
            )
            for member_id, member in after.members.items()
        }
        return after.next(members)

    patch.setattr(rebalance, "rebalanced", rebalanced)


def resets_of_what_is_read(patch: pytest.MonkeyPatch) -> None:
    real_reset = plan.plan_reset

    def reset(
        groups: Groups, request: ResetOffsets, partitions: int, ends: Ends, wall_ms: int
    ) -> tuple[list[Change], list[OffsetChange]] | Refusal:
        free = {name: Group(name, group.mode, group.config, group.generation) for name, group in groups.groups.items()}
        return real_reset(Groups(free, groups.offsets), request, partitions, ends, wall_ms)

    patch.setattr(plan, "plan_reset", reset)


def groups_deleted_with_their_members(patch: pytest.MonkeyPatch) -> None:
    def delete(groups: Groups, name: str) -> list[Change] | Refusal:
        found = plan.group_of(groups, name)
        return found if isinstance(found, Refusal) else plan.ending(groups, name)

    def end(coordinator: Coordinator, name: str) -> None:
        for member_id in coordinator.groups.groups[name].members:
            coordinator._sessions.end(name, member_id)
        for watch in coordinator._watches.of(name):
            coordinator._watches.forget(watch.to)
            coordinator.replies.append((watch.to, Refusal(Code.GROUP_NOT_FOUND, "the group is gone")))
        real_end(coordinator, name)
        coordinator._moving.pop(name, None)

    real_end = Coordinator._end
    patch.setattr(plan, "plan_delete", delete)
    patch.setattr(Coordinator, "_end", end)


# --- offsets


def answered_before_it_is_durable(patch: pytest.MonkeyPatch) -> None:
    real_settle = GroupLeader.settle

    def settle(leader: GroupLeader, now: int) -> None:
        replies, leader.coordinator.replies = leader.coordinator.replies, []
        for to, reply in replies:
            leader._send(to, reply)
        real_settle(leader, now)

    patch.setattr(GroupLeader, "settle", settle)


def half_of_the_journal(patch: pytest.MonkeyPatch) -> None:
    real_take = Journal.take_loaded

    def take(journal: Journal) -> dict[bytes, bytes]:
        loaded = real_take(journal)
        return dict([*loaded.items()][: len(loaded) // 2 + 1])

    patch.setattr(Journal, "take_loaded", take)


def commits_that_go_back(patch: pytest.MonkeyPatch) -> None:
    real_commit = plan.plan_commit

    def commit(
        groups: Groups, request: CommitOffsets, topics: dict[str, int], ends: Ends, wall_ms: int
    ) -> tuple[list[Change], CommittedOffsets] | Refusal:
        return real_commit(Groups(groups.groups, {}), request, topics, ends, wall_ms)

    patch.setattr(plan, "plan_commit", commit)


def commits_beyond_the_end(patch: pytest.MonkeyPatch) -> None:
    real_commit = plan.plan_commit

    def commit(
        groups: Groups, request: CommitOffsets, topics: dict[str, int], ends: Ends, wall_ms: int
    ) -> tuple[list[Change], CommittedOffsets] | Refusal:
        return real_commit(groups, request, topics, lambda topic, partition: (0, 1 << 62), wall_ms)

    patch.setattr(plan, "plan_commit", commit)


def offsets_of_the_neighbour(patch: pytest.MonkeyPatch) -> None:
    """What is committed for one partition is kept for the first of its topic."""
    real_commit = plan.plan_commit

    def commit(
        groups: Groups, request: CommitOffsets, topics: dict[str, int], ends: Ends, wall_ms: int
    ) -> tuple[list[Change], CommittedOffsets] | Refusal:
        planned = real_commit(groups, request, topics, ends, wall_ms)
        if not isinstance(planned, Refusal):
            for change in planned[0]:
                if hasattr(change, "partition"):
                    change.partition = 0
        return planned

    patch.setattr(plan, "plan_commit", commit)


def polls_that_skip(patch: pytest.MonkeyPatch) -> None:
    real_finish = Polls._finish

    def finish(polls: Polls, now: int, reader: Reader, poll: Poll, durable: int) -> None:
        found = [*poll.found]
        real_finish(polls, now, reader, poll, durable)
        for place, part in found:
            place.offset += part.partition == 0 and part.end_offset % 3 == 0

    patch.setattr(Polls, "_finish", finish)


# --- rebalances end


def rebalances_that_are_put_off(patch: pytest.MonkeyPatch) -> None:
    def trigger(pacing: Pacing, now: int, group: str, delay_ns: int = 0) -> None:
        pacing._first.setdefault(group, now)
        pacing._alarms.set(group, now + _LONG_NS)

    patch.setattr(Pacing, "trigger", trigger)


def sessions_that_never_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Sessions, "begin", _endless)


def _endless(sessions: Sessions, now: int, group: str, member: Member) -> Session:
    key = (group, member.member_id)
    session = sessions._sessions.setdefault(key, Session(now, _LONG_NS))
    session.last = now
    sessions._ends.set(key, now + _LONG_NS)
    return session


def revocations_that_are_not_heard(patch: pytest.MonkeyPatch) -> None:
    """Who lets go of something still has it, and for ever, since nobody is cut off."""
    patch.setattr(rebalance, "released", lambda group, member_id, partitions: None)


# --- groups that nobody uses


def visited() -> Options:
    """Worlds of groups that are not kept for long, on a broker that is begun anew now and then."""
    return Options(
        visitors=3, visit_ms=4_000, groups=1, partitions_max=2, producers=1, consumers=0, p_topic_change=0.0,
        think_ns=300_000_000, steps=400, p_kill=0.005,
    )  # fmt: skip


def visited_and_begun_anew() -> Options:
    """The same of a broker that never lives as long as a group is kept."""
    options = visited()
    options.visitors, options.visit_ms, options.p_kill, options.steps = 6, 1_500, 0.05, 1_500
    return options


def visited_by_a_wrong_clock() -> Options:
    """The same while somebody sets the clock."""
    options = visited()
    options.p_kill, options.p_clock_jump = 0.0, 0.05
    return options


def groups_that_end_while_members_live(patch: pytest.MonkeyPatch) -> None:
    """Who is silent for as long as a group is kept has no group any more, whatever its session."""
    real_wake = Coordinator.wake

    def wake(coordinator: Coordinator, now: int) -> None:
        real_wake(coordinator, now)
        for group in [*coordinator.groups.groups.values()]:
            heard = [coordinator.session(group.name, member_id).last for member_id in group.members]
            if heard and max(heard) + 500_000_000 <= now:
                for member_id in group.members:
                    coordinator._sessions.end(group.name, member_id)
                coordinator._end(group.name)

    patch.setattr(Coordinator, "wake", wake)


def _from_its_beginning(patch: pytest.MonkeyPatch, used: Callable[[int, int], int]) -> None:
    """When a group was used follows from when it was, and from when the coordinator began."""
    real_restore, real_used, begun = Coordinator.restore, expiries._used_ms, [0]

    def restore(coordinator: Coordinator, now: int, entries: Iterable[Entry]) -> None:
        begun[0] = coordinator._clock.wall_ms(now)
        real_restore(coordinator, now, entries)

    patch.setattr(Coordinator, "restore", restore)
    patch.setattr(expiries, "_used_ms", lambda groups, group: used(real_used(groups, group), begun[0]))


def expiry_from_when_the_coordinator_began(patch: pytest.MonkeyPatch) -> None:
    _from_its_beginning(patch, lambda used_ms, begun_ms: begun_ms)


def expiry_that_each_start_puts_off(patch: pytest.MonkeyPatch) -> None:
    _from_its_beginning(patch, max)


def expiry_by_the_wall_alone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Expiries, "_at_least_ms", lambda one, now: one._clock.wall_ms(now))


def groups_that_are_never_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Expiries, "_at_least_ms", lambda one, now: 0)


GROUP_BUGS = (
    Bug("groups that end while members live", groups_that_end_while_members_live, visited, ""),
    Bug("expiry from when the coordinator began", expiry_from_when_the_coordinator_began, visited, "is forgotten at"),
    Bug(
        "expiry that each start puts off",
        expiry_that_each_start_puts_off,
        visited_and_begun_anew,
        "was to be forgotten",
    ),
    Bug("expiry by the wall alone", expiry_by_the_wall_alone, visited_by_a_wrong_clock, "is forgotten at"),
    Bug("groups that are never forgotten", groups_that_are_never_forgotten, visited_and_begun_anew, "to be forgotten"),
    Bug("stable whatever happens", stable_whatever_happens, operated, ""),
    Bug("one generation for ever", one_generation_for_ever, grouped, "in generation 1"),
    Bug("a name that means nothing", a_name_that_means_nothing, grouped, ""),
    Bug("given before it is let go of", given_before_it_is_let_go_of, grouped, "has it"),
    Bug("sessions that end early", sessions_that_end_early, grouped, ""),
    Bug("a member that a restart forgets", a_member_that_a_restart_forgets, mortal, ""),
    Bug("commits of anybody", commits_of_anybody, contended, "was taken"),
    Bug("a generation that ends all tenures", a_generation_that_ends_all_tenures, grouped, "may not commit"),
    Bug("resets of what is read", resets_of_what_is_read, operated, "was reset"),
    Bug("groups deleted with their members", groups_deleted_with_their_members, operated, "was dismissed"),
    Bug("answered before it is durable", answered_before_it_is_durable, mortal, ""),
    Bug("half of the journal", half_of_the_journal, mortal, ""),
    Bug("commits that go back", commits_that_go_back, hurried, "was"),
    Bug("commits beyond the end", commits_beyond_the_end, grouped, "beyond the end"),
    Bug("offsets of the neighbour", offsets_of_the_neighbour, grouped, ""),
    Bug("polls that skip", polls_that_skip, polling, "was given"),
    Bug("rebalances that are put off", rebalances_that_are_put_off, grouped, "no rest"),
    Bug("sessions that never end", sessions_that_never_end, grouped, ""),
    Bug("revocations that are not heard", revocations_that_are_not_heard, grouped, ""),
)
