"""All groups in numbers, at a cost that has a bound: the ends of a topic are looked up once for all its groups.

What is counted one by one ends with the first group that goes beyond a bound, so which groups are seen does not change
from one look to the next while groups stay as they are.
"""

from collections import Counter
from collections.abc import Callable

from attrs import define

from goqueue.core.groups import describe
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.plan import Ends, beginning, left_to_read
from goqueue.core.groups.polling import Polls
from goqueue.core.groups.shared import Queues
from goqueue.core.groups.state import Group, Slot
from goqueue.core.requests.groups import GroupMeasure, GroupMode, GroupsMeasured, MeasureGroups, TopicMeasure
from goqueue.core.requests.histogram import Histogram

Spans = list[tuple[int, int] | None]
# How many milliseconds ago a message was appended: now, topic, partition, offset.
Ages = Callable[[int, str, int, int], int]


@define
class Sight:
    """What is looked at, from when: groups, and what is known of the partitions that they read."""

    now: int
    coordinator: Coordinator
    ends: Ends
    ages: Ages
    queues: Queues | None = None

    def known(self, group: Group) -> dict[Slot, tuple[int, int]]:
        """How far a shared group has come, and how much is left."""
        return {} if self.queues is None or group.mode is not GroupMode.SHARED else self.queues.offsets(group.name)


def measured(request: MeasureGroups, sight: Sight, polls: Polls) -> GroupsMeasured:
    """The answer to a `MeasureGroups`."""
    coordinator = sight.coordinator
    groups = coordinator.groups.groups
    states = Counter(coordinator.state(group).value for group in groups.values())
    known = sorted(groups.values(), key=lambda group: (not group.members, group.name))
    rebalances = coordinator.rebalances.describe("").by_reason
    latency = coordinator.rebalances.latency
    return GroupsMeasured(
        dict(sorted(states.items())),
        _one_by_one(request, known[: request.groups_max], sight),
        rebalances,
        Histogram([*latency.counts], latency.sum_ns),
        coordinator.heartbeats,
        coordinator.session_timeouts,
        polls.count,
        polls.empty_count,
        coordinator.expiries.groups,
        coordinator.expiries.offsets,
        coordinator.groups.offset_count,
        coordinator.bounds.groups,
        coordinator.bounds.offsets,
    )


def _one_by_one(request: MeasureGroups, groups: list[Group], sight: Sight) -> list[GroupMeasure]:
    coordinator = sight.coordinator
    counted: list[GroupMeasure] = []
    spans: dict[str, Spans] = {}
    topics_left, partitions_left = request.topics_max, request.partitions_max
    for group in groups:
        known = sight.known(group)
        topics = _topics(coordinator, group, known)
        topics_left -= len(topics)
        partitions_left -= sum(coordinator.partitions(topic) for topic in topics)
        if topics_left < 0 or partitions_left < 0:
            break
        for topic in topics:
            if topic not in spans:
                spans[topic] = [sight.ends(topic, number) for number in range(coordinator.partitions(topic))]
        assigned = sum(describe.count_owned(member) for member in group.members.values())
        measures = [_topic(sight, group, topic, spans[topic], known) for topic in topics]
        counted.append(GroupMeasure(group.name, group.generation, len(group.members), assigned, measures))
    return counted


def _topics(coordinator: Coordinator, group: Group, known: dict[Slot, tuple[int, int]]) -> list[str]:
    """What a group reads or has committed to, as far as it is there."""
    names = {topic: None for member in group.members.values() for topic in member.topics}
    names.update((topic, None) for topic, _ in known)
    names.update((topic, None) for topic, _ in coordinator.groups.committed(group.name))
    return sorted(name for name in names if coordinator.partitions(name))


def _topic(sight: Sight, group: Group, topic: str, spans: Spans, known: dict[Slot, tuple[int, int]]) -> TopicMeasure:
    groups = sight.coordinator.groups
    committed = groups.committed(group.name)
    total = lag = lag_ms = 0
    for number, span in enumerate(spans):
        slot = (topic, number)
        record = committed.get(slot)
        offset = record.offset if record is not None else 0
        left = left_to_read(group, record, span)
        if slot in known:
            offset, left = known[slot]
        total += offset
        if span is not None and left > 0:
            lag += left
            oldest = max(offset if slot in known else beginning(groups, group, slot, span), span[0])
            lag_ms = max(lag_ms, sight.ages(sight.now, topic, number, oldest))
    return TopicMeasure(topic, total, lag, lag_ms)
