"""Groups in numbers: what is counted is what there is, and counting has a bound."""

from goqueue.core.groups.measure import Sight, measured
from goqueue.core.requests.groups import (
    CommitOffsets,
    GroupHeartbeat,
    GroupMeasure,
    GroupsMeasured,
    JoinGroup,
    MeasureGroups,
    PartitionOffset,
    TopicMeasure,
    WatchGroup,
)
from goqueue.core.requests.messages import NewRecord, Publish
from tests.core.driven_node import DrivenNode
from tests.core.groups.polled_groups import PolledGroups, S


def measure(groups: PolledGroups, request: MeasureGroups | None = None) -> GroupsMeasured:
    """Groups in numbers, where a message came every second and the last one a second ago."""

    def ages(now: int, topic: str, partition: int, offset: int) -> int:
        return (groups.shelves[topic, partition].end - offset) * 1000

    sight = Sight(groups.now, groups.coordinator, groups.ends, ages)
    return measured(request or MeasureGroups(), sight, groups.polls)


def commit(groups: PolledGroups, group: str, *places: tuple[str, int, int]) -> None:
    groups.answer(CommitOffsets(group, "", 0, [PartitionOffset(*place) for place in places]))


def test_a_group_is_counted_with_its_members_its_offsets_and_what_is_left_to_read() -> None:
    groups = PolledGroups(t=2, u=1)
    for topic, partition, count in (("t", 0, 10), ("t", 1, 5), ("u", 0, 3)):
        groups.add(topic, partition, count)
    commit(groups, "g", ("t", 0, 4))
    groups.join("t", "u")
    groups.join("t")
    found = measure(groups)
    topics = [TopicMeasure("t", 4, 6 + 5, 6000), TopicMeasure("u", 0, 3, 3000)]
    assert found.groups == [GroupMeasure("g", 2, 2, 3, topics)]
    assert found.states == {"reconciling": 1}


def test_a_group_that_begins_with_the_latest_and_has_committed_nothing_has_no_lag() -> None:
    groups = PolledGroups(t=1)
    groups.add("t", 0, 10)
    groups.join("t", start="latest")
    assert measure(groups).groups[0].topics == [TopicMeasure("t", 0, 0, 0)]


def test_a_partition_whose_ends_are_not_known_counts_as_read() -> None:
    groups = PolledGroups(t=2)
    groups.add("t", 0, 10)
    groups.join("t")
    del groups.shelves["t", 1]
    assert measure(groups).groups[0].topics == [TopicMeasure("t", 0, 10, 10_000)]


def test_lag_in_time_is_that_of_the_partition_furthest_behind_and_counts_from_where_a_partition_begins() -> None:
    groups = PolledGroups(t=3)
    for partition, count in ((0, 10), (1, 20), (2, 30)):
        groups.add("t", partition, count)
    commit(groups, "g", ("t", 0, 10), ("t", 1, 2), ("t", 2, 25))
    assert measure(groups).groups[0].topics == [TopicMeasure("t", 37, 18 + 5, 18_000)]
    # Retention has overtaken what is committed.
    groups.shelves["t", 1].start = 16
    assert measure(groups).groups[0].topics == [TopicMeasure("t", 37, 4 + 5, 5000)]


def test_what_is_read_up_to_the_end_has_no_lag_in_time_however_old_it_is() -> None:
    driven = DrivenNode().with_topic()
    assert lag_ms(driven, commits=0, after_ms=0) == 0
    driven.answer(Publish("orders", [NewRecord(None, b"v")]))
    assert lag_ms(driven, commits=0, after_ms=60_000) == 60_000
    driven.answer(Publish("orders", [NewRecord(None, b"v")]))
    assert lag_ms(driven, commits=0, after_ms=5000) == 65_000
    assert lag_ms(driven, commits=1, after_ms=0) == 5000
    assert lag_ms(driven, commits=2, after_ms=3_600_000) == 0


def lag_ms(driven: DrivenNode, *, commits: int, after_ms: int) -> int:
    """How far behind a group is that commits this offset, some time later."""
    driven.answer(CommitOffsets("g", "", 0, [PartitionOffset("orders", 0, commits)]))
    driven.now += after_ms * 1_000_000
    found = driven.answer(MeasureGroups())
    assert isinstance(found, GroupsMeasured)
    [topic] = found.groups[0].topics
    return topic.lag_ms


def test_groups_with_members_come_first_and_each_bound_ends_the_list() -> None:
    groups = PolledGroups(t=2, u=3)
    for name in ("a", "b", "c"):
        commit(groups, name, ("t", 0, 0))
    groups.join("t", "u")
    names = [
        [one.group for one in measure(groups, request).groups]
        for request in (
            MeasureGroups(),
            MeasureGroups(groups_max=2),
            MeasureGroups(topics_max=3),
            MeasureGroups(partitions_max=8),
            MeasureGroups(partitions_max=4),
        )
    ]
    assert names == [["g", "a", "b", "c"], ["g", "a"], ["g", "a"], ["g", "a"], []]
    assert measure(groups, MeasureGroups(groups_max=0)).states == {"empty": 3, "stable": 1}


def test_the_ends_of_a_topic_are_looked_up_once_for_all_its_groups() -> None:
    groups = PolledGroups(t=5)
    for number in range(20):
        commit(groups, f"g{number}", ("t", 0, 0))
    asked: list[tuple[str, int]] = []

    def ends(topic: str, partition: int) -> tuple[int, int] | None:
        asked.append((topic, partition))
        return groups.ends(topic, partition)

    measured(MeasureGroups(), Sight(0, groups.coordinator, ends, lambda *_: 0), groups.polls)
    assert asked == [("t", number) for number in range(5)]


def test_heartbeats_and_sessions_that_ended_are_counted() -> None:
    groups = PolledGroups(t=1)
    member = groups.join("t")
    groups.answer(GroupHeartbeat("g", member, 1))
    groups.answer(WatchGroup("g", member))
    groups.answer(WatchGroup("g", member, counts=False))
    groups.wait(31 * S)
    found = measure(groups)
    assert (found.heartbeats, found.session_timeouts) == (2, 1)
    assert found.groups[0].members == 0


def test_rebalances_are_counted_by_reason_with_how_long_they_took() -> None:
    groups = PolledGroups(t=1)
    groups.join("t")
    # One partition stays where it is, so the second member changes nothing.
    groups.join("t")
    found = measure(groups)
    assert found.rebalances == {"member_joined": 1}
    assert sum(found.latency.counts) == 1
    assert found.latency is not groups.coordinator.rebalances.latency


def test_looking_makes_no_journal_and_is_answered_while_there_is_none() -> None:
    driven = DrivenNode()
    answer = driven.answer(MeasureGroups())
    assert isinstance(answer, GroupsMeasured)
    assert (answer.groups, answer.states) == ([], {})
    assert "logs/__groups/0" not in driven.node.led.streams
    driven.with_topic()
    driven.answer(JoinGroup("g", ["orders"]))
    answer = driven.answer(MeasureGroups())
    assert isinstance(answer, GroupsMeasured)
    assert [one.group for one in answer.groups] == ["g"]
