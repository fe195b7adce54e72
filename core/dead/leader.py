"""The room of dead letters: it has them moved, and answers whoever asks about them or has them sent back.

What is to be done follows from the ledgers alone: what is dead in a queue, an open intent, a job that runs. So nothing
is told to this room; it looks at each ledger that may be another than it was, and takes up what it finds there.

A request waits while a ledger that it needs is being made or read. The answer to one that changes something, and to
whoever asks how far a job is, is held until the ledger that keeps the job is durable.

Bounded: so many partitions at a time have letters in memory, so many jobs run, so many requests wait.

Invariant: a request is answered once, or forgotten.
"""

from collections.abc import Callable
from typing import Any, get_args

from attrs import define

from goqueue.core.calls import Reply
from goqueue.core.dead.browsing import Browsing
from goqueue.core.dead.carrier import Carrier
from goqueue.core.dead.records import Closed, Job, Tally
from goqueue.core.dead.redrive import Redrive
from goqueue.core.dead.requests import browse_refusal, job_of, job_refusal
from goqueue.core.dead.targets import dead_topics, resolved
from goqueue.core.dead.verbs import (
    BrowseDead,
    CancelRedrive,
    DeadRequest,
    DeadTopic,
    DescribeRedrive,
    ListDeadTopics,
    ListRedrives,
    PurgeDead,
    RedriveReply,
    RedriveState,
    StartRedrive,
)
from goqueue.core.dead.yard import Ledgers, Yard
from goqueue.core.metadata import AddSide
from goqueue.core.partition.partition import Partition
from goqueue.core.room import Site
from goqueue.core.topics import TopicLeader
from goqueue.core.verbs import Caller, Code, Refusal, Side
from goqueue.core.wishes import Wishes
from goqueue.core.work.book import Book, Standing
from goqueue.core.work.errands import Errands, Slot

ROOM = 2
_WAITING_MAX = 1000
_BUSY_MAX = 64
_RUNNING_MAX = 16


@define
class _Started:
    """Whoever had a job begun waits to hear of it."""

    redrive_id: str


class DeadLeader:
    """The dead letters of one node."""

    takes: tuple[type, ...] = get_args(DeadRequest)

    def __init__(self, site: Site, ledgers: Ledgers) -> None:
        self._site = site
        self.wishes = Wishes(ROOM)
        self._yard = Yard(site.clock, site.led, ledgers, Errands(self.wishes))
        self._carriers: dict[Slot, Carrier] = {}
        # Those with letters in memory, those that wait for one of them to end, and those in a pause.
        self._busy: dict[Slot, None] = {}
        self._line: dict[Slot, None] = {}
        self._paused: dict[Slot, None] = {}
        self._redrives: dict[str, Redrive] = {}
        self._browsing: dict[int, Browsing] = {}
        self._waiting: dict[int, DeadRequest | _Started] = {}
        # Topics whose ledgers are being made, by the number of the wish.
        self._making: dict[int, str] = {}
        self._is_stirred = False
        self._answers: dict[type, Callable[[int, int, Any], bool]] = {
            BrowseDead: self._browse,
            ListDeadTopics: self._list_topics,
            StartRedrive: self._start,
            PurgeDead: self._start,
            _Started: self._describe,
            DescribeRedrive: self._describe,
            ListRedrives: self._list,
            CancelRedrive: self._cancel,
        }

    # --- requests

    def ask(self, now: int, to: int, caller: Caller, request: DeadRequest) -> None:
        """Take a request."""
        if self._answers[type(request)](now, to, request):
            return
        if len(self._waiting) >= _WAITING_MAX:
            message = "too many requests wait for ledgers to be read"
            self._site.send(to, Refusal(Code.UNAVAILABLE, message, retry_after_ms=200))
        else:
            self._waiting[to] = request

    def forget(self, to: int) -> None:
        """Nobody waits for the answer to `to` any more."""
        self._waiting.pop(to, None)
        self._browsing.pop(to, None)

    def _say(self, to: int, reply: Reply) -> bool:
        self._site.send(to, reply)
        return True

    # --- ledgers

    def _books(self, leader: TopicLeader) -> list[Book] | Refusal | None:
        """The ledgers of a topic's partitions, why they cannot be used, or None while that is yet to be seen.

        None at all for a topic that has none, of which nothing was moved or purged.
        """
        topic = leader.topic
        if Side.LEDGER not in topic.sides:
            return []
        books: list[Book] = []
        for number in range(topic.partitions):
            book = self._yard.ledgers.books.get((topic.name, number))
            if book is not None and book.standing is Standing.FAILED:
                message = f"the ledger of partition {number} of {topic.name} cannot be used: {book.why}"
                return Refusal(Code.UNAVAILABLE, message, retry_after_ms=1000)
            if book is None or not book.is_ready:
                return None
            books.append(book)
        return books

    def _span(self, topic: str, number: int, book: Book | None) -> tuple[int, int]:
        """A partition's first letter that is left, and its end."""
        start, end = self._site.led.ends(topic, number) or (0, 0)
        return (start if book is None else min(max(start, book.moves.gone.floor), end)), end

    # --- looking

    def _browse(self, now: int, to: int, request: BrowseDead) -> bool:
        leader = resolved(self._site.led, request.topic)
        if isinstance(leader, Refusal):
            return self._say(to, leader)
        refusal = browse_refusal(request, leader.topic.partitions)
        books = refusal or self._books(leader)
        if isinstance(books, Refusal):
            return self._say(to, books)
        if books is None:
            return False
        browsing = Browsing(to, leader.topic.name, self._yard, leader.topic.partitions, request)
        self._browsing[to] = browsing
        browsing.go()
        return True

    def _list_topics(self, now: int, to: int, request: ListDeadTopics) -> bool:
        listed: list[DeadTopic] = []
        for name in dead_topics(self._site.led):
            leader = self._site.led.topics[name]
            books = self._books(leader)
            if books is None:
                return False
            letters = 0
            for number in range(leader.topic.partitions):
                book = books[number] if isinstance(books, list) and books else None
                start, end = self._span(name, number, book)
                letters += end - start if book is None else book.moves.left(start, end)
            listed.append(DeadTopic(name, letters))
        return self._say(to, listed)

    # --- jobs

    def _start(self, now: int, to: int, request: StartRedrive | PurgeDead) -> bool:
        led = self._site.led
        leader = resolved(led, request.topic)
        if isinstance(leader, Refusal):
            return self._say(to, leader)
        name = leader.topic.name
        refusal = job_refusal(led, name, request)
        if refusal is not None:
            return self._say(to, refusal)
        if Side.LEDGER not in leader.topic.sides:
            if name not in self._making.values():
                self._making[self._yard.errands.ask(self, AddSide(name, Side.LEDGER))] = name
            return False
        books = self._books(leader)
        if isinstance(books, Refusal):
            return self._say(to, books)
        if books is None:
            return False
        if len(self._redrives) >= _RUNNING_MAX:
            message = f"{_RUNNING_MAX} redrives and purges are under way already"
            return self._say(to, Refusal(Code.UNAVAILABLE, message, retry_after_ms=1000))
        spans = {number: self._span(name, number, book) for number, book in enumerate(books)}
        redrive_id = f"{self._site.random.getrandbits(64):016x}"
        job = job_of(redrive_id, name, request, self._site.clock.wall_ms(now), spans)
        job.total = sum(books[number].moves.left(*span) for number, span in spans.items())
        books[0].moves.keep(job)
        redrive = self._run(name, redrive_id)
        redrive.kept = self._yard.touch(books[0])
        self._waiting[to] = _Started(redrive_id)
        return True

    def _run(self, topic: str, redrive_id: str) -> Redrive:
        redrive = self._redrives[redrive_id] = Redrive(topic, redrive_id, self._yard, self._carriers)
        self._yard.look_at((topic, 0))
        return redrive

    def _home(self, topic: str) -> Book | Refusal | None:
        """The ledger that keeps a topic's jobs; None while it is yet to be read, or to be durable, or made at all."""
        books = self._books(self._site.led.topics[topic])
        if not isinstance(books, list):
            return books
        is_sure = all(run.is_sure for run in self._redrives.values() if run.topic == topic)
        return books[0] if books and is_sure else None

    def _describe(self, now: int, to: int, request: DescribeRedrive | CancelRedrive | _Started) -> bool:
        homes = [self._home(topic) for topic in self._with_ledgers()]
        for home in homes:
            job = home.moves.jobs.get(request.redrive_id) if isinstance(home, Book) else None
            if job is not None:
                return self._say(to, self._reply(job))
        if None in homes:
            return False
        refusal = next((home for home in homes if isinstance(home, Refusal)), None)
        if refusal is not None and not isinstance(request, _Started):
            return self._say(to, refusal)
        if isinstance(request, _Started):
            why = "its ledger has lost it" if refusal is None else refusal.message
            message = f"whether redrive {request.redrive_id} has begun is not known: {why}"
            return self._say(to, Refusal(Code.UNAVAILABLE, message, retry_after_ms=1000))
        message = f"there is no redrive {request.redrive_id[:60]!r}, or it is remembered no more"
        return self._say(to, Refusal(Code.REDRIVE_NOT_FOUND, message, "redrive_id"))

    def _list(self, now: int, to: int, request: ListRedrives) -> bool:
        topics = self._with_ledgers()
        if request.topic:
            leader = resolved(self._site.led, request.topic)
            if isinstance(leader, Refusal):
                return self._say(to, leader)
            topics = [topic for topic in topics if topic == leader.topic.name]
        jobs: list[Job] = []
        for topic in topics:
            home = self._home(topic)
            if isinstance(home, Refusal):
                return self._say(to, home)
            if home is None:
                return False
            jobs += home.moves.jobs.values()
        return self._say(to, [self._reply(job) for job in sorted(jobs, key=_started, reverse=True)])

    def _with_ledgers(self) -> list[str]:
        """The topics of dead letters of which something was moved or purged, or is about to be."""
        topics = self._site.led.topics
        return [name for name in dead_topics(self._site.led) if Side.LEDGER in topics[name].topic.sides]

    def _cancel(self, now: int, to: int, request: CancelRedrive) -> bool:
        redrive = self._redrives.get(request.redrive_id)
        if redrive is None:
            return self._describe(now, to, request)
        redrive.cancel(now)
        # It is answered when the job has ended.
        return False

    def _reply(self, job: Job) -> RedriveReply:
        redrive = self._redrives.get(job.redrive_id)
        return job.reply(Tally() if redrive is None else redrive.counted(job))

    # --- what the node reports

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """The answer to a wish: of the room itself, or of whoever asked."""
        name = self._making.pop(number, "")
        if not name:
            self._yard.errands.answered(now, number, reply)
            return
        self._is_stirred = True
        if isinstance(reply, Refusal):
            for to, request in [*self._waiting.items()]:
                if isinstance(request, StartRedrive | PurgeDead) and self._is_about(request.topic, name):
                    del self._waiting[to]
                    self._say(to, reply)

    def _is_about(self, asked: str, name: str) -> bool:
        leader = resolved(self._site.led, asked)
        return isinstance(leader, TopicLeader) and leader.topic.name == name

    def topics_changed(self, now: int) -> None:
        """Whatever was under way with a topic that is gone is gone as well."""
        topics = self._site.led.topics
        self._is_stirred = True
        for slot in [slot for slot in self._carriers if slot[0] not in topics]:
            del self._carriers[slot]
            for places in (self._busy, self._line, self._paused):
                places.pop(slot, None)
        for redrive_id, run in [*self._redrives.items()]:
            if run.topic not in topics or Side.LEDGER not in topics[run.topic].topic.sides:
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

    def news(self, now: int, partition: Partition) -> None:
        """There may be more to read in a stream; what is dead lies where it was read already."""

    def clock_jumped(self, now: int) -> None:
        """The wall clock was moved; nothing here waits for it."""

    def forget_found(self) -> None:
        """Let go of letters that are held in memory."""
        for slot in [*self._busy]:
            self._carriers[slot].forget_found()
        for redrive in self._redrives.values():
            redrive.forget_found()

    # --- going on

    def settle(self, now: int) -> None:
        """Take up whatever may go on."""
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
        self._finish_browsing()
        if self._is_stirred:
            self._is_stirred = False
            self._try_waiting(now)

    def _stir(self, slot: Slot) -> None:
        """A ledger may be another than it was; mostly it has nothing for this room."""
        book = self._yard.ledgers.books.get(slot)
        if book is None:
            return
        carrier = self._carriers.get(slot)
        if carrier is None:
            carrier = self._carriers[slot] = Carrier(slot, self._yard)
        elif not self._redrives and book.is_ready and carrier.is_at_rest(book):
            return
        self._yard.look_at(slot)
        self._yard.look_at((slot[0], 0))
        self._tidy(slot)
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
            self._line[slot] = None
        for redrive in [run for run in self._redrives.values() if run.topic == slot[0]]:
            self._step_redrive(now, redrive)

    def _note(self, slot: Slot, carrier: Carrier) -> None:
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
        for to, browsing in [*self._browsing.items()]:
            if browsing.answer is not None:
                del self._browsing[to]
                self._say(to, browsing.answer)

    def _try_waiting(self, now: int) -> None:
        """Answer those requests that can be answered by now."""
        waiting, self._waiting = self._waiting, {}
        for to, request in waiting.items():
            if not self._answers[type(request)](now, to, request):
                self._waiting[to] = request

    # --- time

    def deadline(self) -> int | None:
        """When `wake` has something to do; at once while a ledger is to be written, which is the work queues' to do."""
        if self._yard.has_touched or self._yard.looked_at:
            return 0
        times = [self._carriers[slot].until for slot in self._paused]
        times += [redrive.due for redrive in self._redrives.values() if redrive.due]
        return min(times, default=None)

    def wake(self, now: int) -> None:
        """Go on with whatever has waited long enough."""
        for slot in self._paused:
            if self._carriers[slot].until <= now:
                self._yard.look_at(slot)
        for redrive in self._redrives.values():
            if redrive.due and redrive.due <= now:
                self._yard.look_at(redrive.home)

    def check(self) -> None:
        """Assert the invariants."""
        assert len(self._busy) <= _BUSY_MAX + _RUNNING_MAX
        for slot, carrier in self._carriers.items():
            carrier.check()
            assert carrier.slot == slot
        for redrive in self._redrives.values():
            redrive.check()


def _started(job: Job) -> tuple[int, str]:
    return job.started_ms, job.redrive_id
