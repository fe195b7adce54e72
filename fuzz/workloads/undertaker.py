"""Whoever looks after dead letters and shared groups: browses, sends back, purges, asks how far all is, and meddles."""

from random import Random

from goqueue.core.requests.deadletters import (
    BrowseDead,
    CancelRedrive,
    DeadTopic,
    DescribeRedrive,
    ListDeadTopics,
    ListRedrives,
    PurgeDead,
    RedriveReply,
    Sieve,
    StartRedrive,
)
from goqueue.core.requests.groups import DeleteGroup, FetchOffsets, ResetOffsets, ResetTo
from goqueue.core.requests.queues import MeasureLanes, MeasureWork
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request
from goqueue.fuzz.options import Options
from goqueue.fuzz.workloads.client import Client


class Undertaker(Client):
    """Draws what to do and hopes for nothing."""

    def __init__(self, name: str, random: Random, options: Options) -> None:
        super().__init__(name, random, options)
        self._redrives: list[str] = ["none"]
        self._topics: list[str] = []
        # Most worlds are to show what comes of letters that nobody touches.
        self._is_bold = random.random() < 0.6 or options.bold
        self._meddles = random.random() < 0.2

    def next_request(self) -> Request:
        """A question, or a change."""
        random, letters = self.random, self._draw_letters()
        group = f"w{random.randrange(self.options.shared_groups)}"
        if self._meddles and random.random() < 0.1:
            reset = ResetOffsets(group, self.draw_topic(), random.choice((ResetTo.EARLIEST, ResetTo.LATEST)))
            return random.choice((DeleteGroup(group), reset))
        if not self._topics and random.random() < 0.8:
            return ListDeadTopics()
        if self._is_bold and random.random() < 0.3:
            return self._change(letters)
        redrive_id = random.choice(self._redrives)
        drawn = random.random()
        if drawn < 0.4:
            return BrowseDead(letters, Sieve(), 1_000)
        if drawn < 0.6:
            return DescribeRedrive(self._redrives[-1])
        questions: tuple[Request, ...] = (
            BrowseDead(letters, self._sieve(), random.choice((1, 100))), ListDeadTopics(), DescribeRedrive(redrive_id),
            ListRedrives(), FetchOffsets(group), MeasureWork(), MeasureLanes(),
        )  # fmt: skip
        return random.choice(questions)

    def _draw_letters(self) -> str:
        """A topic of letters, one that is there if any is."""
        if self._topics and self.random.random() < 0.9:
            return self.random.choice(self._topics)
        return f"{self.draw_topic()}.dlq"

    def _change(self, letters: str) -> Request:
        random = self.random
        is_dry = random.random() < 0.2
        if random.random() < 0.2:
            return CancelRedrive(random.choice(self._redrives))
        if random.random() < 0.2:
            return PurgeDead(letters, self._sieve(), is_dry)
        to = random.choice(("", "", "", self.draw_topic(), letters, "nowhere"))
        rate, limit = random.choice((0, 0, 5)), random.choice((0, 0, 2))
        return StartRedrive(letters, to, self._sieve(), rate, limit, is_dry)

    def _sieve(self) -> Sieve:
        random = self.random
        if random.random() < 0.25:
            return Sieve()
        reason = random.choice(("", "rejected", "max_attempts"))
        return Sieve(reason, random.choice(("", "w0")), random.choice((None, b"a")))

    def answered(self, request: Request, reply: Reply) -> None:
        """Remember which redrives there are, and which topics of letters."""
        if isinstance(request, ListDeadTopics) and isinstance(reply, list):
            self._topics = [one.topic for one in reply if isinstance(one, DeadTopic)]
        if isinstance(reply, RedriveReply):
            self._redrives = [*self._redrives, reply.redrive_id][-5:]

    def think_ns(self) -> int:
        """Somebody has to die first."""
        return super().think_ns()
