"""The room of dead letters: it has them moved, and answers whoever asks about them or has them sent back.

What is to be done follows from the ledgers alone: what is dead in a queue, an open intent, a job that runs. The service
looks at each ledger that may have changed, and takes up what it finds there.

A request waits while a ledger that it needs is being made or read. Answers that speak of a job are held until the
ledger that keeps the job is durable.

Among several nodes each has the ledgers of the partitions that it leads. A request is taken by any node: what it can
answer for the partitions here it does, and the others are asked for theirs. A job lives with the ledger of the first
partition. What another node asks is answered for what is led here, and passed on to nobody.

Bounded: partitions that have letters in memory, jobs that run, requests that wait. A request has at most one answer.
"""

from collections.abc import Callable
from typing import Any

from attrs import define

from goqueue.core.deadletters.browsing import Browsing
from goqueue.core.deadletters.census import Census
from goqueue.core.deadletters.context import Ledgers, MoverContext
from goqueue.core.deadletters.inquiries import Inquiries, Question
from goqueue.core.deadletters.mover import DeadLetterMover
from goqueue.core.deadletters.produced import produced
from goqueue.core.deadletters.redrive import Redrive
from goqueue.core.deadletters.redrives_for_others import RedrivesForOthers
from goqueue.core.deadletters.requests import browse_refusal, job_of, job_refusal
from goqueue.core.partition.partition import Partition
from goqueue.core.queues.errands import Errands, Slot
from goqueue.core.queues.move_records import Closed, Job, Tally
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.queues.targets import dead_topics, resolved
from goqueue.core.replicas.elsewhere import elsewhere
from goqueue.core.replicas.topic import HostedTopic
from goqueue.core.requests.call import Call
from goqueue.core.requests.deadletters import (
    BrowseDead,
    CancelRedrive,
    CarryOn,
    CountDead,
    DeadCounts,
    DeadTopic,
    DescribeRedrive,
    FindMoved,
    ListDeadTopics,
    ListRedrives,
    PurgeDead,
    RedriveReply,
    RedriveState,
    StartRedrive,
)
from goqueue.core.requests.messages import Side
from goqueue.core.requests.metadata import AddSide
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request, ServiceName
from goqueue.core.services.internal_requests import InternalRequests
from goqueue.core.services.service import ServiceContext

_WAITING_MAX = 1000
_BUSY_MAX = 64
_RUNNING_MAX = 16


@define
class _Started:
    """Whoever had a job begun waits to hear of it."""

    redrive_id: str


class DeadLeader:
    """The dead letters of one node."""

    def __init__(self, site: ServiceContext, ledgers: Ledgers) -> None:
        self._site = site
        self.wishes = InternalRequests(ServiceName.DEAD_LETTERS)
        self._yard = MoverContext(site.clock, site.led, ledgers, Errands(self.wishes))
        self._census = Census(self._yard)
        self._carriers: dict[Slot, DeadLetterMover] = {}
        # Those with letters in memory, those that wait for one of them to end, and those in a pause.
        self._busy: dict[Slot, None] = {}
        self._line: dict[Slot, None] = {}
        self._paused: dict[Slot, None] = {}
        self._redrives: dict[str, Redrive] = {}
        self._hired = RedrivesForOthers(self._yard, self._carriers)
        self._browsing: dict[Call, Browsing] = {}
        self._inquiries = Inquiries(self._yard, self._census)
        self._waiting: dict[Call, Request | _Started] = {}
        # Topics whose ledgers are being made, by the number of the request.
        self._making: dict[int, str] = {}
        self._is_stirred = False
        self._answers: dict[type, Callable[[int, Call, Any], bool]] = {
            BrowseDead: self._browse,
            ListDeadTopics: self._list_topics,
            StartRedrive: self._start,
            PurgeDead: self._start,
            _Started: self._describe,
            DescribeRedrive: self._describe,
            ListRedrives: self._list,
            CancelRedrive: self._cancel,
            CountDead: self._count,
            FindMoved: self._find_moved,
            CarryOn: self._carry_on,
        }

    # --- requests

    def ask(self, now: int, call: Call, request: Request) -> None:
        """Take a request."""
        if not call.is_part and isinstance(request, Question):
            self._inquiries.begin(call, request)
        if self._answers[type(request)](now, call, request):
            return
        if len(self._waiting) >= _WAITING_MAX:
            message = "too many requests wait for ledgers to be read"
            self._say(call, Refusal(Code.UNAVAILABLE, message, retry_after_ms=200))
        else:
            self._waiting[call] = request

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call` any more."""
        self._waiting.pop(call, None)
        self._browsing.pop(call, None)
        self._inquiries.forget(call)

    def _say(self, call: Call, reply: Reply) -> bool:
        if not self._inquiries.take_own(call, reply):
            self._site.send(call, reply)
        return True

    def _relay(self, call: Call, topic: str, request: StartRedrive | PurgeDead) -> bool:
        """Have the node answer that leads a topic's first partition, if this one does not."""
        away = elsewhere(self._site.led, topic, 0)
        if away is None:
            return False
        if call.is_part:
            message = f"node {self._site.led.node_id} does not lead partition 0 of {topic}"
            return self._say(call, Refusal(Code.NOT_LEADER, message, retry_after_ms=200, leader=away.leader))
        self._inquiries.pass_on(call, request, away.leader)
        return True

    # --- looking

    def _browse(self, now: int, call: Call, request: BrowseDead) -> bool:
        leader = resolved(self._site.led, request.topic)
        if isinstance(leader, Refusal):
            return self._say(call, leader)
        refusal = browse_refusal(request, leader.topic.partitions)
        books = refusal or self._census.books(leader)
        if isinstance(books, Refusal):
            return self._say(call, books)
        if books is None:
            return False
        browsing = Browsing(call, leader.topic.name, self._yard, leader.topic.partitions, request)
        self._browsing[call] = browsing
        browsing.go()
        return True

    def _list_topics(self, now: int, call: Call, request: ListDeadTopics) -> bool:
        listed: list[DeadTopic] = []
        for name in dead_topics(self._site.led):
            leader = self._site.led.topics[name]
            books = self._census.books(leader)
            if books is None:
                return False
            counts = self._census.counts(leader, books if isinstance(books, dict) else {})
            listed.append(DeadTopic(name, sum(counts.left.values())))
        return self._say(call, listed)

    def _count(self, now: int, call: Call, request: CountDead) -> bool:
        leader = resolved(self._site.led, request.topic)
        if isinstance(leader, Refusal):
            return self._say(call, leader)
        books = self._census.closed(leader) or self._census.books(leader)
        if isinstance(books, Refusal):
            return self._say(call, books)
        return books is not None and self._say(call, self._census.counts(leader, books))

    def _find_moved(self, now: int, call: Call, request: FindMoved) -> bool:
        return self._say(call, produced(self._site.led, request))

    def _carry_on(self, now: int, call: Call, request: CarryOn) -> bool:
        return self._say(call, self._hired.carry_on(now, request))

    # --- jobs

    def _start(self, now: int, call: Call, request: StartRedrive | PurgeDead) -> bool:
        led = self._site.led
        leader = resolved(led, request.topic)
        if isinstance(leader, Refusal):
            return self._say(call, leader)
        name = leader.topic.name
        if self._relay(call, name, request):
            return True
        refusal = job_refusal(led, name, request)
        if refusal is not None:
            return self._say(call, refusal)
        if Side.LEDGER not in leader.topic.sides:
            if name not in self._making.values():
                self._making[self._yard.errands.ask(self, AddSide(name, Side.LEDGER))] = name
            return False
        books = self._census.closed(leader) or self._census.books(leader)
        if isinstance(books, Refusal):
            return self._say(call, books)
        if books is None:
            return False
        if len(self._redrives) >= _RUNNING_MAX:
            message = f"{_RUNNING_MAX} redrives and purges are under way already"
            return self._say(call, Refusal(Code.UNAVAILABLE, message, retry_after_ms=1000))
        counts = self._inquiries.counts(call, leader, books)
        if isinstance(counts, Refusal):
            return self._say(call, counts)
        if counts is None:
            return False
        self._begin(now, call, request, books[0], counts)
        return True

    def _begin(
        self, now: int, call: Call, request: StartRedrive | PurgeDead, home: QueueLedger, counts: DeadCounts
    ) -> None:
        name, spans = (
            home.topic,
            {number: (counts.starts[number], counts.ends[number]) for number in sorted(counts.ends)},
        )
        redrive_id = f"{self._site.random.getrandbits(64):016x}"
        job = job_of(redrive_id, name, request, self._site.clock.wall_ms(now), spans)
        job.total = sum(counts.left.values())
        home.moves.keep(job)
        redrive = self._run(name, redrive_id)
        redrive.kept = self._yard.touch(home)
        self._waiting[call] = _Started(redrive_id)

    def _run(self, topic: str, redrive_id: str) -> Redrive:
        redrive = self._redrives[redrive_id] = Redrive(topic, redrive_id, self._yard, self._carriers)
        self._yard.look_at((topic, 0))
        return redrive

    def _home(self, topic: str) -> QueueLedger | Refusal | None:
        """The ledger that keeps a topic's jobs; None while it is yet to be read, or to be durable, or made at all."""
        books = self._census.books(self._site.led.topics[topic])
        if not isinstance(books, dict):
            return books
        is_sure = all(run.is_sure for run in self._redrives.values() if run.topic == topic)
        return books.get(0) if is_sure else None

    def _describe(self, now: int, call: Call, request: DescribeRedrive | CancelRedrive | _Started) -> bool:
        homes = [self._home(topic) for topic in self._with_jobs()]
        for home in homes:
            job = home.moves.jobs.get(request.redrive_id) if isinstance(home, QueueLedger) else None
            if job is not None:
                return self._say(call, self._reply(job))
        if None in homes:
            return False
        refusal = next((home for home in homes if isinstance(home, Refusal)), None)
        if refusal is not None and not isinstance(request, _Started):
            # Where a cancellation waits, the redrive may have ended by it.
            return self._say(call, refusal.in_doubt() if isinstance(request, CancelRedrive) else refusal)
        if isinstance(request, _Started):
            why = "its ledger has lost it" if refusal is None else refusal.message
            message = f"whether redrive {request.redrive_id} has begun is not known: {why}"
            return self._say(call, Refusal(Code.OUTCOME_UNKNOWN, message, retry_after_ms=1000))
        message = f"there is no redrive {request.redrive_id[:60]!r}, or it is remembered no more"
        return self._say(call, Refusal(Code.REDRIVE_NOT_FOUND, message, "redrive_id"))

    def _list(self, now: int, call: Call, request: ListRedrives) -> bool:
        topics = self._with_jobs()
        if request.topic:
            leader = resolved(self._site.led, request.topic)
            if isinstance(leader, Refusal):
                return self._say(call, leader)
            topics = [topic for topic in topics if topic == leader.topic.name]
        jobs: list[Job] = []
        for topic in topics:
            home = self._home(topic)
            if isinstance(home, Refusal):
                return self._say(call, home)
            if home is None:
                return False
            jobs += home.moves.jobs.values()
        jobs.sort(key=lambda job: (job.started_ms, job.redrive_id), reverse=True)
        return self._say(call, [self._reply(job) for job in jobs])

    def _with_jobs(self) -> list[str]:
        """The topics of dead letters whose jobs are kept here, if there are any."""
        return [name for name, _ in self._census.homes() if elsewhere(self._site.led, name, 0) is None]

    def _cancel(self, now: int, call: Call, request: CancelRedrive) -> bool:
        redrive = self._redrives.get(request.redrive_id)
        if redrive is None:
            return self._describe(now, call, request)
        redrive.cancel(now)
        # It is answered when the job has ended.
        return False

    def _reply(self, job: Job) -> RedriveReply:
        redrive = self._redrives.get(job.redrive_id)
        return job.reply(Tally() if redrive is None else redrive.counted(job))

    # --- what the node reports

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """The answer to a wish: of the service itself, or of whoever asked."""
        name = self._making.pop(number, "")
        if not name:
            self._yard.errands.answered(now, number, reply)
            return
        self._is_stirred = True
        if isinstance(reply, Refusal):
            for call, request in [*self._waiting.items()]:
                if isinstance(request, StartRedrive | PurgeDead) and self._is_about(request.topic, name):
                    del self._waiting[call]
                    self._say(call, reply.undone())

    def _is_about(self, asked: str, name: str) -> bool:
        leader = resolved(self._site.led, asked)
        return isinstance(leader, HostedTopic) and leader.topic.name == name

    def topics_changed(self, now: int) -> None:
        """Whatever was under way with a topic that is gone is gone as well."""
        topics = self._site.led.topics
        led, self._is_stirred = self._site.led, True
        self._hired.topics_changed()
        for slot in [slot for slot in self._carriers if slot[0] not in topics or elsewhere(led, *slot) is not None]:
            del self._carriers[slot]
            for places in (self._busy, self._line, self._paused):
                places.pop(slot, None)
        for redrive_id, run in [*self._redrives.items()]:
            is_gone = run.topic not in topics or Side.LEDGER not in topics[run.topic].topic.sides
            if is_gone or elsewhere(led, *run.home) is not None:
                del self._redrives[redrive_id]
        for slot in self._carriers:
            self._yard.look_at(slot)

    def opened(self, now: int, partition: Partition) -> None:
        """A stream can be used; what waits for it tries again by itself."""
        carrier = self._carriers.get((partition.topic, partition.number))
        if carrier is not None and partition.side is Side.DATA:
            carrier.opened()

    def failed(self, now: int, stream: str, why: str) -> None:
        """A stream cannot be used; what is not durable is taken up again when the ledger was read."""

    def news(self, now: int, partition: Partition) -> bool:
        """There may be more to read in a stream; what is dead lies where it was read already."""
        return False

    def regained(self, now: int) -> None:
        """This node may lead again. The service repeats at once the requests that were refused meanwhile."""
        for slot in self._paused:
            self._carriers[slot].renew()

    def clock_jumped(self, now: int) -> None:
        """The wall clock was moved; nothing here waits for it."""

    def forget_found(self) -> None:
        """Let go of letters that are held in memory."""
        for slot in [*self._busy]:
            self._carriers[slot].forget_found()
        for redrive in self._redrives.values():
            redrive.forget_found()
        self._hired.forget_found()

    # --- going on

    def settle(self, now: int) -> None:
        """Take up whatever may go on. Who waited is answered last, for its answer may need no read."""
        ledgers, self._yard.has_touched = self._yard.ledgers, False
        if ledgers.doomed:
            stirred = [*ledgers.doomed]
            ledgers.doomed.clear()
            self._is_stirred = True
            for slot in stirred:
                self._stir(slot)
        while self._yard.looked_at:
            slots, self._yard.looked_at = self._yard.looked_at, {}
            for slot in slots:
                self._step(now, slot)
        if self._is_stirred or self._inquiries.has_counted:
            self._is_stirred = False
            self._try_waiting(now)
        self._finish_browsing()
        for call, reply in self._inquiries.take():
            self._site.send(call, reply)

    def _stir(self, slot: Slot) -> None:
        """A ledger may be another than it was; mostly it has nothing for this service."""
        book = self._yard.ledgers.books.get(slot)
        if book is None:
            return
        carrier = self._carriers.get(slot)
        if carrier is None:
            carrier = self._carriers[slot] = DeadLetterMover(slot, self._yard)
        elif not self._redrives and book.is_ready and carrier.is_at_rest(book):
            return
        self._yard.look_at(slot)
        self._yard.look_at((slot[0], 0))
        self._tidy(slot)
        self._hired.tidy(slot)
        if slot[1] == 0 and book.is_ready:
            for job in book.moves.jobs.values():
                if job.state is RedriveState.RUNNING and job.redrive_id not in self._redrives:
                    self._run(slot[0], job.redrive_id)

    def _tidy(self, slot: Slot) -> None:
        """Close the tallies of jobs that have ended."""
        book, home = self._yard.book(slot), self._yard.book((slot[0], 0))
        if book is None or home is None:
            return
        for redrive_id in [*book.moves.tallies]:
            job = home.moves.jobs.get(redrive_id)
            if redrive_id not in self._redrives and (job is None or job.state is not RedriveState.RUNNING):
                book.moves.keep(Closed(redrive_id))
                self._yard.touch(book)

    def _step(self, now: int, slot: Slot) -> None:
        carrier = self._carriers.get(slot)
        if carrier is not None and (carrier.is_busy or len(self._busy) < _BUSY_MAX):
            carrier.step(now)
            self._note(slot, carrier)
        elif carrier is not None:
            # Whoever stands in line waits for a place, and for no time.
            self._line[slot] = None
            self._paused.pop(slot, None)
        for redrive in [run for run in self._redrives.values() if run.topic == slot[0]]:
            self._step_redrive(now, redrive)
        self._hired.step(now, slot)

    def _note(self, slot: Slot, carrier: DeadLetterMover) -> None:
        """Remember what a carrier waits for, and let the next in line have its place."""
        if carrier.until:
            self._paused[slot] = None
        else:
            self._paused.pop(slot, None)
        if carrier.is_busy:
            self._busy[slot] = None
        elif self._busy.pop(slot, slot) is None and self._line:
            following = next(iter(self._line))
            del self._line[following]
            self._yard.look_at(following)

    def _step_redrive(self, now: int, redrive: Redrive) -> None:
        redrive.step(now)
        book = self._yard.book(redrive.home)
        if book is not None and (redrive.is_over or redrive.job is None):
            del self._redrives[redrive.redrive_id]
            self._is_stirred = True
            for slot in [slot for slot in self._carriers if slot[0] == redrive.topic]:
                self._tidy(slot)
        carrier = self._carriers.get(redrive.slot)
        if carrier is not None:
            self._note(redrive.slot, carrier)

    def _finish_browsing(self) -> None:
        for call, browsing in [*self._browsing.items()]:
            if browsing.answer is not None:
                del self._browsing[call]
                self._say(call, browsing.answer)

    def _try_waiting(self, now: int) -> None:
        """Answer those requests that can be answered by now."""
        waiting, self._waiting = self._waiting, {}
        for call, request in waiting.items():
            if not self._answers[type(request)](now, call, request):
                self._waiting[call] = request

    # --- time

    def deadline(self) -> int | None:
        """When `wake` has something to do; at once while a ledger is to be written, which is the work queues' to do."""
        if self._yard.has_touched or self._yard.looked_at:
            return 0
        times = [self._carriers[slot].until for slot in self._paused]
        times += [redrive.due for redrive in self._redrives.values() if redrive.due]
        hired = self._hired.deadline()
        times += [] if hired is None else [hired]
        return min(times, default=None)

    def wake(self, now: int) -> None:
        """Go on with whatever has waited long enough."""
        for slot in self._paused:
            if self._carriers[slot].until <= now:
                self._yard.look_at(slot)
        for redrive in self._redrives.values():
            if redrive.due and redrive.due <= now:
                self._yard.look_at(redrive.home)
        self._hired.wake(now)

    def check(self) -> None:
        """Assert the invariants."""
        assert len(self._busy) <= _BUSY_MAX + _RUNNING_MAX
        for slot, carrier in self._carriers.items():
            carrier.check()
            assert carrier.slot == slot
        for redrive in self._redrives.values():
            redrive.check()
        self._hired.check()
