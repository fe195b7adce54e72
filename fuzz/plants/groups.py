"""Bugs of `core/groups` about members: what they are given, for how long, and when a rebalance ends."""

from collections.abc import Callable, Iterable

from attrs import evolve

from goqueue.core.groups import expiries, rebalance
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.expiries import Expiries
from goqueue.core.groups.pacing import Pacing
from goqueue.core.groups.sessions import Session, Sessions
from goqueue.core.groups.state import Group, Member
from goqueue.core.records.entries import Entry
from goqueue.core.requests.groups import GroupBeat, GroupState, Joined
from goqueue.fuzz.plants import lone
from goqueue.fuzz.plants.plant import Plant, Replace

_LONG_NS = 10**16


def _stable_whatever_happens(replace: Replace) -> None:
    def state(coordinator: Coordinator, group: Group) -> GroupState:
        return GroupState.STABLE if group.members else GroupState.EMPTY

    replace(Coordinator, "state", state)


def _one_generation_for_ever(replace: Replace) -> None:
    real_granted = rebalance._granted

    def granted(group: Group, changed: dict[str, Member], generation: int) -> Group:
        return real_granted(group, changed, 1)

    replace(rebalance, "_granted", granted)


def _a_name_that_means_nothing(replace: Replace) -> None:
    """Whoever comes back has to wait for its turn like any other."""
    real_joined = Coordinator._joined

    def joined(coordinator: Coordinator, group: Group, member: Member) -> Joined:
        told = real_joined(coordinator, group, member)
        if member.instance_id and told.generation > 1:
            told.assigned = {}
        return told

    replace(Coordinator, "_joined", joined)


def _given_before_it_is_let_go_of(replace: Replace) -> None:
    real_beat = Coordinator._beat

    def beat(coordinator: Coordinator, group: Group, member: Member) -> GroupBeat:
        told = real_beat(coordinator, group, member)
        told.assigned = {topic: [*partitions] for topic, partitions in member.target.items()}
        return told

    replace(Coordinator, "_beat", beat)


def _sessions_that_end_early(replace: Replace) -> None:
    real_begin = Sessions.begin

    def begin(sessions: Sessions, now: int, group: str, member: Member) -> Session:
        shorter = evolve(member, session_timeout_ms=member.session_timeout_ms // 2)
        return real_begin(sessions, now, group, shorter)

    replace(Sessions, "begin", begin)


def _a_member_that_a_restart_forgets(replace: Replace) -> None:
    real_restore = Coordinator.restore

    def restore(coordinator: Coordinator, now: int, entries: Iterable[Entry]) -> None:
        real_restore(coordinator, now, entries)
        for group in [*coordinator.groups.groups.values()]:
            if len(group.members) > 1:
                coordinator._remove(now, group, next(reversed(group.members)), "session_expired")

    replace(Coordinator, "restore", restore)


def _rebalances_that_are_put_off(replace: Replace) -> None:
    def trigger(pacing: Pacing, now: int, group: str, delay_ns: int = 0) -> None:
        pacing._first.setdefault(group, now)
        pacing._alarms.set(group, now + _LONG_NS)

    replace(Pacing, "trigger", trigger)


def _sessions_that_never_end(replace: Replace) -> None:
    replace(Sessions, "begin", _endless)


def _endless(sessions: Sessions, now: int, group: str, member: Member) -> Session:
    key = (group, member.member_id)
    session = sessions._sessions.setdefault(key, Session(now, _LONG_NS))
    session.last = now
    sessions._ends.set(key, now + _LONG_NS)
    return session


def _revocations_that_are_not_heard(replace: Replace) -> None:
    """Who lets go of something still has it, and for ever, since nobody is cut off."""
    replace(rebalance, "released", lambda group, member_id, partitions: None)


def _groups_that_end_while_members_live(replace: Replace) -> None:
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

    replace(Coordinator, "wake", wake)


def _from_its_beginning(replace: Replace, used: Callable[[int, int], int]) -> None:
    """When a group was used follows from when it was, and from when the coordinator began."""
    real_restore, real_used, begun = Coordinator.restore, expiries._used_ms, [0]

    def restore(coordinator: Coordinator, now: int, entries: Iterable[Entry]) -> None:
        begun[0] = coordinator._clock.wall_ms(now)
        real_restore(coordinator, now, entries)

    replace(Coordinator, "restore", restore)
    replace(expiries, "_used_ms", lambda groups, group: used(real_used(groups, group), begun[0]))


def _expiry_from_when_the_coordinator_began(replace: Replace) -> None:
    _from_its_beginning(replace, lambda used_ms, begun_ms: begun_ms)


def _expiry_that_each_start_puts_off(replace: Replace) -> None:
    _from_its_beginning(replace, max)


def _expiry_by_the_wall_alone(replace: Replace) -> None:
    replace(Expiries, "_at_least_ms", lambda one, now: one._clock.wall_ms(now))


def _groups_that_are_never_forgotten(replace: Replace) -> None:
    replace(Expiries, "_at_least_ms", lambda one, now: 0)


PLANTS = (
    Plant(
        "stable-whatever-happens",
        "A group is called stable when each member has what is meant for it.",
        _stable_whatever_happens,
        worlds=lone.operated,
    ),
    Plant(
        "one-generation-for-ever",
        "A generation means one assignment.",
        _one_generation_for_ever,
        worlds=lone.grouped,
        said="in generation 1",
    ),
    Plant(
        "a-name-that-means-nothing",
        "A member that comes back under its name has its partitions at once.",
        _a_name_that_means_nothing,
        worlds=lone.grouped,
    ),
    Plant(
        "given-before-it-is-let-go-of",
        "No two members have a partition at one time.",
        _given_before_it_is_let_go_of,
        worlds=lone.grouped,
        said="has it",
    ),
    Plant(
        "sessions-that-end-early",
        "Nobody is dismissed while its session lasts.",
        _sessions_that_end_early,
        worlds=lone.grouped,
    ),
    Plant(
        "a-member-that-a-restart-forgets",
        "Members survive a restart of their coordinator.",
        _a_member_that_a_restart_forgets,
        worlds=lone.mortal,
    ),
    Plant(
        "rebalances-that-are-put-off",
        "Every rebalance ends.",
        _rebalances_that_are_put_off,
        worlds=lone.grouped,
        said="no rest",
    ),
    Plant(
        "sessions-that-never-end",
        "A member that is gone is dismissed when its session is over.",
        _sessions_that_never_end,
        worlds=lone.grouped,
    ),
    Plant(
        "revocations-that-are-not-heard",
        "What a member lets go of is given to the one that it is meant for.",
        _revocations_that_are_not_heard,
        worlds=lone.grouped,
    ),
    Plant(
        "groups-that-end-while-members-live",
        "A group is kept while it has members.",
        _groups_that_end_while_members_live,
        worlds=lone.visited,
    ),
    Plant(
        "expiry-from-when-the-coordinator-began",
        "A group is kept for as long as was promised since it was used last.",
        _expiry_from_when_the_coordinator_began,
        worlds=lone.visited,
        said="is forgotten at",
    ),
    Plant(
        "expiry-that-each-start-puts-off",
        "A group that nobody uses is forgotten, however often the broker is started.",
        _expiry_that_each_start_puts_off,
        worlds=lone.visited_and_begun_anew,
        said="was to be forgotten",
    ),
    Plant(
        "expiry-by-the-wall-alone",
        "A wall clock that jumps ends no group too early.",
        _expiry_by_the_wall_alone,
        worlds=lone.visited_by_a_wrong_clock,
        said="is forgotten at",
    ),
    Plant(
        "groups-that-are-never-forgotten",
        "A group that nobody uses is forgotten.",
        _groups_that_are_never_forgotten,
        worlds=lone.visited_and_begun_anew,
        said="to be forgotten",
    ),
)
"""All bugs of groups and their members."""
