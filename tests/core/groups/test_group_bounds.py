"""Groups, members and offsets have bounds, whoever makes them; what nobody uses is forgotten in time and not before."""

from collections.abc import Iterable
from random import Random

import pytest
from attrs import define, field

from goqueue.core.clock import Clock
from goqueue.core.groups import bounds as group_bounds
from goqueue.core.groups.bounds import COMMIT_MAX, DAY_MS, GroupBounds
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.records.entries import Entry
from goqueue.core.requests.groups import (
    AlterGroup,
    CommitOffsets,
    CommittedOffsets,
    DeleteGroup,
    DescribeGroup,
    GroupMode,
    GroupReply,
    Joined,
    JoinGroup,
    LeaveGroup,
    ListGroups,
    PartitionOffset,
    ResetOffsets,
    ResetTo,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from tests.core.calls import call

MS = 1_000_000
DAY = DAY_MS * MS
HOUR = DAY // 24
WALL_MS = 1_700_000_000_000


@define
class Coordinated:
    """A coordinator of topics `t` and `u` of ten partitions each, whose journal is durable at once."""

    bounds: GroupBounds = field(factory=GroupBounds)
    now: int = 0
    wall_ms: int = WALL_MS
    journal: list[Entry] = field(factory=list)
    coordinator: Coordinator = field(init=False)
    clock: Clock = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """A process begins, whose clock says what the wall does."""
        self.clock = Clock(self.now, self.wall_ms)
        self.coordinator = Coordinator(self.clock, Random(1), lambda *_: (0, 1_000), {"t": 10, "u": 10}, self.bounds)
        self.coordinator.restore(self.now, self.journal)
        self.take()

    def restart(self, away_ns: int = 0) -> None:
        """The process is away for a time; the next one has a clock of its own, which begins at zero."""
        self.wall_ms += away_ns // MS
        self.now = 0
        self.begin()

    def begin_anew(self) -> None:
        """The process lives on, and reads its journal once more."""
        self.coordinator.restore(self.now, self.journal)
        self.take()

    def set_clock(self, by_ms: int) -> None:
        """Somebody sets the wall clock."""
        self.wall_ms += by_ms
        self.clock.moved(self.now, self.wall_ms)

    def take(self) -> list[Reply]:
        """Entries and replies of a turn."""
        self.journal += self.coordinator.entries
        answers = [answer for _, answer in self.coordinator.replies]
        self.coordinator.entries, self.coordinator.replies = [], []
        return answers

    def answer(self, request: Request) -> Reply:
        """What a request is answered."""
        self.coordinator.ask(self.now, call(1), request)
        self.coordinator.check()
        [answer] = self.take()
        return answer

    def let_pass(self, span_ns: int, *, idle: bool = True) -> None:
        """Time passes; shared groups have nothing under way, or something."""
        end = self.now + span_ns
        while (due := self.coordinator.deadline()) is not None and due <= end:
            self.wall_ms += (max(due, self.now) - self.now) // MS
            self.now = max(due, self.now)
            self.coordinator.wake(self.now)
            for name in [*self.coordinator.idle] if idle else ():
                self.coordinator.found_idle(self.now, name)
            self.coordinator.idle.clear()
            self.take()
            self.coordinator.check()
        self.wall_ms += (end - self.now) // MS
        self.now = end

    def names(self) -> list[str]:
        """All groups."""
        answer = self.answer(ListGroups())
        assert isinstance(answer, list)
        return [one.group for one in answer if isinstance(one, GroupReply)]

    def commit(self, group: str, *offsets: tuple[str, int, int], member: Joined | None = None) -> Reply:
        """Commit some offsets."""
        member_id, generation = ("", 0) if member is None else (member.member_id, member.generation)
        return self.answer(CommitOffsets(group, member_id, generation, [PartitionOffset(*one) for one in offsets]))

    def join(self, group: str, mode: GroupMode | None = None, topics: Iterable[str] = ("t",)) -> Joined:
        """Become a member."""
        joined = self.answer(JoinGroup(group, [*topics], mode=mode, session_timeout_ms=1_000_000))
        assert isinstance(joined, Joined), joined
        return joined

    def leave(self, group: str, member: Joined) -> None:
        """Be a member no more."""
        assert self.answer(LeaveGroup(group, member.member_id)) is None

    def offsets(self, group: str) -> dict[tuple[str, int], int]:
        """What is committed."""
        return {slot: one.offset for slot, one in self.coordinator.groups.committed(group).items()}


def code_of(answer: Reply) -> Code:
    assert isinstance(answer, Refusal), answer
    return answer.code


# --- bounds


def test_a_commit_without_members_makes_no_group_beyond_the_bound() -> None:
    coordinated = Coordinated(GroupBounds(groups=3))
    for number in range(3):
        assert coordinated.commit(f"g{number}", ("t", 0, 5)) == CommittedOffsets([])
    refusal = coordinated.commit("g3", ("t", 0, 5))
    assert code_of(refusal) is Code.QUOTA_EXCEEDED
    assert isinstance(refusal, Refusal)
    assert "3 groups" in refusal.message
    assert "groups.max" in refusal.message
    assert code_of(coordinated.answer(JoinGroup("g4", ["t"]))) is Code.QUOTA_EXCEEDED
    assert coordinated.names() == ["g0", "g1", "g2"]
    # Those that are there go on, and one that goes makes room.
    assert coordinated.commit("g0", ("t", 1, 5)) == CommittedOffsets([])
    assert coordinated.answer(DeleteGroup("g1")) is None
    assert coordinated.commit("g3", ("t", 0, 5)) == CommittedOffsets([])
    assert coordinated.names() == ["g0", "g2", "g3"]


def test_offsets_of_all_groups_together_have_a_bound() -> None:
    coordinated = Coordinated(GroupBounds(offsets=3))
    coordinated.commit("g0", ("t", 0, 5), ("t", 1, 5))
    taken = coordinated.commit("g1", ("t", 0, 5), ("t", 0, 6), ("t", 1, 5))
    assert isinstance(taken, CommittedOffsets)
    assert [(one.partition, one.refusal.code) for one in taken.refusals] == [(1, Code.QUOTA_EXCEEDED)]
    assert coordinated.commit("g0", ("t", 0, 9), ("t", 1, 9)) == CommittedOffsets([])
    coordinated.join("g2", mode=GroupMode.EXCLUSIVE, topics=["u"])
    assert code_of(coordinated.answer(ResetOffsets("g2", "t", ResetTo.LATEST))) is Code.QUOTA_EXCEEDED
    # A group for which nothing is taken is not made.
    assert isinstance(coordinated.commit("g3", ("t", 0, 5)), CommittedOffsets)
    assert coordinated.names() == ["g0", "g1", "g2"]
    assert coordinated.answer(DeleteGroup("g1")) is None
    assert coordinated.commit("g0", ("t", 2, 5)) == CommittedOffsets([])


def test_a_commit_names_so_many_partitions_at_most() -> None:
    refusal = Coordinated().commit("g", *[("t", 0, 5)] * (COMMIT_MAX + 1))
    assert code_of(refusal) is Code.INVALID
    assert isinstance(refusal, Refusal)
    assert str(COMMIT_MAX) in refusal.message


@pytest.mark.parametrize("name", ["", "x" * 300, "a/b", "a b", "\n", "..", "ä"])
def test_no_commit_makes_a_group_of_a_name_that_is_none(name: str) -> None:
    coordinated = Coordinated()
    assert code_of(coordinated.commit(name, ("t", 0, 5))) is Code.INVALID
    assert coordinated.names() == []


def test_members_and_what_they_read_have_bounds_over_all_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_bounds, "ALL_MEMBERS_MAX", 4)
    monkeypatch.setattr(group_bounds, "ALL_TOPICS_MAX", 5)
    coordinated = Coordinated()
    first, *_ = [coordinated.join(f"g{number}") for number in range(3)]
    too_many = JoinGroup("g3", ["t", "u", "v"])
    assert code_of(coordinated.answer(too_many)) is Code.QUOTA_EXCEEDED
    coordinated.join("g3", topics=["t", "u"])
    assert code_of(coordinated.answer(JoinGroup("g4", ["t"]))) is Code.QUOTA_EXCEEDED
    grown = JoinGroup("g0", ["t", "u"], first.member_id)
    assert code_of(coordinated.answer(grown)) is Code.QUOTA_EXCEEDED
    coordinated.leave("g0", first)
    coordinated.join("g4")
    assert coordinated.names() == ["g0", "g1", "g2", "g3", "g4"]


def test_a_group_has_so_many_members_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_bounds, "MEMBERS_MAX", 2)
    coordinated = Coordinated()
    for _ in range(2):
        coordinated.join("g")
    assert code_of(coordinated.answer(JoinGroup("g", ["t"]))) is Code.QUOTA_EXCEEDED


# --- expiry


def test_a_group_is_forgotten_its_retention_after_its_last_member_and_not_before() -> None:
    coordinated = Coordinated()
    member = coordinated.join("g")
    coordinated.commit("g", ("t", 0, 5), member=member)
    coordinated.leave("g", member)
    coordinated.let_pass(6 * DAY)
    coordinated.leave("g", coordinated.join("g"))
    described = coordinated.answer(DescribeGroup("g"))
    assert isinstance(described, GroupReply)
    assert described.expires_ms == coordinated.wall_ms + 7 * DAY_MS
    assert described.config["offsets_retention"] == "7d"
    coordinated.let_pass(7 * DAY - HOUR)
    assert coordinated.offsets("g") == {("t", 0): 5}
    coordinated.let_pass(HOUR)
    assert coordinated.names() == []
    assert coordinated.offsets("g") == {}
    assert (coordinated.coordinator.expiries.groups, coordinated.coordinator.expiries.offsets) == (1, 1)
    assert coordinated.coordinator.expiries.forgotten == ["g"]


def test_a_group_with_members_is_never_forgotten() -> None:
    coordinated = Coordinated()
    member = coordinated.join("g")
    coordinated.commit("g", ("t", 0, 5), member=member)
    for _ in range(30):
        coordinated.coordinator.session("g", member.member_id).last = coordinated.now + 10 * DAY
        coordinated.let_pass(DAY)
    assert coordinated.offsets("g") == {("t", 0): 5}
    described = coordinated.answer(DescribeGroup("g"))
    assert isinstance(described, GroupReply)
    assert described.expires_ms == 0


def test_an_offset_without_members_goes_by_itself_after_its_own_last_commit() -> None:
    coordinated = Coordinated()
    coordinated.commit("g", ("t", 0, 5), ("t", 1, 5))
    coordinated.let_pass(4 * DAY)
    coordinated.commit("g", ("t", 1, 6), ("t", 2, 6))
    coordinated.let_pass(3 * DAY - HOUR)
    assert [*coordinated.offsets("g")] == [("t", 0), ("t", 1), ("t", 2)]
    coordinated.let_pass(HOUR)
    assert [*coordinated.offsets("g")] == [("t", 1), ("t", 2)]
    coordinated.let_pass(4 * DAY - HOUR)
    assert coordinated.names() == ["g"]
    coordinated.let_pass(HOUR)
    assert coordinated.names() == []


@pytest.mark.parametrize("offset", [5, 3])
def test_an_offset_that_is_committed_again_and_again_is_kept(offset: int) -> None:
    coordinated = Coordinated()
    coordinated.commit("g", ("t", 0, 5))
    before = len(coordinated.journal)
    for _ in range(30):
        coordinated.let_pass(DAY)
        for _ in range(100):
            assert coordinated.commit("g", ("t", 0, offset)) == CommittedOffsets([])
    assert coordinated.offsets("g") == {("t", 0): 5}
    # It is written down that it is wanted, though not each time.
    assert len(coordinated.journal) - before == 30
    coordinated.answer(AlterGroup("g", {"offsets_retention": "2m"}))
    assert coordinated.names() == ["g"]


def test_the_time_in_which_nobody_coordinates_counts() -> None:
    coordinated = Coordinated()
    coordinated.commit("early", ("t", 0, 5))
    coordinated.let_pass(2 * DAY)
    coordinated.leave("g", coordinated.join("g"))
    coordinated.restart(away_ns=6 * DAY)
    coordinated.let_pass(MS)
    assert coordinated.names() == ["g"]
    coordinated.let_pass(DAY - HOUR)
    assert coordinated.names() == ["g"]
    coordinated.let_pass(HOUR)
    assert coordinated.names() == []


def test_restarts_put_nothing_off() -> None:
    coordinated = Coordinated()
    coordinated.leave("g", coordinated.join("g"))
    for _ in range(6):
        coordinated.let_pass(DAY)
        coordinated.restart()
    coordinated.let_pass(DAY - HOUR)
    assert coordinated.names() == ["g"]
    coordinated.let_pass(HOUR)
    assert coordinated.names() == []


@pytest.mark.parametrize("by_days", [400, -400, 30, -3])
def test_no_jump_of_the_clock_ends_a_group_before_its_time(by_days: int) -> None:
    coordinated = Coordinated()
    coordinated.leave("before", coordinated.join("before"))
    coordinated.commit("alone", ("t", 0, 5))
    coordinated.let_pass(DAY)
    coordinated.set_clock(by_days * DAY_MS)
    coordinated.leave("after", coordinated.join("after"))
    coordinated.let_pass(5 * DAY)
    assert coordinated.names() == ["after", "alone", "before"]
    # Set right again, and what was written down meanwhile is no reason to hurry.
    coordinated.set_clock(-by_days * DAY_MS)
    coordinated.let_pass(HOUR)
    assert coordinated.names() == ["after", "alone", "before"]
    coordinated.let_pass(DAY)
    assert "after" in coordinated.names()
    assert "before" not in coordinated.names()
    coordinated.restart()
    coordinated.let_pass(HOUR)
    assert "after" in coordinated.names()


def test_a_clock_that_goes_back_before_a_restart_ends_nothing_early() -> None:
    coordinated = Coordinated()
    coordinated.set_clock(-30 * DAY_MS)
    coordinated.leave("g", coordinated.join("g"))
    coordinated.set_clock(30 * DAY_MS)
    coordinated.restart()
    coordinated.let_pass(6 * DAY)
    assert coordinated.names() == ["g"]
    coordinated.let_pass(DAY)
    assert coordinated.names() == []


@pytest.mark.parametrize("by_days", [400, -400, 30, -3])
def test_a_process_that_lives_on_knows_better_than_the_wall_when_it_coordinates_again(by_days: int) -> None:
    coordinated = Coordinated()
    coordinated.leave("before", coordinated.join("before"))
    coordinated.set_clock(by_days * DAY_MS)
    coordinated.begin_anew()
    coordinated.leave("after", coordinated.join("after"))
    coordinated.let_pass(6 * DAY)
    assert coordinated.names() == ["after", "before"]
    coordinated.set_clock(-by_days * DAY_MS)
    coordinated.begin_anew()
    coordinated.let_pass(DAY - HOUR)
    assert coordinated.names() == ["after", "before"]


def test_a_group_may_be_kept_for_longer_or_shorter_than_others() -> None:
    coordinated = Coordinated(GroupBounds(retention_ms=2 * DAY_MS))
    for name in ("short", "usual", "long"):
        coordinated.leave(name, coordinated.join(name))
    altered = coordinated.answer(AlterGroup("short", {"offsets_retention": "1h"}))
    assert isinstance(altered, GroupReply)
    assert altered.config["offsets_retention"] == "1h"
    coordinated.answer(AlterGroup("long", {"offsets_retention": "30d"}))
    usual = coordinated.answer(DescribeGroup("usual"))
    assert isinstance(usual, GroupReply)
    assert usual.config["offsets_retention"] == "2d"
    coordinated.let_pass(HOUR)
    assert coordinated.names() == ["long", "usual"]
    coordinated.restart()
    coordinated.let_pass(2 * DAY)
    assert coordinated.names() == ["long"]
    coordinated.let_pass(27 * DAY)
    assert coordinated.names() == ["long"]
    coordinated.answer(AlterGroup("long", {"offsets_retention": None}))
    coordinated.let_pass(MS)
    assert coordinated.names() == []


@pytest.mark.parametrize("value", ["0s", "-1d", "1 day", 7, True, "40000d"])
def test_a_retention_that_is_none_is_refused(value: object) -> None:
    coordinated = Coordinated()
    coordinated.leave("g", coordinated.join("g"))
    refusal = coordinated.answer(AlterGroup("g", {"offsets_retention": value}))
    assert code_of(refusal) is Code.INVALID
    assert isinstance(refusal, Refusal)
    assert refusal.field == "config.offsets_retention"


def test_a_shared_group_is_kept_as_long_as_anything_of_it_is_under_way() -> None:
    coordinated = Coordinated()
    coordinated.leave("w", coordinated.join("w", GroupMode.SHARED))
    coordinated.let_pass(8 * DAY, idle=False)
    assert coordinated.names() == ["w"]
    coordinated.let_pass(20 * 1_000 * MS)
    assert coordinated.names() == []


def test_a_shared_group_with_a_member_again_is_not_forgotten_by_an_answer_that_came_late() -> None:
    coordinated = Coordinated()
    coordinated.leave("w", coordinated.join("w", GroupMode.SHARED))
    coordinated.let_pass(8 * DAY, idle=False)
    coordinated.join("w")
    coordinated.coordinator.found_idle(coordinated.now, "w")
    coordinated.coordinator.found_idle(coordinated.now, "never was")
    assert coordinated.names() == ["w"]
