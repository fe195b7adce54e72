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

from goqueue.core.alarms import Alarms
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.queues import EndPoll, PolledWork, PollWork, ReceiptRun, ReleaseWork
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.work.errands import Errands
from goqueue.core.work.nodes import Nodes

# Parts that this node asks of itself bear numbers from here on.
OWN_PARTS = 1 << 62
_PAUSE_NS = 200_000_000
# So long after its beginning and after its time a round is over, whoever has not answered.
_TURNS_NS, _GRACE_NS = 200_000_000, 100_000_000
_GROUPS_MAX = 10_000


@define(eq=False)
class Round:
    """One poll: who is left to be asked in turn, and who was asked under which number."""

    to: int
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
    """All rounds; `own` are the polls to be served here, and `answers` those that are over."""

    _nodes: Nodes
    _errands: Errands
    _random: Random
    own: list[tuple[int, PollWork]] = field(factory=list)
    own_ended: list[EndPoll] = field(factory=list)
    returned: list[ReceiptRun] = field(factory=list)
    answers: list[tuple[int, PolledWork | Refusal]] = field(factory=list)
    _rounds: dict[int, Round] = field(factory=dict)
    _by_part: dict[int, Round] = field(factory=dict)
    _own_count: int = 0
    # By group the node to begin with, and whether there was nothing the last time.
    _next: dict[str, str] = field(factory=dict)
    _idle: dict[str, None] = field(factory=dict)
    _again: Alarms[int] = field(factory=Alarms)
    _ends: Alarms[int] = field(factory=Alarms)

    def begin(self, now: int, to: int, request: PollWork, topics: list[str], wait_ns: int) -> None:
        """Go round all nodes that lead a partition of some topics."""
        nodes, first = self._nodes.of(topics), self._next.get(request.group, "")
        at = next((at for at, node in enumerate(nodes) if node >= first), 0)
        rest = deque([*nodes[at:], *nodes[:at]])
        round_ = Round(to, self._random.getrandbits(60) | 1, request, topics, now + wait_ns, rest)
        self._rounds[to] = round_
        self._ends.set(to, now + max(wait_ns, _TURNS_NS) + _GRACE_NS)
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
            self._again.set(round_.to, now + _PAUSE_NS)

    def _ask(self, round_: Round, node: str, wait_ns: int) -> None:
        request = evolve(round_.request, wait_ns=wait_ns, round=round_.number)
        if node == self._nodes.own:
            self._own_count += 1
            part = OWN_PARTS + self._own_count
            self.own.append((part, request))
        else:
            part = self._errands.ask(self, AskNode(node, request))
        round_.asked[part] = node
        self._by_part[part] = round_

    def take_own(self) -> list[tuple[int, PollWork]]:
        """The polls that are to be served here."""
        own, self.own = self.own, []
        return own

    def take_ended(self) -> list[EndPoll]:
        """Those served here that are to end."""
        ended, self.own_ended = self.own_ended, []
        return ended

    def take_returned(self) -> list[ReceiptRun]:
        """What was given here to rounds that were over."""
        returned, self.returned = self.returned, []
        return returned

    def take_answers(self) -> list[tuple[int, PolledWork | Refusal]]:
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
            self._again.set(round_.to, now + _PAUSE_NS)

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
        del self._rounds[round_.to]
        self._again.drop(round_.to)
        self._ends.drop(round_.to)
        end = EndPoll(round_.request.group, round_.request.member_id, round_.number)
        for node in round_.asked.values():
            if node == self._nodes.own:
                self.own_ended.append(end)
            else:
                self._errands.ask(self, AskNode(node, end))
        if answer is not None:
            self.answers.append((round_.to, answer))

    def _hand_back(self, node: str, polled: PolledWork) -> None:
        leases = [lease for part in polled.parts for lease in part.leases]
        runs = [ReceiptRun(lease.stem, lease.first_offset, lease.count) for lease in leases]
        if node == self._nodes.own:
            self.returned.extend(runs)
        else:
            self._errands.ask(self, AskNode(node, ReleaseWork(runs)))

    def forget(self, to: int) -> None:
        """Nobody waits for a poll any more; what it is given is handed back."""
        round_ = self._rounds.get(to)
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
        return bool(self.own or self.own_ended or self.returned or self.answers)

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        times = self._again.deadline(), self._ends.deadline()
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Ask again where nobody could answer, and end what took too long."""
        for to in self._ends.due(now):
            self._end_empty(self._rounds[to])
        for to in self._again.due(now):
            round_ = self._rounds[to]
            if round_.deadline <= now:
                self._end_empty(round_)
            else:
                self._ask_all(now, round_)

    def check(self) -> None:
        """Assert the invariants."""
        self._again.check()
        self._ends.check()
        for to, round_ in self._rounds.items():
            assert round_.to == to
            assert not round_.is_over
            assert to in self._ends
            assert round_.asked or to in self._again
        for part, round_ in self._by_part.items():
            assert part in round_.asked
