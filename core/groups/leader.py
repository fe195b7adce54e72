"""All groups of a node: the coordinator, the journal it stands on, and who asked before it could answer.

A request is taken when the journal is ready. Before that it waits, as long as it is being made or read; where the
journal has failed it is refused. Replies of the coordinator are held until every entry before them is durable. When an
entry cannot be made durable, memory is ahead of the disk: whoever waits is refused, and the coordinator begins anew
with what the journal holds.

What this wants of the node's partitions it asks for by `wishes`, and the answers come in by `answered`.

Invariant: a request is answered once, or forgotten.
"""

from collections import deque
from collections.abc import Callable
from random import Random

from goqueue.core.calls import Reply
from goqueue.core.clock import Clock
from goqueue.core.errors import ProtocolError
from goqueue.core.groups.coordinator import Coordinator
from goqueue.core.groups.journal import Journal, Standing
from goqueue.core.groups.measure import Ages, measured
from goqueue.core.groups.moments import Moments
from goqueue.core.groups.plan import Ends
from goqueue.core.groups.polling import Polls
from goqueue.core.groups.verbs import GroupAnswer, GroupRequest, MeasureGroups, PollGroup, ResetOffsets
from goqueue.core.groups.wishes import Wishes
from goqueue.core.verbs import Caller, Code, Fetched, FoundOffset, PublishReply, Refusal

_WAITING_MAX = 1000


class GroupLeader:
    """The groups of one node; `ends` tells the start and the end of a partition, `ages` how old its messages are."""

    def __init__(
        self, clock: Clock, random: Random, ends: Ends, ages: Ages, send: Callable[[int, Reply], None]
    ) -> None:
        self._clock = clock
        self._ends = ends
        self._ages = ages
        self._send = send
        self.wishes = Wishes()
        self._journal = Journal(self.wishes)
        self._moments = Moments(self.wishes)
        self.coordinator = Coordinator(clock, random, ends, {})
        self._polls = Polls(self.coordinator, ends, self.wishes)
        self._waiting: dict[int, tuple[Caller, GroupRequest]] = {}
        # Replies of the coordinator, each with the count of batches that are to be durable first.
        self._held: deque[tuple[int, int, GroupAnswer]] = deque()

    # --- requests

    def ask(self, now: int, to: int, caller: Caller, request: GroupRequest) -> None:
        """Take a request; its answer is sent once it holds."""
        if isinstance(request, MeasureGroups):
            self._send(to, measured(now, request, self.coordinator, self._polls, self._ends, self._ages))
            return
        self._journal.ensure()
        if self.is_ready:
            self._take(now, to, caller, request)
        elif self._journal.standing is Standing.FAILED:
            self._send(to, self._refusal())
        elif len(self._waiting) >= _WAITING_MAX:
            message = "too many requests wait for the groups to be read"
            self._send(to, Refusal(Code.UNAVAILABLE, message, retry_after_ms=200))
        else:
            self._waiting[to] = caller, request

    def _take(self, now: int, to: int, caller: Caller, request: GroupRequest) -> None:
        if isinstance(request, ResetOffsets):
            partitions = self.coordinator.partitions(request.topic)
            if self._moments.begin(to, caller, request, partitions):
                return
        if isinstance(request, PollGroup):
            self._polls.poll(now, to, request)
        else:
            self.coordinator.ask(now, to, caller, request)

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken at once."""
        return self._journal.standing is Standing.READY

    def _refusal(self) -> Refusal:
        message = f"the groups cannot be read or written: {self._journal.why}"
        return Refusal(Code.UNAVAILABLE, message, retry_after_ms=1000)

    def forget(self, to: int) -> None:
        """Nobody waits for the answer to `to` any more."""
        self._waiting.pop(to, None)
        self._moments.forget(to)
        self._polls.forget(to)
        self.coordinator.forget(to)

    def forget_found(self) -> None:
        """Let go of the batches in memory that polls have found so far."""
        self._polls.forget_found()

    # --- what the node reports

    def answered(self, now: int, to: int, reply: Reply) -> None:
        """The answer to a wish."""
        if isinstance(reply, FoundOffset | Refusal):
            reset = self._moments.answered(to, reply)
            if reset is not None and reset.refusal is not None:
                self._send(reset.to, reset.refusal)
            elif reset is not None:
                self.coordinator.ask(now, reset.to, reset.caller, reset.request)
        if isinstance(reply, Fetched | Refusal) and self._journal.fetched(now, to, reply):
            self._begin(now)
        if isinstance(reply, Fetched | FoundOffset | Refusal):
            self._polls.answered(to, reply)
        if isinstance(reply, PublishReply | Refusal):
            self._journal.published(to, reply)
        if not self._journal.is_made(to, reply) or self._journal.standing is Standing.FAILED:
            self._refuse_all()

    def _begin(self, now: int) -> None:
        """Coordinate from what the journal holds on."""
        try:
            self.coordinator.restore(now, self._journal.take_loaded().items())
        except ProtocolError as error:
            self._journal.unreadable(now, str(error))
            return
        waiting, self._waiting = self._waiting, {}
        for to, (caller, request) in waiting.items():
            self._take(now, to, caller, request)

    def _refuse_all(self) -> None:
        """Whoever waits is told that it cannot be now."""
        held = [to for _, to, _ in self._held]
        waiting = [*self._waiting, *self._moments.clear(), *held, *self._polls.end_all(), *self.coordinator.suspend()]
        self._waiting = {}
        self._held.clear()
        for to in waiting:
            self._send(to, self._refusal())

    def topics_changed(self, now: int, topics: dict[str, int]) -> None:
        """These are all topics there are, with their numbers of partitions."""
        self.coordinator.topics_changed(now, topics)

    def news(self, topic: str, partition: int) -> None:
        """There may be more to read in a partition."""
        self._polls.news(topic, partition)

    def expected(self) -> None:
        """The journal's topic is there, and its partition is about to be opened."""
        self._journal.expected()

    def opened(self) -> None:
        """The journal's partition was recovered, at first or after a failure."""
        assert not self._held, "what was held was refused when the partition failed"
        self._journal.opened()

    def failed(self, why: str) -> None:
        """The journal's partition cannot be used until it is opened again."""
        self._journal.failed(why)
        self._refuse_all()

    # --- time and output

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        times = [self._journal.deadline()]
        if self.is_ready:
            times += [self.coordinator.deadline(), self._polls.deadline()]
        return min((due for due in times if due is not None), default=None)

    def wake(self, now: int) -> None:
        """Do what is due."""
        self._journal.wake(now)
        if self.is_ready:
            self.coordinator.wake(now)
            self._polls.wake(now)

    def settle(self, now: int) -> None:
        """Write what is to be written, and send what may be said."""
        if not self.is_ready:
            return
        coordinator = self.coordinator
        if coordinator.entries:
            entries, coordinator.entries = coordinator.entries, []
            self._journal.append(self._clock.wall_ms(now), entries)
        appended = self._journal.appended
        self._polls.turn(now, appended, self._journal.durable)
        if coordinator.replies:
            replies, coordinator.replies = coordinator.replies, []
            self._held.extend((appended, to, answer) for to, answer in replies)
        held, durable = self._held, self._journal.durable
        while held and held[0][0] <= durable:
            _, to, answer = held.popleft()
            self._send(to, answer)
        for to, answer in self._polls.take_replies():
            self._send(to, answer)

    def check(self) -> None:
        """Assert the invariants."""
        self._journal.check()
        self._moments.check()
        self.coordinator.check()
        self._polls.check()
        assert self.is_ready or not self._held
        assert not self._waiting or self._journal.standing in (Standing.MAKING, Standing.LOADING)
