"""Requests that are looked after until they are answered, and the attempts to have them carried out.

What a node refuses because it does not lead was not carried out: it is tried again where the state says, as soon as
that says something else or after a short pause, until the request's time is over. An attempt that was lost with its
node is made again only where that does no harm.

A publish is divided by the leaders of the partitions that its messages go to. Each message keeps the partition that
was chosen for it at first, and is answered in its place.
"""

from typing import Any, Protocol

from attrs import define, evolve, field

from goqueue.core.requests.call import Call
from goqueue.core.requests.cluster import AlterIsr, LeaveNode, NodeHeartbeat, RegisterNode
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.messages import Publish, PublishBatch, Published, PublishReply
from goqueue.core.requests.refusals import Code, Outcome, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.table import is_repeatable
from goqueue.core.routing.routes import Routes

# These say that a request was not carried out, and that another node can.
ASTRAY = frozenset((Code.NOT_LEADER, Code.NOT_CONTROLLER, Code.NOT_COORDINATOR))
# These say that a request was not carried out, and can be later.
_LATER = frozenset((Code.UNAVAILABLE, Code.SHUTTING_DOWN, Code.NOT_ENOUGH_REPLICAS, Code.DISK_FULL))
# These say of a message that was stored that it is gone by now.
_GONE = frozenset((Code.TOPIC_NOT_FOUND, Code.PARTITION_NOT_FOUND, Code.TOPIC_REPLACED))
# Whoever asks these asks again by itself, and better: what it has to say may be another thing by then.
_IMPATIENT = NodeHeartbeat | RegisterNode | AlterIsr | LeaveNode | AskNode
_PAUSE_FIRST_NS = 20_000_000
_PAUSE_LONGEST_NS = 200_000_000
# What the controller has answered, this node hears of as well, and then answers.
_KNOWN_SOON_NS = 1_000_000_000


@define(eq=False)
class Attempt:
    """A request, or a part of one, that a node is to carry out; `places` are those of a part's messages."""

    call: Call
    errand: "Errand"
    node: str
    places: list[int] = field(factory=list)


class Way(Protocol):
    """How an errand is run; see `Dispatch`."""

    routes: Routes

    def attempt(self, now: int, errand: "Errand", node: str | None, request: Any, places: list[int]) -> bool:
        """Have a node carry something out, None for this one; False when there is no such node."""

    def introduce(self, now: int, errand: "Errand") -> bool:
        """Have a node that was met tell the controller of this one; False when that is not what is asked."""

    def hold(self, now: int, errand: "Errand", pause_ns: int) -> None:
        """Try again once the routes are others, or after a pause."""

    def finish(self, now: int, errand: "Errand", reply: Reply) -> None:
        """Answer whoever asked."""


@define(eq=False)
class Errand:
    """A request for one node."""

    way: Way
    call: Call
    request: Any
    begun: int
    # When it ends at the latest; `deadline` may be earlier for a while.
    limit: int
    size: int
    attempts: dict[Call, Attempt] = field(factory=dict)
    deadline: int = field(init=False)
    pauses: int = 0
    # What to say when time is over.
    refusal: Refusal | None = None
    # What was answered, while this node does not know of it.
    reply: Reply = None
    is_done: bool = False
    # Whether an attempt that was lost may have been carried out: what others refuse later does not undo it.
    is_in_doubt: bool = False

    def __attrs_post_init__(self) -> None:
        self.deadline = self.limit

    @property
    def is_impatient(self) -> bool:
        """Whether whoever asked asks again by itself."""
        return isinstance(self.request, _IMPATIENT)

    def go(self, now: int) -> None:
        """Try, or try again."""
        if self.is_done:
            self.way.finish(now, self, self.reply)
            return
        node = self.way.routes.node(self.call, self.request)
        request = self.request.request if isinstance(self.request, AskNode) else self.request
        if node == "" or not self.way.attempt(now, self, node, request, []):
            if not self.way.introduce(now, self):
                self._wait(now, _nobody(self.request))

    def returned(self, now: int, attempt: Attempt, reply: Reply) -> None:
        """A node has answered."""
        if isinstance(reply, Refusal) and reply.code in ASTRAY:
            self._wait(now, reply)
        elif isinstance(reply, Refusal) or self.way.routes.has_come(self.request):
            self.way.finish(now, self, self._as_a_whole(reply))
        else:
            self.reply, self.is_done = reply, True
            self.way.hold(now, self, _KNOWN_SOON_NS)

    def lost(self, now: int, attempt: Attempt) -> None:
        """A node has ended that may have carried it out."""
        self.is_in_doubt = True
        if is_repeatable(self.request):
            self._wait(now, uncertain(attempt.node))
        else:
            self.way.finish(now, self, uncertain(attempt.node))

    def _as_a_whole(self, reply: Reply) -> Reply:
        """What to answer for all attempts together: an earlier one may have done what the last one did not."""
        if not self.is_in_doubt:
            return reply
        if isinstance(reply, PublishReply):
            return PublishReply([self._doubted(result) for result in reply.results])
        return self._doubted(reply) if isinstance(reply, Refusal) else reply

    def _doubted(self, result: Published | Refusal) -> Published | Refusal:
        """What the last attempt says of something that an earlier one may have done.

        Of a batch no refusal denies that it was stored: a producer that is shut out by now was not at that time. What
        else is refused as such, and not for now, speaks of what is the case.
        """
        if not isinstance(result, Refusal) or result.outcome is not Outcome.NONE:
            return result
        is_of_batch = isinstance(self.request, PublishBatch) and result.code not in _GONE
        return result.in_doubt() if is_of_batch or result.code in ASTRAY | _LATER else result

    def news(self, now: int) -> None:
        """The routes are others than when this was held."""
        if self.is_done and not self.way.routes.has_come(self.request):
            self.way.hold(now, self, _KNOWN_SOON_NS)
        else:
            self.go(now)

    def _wait(self, now: int, refusal: Refusal) -> None:
        self.refusal = refusal
        if self.is_impatient:
            self.way.finish(now, self, self._as_a_whole(refusal))
        else:
            self.way.hold(now, self, self.pause_ns())

    def pause_ns(self) -> int:
        """How long to wait for other routes: longer each time."""
        self.pauses += 1
        return min(_PAUSE_FIRST_NS << min(self.pauses - 1, 16), _PAUSE_LONGEST_NS)

    def late(self) -> Reply:
        """What to answer when time is over."""
        if self.is_done:
            return self.reply
        if self.attempts:
            return uncertain(next(iter(self.attempts.values())).node)
        assert self.refusal is not None
        return self._as_a_whole(self.refusal)

    def check(self) -> None:
        """Assert the invariants."""
        assert len(self.attempts) <= 1
        assert not (self.is_done and self.attempts)


@define(eq=False)
class PublishErrand(Errand):
    """A publish, by the leaders of the partitions that its messages go to."""

    results: list[Published | Refusal | None] = field(factory=list)

    def go(self, now: int) -> None:
        """Send what has no answer and is not under way."""
        for node, places in self._places().items():
            part = evolve(self.request, records=[self.request.records[at] for at in places])
            if node == "" or not self.way.attempt(now, self, node, part, places):
                self._wait(now, _nobody(self.request))

    def _places(self) -> dict[str | None, list[int]]:
        """What is to be sent, by leader; those of one partition in order."""
        sent = {at for attempt in self.attempts.values() for at in attempt.places}
        by_node: dict[str | None, list[int]] = {}
        for at, result in enumerate(self.results):
            if result is None and at not in sent:
                leader = self.way.routes.leader(self.request.topic, self.request.records[at].partition)
                by_node.setdefault(leader, []).append(at)
        return by_node

    def returned(self, now: int, attempt: Attempt, reply: Reply) -> None:
        """A leader has answered its part, or refused all of it."""
        assert isinstance(reply, PublishReply | Refusal)
        results = reply.results if isinstance(reply, PublishReply) else [reply] * len(attempt.places)
        if len(results) != len(attempt.places):
            message = f"node {attempt.node} has answered {len(results)} of {len(attempt.places)} messages"
            results = [Refusal(Code.OUTCOME_UNKNOWN, message)] * len(attempt.places)
        astray: Refusal | None = None
        for at, result in zip(attempt.places, results, strict=True):
            if isinstance(result, Refusal) and result.code in ASTRAY:
                astray = result
            else:
                self.results[at] = result
        if astray is not None:
            self._wait(now, astray)
        else:
            self._finish_all(now)

    def lost(self, now: int, attempt: Attempt) -> None:
        """A leader has ended that may have stored its part."""
        for at in attempt.places:
            self.results[at] = uncertain(attempt.node)
        self._finish_all(now)

    def _finish_all(self, now: int) -> None:
        if None not in self.results:
            self.way.finish(now, self, self.late())

    def late(self) -> Reply:
        """What is known of each message."""
        for attempt in self.attempts.values():
            for at in attempt.places:
                self.results[at] = uncertain(attempt.node)
        refusal = self.refusal or _nobody(self.request)
        return PublishReply([refusal if result is None else result for result in self.results])

    def check(self) -> None:
        """Assert the invariants."""
        sent = [at for attempt in self.attempts.values() for at in attempt.places]
        assert len({*sent}) == len(sent)
        assert all(self.results[at] is None for at in sent)


def uncertain(node: str) -> Refusal:
    """The answer when nobody knows what has become of a request."""
    message = f"node {node} has not answered: it may have been carried out"
    return Refusal(Code.OUTCOME_UNKNOWN, message, retry_after_ms=200)


def _nobody(request: object) -> Refusal:
    """The answer when there is nobody to carry out a request."""
    if isinstance(request, AskNode):
        return Refusal(Code.UNAVAILABLE, f"node {request.node} cannot be asked now", retry_after_ms=200)
    topic, partition = getattr(request, "topic", ""), getattr(request, "partition", None)
    if partition is not None:
        message = f"partition {partition} of {topic} has no leader now"
        return Refusal(Code.NOT_LEADER, message, "partition", retry_after_ms=200)
    if isinstance(request, Publish):
        return Refusal(Code.NOT_LEADER, f"a partition of {topic} has no leader now", "topic", retry_after_ms=200)
    return Refusal(Code.NOT_CONTROLLER, "nobody decides for the cluster now", retry_after_ms=200)
