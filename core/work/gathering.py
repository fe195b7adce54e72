"""What concerns all queues of a group, which several nodes have: the coordinator asks each for its part.

How far a group has come is added up from what each node tells of the partitions that it leads. A reset is made in two
steps: all are asked if it can be, and only then has each make it. A node that dies between the two leaves it half-way;
whoever asked is told, and asks again. What is only counted is counted without the nodes that do not answer.

Invariant: a request is answered once, or forgotten.
"""

from attrs import define, evolve, field

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
from goqueue.core.work.errands import Errands, Slot
from goqueue.core.work.measure import added_up, put_together
from goqueue.core.work.nodes import Nodes
from goqueue.core.work.spreading import SPREAD_PARTS

# What is asked of each node, and what is answered at last.
Part = DescribeQueues | ResetQueues | MeasureWork | MeasureLanes
Whole = list[OffsetChange] | WorkMeasured | LanesMeasured | Refusal

# Parts that this node does itself bear numbers from here on.
GATHERED_PARTS = SPREAD_PARTS + (1 << 61)
# Nobody is told of these, so they bear numbers that nobody has.
_IDLE = 1 << 70


@define(eq=False)
class _Gathered:
    """A request, the parts that are missing, and what came of the others."""

    to: int
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
    """All such requests; `own` are the parts to be done here."""

    _nodes: Nodes
    _errands: Errands
    own: list[tuple[int, Part]] = field(factory=list)
    answers: list[tuple[int, Whole]] = field(factory=list)
    # Questions with what is known of the queues.
    told: list[tuple[int, FetchOffsets, dict[Slot, tuple[int, int]]]] = field(factory=list)
    # Groups of which no queue has anything under way.
    idle: list[str] = field(factory=list)
    _gathered: dict[int, _Gathered] = field(factory=dict)
    _by_part: dict[int, _Gathered] = field(factory=dict)
    _own_count: int = 0

    # --- beginning

    def tell(self, to: int, question: FetchOffsets, names: list[str]) -> None:
        """Find out how far a group has come in some topics."""
        asked = DescribeQueues(question.group, names)
        nodes = dict.fromkeys([self._nodes.own, *self._nodes.of(names)], asked)
        self._ask(_Gathered(to, {**nodes}, question))

    def look_idle(self, group: str, names: list[str]) -> None:
        """Find out whether anything of a group is under way in some topics; if a node cannot be asked, it may be."""
        self._own_count += 1
        asked = DescribeQueues(group, names)
        nodes = dict.fromkeys([self._nodes.own, *self._nodes.of(names)], asked)
        self._ask(_Gathered(_IDLE + self._own_count, {**nodes}, idle=group))

    def reset(self, to: int, request: ResetQueues) -> None:
        """Have queues on several nodes go on from somewhere else."""
        by_node: dict[str, Part] = {}
        for node, changes in self._by_node(request).items():
            by_node[node] = evolve(request, changes=changes)
        if "" in by_node:
            message = f"a partition of {request.topic} is led by nobody just then"
            self.answers.append((to, Refusal(Code.UNAVAILABLE, message, retry_after_ms=200)))
        else:
            self._ask(_Gathered(to, by_node, is_tried=not request.dry_run and len(by_node) > 1))

    def measure(self, to: int, request: MeasureWork | MeasureLanes, topics: list[str]) -> None:
        """Add up what all nodes count that lead partitions of some topics."""
        part = evolve(request, everywhere=False)
        self._ask(_Gathered(to, {**dict.fromkeys([self._nodes.own, *self._nodes.of(topics)], part)}))

    def _by_node(self, request: ResetQueues) -> dict[str, list[OffsetChange]]:
        found: dict[str, list[OffsetChange]] = {}
        for change in request.changes:
            node = self._nodes.leader((request.topic, change.partition))
            found.setdefault(node, []).append(change)
        return found or {self._nodes.own: []}

    def _ask(self, gathered: _Gathered) -> None:
        self._gathered[gathered.to] = gathered
        for node, asked in gathered.requests.items():
            request = _trial(asked) if gathered.is_tried else asked
            if node == self._nodes.own:
                self._own_count += 1
                part = GATHERED_PARTS + self._own_count
                self.own.append((part, request))
            else:
                part = self._errands.ask(self, AskNode(node, request))
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
        if not gathered.missing and self._gathered.pop(gathered.to, None) is not None:
            self._complete(gathered)

    def _complete(self, gathered: _Gathered) -> None:
        if gathered.idle:
            if gathered.refusal is None and not gathered.open:
                self.idle.append(gathered.idle)
        elif gathered.works:
            request = next(iter(gathered.requests.values()))
            pairs_max = request.pairs_max if isinstance(request, MeasureWork) else 0
            self.answers.append((gathered.to, added_up(gathered.works, pairs_max)))
        elif gathered.lanes:
            self.answers.append((gathered.to, put_together(gathered.lanes)))
        elif gathered.refusal is not None:
            self.answers.append(
                (gathered.to, gathered.refusal.in_doubt() if gathered.is_partly_made else gathered.refusal)
            )
        elif gathered.question is not None:
            self.told.append((gathered.to, gathered.question, gathered.known))
        elif gathered.is_tried:
            self._ask(_Gathered(gathered.to, gathered.requests))
        else:
            self.answers.append((gathered.to, sorted(gathered.changes, key=_partition)))

    def take_own(self) -> list[tuple[int, Part]]:
        """The parts to be done here."""
        own, self.own = self.own, []
        return own

    def take_answers(self) -> list[tuple[int, Whole]]:
        """The requests that are answered."""
        answers, self.answers = self.answers, []
        return answers

    def take_told(self) -> list[tuple[int, FetchOffsets, dict[Slot, tuple[int, int]]]]:
        """The questions that can be answered."""
        told, self.told = self.told, []
        return told

    def take_idle(self) -> list[str]:
        """The groups of which nothing is under way."""
        idle, self.idle = self.idle, []
        return idle

    def forget(self, to: int) -> None:
        """Nobody waits for the answer to `to` any more."""
        self._gathered.pop(to, None)

    @property
    def is_due(self) -> bool:
        """Whether something is to be done at once."""
        return bool(self.own or self.answers or self.told or self.idle)

    def check(self) -> None:
        """Assert that each request waits for something."""
        for to, gathered in self._gathered.items():
            assert gathered.to == to
            assert gathered.missing
        assert all(part in gathered.missing for part, gathered in self._by_part.items())


def _partition(change: OffsetChange) -> int:
    return change.partition


def _trial(asked: Part) -> Part:
    return evolve(asked, dry_run=True) if isinstance(asked, ResetQueues) else asked
