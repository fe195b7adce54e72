"""A redrive's work in one partition that another node leads: that node is told to carry on, and asked how far it is.

The other node works on it for as long as it was told lately; when it is told no more, because this one is gone or has
lost the job, it stops after the batch under way. Everything can be told twice. What it says is remembered here, so the
job's counts are never less than they were.
"""

from attrs import define

from goqueue.core.deadletters.context import MoverContext
from goqueue.core.deadletters.redrive_partition import NO_LIMIT
from goqueue.core.queues.errands import Slot
from goqueue.core.queues.move_records import DEAD_CODEC, Job, Tally
from goqueue.core.requests.deadletters import Carried, CarryOn
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.replies import Reply

_PAUSE_LEAST_NS, _PAUSE_MOST_NS = 20_000_000, 500_000_000


@define(eq=False)
class RemoteRedrive:
    """A partition of a job at another node, which is "" while nobody leads it; otherwise as a `RedrivePartition`."""

    slot: Slot
    node: str
    _yard: MoverContext
    job: Job
    tally: Tally | None = None
    room: int = NO_LIMIT
    due: int = 0
    is_done: bool = False
    # Whether the other node has said that nothing is under way, after it was told that it is over.
    has_ended: bool = False
    trouble: str = ""
    _is_over: bool = False
    _asked: int = 0
    _pause_ns: int = _PAUSE_LEAST_NS

    @property
    def is_moving(self) -> bool:
        """Whether something may be under way."""
        return self._is_over and not self.has_ended

    def end(self) -> None:
        """Have the other node begin nothing more."""
        if not self._is_over:
            self._is_over, self.has_ended, self._asked, self.due = True, self.is_done, 0, 0

    def reset(self) -> None:
        """Forget what was asked."""
        self._asked = self.due = 0

    def forget_found(self) -> None:
        """There are no letters here."""

    def step(self, now: int) -> None:
        """Tell the other node once more, when it is time."""
        if self.due <= now:
            self.due = 0
        if self._asked or self.due or self.has_ended or (self.is_done and not self._is_over):
            return
        if not self.node:
            self.due = now + _PAUSE_MOST_NS
            return
        request = CarryOn(*self.slot, DEAD_CODEC.encode(self.job), self.room, self._is_over)
        self._asked = self._yard.errands.ask(self, AskNode(self.node, request))

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """How far the other node is, or that it cannot say."""
        if number != self._asked:
            return
        self._asked = 0
        before = self.tally
        if isinstance(reply, Carried):
            self.tally = Tally(reply.position, reply.looked, reply.matched, reply.moved)
            self.is_done, self.trouble = reply.is_done, reply.trouble
            self.has_ended = self._is_over and reply.is_done
        self._pause_ns = _PAUSE_LEAST_NS if self.tally != before else min(2 * self._pause_ns, _PAUSE_MOST_NS)
        self.due = 0 if self.is_done else now + self._pause_ns
        self._yard.look_at((self.slot[0], 0))

    def check(self) -> None:
        """Assert the invariants."""
        assert not self.has_ended or self._is_over
        assert not self._asked or self.node
