"""Whoever looks after groups: asks about them, resets and deletes them, used or not, and commits without membership.

It also keeps the place of a group that nobody ever joins.
"""

from goqueue.core.requests.groups import (
    AlterGroup,
    CommitOffsets,
    DeleteGroup,
    DescribeGroup,
    DescribeRebalances,
    FetchOffsets,
    ListGroups,
    PartitionOffset,
    ResetOffsets,
    ResetTo,
)
from goqueue.core.requests.row import Request
from goqueue.fuzz.workloads.client import Client

_ALONE = "alone"
_CHANGES: tuple[dict[str, object], ...] = (
    {"assignor": "range"},
    {"assignor": "sticky"},
    {"assignor": None},
    {"start": "latest"},
    {"start": "earliest"},
    {"start": "nowhere"},
    {"visibility_timeout": "5s"},
)


class Operator(Client):
    """Draws what to do and hopes for nothing."""

    def next_request(self) -> Request:
        """A question, or a change."""
        drawn, group = self.random.random(), self._draw_group()
        if drawn < 0.5:
            return self._question(group)
        if drawn < 0.7:
            place = self.draw_topic(), self.draw_partition()
            return CommitOffsets(group, "", 0, [PartitionOffset(*place, self.random.randint(0, 12))])
        if drawn < 0.85:
            return self._reset(group)
        if drawn < 0.95:
            return AlterGroup(group, {**self.random.choice(_CHANGES)})
        return DeleteGroup(group)

    def think_ns(self) -> int:
        """Members come first."""
        return 2 * super().think_ns()

    def _draw_group(self) -> str:
        return self.random.choice((_ALONE, *(f"g{number}" for number in range(self.options.groups))))

    def _question(self, group: str) -> Request:
        questions: tuple[Request, ...] = (
            ListGroups(), DescribeGroup(group), DescribeGroup(group), DescribeRebalances(), DescribeRebalances(group),
            FetchOffsets(group), FetchOffsets(group), FetchOffsets(group, [self.draw_topic()]),
        )  # fmt: skip
        return self.random.choice(questions)

    def _reset(self, group: str) -> ResetOffsets:
        random = self.random
        partitions = [] if random.random() < 0.5 else [self.draw_partition()]
        to = random.choice((*ResetTo,))
        at_ms = random.choice((0, 1_700_000_000_500, 1 << 42))
        return ResetOffsets(
            group, self.draw_topic(), to, partitions, random.randint(0, 12), at_ms, {}, random.random() < 0.2
        )
