"""Simulated worlds with captures, and what their clients asked and were answered: to compare facts with."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attrs import define, field

from goqueue.core.queues.receipts import read_stem
from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    LeaseRun,
    NackWork,
    PolledWork,
    PollWork,
    RejectWork,
    ReleaseWork,
    WorkDone,
)
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.options import Options
from goqueue.fuzz.process import Process
from goqueue.fuzz.sim import run_world
from goqueue.fuzz.world import World
from goqueue.spark.captures.files import find_captures
from goqueue.spark.facts.extract import facts_of

Row = dict[str, Any]
# A message in the hands of a member: group, topic, partition, the lease's number and an offset.
Hold = tuple[str, str, int, int, int]
# Requests that show receipts.
_SHOWING = AckWork | NackWork | RejectWork | ExtendWork | ReleaseWork


@define
class Told:
    """Requests that were answered, in the order of the answers: which node, what was asked, what it said."""

    answers: list[tuple[str, Request, Reply]] = field(factory=list)
    _asked: dict[int, Request] = field(factory=dict)

    def begin(self, world: World) -> None:
        """Nothing was asked yet."""

    def noted(self, process: Process | None, what: tuple[object, ...]) -> None:
        """Of no interest."""

    def asked(self, process: Process, to: int, request: Request) -> None:
        """A client asks."""
        self._asked[to] = request

    def answered(self, process: Process, to: int, reply: Reply) -> None:
        """A node answers."""
        self.answers.append((process.node_id, self._asked.pop(to), reply))

    def looked(self, process: Process) -> None:
        """Of no interest."""

    def leases(self) -> Iterator[tuple[str, str, int, LeaseRun]]:
        """What members were given: group, topic, partition, run."""
        for _, request, reply in self.answers:
            if isinstance(request, PollWork) and isinstance(reply, PolledWork):
                for part in reply.parts:
                    for run in part.leases:
                        yield request.group, part.topic, part.partition, run

    def done(self, kind: type) -> Counter[Hold]:
        """For which messages a kind of request was answered as done."""
        queues = {run.stem: (group, topic, partition) for group, topic, partition, run in self.leases()}
        found: Counter[Hold] = Counter()
        for _, request, reply in self.answers:
            if isinstance(request, kind) and isinstance(reply, WorkDone):
                assert isinstance(request, _SHOWING)
                refused = {(one.stem, one.offset) for one in reply.refusals}
                for run in request.receipts:
                    for offset in range(run.first_offset, run.first_offset + run.count):
                        if (run.stem, offset) not in refused:
                            found[*queues[run.stem], read_stem(run.stem).lease, offset] += 1
        return found


@define
class ToldWorld:
    """A world that is over: what clients were told, and the facts of its captures in the order of each node."""

    told: Told
    facts: list[Row]

    def of(self, *kinds: str, **columns: object) -> list[Row]:
        """The facts of some kinds that have these values."""
        return [
            row
            for row in self.facts
            if row["kind"] in kinds and all(row[name] == value for name, value in columns.items())
        ]


def live(folder: Path, seed: int, options: Options) -> ToldWorld:
    """Live through a world of which no promise is broken, and read its captures."""
    told = Told()
    verdict = run_world(seed, options=options, capture=str(folder), watch=told)
    assert verdict.violation is None, verdict.violation
    facts: list[Row] = []
    for capture in find_captures([str(folder)]):
        for batch in facts_of(capture.path):
            facts += batch.to_pylist()
    return ToldWorld(told, facts)


def held(rows: list[Row]) -> Counter[Hold]:
    """The messages that facts are about, each by its lease."""
    return Counter(
        (row["group"], row["topic"], row["partition"], row["lease"], offset)
        for row in rows
        for offset in range(row["first"], row["end"])
    )
