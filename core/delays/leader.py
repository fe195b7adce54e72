"""All delayed messages of a node: a calendar a partition, who asked, and when each wants a turn.

A partition has a calendar once it has a schedule stream, which a topic gets when the first message is published to it
that is to be kept back; until the stream is open, such a publish waits here. How messages are kept and moved is the
calendars' affair; here requests find their calendar and answers theirs, and a turn is shared out among them.

Times are those of the wall. The alarms of calendars are monotonic; when the wall clock is found to run otherwise than
when they were set, they are set anew. So a jump forward makes things due at once, and a jump back keeps them back.

Among several nodes each has the calendars of the partitions that it leads. A page is put together from those of all
nodes; whoever asks about one message is sent to the node that leads its partition.

Invariants: a request is answered once, or forgotten; a calendar that has something to do in the next turn is in
`_resumed`, and one that has at some time has an alarm.
"""

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import islice

from attrs import define, field

from goqueue.core.cluster.plan import deleted
from goqueue.core.delays.calendar import Calendar, Standing
from goqueue.core.delays.errands import TURN_MESSAGES, Budget, Errands, Slot
from goqueue.core.delays.moving import Delivered
from goqueue.core.delays.pages import Pages
from goqueue.core.delays.publishing import HeldBack, due_at
from goqueue.core.errors import BatchError
from goqueue.core.partition.partition import Partition
from goqueue.core.records.batch import validate
from goqueue.core.records.record import iterate
from goqueue.core.records.varint import Readable
from goqueue.core.replicas.elsewhere import elsewhere, leaders_elsewhere
from goqueue.core.requests.call import Call
from goqueue.core.requests.delays import (
    CancelDelayed,
    DelayedMessage,
    DelayedMessages,
    DelaysMeasured,
    GetDelayed,
    ListDelayed,
    MeasureDelays,
    RescheduleDelayed,
)
from goqueue.core.requests.histogram import Histogram
from goqueue.core.requests.messages import Fetch, Fetched, Published, PublishReply, Side
from goqueue.core.requests.metadata import AddSide
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply
from goqueue.core.requests.row import Request, ServiceName
from goqueue.core.services.internal_requests import InternalRequests
from goqueue.core.services.service import ServiceContext
from goqueue.core.timers.alarms import Alarms

_WAITING_MAX = 1_000
PAGE_MAX = 1_000

Single = GetDelayed | CancelDelayed | RescheduleDelayed


@define(eq=False)
class DelayLeader:
    """The room of delays."""

    _site: ServiceContext
    wishes: InternalRequests = field(factory=lambda: InternalRequests(ServiceName.DELAYS), init=False)
    _calendars: dict[Slot, Calendar] = field(factory=dict, init=False)
    # The partition of the calendar that made each internal request.
    _owners: dict[int, Slot] = field(factory=dict, init=False)
    # Requests about single messages of which it is not known yet if they are pending.
    _waiting: dict[Call, Single] = field(factory=dict, init=False)
    # Messages being read, by the number of the read; whom for.
    _lookups: dict[int, tuple[Call, GetDelayed]] = field(factory=dict, init=False)
    # What waits for a topic's schedule, whose making is asked for by a number; and what was passed on since.
    _publishes: dict[str, list[HeldBack]] = field(factory=dict, init=False)
    _making: dict[int, str] = field(factory=dict, init=False)
    # Topics that were given a schedule by another node's word, of which this one has not heard yet.
    _announced: dict[str, None] = field(factory=dict, init=False)
    _passed_on: dict[int, HeldBack] = field(factory=dict, init=False)
    _pages: Pages = field(init=False)
    _delivered: Delivered = field(factory=Delivered, init=False)
    _cancelled: int = field(default=0, init=False)
    _rescheduled: int = field(default=0, init=False)
    _budget: Budget = field(factory=Budget, init=False)
    # Calendars that want a turn in this turn, in the next, or at some time.
    _busy: dict[Slot, None] = field(factory=dict, init=False)
    _resumed: dict[Slot, None] = field(factory=dict, init=False)
    _alarms: Alarms[Slot] = field(factory=Alarms, init=False)
    # What the wall clock said of the monotonic clock's zero when the alarms were set.
    _origin_ms: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._pages = Pages(self.wishes)

    # --- requests

    def ask(self, now: int, call: Call, request: Request) -> None:
        """Take a request; its answer is sent once it holds."""
        if isinstance(request, MeasureDelays):
            self._site.send(call, self._measure())
        elif isinstance(request, ListDelayed):
            self._list(call, request)
        else:
            assert isinstance(request, Single)
            self._ask_about(now, call, request)

    def _ask_about(self, now: int, call: Call, request: Single) -> None:
        calendar = self._calendar(request)
        if isinstance(calendar, Refusal):
            self._site.send(call, calendar)
        elif calendar.standing is Standing.CLOSED:
            self._site.send(call, calendar.refusal())
        elif calendar.is_caught_up(request.offset):
            self._answer(now, call, request, calendar)
        elif len(self._waiting) < _WAITING_MAX:
            self._waiting[call] = request
        else:
            message = "too many requests wait for delayed messages to be read"
            self._site.send(call, Refusal(Code.UNAVAILABLE, message, retry_after_ms=200))

    def _calendar(self, request: Single) -> Calendar | Refusal:
        topic, number = request.topic, request.partition
        leader = self._site.led.topic(topic)
        if isinstance(leader, Refusal):
            return leader
        if not 0 <= number < leader.topic.partitions:
            refusal = leader.partition(number)
            assert isinstance(refusal, Refusal)
            return refusal
        calendar = self._calendars.get((topic, number))
        if calendar is not None:
            return calendar
        if elsewhere(self._site.led, topic, number) is not None:
            return self._elsewhere(topic, number)
        if Side.SCHEDULE in leader.topic.sides:
            message = f"the delayed messages of partition {number} of {topic} are being opened"
            return Refusal(Code.UNAVAILABLE, message, retry_after_ms=500)
        return _not_found(request)

    def _elsewhere(self, topic: str, number: int) -> Refusal:
        """What whoever asks here is told of a partition that another node leads."""
        led = self._site.led.partition(topic, number)
        if isinstance(led, Refusal):
            return led
        message = f"partition {number} of {topic} is about to be led by another node"
        return Refusal(Code.UNAVAILABLE, message, retry_after_ms=200)

    def _answer(self, now: int, call: Call, request: Single, calendar: Calendar) -> None:
        """Answer a request about a message that is pending, or is not."""
        wall_ms = self._site.clock.wall_ms(now)
        if request.offset not in calendar.schedule:
            self._site.send(call, _not_found(request))
        elif isinstance(request, GetDelayed):
            fetch = Fetch(request.topic, request.partition, request.offset, 1, side=Side.SCHEDULE)
            self._lookups[self.wishes.ask(fetch)] = call, request
        elif isinstance(request, CancelDelayed):
            calendar.cancel(wall_ms, call, request.offset)
            self._cancelled += 1
        else:
            due_ms = due_at(wall_ms, request.delay_ms, request.due_ms)
            if isinstance(due_ms, Refusal):
                self._site.send(call, due_ms)
                return
            calendar.reschedule(wall_ms, call, request.offset, max(due_ms, wall_ms))
            self._rescheduled += 1
        self._busy[calendar.errands.slot] = None

    def _list(self, call: Call, request: ListDelayed) -> None:
        own = self._page(request)
        if isinstance(own, Refusal) or call.is_part:
            self._site.send(call, own)
            return
        led = self._site.led
        slots = [(request.topic, number) for number in range(led.topics[request.topic].topic.partitions)]
        nodes = leaders_elsewhere(led, slots)
        if nodes:
            self._pages.begin(call, request, own, nodes)
        else:
            self._site.send(call, own)

    def _page(self, request: ListDelayed) -> DelayedMessages | Refusal:
        """The first messages of the partitions here."""
        leader = self._site.led.topic(request.topic)
        if isinstance(leader, Refusal):
            return leader
        if not 1 <= request.limit <= PAGE_MAX:
            return Refusal(Code.INVALID, f"expected a limit of 1 to {PAGE_MAX}, found {request.limit}", "limit")
        pages = []
        count = 0
        for number in range(leader.topic.partitions):
            calendar = self._calendars.get((request.topic, number))
            if calendar is None:
                continue
            if calendar.standing is not Standing.READY:
                return calendar.refusal()
            count += len(calendar.schedule)
            pages.append(_pending(calendar, request.after))
        found = list(islice(merge(*pages), request.limit + 1))
        messages = [
            self._calendars[request.topic, number].message(offset) for _, number, offset in found[: request.limit]
        ]
        return DelayedMessages(messages, count, found[request.limit - 1] if len(found) > request.limit else None)

    def _measure(self) -> DelaysMeasured:
        pending: dict[str, int] = {}
        for (topic, _), calendar in self._calendars.items():
            pending[topic] = pending.get(topic, 0) + len(calendar.schedule)
        delivered = self._delivered
        return DelaysMeasured(
            pending,
            delivered.count,
            self._cancelled,
            self._rescheduled,
            delivered.delay_ms,
            Histogram([*delivered.lateness.counts], delivered.lateness.sum_ns),
            sum(pending.values()),
        )

    def forget(self, call: Call) -> None:
        """Nobody waits for the answer to `call` any more."""
        self._waiting.pop(call, None)
        self._pages.forget(call)
        for number in [number for number, (asker, _) in self._lookups.items() if asker == call]:
            del self._lookups[number]

    def forget_found(self) -> None:
        """Let go of messages that were read ahead of their time."""
        for slot, calendar in self._calendars.items():
            calendar.forget_found()
            self._busy[slot] = None

    # --- publishes

    def is_making(self, topic: str) -> bool:
        """Whether the schedule of a topic is being made."""
        return topic in self._publishes

    def publish(self, topic: str, held: HeldBack) -> None:
        """Have messages wait for the schedule of their topic, which is made for them."""
        waiting = self._publishes.get(topic)
        if held.publishing.call.service is ServiceName.DELAYS:
            # They were here before: the schedule was made, and is gone again.
            self._refuse(held, deleted(topic))
        elif waiting is None:
            self._publishes[topic] = [held]
            self._making[self.wishes.ask(AddSide(topic, Side.SCHEDULE))] = topic
        elif len(waiting) < _WAITING_MAX:
            waiting.append(held)
        else:
            message = f"too many messages wait for the schedule of {topic}"
            self._refuse(held, Refusal(Code.UNAVAILABLE, message, retry_after_ms=200))

    def _made(self, topic: str, reply: Reply) -> None:
        """A topic has a schedule, or cannot have one, or is about to be known to have one."""
        leader = self._site.led.topics.get(topic)
        if not isinstance(reply, Refusal) and leader is not None and Side.SCHEDULE not in leader.topic.sides:
            self._announced[topic] = None
            return
        self._announced.pop(topic, None)
        for held in self._publishes.pop(topic):
            if isinstance(reply, Refusal):
                self._refuse(held, reply.undone())
            else:
                self._passed_on[self.wishes.ask(held.request)] = held

    def _refuse(self, held: HeldBack, refusal: Refusal) -> None:
        self._published(held, [refusal] * len(held.places))

    def _published(self, held: HeldBack, results: Sequence[Published | Refusal]) -> None:
        """The answers about messages of a publish; it is answered itself when no other is missing."""
        publishing = held.publishing
        for at, result in zip(held.places, results, strict=True):
            if publishing.answer(at, result):
                self._site.send(publishing.call, publishing.reply())

    # --- what the node reports

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """Take the answer to an internal request."""
        slot = self._owners.pop(number, None)
        if slot is not None:
            calendar = self._calendars.get(slot)
            if calendar is not None:
                calendar.answered(now, self._site.clock.wall_ms(now), number, reply, self._budget)
                self._busy[slot] = None
        elif number in self._making:
            self._made(self._making.pop(number), reply)
        elif number in self._passed_on:
            held = self._passed_on.pop(number)
            if isinstance(reply, PublishReply):
                self._published(held, reply.results)
            else:
                assert isinstance(reply, Refusal)
                self._refuse(held, reply)
        elif self._pages.is_of(number):
            self._pages.answered(number, reply)
        elif number in self._lookups:
            self._looked_up(*self._lookups.pop(number), reply)

    def _looked_up(self, call: Call, request: GetDelayed, reply: Reply) -> None:
        calendar = self._calendar(request)
        if isinstance(calendar, Refusal):
            self._site.send(call, calendar)
        elif calendar.standing is not Standing.READY:
            self._site.send(call, calendar.refusal())
        elif request.offset not in calendar.schedule:
            # It went while it was read.
            self._site.send(call, _not_found(request))
        elif isinstance(reply, Refusal):
            self._site.send(call, reply)
        else:
            assert isinstance(reply, Fetched)
            self._site.send(call, _shown(calendar.message(request.offset), reply.batches))

    def topics_changed(self, now: int) -> None:
        """There are other topics than before, or with other partitions or settings."""
        led = self._site.led
        for slot, calendar in list(self._calendars.items()):
            stream = calendar.stream
            leader = led.topics.get(slot[0])
            is_there = leader is not None and Side.SCHEDULE in leader.topic.sides
            if not is_there or elsewhere(led, *slot) is not None or (stream is not None and not led.is_led(stream)):
                self._drop(slot, calendar)
        for topic in [*self._announced]:
            self._made(topic, None)
        self._ask_again(now)

    def _drop(self, slot: Slot, calendar: Calendar) -> None:
        """A calendar is another node's, or nobody's."""
        del self._calendars[slot]
        self._alarms.drop(slot)
        self._busy.pop(slot, None)
        self._resumed.pop(slot, None)
        calendar.close("the partition has another leader")
        for call, reply in calendar.replies:
            self._site.send(call, reply if slot[0] in self._site.led.topics else deleted(slot[0]))

    def opened(self, now: int, partition: Partition) -> None:
        """A stream can be used: for the first time, or again and maybe with other contents."""
        slot = partition.topic, partition.number
        calendar = self._calendars.get(slot)
        if partition.side is Side.SCHEDULE:
            if calendar is not None and calendar.stream not in (None, partition):
                self._drop(slot, calendar)
                calendar = None
            if calendar is None:
                calendar = self._make(slot)
            calendar.opened(partition)
        elif partition.side is Side.DATA and calendar is not None:
            calendar.opened(partition)
        else:
            return
        self._busy[slot] = None

    def _make(self, slot: Slot) -> Calendar:
        errands = Errands(slot, self.wishes, self._owners)
        calendar = self._calendars[slot] = Calendar(errands, self._site.led.thresholds, self._delivered)
        leader = self._site.led.topics.get(slot[0])
        # Also while this node may not act as a leader: nobody says again that the stream is open.
        data_stream = None if leader is None else leader.partition(slot[1])
        if isinstance(data_stream, Partition) and data_stream.log.unsound is None and data_stream.is_settled:
            calendar.data_stream = data_stream
        return calendar

    def failed(self, now: int, stream: str, why: str) -> None:
        """A stream, which maybe never was open, cannot be used until it is opened."""
        _, topic, number, *side = stream.split("/")
        slot = topic, int(number)
        if elsewhere(self._site.led, *slot) is not None:
            if slot in self._calendars:
                self._drop(slot, self._calendars[slot])
            return
        if side == [Side.SCHEDULE] and slot not in self._calendars:
            self._make(slot)
        calendar = self._calendars.get(slot)
        if calendar is not None and (not side or side == [Side.SCHEDULE]):
            calendar.failed(Side(*side) if side else Side.DATA, why)
            self._busy[slot] = None

    def news(self, now: int, partition: Partition) -> bool:
        """There may be more to read in a stream, or more of it is durable."""
        if partition.side is Side.LEDGER:
            return False
        slot = partition.topic, partition.number
        calendar = self._calendars.get(slot)
        if calendar is None or (partition.side is Side.DATA and not calendar.has_moves):
            return False
        self._busy[slot] = None
        return True

    def regained(self, now: int) -> None:
        """This node may lead again. The service repeats at once the requests that were refused meanwhile."""
        for slot, calendar in self._calendars.items():
            calendar.renew(now)
            self._busy[slot] = None

    # --- time

    def deadline(self) -> int | None:
        """When `wake` has something to do."""
        return 0 if self._resumed else self._alarms.deadline()

    def wake(self, now: int) -> None:
        """Begin a turn."""
        self._budget.left = TURN_MESSAGES
        self._busy.update(self._resumed)
        self._resumed.clear()
        self._busy.update(dict.fromkeys(self._alarms.due(now)))

    def clock_jumped(self, now: int) -> None:
        """The wall clock was moved by more than a little; `settle` sees to that, as to any other difference."""

    def settle(self, now: int) -> None:
        """Give a turn to every calendar that has something to do."""
        origin_ms = self._site.clock.wall_ms(0)
        if origin_ms != self._origin_ms:
            self._origin_ms = origin_ms
            self._busy.update(dict.fromkeys(self._calendars))
        for call, page in self._pages.take():
            self._site.send(call, page)
        if not self._busy:
            return
        wall_ms = self._site.clock.wall_ms(now)
        busy, self._busy = self._busy, {}
        for slot in busy:
            calendar = self._calendars[slot]
            calendar.turn(now, wall_ms, self._budget)
            replies, calendar.replies = calendar.replies, []
            for call, reply in replies:
                self._site.send(call, reply)
            if calendar.is_unfinished:
                self._resumed[slot] = None
            self._arm(slot, calendar)
        if self._waiting:
            self._ask_again(now)

    def _arm(self, slot: Slot, calendar: Calendar) -> None:
        due_ms = calendar.due_ms()
        if due_ms is not None:
            self._alarms.set(slot, max((due_ms - self._origin_ms) * 1_000_000, 0))
        elif calendar.retry_at:
            self._alarms.set(slot, calendar.retry_at)
        else:
            self._alarms.drop(slot)

    def _ask_again(self, now: int) -> None:
        waiting, self._waiting = self._waiting, {}
        for call, request in waiting.items():
            self._ask_about(now, call, request)

    def check(self) -> None:
        """Assert the invariants."""
        self._alarms.check()
        assert set(self._publishes) == {*self._making.values(), *self._announced}
        for slot, calendar in self._calendars.items():
            calendar.check()
            assert not calendar.is_unfinished or slot in self._resumed or slot in self._busy
            assert calendar.due_ms() is None or slot in self._alarms or slot in self._busy


def _pending(calendar: Calendar, after: tuple[int, int, int] | None) -> Iterator[tuple[int, int, int]]:
    """Pending messages of a partition behind a place in the order of all: by time, partition, offset."""
    number = calendar.errands.slot[1]
    if after is None:
        items = calendar.schedule.since(0, 0)
    else:
        due_ms, last_number, offset = after
        if number < last_number:
            # All of that time came before.
            due_ms, offset = due_ms + 1, 0
        items = calendar.schedule.since(due_ms, offset + 1 if number == last_number else 0)
    return ((due_ms, number, offset) for due_ms, offset in items)


def _shown(message: DelayedMessage, batches: Readable) -> DelayedMessage | Refusal:
    """A message with what is in it."""
    try:
        size = validate(batches, compacted=True).size
        [record] = [one for one in iterate(batches[:size]) if one.offset == message.offset]
    except BatchError as error:
        return Refusal(Code.DAMAGED, str(error))
    message.key = None if record.key is None else bytes(record.key)
    message.value = None if record.value is None else bytes(record.value)
    message.headers = record.headers
    return message


def _not_found(request: Single) -> Refusal:
    message = f"no message waits at offset {request.offset} of partition {request.partition} of {request.topic}"
    return Refusal(Code.DELAYED_NOT_FOUND, f"{message}: it was delivered or cancelled, or never was there", "offset")
