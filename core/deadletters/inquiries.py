"""Questions about dead letters that several nodes answer together, each for the partitions that it leads.

What a client asks is answered here as if nobody else were there, and asked of the other nodes as well; when all have
answered, their answers become one. Where a node cannot answer, its refusal is the answer: half a list would look like a
whole one. Only who looks for one redrive is content with whoever has it. A request that is the affair of one other node
alone is passed on to that.
"""

from collections.abc import Iterable

from attrs import define, field

from goqueue.core.deadletters.census import Census
from goqueue.core.deadletters.context import MoverContext
from goqueue.core.queues.errands import Errands
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.replicas.elsewhere import leaders_elsewhere
from goqueue.core.replicas.topic import HostedTopic
from goqueue.core.requests.call import Call
from goqueue.core.requests.deadletters import (
    CancelRedrive,
    CountDead,
    DeadCounts,
    DeadTopic,
    DescribeRedrive,
    ListDeadTopics,
    ListRedrives,
    PurgeDead,
    RedriveReply,
    StartRedrive,
)
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply

Question = ListDeadTopics | ListRedrives | DescribeRedrive | CancelRedrive | CountDead


@define(eq=False)
class Inquiry:
    """A question under way; `is_whole` once everybody has answered, this node included."""

    question: Question | StartRedrive | PurgeDead
    answers: list[Reply] = field(factory=list)
    _asked: dict[int, None] = field(factory=dict)
    _has_own: bool = False

    def __attrs_post_init__(self) -> None:
        # Of what is passed on, nothing is answered here.
        self._has_own = isinstance(self.question, StartRedrive | PurgeDead)

    def ask(self, errands: Errands, nodes: Iterable[str]) -> None:
        """Ask other nodes; nobody answers for "" ."""
        for node in nodes:
            if node:
                self._asked[errands.ask(self, AskNode(node, self.question))] = None
            else:
                message = "some partition has no leader at the moment"
                self.answers.append(Refusal(Code.UNAVAILABLE, message, retry_after_ms=500))

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """The answer of another node."""
        if number in self._asked:
            del self._asked[number]
            self.answers.append(reply)

    def own(self, reply: Reply) -> None:
        """The answer of this node."""
        self._has_own = True
        self.answers.append(reply)

    @property
    def is_whole(self) -> bool:
        """Whether all have answered."""
        return self._has_own and not self._asked

    def answer(self) -> Reply:
        """All answers as one."""
        assert self.is_whole
        if isinstance(self.question, DescribeRedrive | CancelRedrive):
            return self._found()
        refusal = next((one for one in self.answers if isinstance(one, Refusal)), None)
        if refusal is not None:
            return refusal
        if isinstance(self.question, StartRedrive | PurgeDead):
            return self.answers[0]
        if isinstance(self.question, ListDeadTopics):
            return self._topics()
        if isinstance(self.question, CountDead):
            return self._counts()
        replies = [each for one in self.answers if isinstance(one, list) for each in one]
        redrives = [reply for reply in replies if isinstance(reply, RedriveReply)]
        return sorted(redrives, key=_started, reverse=True)

    def _found(self) -> Reply:
        """Whoever has the redrive knows; else nobody has it, or nobody can know."""
        refusals = [one for one in self.answers if isinstance(one, Refusal)]
        reply = next((one for one in self.answers if isinstance(one, RedriveReply)), None)
        return reply or next((one for one in refusals if one.code is not Code.REDRIVE_NOT_FOUND), refusals[0])

    def _topics(self) -> list[DeadTopic]:
        letters: dict[str, int] = {}
        for one in self.answers:
            for topic in one if isinstance(one, list) else ():
                if isinstance(topic, DeadTopic):
                    letters[topic.topic] = letters.get(topic.topic, 0) + topic.letters
        return [DeadTopic(name, count) for name, count in sorted(letters.items())]

    def _counts(self) -> DeadCounts:
        total = DeadCounts({}, {}, {})
        for one in self.answers:
            if isinstance(one, DeadCounts):
                total.starts.update(one.starts)
                total.ends.update(one.ends)
                total.left.update(one.left)
        return total


def _started(reply: RedriveReply) -> tuple[int, str]:
    return reply.started_ms, reply.redrive_id


@define(eq=False)
class Inquiries:
    """All questions under way, by whom the answer is for."""

    _yard: MoverContext
    _census: Census
    _open: dict[Call, Inquiry] = field(factory=dict)
    # What is counted for jobs that are to begin.
    _counting: dict[Call, Inquiry] = field(factory=dict)

    def begin(self, call: Call, question: Question) -> None:
        """Ask whoever else has something to say about it; nothing, where that is nobody."""
        slots = self._census.partitions() if isinstance(question, ListDeadTopics) else self._census.homes()
        nodes = leaders_elsewhere(self._yard.led, slots)
        if nodes:
            inquiry = self._open[call] = Inquiry(question)
            inquiry.ask(self._yard.errands, nodes)

    def pass_on(self, call: Call, question: StartRedrive | PurgeDead, node: str) -> None:
        """Have another node answer."""
        inquiry = self._open[call] = Inquiry(question)
        inquiry.ask(self._yard.errands, [node])

    def take_own(self, call: Call, reply: Reply) -> bool:
        """What this node says, if others are asked as well."""
        inquiry = self._open.get(call)
        if inquiry is not None:
            inquiry.own(reply)
        return inquiry is not None

    def take(self) -> list[tuple[Call, Reply]]:
        """The answers that are whole."""
        whole = [call for call, inquiry in self._open.items() if inquiry.is_whole]
        return [(call, self._open.pop(call).answer()) for call in whole]

    def counts(self, call: Call, leader: HostedTopic, books: dict[int, QueueLedger]) -> DeadCounts | Refusal | None:
        """The letters in all partitions of a topic, those of other nodes too; None while these are asked."""
        inquiry = self._counting.pop(call, None)
        if inquiry is None:
            inquiry = Inquiry(CountDead(leader.topic.name))
            inquiry.ask(self._yard.errands, leaders_elsewhere(self._yard.led, self._census.slots(leader)))
            inquiry.own(self._census.counts(leader, books))
        if not inquiry.is_whole:
            self._counting[call] = inquiry
            return None
        counts = inquiry.answer()
        if isinstance(counts, DeadCounts) and len(counts.ends) < leader.topic.partitions:
            message = f"partitions of {leader.topic.name} change their leaders"
            return Refusal(Code.UNAVAILABLE, message, retry_after_ms=500)
        assert isinstance(counts, DeadCounts | Refusal)
        return counts

    @property
    def has_counted(self) -> bool:
        """Whether somebody can begin with what was counted."""
        return any(inquiry.is_whole for inquiry in self._counting.values())

    def forget(self, call: Call) -> None:
        """Nobody waits for an answer any more."""
        self._open.pop(call, None)
        self._counting.pop(call, None)
