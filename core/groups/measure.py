"""All groups in numbers, at a cost that has a bound: the ends of a topic are looked up once for all its groups.

What is counted one by one ends with the first group that goes beyond a bound, so which groups are seen does not change
from one look to the next while groups stay as they are.
"""

from collections import Counter

from goqueue.core.groups import describe
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.plan import Ends, left_to_read
from goqueue.core.groups.polling import Polls
from goqueue.core.groups.state import Group
from goqueue.core.groups.verbs import GroupMeasure, GroupsMeasured, MeasureGroups, TopicMeasure
from goqueue.core.histogram import Histogram

Spans = list[tuple[int, int] | None]


def measured(request: MeasureGroups, coordinator: Coordinator, polls: Polls, ends: Ends) -> GroupsMeasured:
    """The answer to a `MeasureGroups`."""
    groups = coordinator.groups.groups
    states = Counter(coordinator.state(group).value for group in groups.values())
    known = sorted(groups.values(), key=lambda group: (not group.members, group.name))
    rebalances = coordinator.rebalances.describe("").by_reason
    latency = coordinator.rebalances.latency
    return GroupsMeasured(
        dict(sorted(states.items())),
        _one_by_one(request, known[: request.groups_max], coordinator, ends),
        rebalances,
        Histogram([*latency.counts], latency.sum_ns),
        coordinator.heartbeats,
        coordinator.session_timeouts,
        polls.count,
        polls.empty_count,
    )


def _one_by_one(
    request: MeasureGroups, groups: list[Group], coordinator: Coordinator, ends: Ends
) -> list[GroupMeasure]:
    counted: list[GroupMeasure] = []
    spans: dict[str, Spans] = {}
    topics_left, partitions_left = request.topics_max, request.partitions_max
    for group in groups:
        topics = _topics(coordinator, group)
        topics_left -= len(topics)
        partitions_left -= sum(coordinator.partitions(topic) for topic in topics)
        if topics_left < 0 or partitions_left < 0:
            break
        for topic in topics:
            if topic not in spans:
                spans[topic] = [ends(topic, number) for number in range(coordinator.partitions(topic))]
        assigned = sum(describe.count_owned(member) for member in group.members.values())
        measures = [_topic(coordinator, group, topic, spans[topic]) for topic in topics]
        counted.append(GroupMeasure(group.name, group.generation, len(group.members), assigned, measures))
    return counted


def _topics(coordinator: Coordinator, group: Group) -> list[str]:
    """What a group reads or has committed to, as far as it is there."""
    names = {topic: None for member in group.members.values() for topic in member.topics}
    names.update((topic, None) for topic, _ in coordinator.groups.committed(group.name))
    return sorted(name for name in names if coordinator.partitions(name))


def _topic(coordinator: Coordinator, group: Group, topic: str, spans: Spans) -> TopicMeasure:
    committed = coordinator.groups.committed(group.name)
    total = lag = 0
    for number, span in enumerate(spans):
        record = committed.get((topic, number))
        total += record.offset if record is not None else 0
        lag += max(left_to_read(group, record, span), 0)
    return TopicMeasure(topic, total, lag)
