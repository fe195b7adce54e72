"""The assignors of aiokafka and kafka-python, asked in our words."""

import warnings
from types import ModuleType
from typing import Any

from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as AiokafkaRoundRobin
from aiokafka.coordinator.assignors.sticky import sticky_assignor as aiokafka_module

from goqueue.core.groups.assignment import Assignment, Subscriber

with warnings.catch_warnings():
    # It reads its schemas in a way that Python 3.11 advises against.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky import sticky_assignor as kafka_module
    from kafka.protocol.consumer.group import JoinGroupResponse
    from kafka.structs import TopicPartition


class Cluster:
    """The topics there are."""

    def __init__(self, topics: dict[str, int]) -> None:
        self._topics = topics

    def topics(self) -> set[str]:
        """Their names."""
        return set(self._topics)

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """The numbers of a topic's partitions."""
        return set(range(self._topics[topic])) if topic in self._topics else None


def _members(
    subscribers: list[Subscriber], assignor: type[RangePartitionAssignor | RoundRobinPartitionAssignor]
) -> list[Any]:
    ordered = sorted(subscribers, key=lambda one: (not one.instance_id, one.instance_id, one.member_id))
    return [
        JoinGroupResponse.JoinGroupResponseMember(one.member_id, one.instance_id or None, assignor.metadata(one.topics))
        for one in ordered
    ]


def _ours(found: dict[str, Any]) -> Assignment:
    return {
        member: sorted((topic, partition) for topic, partitions in each.assigned_partitions for partition in partitions)
        for member, each in found.items()
    }


def kafka_range(subscribers: list[Subscriber], topics: dict[str, int]) -> Assignment:
    """What kafka-python's range assignor says."""
    found = RangePartitionAssignor.assign(Cluster(topics), _members(subscribers, RangePartitionAssignor))
    return _ours(found)


def kafka_round_robin(subscribers: list[Subscriber], topics: dict[str, int]) -> Assignment:
    """What kafka-python's round-robin assignor says."""
    found = RoundRobinPartitionAssignor.assign(Cluster(topics), _members(subscribers, RoundRobinPartitionAssignor))
    return _ours(found)


def aiokafka_round_robin(subscribers: list[Subscriber], topics: dict[str, int]) -> Assignment:
    """What aiokafka's round-robin assignor says; it knows no instance ids, but any subscriptions."""
    members = {one.member_id: AiokafkaRoundRobin.metadata(one.topics) for one in subscribers}
    found = AiokafkaRoundRobin.assign(Cluster(topics), members)
    return {
        member: sorted((topic, partition) for topic, partitions in each.assignment for partition in partitions)
        for member, each in found.items()
    }


def aiokafka_sticky(subscribers: list[Subscriber], topics: dict[str, int]) -> Assignment:
    """What aiokafka's sticky assignor says."""
    return _sticky(aiokafka_module, subscribers, topics)


def kafka_sticky(subscribers: list[Subscriber], topics: dict[str, int]) -> Assignment:
    """What kafka-python's cooperative sticky assignor aims at, before it stages the moves."""
    assert issubclass(CooperativeStickyAssignor, kafka_module.StickyPartitionAssignor)
    return _sticky(kafka_module, subscribers, topics)


def _sticky(module: ModuleType, subscribers: list[Subscriber], topics: dict[str, int]) -> Assignment:
    members = {
        one.member_id: module.StickyAssignorMemberMetadataV1(
            partitions=[TopicPartition(*slot) for slot in one.held], generation=1, subscription=list(one.topics)
        )
        for one in subscribers
    }
    executor = module.StickyAssignmentExecutor(Cluster(topics), members)
    executor.perform_initial_assignment()
    executor.balance()
    return {
        one.member_id: sorted(
            (topic, partition)
            for topic, partitions in executor.get_final_assignment(one.member_id)
            for partition in partitions
        )
        for one in subscribers
    }
