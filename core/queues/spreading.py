"""Receipts of several partitions, shown together and led by several nodes: each is passed on to where it belongs.

A receipt says of which partition it is, so any node can tell whom to ask. What the others answer is added up to one
answer; where a node could not be asked, its receipts are refused one by one and can be shown again.

Invariant: a request is answered once, or forgotten: what was asked elsewhere is done all the same.
"""

from attrs import define, evolve, field

from goqueue.core.errors import ProtocolError
from goqueue.core.queues.errands import Errands
from goqueue.core.queues.nodes import Nodes
from goqueue.core.queues.receipts import read_stem
from goqueue.core.queues.settling import Homes, Settling
from goqueue.core.requests.call import Call
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.queues import ReceiptRefusal, ReceiptRun, WorkDone
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply


@define(eq=False)
class _Spread:
    """A request, the receipts that are shown elsewhere by part, and the answer so far."""

    call: Call
    parts: dict[int, list[ReceiptRun]] = field(factory=dict)
    answer: WorkDone = field(factory=lambda: WorkDone(0))


@define(eq=False)
class Spreading:
    """All requests whose receipts lead to other nodes."""

    _nodes: Nodes
    _homes: Homes
    _errands: Errands
    answers: list[tuple[Call, WorkDone]] = field(factory=list)
    _spreads: dict[Call, _Spread] = field(factory=dict)
    _by_part: dict[int, _Spread] = field(factory=dict)

    def begin(self, call: Call, request: Settling) -> bool:
        """Pass receipts on; False where all of them are of this node."""
        by_node = self._sort(request.receipts) if self._nodes.are_several else {}
        if not by_node or [*by_node] == [self._nodes.own]:
            return False
        spread = self._spreads[call] = _Spread(call)
        for node, runs in by_node.items():
            part_request = evolve(request, receipts=runs)
            part = self._errands.ask(self, AskNode(node, part_request), call)
            spread.parts[part] = runs
            self._by_part[part] = spread
        return True

    def _sort(self, receipts: list[ReceiptRun]) -> dict[str, list[ReceiptRun]]:
        """Receipts by node; what nobody leads, or what is no receipt, is refused here."""
        nodes: dict[str, str] = {}
        by_node: dict[str, list[ReceiptRun]] = {}
        for run in receipts:
            node = nodes.get(run.stem)
            if node is None:
                node = nodes[run.stem] = self._node(run.stem)
            by_node.setdefault(node, []).append(run)
        return by_node

    def _node(self, letters: str) -> str:
        try:
            slot = self._homes.slot(read_stem(letters))
        except ProtocolError:
            return self._nodes.own
        return (self._nodes.leader(slot) if slot is not None else "") or self._nodes.own

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """What a node has answered to its part."""
        spread = self._by_part.pop(number, None)
        if spread is None:
            return
        runs, answer = spread.parts.pop(number), spread.answer
        if isinstance(reply, WorkDone):
            answer.done += reply.done
            answer.dead += reply.dead
            answer.refusals += reply.refusals
            answer.at_ms = max(answer.at_ms, reply.at_ms)
            answer.topic = answer.topic or reply.topic
        else:
            why = (
                reply if isinstance(reply, Refusal) else Refusal(Code.OUTCOME_UNKNOWN, "no answer", retry_after_ms=200)
            )
            for run in runs:
                answer.refusals += [ReceiptRefusal(run.stem, run.first_offset + at, why) for at in range(run.count)]
        if not spread.parts and self._spreads.pop(spread.call, None) is not None:
            self.answers.append((spread.call, answer))

    def take_answers(self) -> list[tuple[Call, WorkDone]]:
        """The requests that are answered."""
        answers, self.answers = self.answers, []
        return answers

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call` any more."""
        self._spreads.pop(call, None)

    @property
    def is_due(self) -> bool:
        """Whether something is to be done at once."""
        return bool(self.answers)

    def check(self) -> None:
        """Assert that each request waits for something."""
        for call, spread in self._spreads.items():
            assert spread.call == call
            assert spread.parts
        assert all(part in spread.parts for part, spread in self._by_part.items())
