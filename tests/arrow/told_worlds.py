"""Simulated worlds with the facts that their captures give, and, beside them, what somebody saw who looked on.

The onlooker hears what nodes are asked and what they answer, and sees how far readers may see. That comes without any
capture, so what it saw and what the facts say can be compared.
"""

from collections import Counter
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from attrs import define, field

from goqueue.core.records.batch import read_header
from goqueue.core.requests.messages import Publish, PublishBatch, Published, PublishReply
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.case import Case, live_through
from goqueue.fuzz.insight import term
from goqueue.fuzz.process import Process
from goqueue.fuzz.world import World
from goqueue.spark.captures.files import find_captures
from goqueue.spark.facts.extract import facts_of

Fact = dict[str, Any]


@define(eq=False)
class Onlooker:
    """What was to be seen of a world."""

    # Publishes by node and topic with the number of their messages.
    asks: Counter[tuple[str, str, int]] = field(factory=Counter)
    # Messages by node, topic, partition and offset, and whether it is one of the schedule.
    answers: Counter[tuple[str, str, int, int, bool]] = field(factory=Counter)
    # How far readers could see, in order, by node, which of its processes, and stream.
    visible: dict[tuple[str, int, str], list[int]] = field(factory=dict)
    # Who led a stream in which epoch, and who was controller in which term.
    leaders: set[tuple[str, str, int]] = field(factory=set)
    controllers: set[tuple[str, int]] = field(factory=set)
    _open: dict[tuple[str, int], Publish | PublishBatch] = field(factory=dict)

    def begin(self, world: World) -> None:
        """The world that is watched."""

    def noted(self, process: Process | None, what: tuple[object, ...]) -> None:
        """Something belongs to the fingerprint."""

    def asked(self, process: Process, to: int, request: Request) -> None:
        """A node is asked."""
        if isinstance(request, Publish | PublishBatch):
            self.asks[process.node_id, request.topic, count_in(request)] += 1
            self._open[process.node_id, to] = request

    def answered(self, process: Process, to: int, reply: Reply) -> None:
        """A node answers."""
        request = self._open.pop((process.node_id, to), None)
        asked = process.world.history.open.get(to)
        if request is None or not isinstance(reply, PublishReply) or asked is None or asked.is_forgotten:
            # What is said to a client that is gone is no fact.
            return
        each = count_in(request) if isinstance(request, PublishBatch) else 1
        for result in reply.results:
            if isinstance(result, Published) and result.offset >= 0:
                for offset in range(result.offset, result.offset + each):
                    place = request.topic, result.partition, offset, result.due_ms >= 0
                    self.answers[process.node_id, *place] += 1

    def looked(self, process: Process) -> None:
        """Something has happened to a node."""
        node = process.node
        if node is None:
            return
        for name, partition in node.led.streams.items():
            self.leaders.add((process.node_id, name, partition.leader_epoch))
            if partition.is_settled:
                seen = self.visible.setdefault((process.node_id, process.life, name), [])
                if not seen or seen[-1] != partition.high_watermark:
                    seen.append(partition.high_watermark)
        if node.is_controller:
            self.controllers.add((process.node_id, term(node)))


@define(eq=False)
class ToldWorld:
    """A world, what was seen of it, and its facts."""

    onlooker: Onlooker
    facts: list[Fact]

    def of(self, *kinds: str) -> list[Fact]:
        """The facts of some kinds."""
        return [fact for fact in self.facts if fact["kind"] in kinds]


def told_world(seed: int, nodes: int, seconds: int, faults: tuple[str, ...]) -> ToldWorld:
    """A world that was lived through, and whose captures were made facts."""
    onlooker = Onlooker()
    with TemporaryDirectory() as folder:
        case = Case(seed, nodes=nodes, seconds=seconds, faults=faults)
        verdict = live_through(case, capture=folder, watch=onlooker)
        assert verdict.violation is None, verdict.place
        facts = [row for file in find_captures([folder]) for row in rows_of(file.path)]
    return ToldWorld(onlooker, facts)


def rows_of(path: str, code: str = "") -> list[Fact]:
    """The facts of one file, without what is null."""
    rows = pa.Table.from_batches(facts_of(path, code)).to_pylist()
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def count_in(request: Publish | PublishBatch) -> int:
    """How many messages a publish has."""
    return read_header(request.batch).record_count if isinstance(request, PublishBatch) else len(request.records)
