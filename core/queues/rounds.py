"""Polls of members whose topics have partitions on several nodes: the node that was asked goes round them.

It asks one node after another for what there is, and itself as one of them, until one has something. So a poll is given
nothing that it does not take, and the next round begins with the node behind the one that gave. Where there is nothing
anywhere, or was nothing the last time, all are asked at once, each to wait. The first that gives anything ends the
round: the others are told so, and what they may have given meanwhile is handed back.

    IN TURN  --a node gives-->  over
             --all have nothing-->  AT ONCE, or over if there is no time left
    AT ONCE  --a node gives, or all have nothing-->  over
             --all refuse for a passing reason-->  AT ONCE again, a little later

What is under way when a round ends is heard of all the same, so that nothing stays leased to a poll that is over. A
node that does not answer is not waited for: a round ends soon after its time, as its member is heard of again only
then.

Invariants: a poll is answered once, or forgotten; each part of a round is one number, and belongs to one round.
"""

from collections import deque
from random import Random

from attrs import define, evolve, field

from goqueue.core.queues.errands import Errands
from goqueue.core.queues.nodes import Nodes
from goqueue.core.requests.call import Call
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.queues import EndPoll, PolledWork, PollWork, ReceiptRun, ReleaseWork
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.timers.alarms import Alarms

_PAUSE_NS = 200_000_000
# So long after its beginning and after its time a round is over, whoever has not answered.
_TURNS_NS, _GRACE_NS = 200_000_000, 100_000_000
_GROUPS_MAX = 10_000


@define(eq=False)
class Round:
    """One poll: who is left to be asked in turn, and who was asked under which number."""

    call: Call
    number: int
    request: PollWork
    topics: list[str]
    deadline: int
    rest: deque[str]
    asked: dict[int, str] = field(factory=dict)
    in_turn: bool = True
    is_over: bool = False
    # Whether a node had nothing to give, and why one could not say.
    had_answer: bool = False
    refusal: Refusal | None = None


@define(eq=False)
class Rounds:
    """All rounds; `answers` are those that are over."""

    _nodes: Nodes
    _errands: Errands
    _random: Random
    answers: list[tuple[Call, PolledWork | Refusal]] = field(factory=list)
    _rounds: dict[Call, Round] = field(factory=dict)
    _by_part: dict[int, Round] = field(factory=dict)
    # By group the node to begin with, and whether there was nothing the last time.
    _next: dict[str, str] = field(factory=dict)
    _idle: dict[str, None] = field(factory=dict)
    _again: Alarms[Call] = field(factory=Alarms)
    _ends: Alarms[Call] = field(factory=Alarms)

    def begin(self, now: int, call: Call, request: PollWork, topics: list[str], wait_ns: int) -> None:
        """Go round all nodes that lead a partition of some topics."""
        nodes, first = self._nodes.of(topics), self._next.get(request.group, "")
        at = next((at for at, node in enumerate(nodes) if node >= first), 0)
        rest = deque([*nodes[at:], *nodes[:at]])
        round_ = Round(call, self._random.getrandbits(60) | 1, request, topics, now + wait_ns, rest)
        self._rounds[call] = round_
        self._ends.set(call, now + max(wait_ns, _TURNS_NS) + _GRACE_NS)
        if wait_ns > 0 and request.group in self._idle:
            self._ask_all(now, round_)
        else:
            self._ask(round_, rest.popleft(), 0)

    # --- asking

    def _ask_all(self, now: int, round_: Round) -> None:
        """Have all nodes that were not asked wait for something."""
        round_.in_turn, round_.refusal, round_.had_answer = False, None, False
        wait_ns = max(round_.deadline - now, 0)
        asked = [*round_.asked.values()]
        for node in self._nodes.of(round_.topics):
            if node not in asked:
                self._ask(round_, node, wait_ns)
        if not round_.asked:
            # Nobody leads anything just then.
            self._again.set(round_.call, now + _PAUSE_NS)

    def _ask(self, round_: Round, node: str, wait_ns: int) -> None:
        request = evolve(round_.request, wait_ns=wait_ns, round=round_.number)
        part = self._errands.ask(self, AskNode(node, request), round_.call)
        round_.asked[part] = node
        self._by_part[part] = round_

    def take_answers(self) -> list[tuple[Call, PolledWork | Refusal]]:
        """The polls that are over."""
        answers, self.answers = self.answers, []
        return answers

    # --- answers

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """What a node has given, or why it cannot."""
        round_ = self._by_part.pop(number, None)
        if round_ is None:
            # Of a node that was told that a round is over, or handed back what it gave.
            return
        node = round_.asked.pop(number)
        if isinstance(reply, PolledWork) and reply.parts:
            if round_.is_over:
                self._hand_back(node, reply)
                return
            if len(self._next) >= _GROUPS_MAX:
                self._next.clear()
            self._next[round_.request.group] = f"{node}\0"
            self._idle.pop(round_.request.group, None)
            self._end(round_, reply)
        elif not round_.is_over:
            self._went_empty(now, round_, reply)

    def _went_empty(self, now: int, round_: Round, reply: Reply) -> None:
        if isinstance(reply, Refusal):
            round_.refusal = reply
            if not reply.retry_after_ms:
                self._end(round_, reply)
                return
        else:
            round_.had_answer = True
        if round_.asked:
            return
        if round_.in_turn and round_.rest:
            self._ask(round_, round_.rest.popleft(), 0)
        elif round_.deadline <= now:
            self._end_empty(round_)
        elif round_.in_turn:
            self._ask_all(now, round_)
        elif round_.had_answer or round_.refusal is None:
            self._end_empty(round_)
        else:
            self._again.set(round_.call, now + _PAUSE_NS)

    def _end_empty(self, round_: Round) -> None:
        if len(self._idle) >= _GROUPS_MAX:
            self._idle.clear()
            self._next.clear()
        self._idle[round_.request.group] = None
        is_refused = round_.refusal is not None and not round_.had_answer
        self._end(round_, round_.refusal if is_refused else PolledWork([]))

    def _end(self, round_: Round, answer: PolledWork | Refusal | None) -> None:
        """A round is over; None where nobody waits for its answer."""
        round_.is_over = True
        del self._rounds[round_.call]
        self._again.drop(round_.call)
        self._ends.drop(round_.call)
        end = EndPoll(round_.request.group, round_.request.member_id, round_.number)
        for node in round_.asked.values():
            self._errands.ask(self, AskNode(node, end))
        if answer is not None:
            self.answers.append((round_.call, answer))

    def _hand_back(self, node: str, polled: PolledWork) -> None:
        leases = [lease for part in polled.parts for lease in part.leases]
        runs = [ReceiptRun(lease.stem, lease.first_offset, lease.count) for lease in leases]
        self._errands.ask(self, AskNode(node, ReleaseWork(runs)))

    def forget(self, call: Call) -> None:
        """Nobody waits for a poll any more; what it is given is handed back."""
        round_ = self._rounds.get(call)
        if round_ is not None:
            self._end(round_, None)

    # --- what changes, and time

    def topics_changed(self, now: int) -> None:
        """Partitions may be led by other nodes: who waits, waits there as well."""
        for round_ in self._rounds.values():
            if not round_.in_turn and round_.asked:
                self._ask_all(now, round_)

    @property
    def is_due(self) -> bool:
        """Whether something is to be done at once."""
        return bool(self.answers)

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        times = self._again.deadline(), self._ends.deadline()
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Ask again where nobody could answer, and end what took too long."""
        for call in self._ends.due(now):
            self._end_empty(self._rounds[call])
        for call in self._again.due(now):
            round_ = self._rounds[call]
            if round_.deadline <= now:
                self._end_empty(round_)
            else:
                self._ask_all(now, round_)

    def check(self) -> None:
        """Assert the invariants."""
        self._again.check()
        self._ends.check()
        for call, round_ in self._rounds.items():
            assert round_.call == call
            assert not round_.is_over
            assert call in self._ends
            assert round_.asked or call in self._again
        for part, round_ in self._by_part.items():
            assert part in round_.asked
