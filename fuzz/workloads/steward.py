"""Whoever looks after the cluster itself: asks how it is, drains nodes and takes that back, moves partitions about."""

from random import Random

from goqueue.core.requests.cluster import (
    DescribeCluster,
    DescribeReassignments,
    Drain,
    ElectLeaders,
    MeasureCluster,
    Reassign,
    ReplicaMove,
)
from goqueue.core.requests.row import Request
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client

_THINK_NS = 4_000_000_000


class Steward(Client):
    """Draws what to do and hopes for nothing."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self._names = [f"node-{number + 1}" for number in range(options.nodes)]

    def think_ns(self) -> int:
        """A cluster is not changed every moment."""
        return int(self.random.random() * _THINK_NS)

    def next_request(self) -> Request:
        """A question, or a change."""
        drawn, random = self.random.random(), self.random
        if drawn < 0.3:
            return Drain(random.choice(self._names), random.random() < 0.4)
        if drawn < 0.6:
            return Reassign([self._move()])
        questions: tuple[Request, ...] = (
            ElectLeaders(), DescribeCluster(), DescribeReassignments(), MeasureCluster(),
        )  # fmt: skip
        return random.choice(questions)

    def _move(self) -> ReplicaMove:
        """A partition goes elsewhere, or stays after all."""
        count = min(self.options.replicas_max, len(self._names))
        replicas = [] if self.random.random() < 0.2 else self.random.sample(self._names, count)
        return ReplicaMove(self.draw_topic(), self.draw_partition(), replicas)
