"""Whoever changes what others rely on while they work: adds partitions, forgets dead nodes and lets them in anew.

It also lets replicas lead that may lack messages.

A node that is forgotten has its folder still, and comes back as another member of the cluster. One that is readmitted
has not lost its folder either: whoever asked for that was wrong, and nothing is to come of it but copying.
"""

from collections.abc import Callable
from random import Random

from goqueue.core.requests.cluster import DescribeCluster, ElectLeaders, ForgetNode, ReadmitNode
from goqueue.core.requests.row import Request
from goqueue.core.requests.topics import AddPartitions, AlterTopic, DescribePartitions
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client

_THINK_NS = 2_000_000_000


class Meddler(Client):
    """Draws what to do and hopes for nothing."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self._names = [f"node-{number + 1}" for number in range(options.nodes)]
        self._draws: list[Callable[[], Request]] = [self._question]
        if options.adds_partitions:
            self._draws += [self._add, self._alter]
        if options.forgets:
            self._draws += [self._forget, self._forget, self._readmit]
        if options.unclean:
            self._draws += [self._elect] * 3

    def think_ns(self) -> int:
        """A cluster lives by the second, a node that is alone by its clients."""
        return int(self.random.random() * (_THINK_NS if self.options.nodes > 1 else 8 * self.options.think_ns + 1))

    def next_request(self) -> Request:
        """A question, or a change."""
        return self.random.choice(self._draws)()

    def _question(self) -> Request:
        topic = self.draw_topic()
        questions: tuple[Request, ...] = (
            DescribeCluster(), DescribePartitions(topic), ElectLeaders(topic, self.draw_partition()),
        )  # fmt: skip
        return self.random.choice(questions)

    def _add(self) -> Request:
        return AddPartitions(self.draw_topic(), self.random.randint(1, self.options.partitions_max + 1))

    def _alter(self) -> Request:
        """Keys may go to all partitions, and messages wait for more replicas or fewer."""
        least = self.random.randint(1, max(self.options.replicas_max - 1, 1))
        change: dict[str, object] = (
            {"min_insync_replicas": least} if self.random.random() < 0.5 else {"key_partitions": 0}
        )
        return AlterTopic(self.draw_topic(), change)

    def _elect(self) -> Request:
        """Whoever has most leads where nobody does, or whoever is named."""
        named = self.random.choice(("", "", *self._names))
        return ElectLeaders(self.draw_topic(), self.draw_partition(), unclean=True, node_id=named)

    def _forget(self) -> Request:
        return ForgetNode(self.random.choice(self._names))

    def _readmit(self) -> Request:
        return ReadmitNode(self.random.choice(self._names))
