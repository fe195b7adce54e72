"""When groups without members are forgotten, and offsets that nobody renews.

A group is forgotten some time after it was last used: its last member left, or something was committed for it,
whichever came later. Where there never was a member each offset goes by itself, that long after it was committed, and
the group with the last of them. Both times stand in the journal, so any coordinator comes to the same, and the time in
which there was none counts. A group with members is forgotten never. What ends is ended by the journal, as if somebody
had deleted it.

The wall clock may be set, and no jump of it may end a group before its time. So how long ago something was is counted
by the clock of the process as well, from what the wall said when the process first had a coordinator, and the shorter
of the two counts; and what is written down is the later of the two. A coordinator that begins anew in the same process,
since its disk failed say, keeps that: the wall may have been set meanwhile. A jump may make a group stay longer, by as
much as it was. A process that begins while the wall is wrong cannot know that.

Invariant: just those groups are watched that have no members.
"""

from attrs import define, field

from goqueue.core.clock import Clock
from goqueue.core.cluster.durations import parse_duration_ms
from goqueue.core.groups.state import Change, Group, Groups, OffsetStands, Slot
from goqueue.core.requests.groups import GroupMode
from goqueue.core.timers.alarms import Alarms

_MS = 1_000_000
# How old a use has to be before another one is written down that changes nothing else: a share of the time that the
# group is kept, and at most so much, in case somebody has it kept for less.
_RENEWALS, _RENEWAL_MS = 8, 60_000


@define(eq=False)
class Expiries:
    """The groups without members, by when to look at them again."""

    _clock: Clock
    # How many groups, and how many offsets with them or by themselves, were forgotten since the node began.
    groups: int = 0
    offsets: int = 0
    # Their names, until they were told.
    forgotten: list[str] = field(factory=list)
    _alarms: Alarms[str] = field(factory=Alarms)
    # What the wall said at the process's beginning, as it stood when its first coordinator began.
    _origin_ms: int | None = None

    def begin(self) -> None:
        """Another coordinator begins, on this node or after it."""
        self._alarms = Alarms()
        if self._origin_ms is None:
            self._origin_ms = self._clock.wall_ms(0)

    # --- the calendar

    def at_most_ms(self, now: int) -> int:
        """The time as it is to be written down: not before what it truly is, as far as can be known."""
        return max(self._times_ms(now))

    def _at_least_ms(self, now: int) -> int:
        return min(self._times_ms(now))

    def _times_ms(self, now: int) -> tuple[int, int]:
        wall_ms = self._clock.wall_ms(now)
        return wall_ms, wall_ms if self._origin_ms is None else self._origin_ms + now // _MS

    # --- groups

    def watch(self, now: int, groups: Groups, group: Group) -> None:
        """A group is another than it was."""
        if group.members:
            self._alarms.drop(group.name)
        else:
            self._alarms.set(group.name, self._alarm(now, self.end_ms(groups, group)))

    def used(self, now: int, groups: Groups, group: Group) -> None:
        """Something was committed without members: it may be looked at too early, and never is too late."""
        if group.name not in self._alarms:
            self.watch(now, groups, group)

    def later(self, name: str, due: int) -> None:
        """Look at a group again at some time, for what keeps it now."""
        self._alarms.set(name, due)

    def drop(self, name: str) -> None:
        """A group is no more."""
        self._alarms.drop(name)

    def end_ms(self, groups: Groups, group: Group) -> int:
        """When a group without members, or the first of its offsets, is forgotten."""
        committed = groups.committed(group.name)
        if is_standalone(group) and committed:
            return min(one.committed_ms for one in committed.values()) + kept_ms(groups, group)
        return _used_ms(groups, group) + kept_ms(groups, group)

    def whole_end_ms(self, groups: Groups, group: Group) -> int:
        """When a group without members is forgotten with all that it has."""
        return 0 if group.members else _used_ms(groups, group) + kept_ms(groups, group)

    def _alarm(self, now: int, end_ms: int) -> int:
        return now + max(end_ms - self._at_least_ms(now), 0) * _MS

    def due(self, now: int) -> list[str]:
        """Groups to be looked at; they are watched no more."""
        return self._alarms.due(now)

    def is_over(self, now: int, groups: Groups, group: Group) -> bool:
        """Whether a group without members is to be forgotten."""
        return not group.members and self.whole_end_ms(groups, group) <= self._at_least_ms(now)

    def over(self, now: int, groups: Groups, group: Group) -> list[Change]:
        """The end of those offsets of a group that go by themselves."""
        if not is_standalone(group):
            return []
        before_ms = self._at_least_ms(now) - kept_ms(groups, group)
        found: list[Change] = [
            OffsetStands(group.name, *slot, None)
            for slot, record in groups.committed(group.name).items()
            if record.committed_ms <= before_ms
        ]
        self.offsets += len(found)
        return found

    def forgot(self, groups: Groups, group: Group) -> None:
        """Count a group that is forgotten."""
        self.groups += 1
        self.offsets += len(groups.committed(group.name))
        self.forgotten.append(group.name)

    def deadline(self) -> int | None:
        """When `due` has something."""
        return self._alarms.deadline()

    def check(self, groups: dict[str, Group]) -> None:
        """Assert the invariant."""
        self._alarms.check()
        for name, group in groups.items():
            assert (name in self._alarms) == (not group.members)
        assert len(self._alarms) <= len(groups)


def kept_ms(groups: Groups, group: Group) -> int:
    """How long a group is kept after its last use."""
    given = group.config.get("offsets_retention")
    return groups.bounds.retention_ms if given is None else parse_duration_ms(str(given))


def is_stale(groups: Groups, group: Group, slot: Slot, wall_ms: int) -> bool:
    """Whether it is time to write down that a committed offset is still wanted."""
    record = groups.committed(group.name).get(slot)
    return record is not None and wall_ms - record.committed_ms >= min(kept_ms(groups, group) // _RENEWALS, _RENEWAL_MS)


def is_standalone(group: Group) -> bool:
    """Whether a group never had a member: somebody keeps the places of readers of his own under its name."""
    return group.mode is GroupMode.EXCLUSIVE and not group.members and not group.generation


def _used_ms(groups: Groups, group: Group) -> int:
    """When a group without members last had one, or something was committed for it."""
    return max([group.emptied_ms, *(record.committed_ms for record in groups.committed(group.name).values())])
