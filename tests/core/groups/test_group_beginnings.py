"""A group that begins at a moment: what may be said, where its members begin, and what is known of its lag."""

import pytest

from goqueue.core.groups.beginnings import moment_ms, start_problem
from goqueue.core.groups.settings import setting_problem
from goqueue.core.requests.groups import (
    CommitOffsets,
    FetchOffsets,
    GroupOffset,
    LeaveGroup,
    PartitionOffset,
    PollGroup,
)
from goqueue.core.requests.refusals import Code, Refusal
from tests.core.groups.polled_groups import PolledGroups, S, offsets
from tests.core.log.batches import WALL_MS

MOMENT = "2023-11-14T22:13:24Z"
MOMENT_MS = WALL_MS + 4000


@pytest.mark.parametrize("start", ["earliest", "latest", MOMENT, 0, MOMENT_MS])
def test_a_group_begins_at_the_start_at_the_end_or_at_a_moment(start: object) -> None:
    assert start_problem(start) == ""
    assert setting_problem({"start": start}) is None


@pytest.mark.parametrize("start", ["", "middle", "2026-01-31", -1, (1 << 63) - 1, True, 1.5, []])
def test_whatever_else_is_refused_with_what_may_be_said(start: object) -> None:
    found = setting_problem({"start": start})
    assert found is not None
    assert found[0] == "start"
    assert found[1].startswith("expected earliest, latest, a time such as 2026-01-31T12:00:00Z or milliseconds")


def test_a_time_and_its_milliseconds_are_the_same_moment() -> None:
    assert moment_ms(MOMENT) == moment_ms(MOMENT_MS) == MOMENT_MS
    assert moment_ms("earliest") is moment_ms("latest") is None


@pytest.mark.parametrize("start", [MOMENT, MOMENT_MS])
def test_a_member_begins_at_the_first_message_of_the_moment_in_each_partition(start: object) -> None:
    groups = PolledGroups(t=3)
    for partition, count in ((0, 10), (1, 2), (2, 6)):
        groups.add("t", partition, count)
    groups.shelves["t", 2].start = 5
    member = groups.join("t", start=start)
    assert [(part.partition, part.first_offset) for part in groups.poll(member)] == [(0, 4), (2, 5)]
    # The second ended before the moment, so what comes is what the group has yet to see.
    groups.add("t", 1, 2)
    assert offsets(groups.poll(member)) == [2, 3]


def test_what_is_committed_counts_more_than_the_moment() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    first = groups.join("t", start=MOMENT)
    groups.answer(CommitOffsets("g", first, 1, [PartitionOffset("t", 0, 2)]))
    groups.answer(LeaveGroup("g", first))
    assert offsets(groups.poll(groups.join("t")))[0] == 2


def test_a_search_that_is_refused_is_told_and_made_again_by_the_next_poll() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    member = groups.join("t", start=MOMENT)
    groups.shelves["t", 0].problem = Refusal(Code.UNAVAILABLE, "not now")
    assert groups.refused(member).message == "t-0 cannot be read: not now"
    groups.shelves["t", 0].problem = None
    assert offsets(groups.poll(member))[0] == 4


def test_a_search_that_nobody_waits_for_any_more_moves_nothing() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    member = groups.join("t", start=MOMENT)
    groups.holds_reads = True
    to = groups.ask(PollGroup("g", member, wait_ns=S))
    groups.turn()
    groups.polls.forget(to)
    groups.turn()
    groups.holds_reads = False
    groups.turn()
    assert to not in groups.answers
    assert offsets(groups.poll(member))[0] == 4


def test_lag_is_not_known_before_something_is_committed() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    groups.join("t", start=MOMENT)
    assert groups.answer(FetchOffsets("g")) == [GroupOffset("t", 0, -1, -1)]
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    groups.answer(CommitOffsets("g", "", 0, [PartitionOffset("t", 0, 7)]))
    assert groups.answer(FetchOffsets("g")) == [GroupOffset("t", 0, 7, 3)]
