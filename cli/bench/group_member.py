"""Members of a group in a process of their own: `python -m goqueue.cli.bench.group_member PLAN`, a JSON object.

They do what they are told by lines on standard input (`join`, `mark`, `report`) and go when that ends. What
happens to them goes out as a JSON object a line. Times are those of the monotonic clock, which all processes of a
machine share.
"""

import json
import sys
import time
from datetime import timedelta

import trio
from attrs import asdict, define

import goqueue
from goqueue.core.groups.state import Slot
from goqueue.transports.client.group_consumer import GroupConsumer


@define
class Plan:
    """What the members of one process are to be."""

    address: str
    group: str
    topic: str
    members: int
    session_s: float
    commit_s: float
    # Whether nothing is read before the mark.
    waits: bool = False


def written(plan: Plan) -> str:
    """The plan as the command line has it."""
    return json.dumps(asdict(plan))


def _say(**what: object) -> None:
    print(json.dumps({"at": time.monotonic_ns(), **what}), flush=True)


class _Flow:
    """What came since the mark: how many messages, when the last, and the longest silence of each partition."""

    def __init__(self) -> None:
        self._last: dict[int, int] = {}
        self.mark()

    def mark(self) -> None:
        """Begin anew; a silence that has begun goes on."""
        self._gaps: dict[int, int] = {}
        self._count = 0
        self._last_at = 0

    def follow(self, owned: set[int], fresh: set[int]) -> None:
        """These are read from now on; the silence before in those that are fresh, and all in others, is not ours."""
        self._last = {number: at for number, at in self._last.items() if number in owned - fresh}
        self._gaps = {number: gap for number, gap in self._gaps.items() if number in owned - fresh}

    def came(self, number: int, count: int) -> bool:
        """Messages of a partition; whether they are its first here."""
        now = self._last_at = time.monotonic_ns()
        before = self._last.get(number)
        self._last[number] = now
        self._count += count
        if before is not None and now - before > self._gaps.get(number, 0):
            self._gaps[number] = now - before
        return before is None

    def report(self) -> None:
        """Say it all."""
        now = time.monotonic_ns()
        gaps = {number: max(self._gaps.get(number, 0), now - last) for number, last in self._last.items()}
        _say(report=True, count=self._count, last_at=self._last_at, gaps=gaps)


class _Member:
    """One member: what it reads it only counts."""

    def __init__(self, plan: Plan, number: int) -> None:
        self.flow = _Flow()
        self._plan = plan
        self._number = number
        self._consumer: GroupConsumer | None = None

    async def run(self) -> None:
        """Join, and read for as long as there is time."""
        plan, number, came = self._plan, self._number, self.flow.came
        async with goqueue.connect(plan.address) as gq:
            self._consumer = consumer = gq.group_consumer(
                plan.group,
                plan.topic,
                session_timeout=timedelta(seconds=plan.session_s),
                commit_interval=timedelta(seconds=plan.commit_s),
                on_assigned=self._assigned,
                on_revoked=self._revoked,
                on_lost=self._revoked,
            )
            async with consumer:
                async for batch in consumer.batches():
                    partition = batch[0].partition
                    if came(partition, len(batch)):
                        _say(member=number, flows=partition)

    def begin(self) -> None:
        """Count from here on, and read if that was waited for."""
        assert self._consumer is not None
        self.flow.mark()
        if self._plan.waits:
            self._consumer.resume(*self._consumer.assignment)

    def _assigned(self, slots: list[Slot]) -> None:
        if self._plan.waits:
            assert self._consumer is not None
            self._consumer.pause(*slots)
        self._tell({partition for _, partition in slots})

    def _revoked(self, _slots: list[Slot]) -> None:
        self._tell(set())

    def _tell(self, fresh: set[int]) -> None:
        consumer = self._consumer
        assert consumer is not None
        owned = {partition for _, partition in consumer.assignment}
        self.flow.follow(owned, fresh)
        _say(member=self._number, generation=consumer.generation, owned=sorted(owned))


async def _attend(plan: Plan) -> None:
    members = [_Member(plan, number) for number in range(plan.members)]
    _say(ready=True)
    async with trio.open_nursery() as nursery:
        async for line in trio.wrap_file(sys.stdin):
            for member in members:
                if line == "join\n":
                    nursery.start_soon(member.run)
                elif line == "mark\n":
                    member.begin()
                elif line == "report\n":
                    member.flow.report()
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(_attend, Plan(**json.loads(sys.argv[1])))
