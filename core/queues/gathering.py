"""What concerns all queues of a group, which several nodes have: the coordinator asks each for its part.

How far a group has come is added up from what each node tells of the partitions that it leads. A reset is made in two
steps: all are asked if it can be, and only then has each make it. A node that dies between the two leaves it half-way;
whoever asked is told, and asks again. What is only counted is counted without the nodes that do not answer.

Invariant: a request is answered once, or forgotten.
"""

from attrs import define, evolve, field

from goqueue.core.queues.errands import Errands, Slot
from goqueue.core.queues.measure import added_up, put_together
from goqueue.core.queues.nodes import Nodes
from goqueue.core.requests.call import Call, Origin
from goqueue.core.requests.groups import FetchOffsets, OffsetChange
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.queues import (
    DescribeQueues,
    LanesMeasured,
    MeasureLanes,
    MeasureWork,
    QueuesTold,
    ResetQueues,
    WorkMeasured,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import ServiceName

# What is asked of each node, and what is answered at last.
Part = DescribeQueues | ResetQueues | MeasureWork | MeasureLanes
Whole = list[OffsetChange] | WorkMeasured | LanesMeasured | Refusal


@define(eq=False)
class _Gathered:
    """A request, the parts that are missing, and what came of the others."""

    call: Call
    # By node what is asked of it; of a reset twice.
    requests: dict[str, Part]
    question: FetchOffsets | None = None
    missing: dict[int, None] = field(factory=dict)
    known: dict[Slot, tuple[int, int]] = field(factory=dict)
    changes: list[OffsetChange] = field(factory=list)
    works: list[WorkMeasured] = field(factory=list)
    lanes: list[LanesMeasured] = field(factory=list)
    refusal: Refusal | None = None
    # The group of which it is only to be known whether anything is under way, and how much is.
    idle: str = ""
    open: int = 0
    # Whether a reset is only tried, and made after that.
    is_tried: bool = False

    @property
    def is_partly_made(self) -> bool:
        """Whether it is a reset that some nodes have made."""
        asked = next(iter(self.requests.values()))
        return isinstance(asked, ResetQueues) and not asked.dry_run and not self.is_tried and bool(self.changes)


@define(eq=False)
class Gathering:
    """All such requests."""

    _nodes: Nodes
    _errands: Errands
    answers: list[tuple[Call, Whole]] = field(factory=list)
    # Questions with what is known of the queues.
    told: list[tuple[Call, FetchOffsets, dict[Slot, tuple[int, int]]]] = field(factory=list)
    # Groups of which no queue has anything under way.
    idle: list[str] = field(factory=list)
    _gathered: dict[Call, _Gathered] = field(factory=dict)
    _by_part: dict[int, _Gathered] = field(factory=dict)

    # --- beginning

    def tell(self, call: Call, question: FetchOffsets, names: list[str]) -> None:
        """Find out how far a group has come in some topics."""
        asked = DescribeQueues(question.group, names)
        nodes = dict.fromkeys([self._nodes.own, *self._nodes.of(names)], asked)
        self._ask(_Gathered(call, {**nodes}, question))

    def look_idle(self, group: str, names: list[str]) -> None:
        """Find out whether anything of a group is under way in some topics; if a node cannot be asked, it may be."""
        asked = DescribeQueues(group, names)
        nodes = dict.fromkeys([self._nodes.own, *self._nodes.of(names)], asked)
        # Nobody waits for an answer: the call is nobody's.
        self._ask(_Gathered(Call(0, origin=Origin.SERVICE, service=ServiceName.QUEUES), {**nodes}, idle=group))

    def reset(self, call: Call, request: ResetQueues) -> None:
        """Have queues on several nodes go on from somewhere else."""
        by_node: dict[str, Part] = {}
        for node, changes in self._by_node(request).items():
            by_node[node] = evolve(request, changes=changes)
        if "" in by_node:
            message = f"a partition of {request.topic} is led by nobody just then"
            self.answers.append((call, Refusal(Code.UNAVAILABLE, message, retry_after_ms=200)))
        else:
            self._ask(_Gathered(call, by_node, is_tried=not request.dry_run and len(by_node) > 1))

    def measure(self, call: Call, request: MeasureWork | MeasureLanes, topics: list[str]) -> None:
        """Add up what all nodes count that lead partitions of some topics."""
        part = evolve(request, everywhere=False)
        self._ask(_Gathered(call, {**dict.fromkeys([self._nodes.own, *self._nodes.of(topics)], part)}))

    def _by_node(self, request: ResetQueues) -> dict[str, list[OffsetChange]]:
        found: dict[str, list[OffsetChange]] = {}
        for change in request.changes:
            node = self._nodes.leader((request.topic, change.partition))
            found.setdefault(node, []).append(change)
        return found or {self._nodes.own: []}

    def _ask(self, gathered: _Gathered) -> None:
        self._gathered[gathered.call] = gathered
        for node, asked in gathered.requests.items():
            request = _trial(asked) if gathered.is_tried else asked
            part = self._errands.ask(self, AskNode(node, request), gathered.call)
            gathered.missing[part] = None
            self._by_part[part] = gathered

    # --- answers

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """What a node has answered to its part."""
        gathered = self._by_part.pop(number, None)
        if gathered is None:
            return
        del gathered.missing[number]
        if isinstance(reply, QueuesTold):
            gathered.known.update(((one.topic, one.partition), (one.floor, one.left)) for one in reply.queues)
            gathered.open += sum(one.open for one in reply.queues)
        elif isinstance(reply, WorkMeasured):
            gathered.works.append(reply)
        elif isinstance(reply, LanesMeasured):
            gathered.lanes.append(reply)
        elif isinstance(reply, list):
            gathered.changes += [one for one in reply if isinstance(one, OffsetChange)]
        else:
            unsaid = Refusal(Code.OUTCOME_UNKNOWN, "a node did not answer", retry_after_ms=200)
            gathered.refusal = gathered.refusal or (reply if isinstance(reply, Refusal) else unsaid)
        if not gathered.missing and self._gathered.pop(gathered.call, None) is not None:
            self._complete(gathered)

    def _complete(self, gathered: _Gathered) -> None:
        if gathered.idle:
            if gathered.refusal is None and not gathered.open:
                self.idle.append(gathered.idle)
        elif gathered.works:
            request = next(iter(gathered.requests.values()))
            pairs_max = request.pairs_max if isinstance(request, MeasureWork) else 0
            self.answers.append((gathered.call, added_up(gathered.works, pairs_max)))
        elif gathered.lanes:
            self.answers.append((gathered.call, put_together(gathered.lanes)))
        elif gathered.refusal is not None:
            self.answers.append(
                (gathered.call, gathered.refusal.in_doubt() if gathered.is_partly_made else gathered.refusal)
            )
        elif gathered.question is not None:
            self.told.append((gathered.call, gathered.question, gathered.known))
        elif gathered.is_tried:
            self._ask(_Gathered(gathered.call, gathered.requests))
        else:
            self.answers.append((gathered.call, sorted(gathered.changes, key=_partition)))

    def take_answers(self) -> list[tuple[Call, Whole]]:
        """The requests that are answered."""
        answers, self.answers = self.answers, []
        return answers

    def take_told(self) -> list[tuple[Call, FetchOffsets, dict[Slot, tuple[int, int]]]]:
        """The questions that can be answered."""
        told, self.told = self.told, []
        return told

    def take_idle(self) -> list[str]:
        """The groups of which nothing is under way."""
        idle, self.idle = self.idle, []
        return idle

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call` any more."""
        self._gathered.pop(call, None)

    @property
    def is_due(self) -> bool:
        """Whether something is to be done at once."""
        return bool(self.answers or self.told or self.idle)

    def check(self) -> None:
        """Assert that each request waits for something."""
        for call, gathered in self._gathered.items():
            assert gathered.call == call
            assert gathered.missing
        assert all(part in gathered.missing for part, gathered in self._by_part.items())


def _partition(change: OffsetChange) -> int:
    return change.partition


def _trial(asked: Part) -> Part:
    return evolve(asked, dry_run=True) if isinstance(asked, ResetQueues) else asked
