"""Whoever asks for what is refused, and asks questions that nobody else asks.

None of it may change anything: what is refused is in `petitions.py`, and `checkers/petitions.py` looks whether it was.
"""

from random import Random

from goqueue.core.requests.cluster import DescribeCluster, DescribeReassignments, MeasureCluster
from goqueue.core.requests.deadletters import BrowseDead, ListDeadTopics, ListRedrives, PurgeDead, Sieve
from goqueue.core.requests.delays import ListDelayed, MeasureDelays
from goqueue.core.requests.groups import (
    AlterGroup,
    CommitOffsets,
    DeleteGroup,
    DescribeRebalances,
    FetchOffsets,
    ListGroups,
    MeasureGroups,
    PartitionOffset,
    ResetOffsets,
    ResetTo,
)
from goqueue.core.requests.messages import FindOffset
from goqueue.core.requests.nodes import DescribeNode
from goqueue.core.requests.queues import MeasureLanes, MeasureWork
from goqueue.core.requests.row import Request
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client
from goqueue.fuzz.workloads.petitions import VAIN, Petitions

_NOW_MS = 1_700_000_000_000
_KIND_SIEVES = (
    Sieve(), Sieve("rejected"), Sieve("expired"), Sieve(group="w1"), Sieve(key=b"a"), Sieve(headers={"vain": b""}),
    Sieve(died_from_ms=_NOW_MS), Sieve(died_until_ms=_NOW_MS), Sieve(died_until_ms=1 << 50),
)  # fmt: skip


class Petitioner(Client):
    """Draws what to ask, and makes nothing of the answers."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self.in_flight_max = 3
        # What was asked that is to be refused, by identity: requests can be equal.
        self.petitions: dict[int, Request] = {}
        self._petitions = Petitions(name, random, options)

    def next_request(self) -> Request:
        """A petition, or a question."""
        if self.random.random() < 0.2:
            return self._question()
        petition = self._petitions.draw()
        self.petitions[id(petition)] = petition
        return petition

    def think_ns(self) -> int:
        """There is much to ask, and others come first."""
        return self.random.randint(0, max(2 * self.options.think_ns, 5_000_000))

    def _question(self) -> Request:
        random, topic = self.random, self.draw_topic()
        letters, sieve = f"{topic}.dlq", random.choice(_KIND_SIEVES)
        after = random.choice(((0, 0, 0), (_NOW_MS, 0, 5), (1 << 50, 2, 1)))
        moment_ms = random.choice((-1, 0, _NOW_MS, 1 << 50))
        own, number = f"kept-by-{self.name}", self.draw_partition()
        questions: tuple[Request, ...] = (
            MeasureGroups(), MeasureGroups(1, 1, 1), MeasureWork(1, everywhere=True), MeasureWork(),
            MeasureLanes(VAIN), MeasureLanes(topic, 1, everywhere=True), MeasureDelays(), MeasureCluster(),
            DescribeCluster(), DescribeReassignments(), DescribeNode(), ListGroups(), DescribeRebalances(VAIN),
            FetchOffsets("g0", [VAIN]), ListDelayed(topic, 2, after), BrowseDead(letters, sieve, 1),
            BrowseDead(letters, sieve, 2, {0: 1}), BrowseDead(topic, sieve), PurgeDead(letters, sieve, dry_run=True),
            CommitOffsets(own, "", 0, [PartitionOffset(topic, number, 0)]), ResetOffsets(own, topic, ResetTo.EARLIEST),
            ResetOffsets(own, topic, ResetTo.TIME, [number], at_ms=_NOW_MS), AlterGroup(own, {"start": _NOW_MS}),
            AlterGroup(own, {"start": "2023-11-14T22:13:20Z"}), FetchOffsets(own), DeleteGroup(own),
            ListDeadTopics(), ListRedrives(letters), FindOffset(topic, number, moment_ms),
        )  # fmt: skip
        return random.choice(questions)
