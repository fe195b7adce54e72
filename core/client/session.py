"""A producer without its network: records in, parcels out in the order in which they must arrive, outcomes back.

The driver adds records (`open`, `add`), asks for what to send to each address (`take`), and reports answers
(`acknowledged`, `refused`), lost connections (`lost`) and what it learned when asked for it (`wants_identity`,
`misplaced`). Whatever waits for time waits in queues of one fixed span each, so the earliest is always in front.

Not here: which partition (`routing.py`), the order within one (`pipeline.py`), the numbers of an idempotent producer
(`numbering.py`), connections. Metadata is asked for by the driver, whose answer is `route`.

Invariants: each parcel is settled exactly once; no longer than the delivery timeout after it was opened; `buffered` is
the size of all that is not settled. A parcel that is not settled and whose answer is not awaited is in a pipeline that
is ready, halted or misplaced, waits for room in flight behind others, or is not due. A parcel that fails says that
nothing was stored only where no broker can have stored it.
"""

from collections import deque
from random import Random
from typing import Any

from goqueue.core.client.failure import DELIVERY_TIMEOUT, MISPLACED, PASSING, Failure
from goqueue.core.client.numbering import Numbering
from goqueue.core.client.pipeline import IN_FLIGHT_MAX, Pipeline
from goqueue.core.client.place import Place
from goqueue.core.client.record_batch import RecordBatch
from goqueue.core.client.routing import Layout, Route
from goqueue.core.client.terms import Terms
from goqueue.core.errors import BatchError
from goqueue.core.records.batch import NO_EPOCH, NO_PRODUCER, NO_SEQUENCE, Lane, read_header
from goqueue.core.records.build import Entry
from goqueue.core.requests.messages import Due
from goqueue.core.requests.refusals import Code, Outcome
from goqueue.core.timers.backoff import Backoff

# A parcel grows past `batch_bytes` while its partition has no room in flight, up to this many times as much.
GROWTH_MAX = 16
# What is kept back by the broker is read again message by message, and grows no further than this.
LATER_BYTES_MAX = 48 << 10
# How much one `take` hands out at most, so that a slow connection holds few parcels.
TAKE_BYTES_MAX = 1 << 20
# So many refusals in a row, and it is looked who leads.
_REFUSALS_MAX = 3

_FOREVER = 1 << 62


class Session:
    """See the module."""

    def __init__(self, terms: Terms, random: Random, owner: Any = None) -> None:  # noqa: ANN401 - the driver's choice
        self.terms = terms
        self._owner = owner
        self.buffered = 0
        # Set once nothing more can be published.
        self.failure: Failure | None = None
        # For the driver to look at and to clear: parcels settled, addresses whose connection must go.
        self.settled: list[RecordBatch] = []
        self.resets: list[str] = []
        # Topics of which the driver is to find out where and how they are.
        self.misplaced: dict[str, None] = {}
        self.routes: dict[str, Route] = {}
        self._random = random
        self._limit = IN_FLIGHT_MAX if terms.is_idempotent else 1
        self._numbers = terms.is_idempotent and not terms.is_numbered
        self._due_bytes = terms.batch_bytes if terms.linger_ns else 0
        self._backoff = Backoff(random, terms.backoff_first_ns, terms.backoff_longest_ns)
        self._places: dict[str, Place] = {}
        self._lingering: deque[RecordBatch] = deque()
        self._aging: deque[RecordBatch] = deque()
        self._halted: dict[Pipeline, None] = {}
        self._numbering = Numbering()
        self._last_request = 0

    # --- what comes in from users

    def open(self, now: int, pipeline: Pipeline, lane: Lane, due: Due = Due.NOW) -> RecordBatch:
        """A new parcel for the next record of this lane; the one before it is due."""
        before = pipeline.open[lane]
        if before is not None and not before.is_due:
            self._due(before)
        most = LATER_BYTES_MAX if pipeline.is_later else pipeline.message_bytes_max
        most = min(self.terms.batch_bytes * GROWTH_MAX, pipeline.message_bytes_max, most)
        parcel = RecordBatch(self._owner, pipeline, lane, now, most, due=due)
        pipeline.open[lane] = parcel
        self._aging.append(parcel)
        self._lingering.append(parcel)
        self.buffered += parcel.size
        return parcel

    def add(self, parcel: RecordBatch, entry: Entry, size: int) -> int:
        """Take a record of at most `size` bytes; its place in the parcel."""
        entries = parcel.entries
        entries.append(entry)
        parcel.size = gathered = parcel.size + size
        self.buffered += size
        if gathered >= self._due_bytes and not parcel.is_due:
            self._due(parcel)
        return len(entries) - 1

    def hand_in(self, now: int, pipeline: Pipeline, content: bytearray) -> RecordBatch:
        """Take a batch that is encoded and numbered; it is due at once."""
        assert self.terms.is_numbered
        header = read_header(content)
        parcel = RecordBatch(self._owner, pipeline, header.lane, now, len(content))
        parcel.hold(content, header.record_count, header.base_sequence)
        self._aging.append(parcel)
        self.buffered += parcel.size
        pipeline.launch(parcel)
        self._ready(pipeline)
        return parcel

    def hurry(self, parcel: RecordBatch) -> None:
        """Let this parcel not linger."""
        if not parcel.is_due and not parcel.is_settled:
            self._due(parcel)

    def flush(self) -> list[RecordBatch]:
        """Let nothing linger; everything that has no outcome."""
        for parcel in self._lingering:
            self.hurry(parcel)
        self._lingering.clear()
        return [parcel for parcel in self._aging if not parcel.is_settled]

    def abandon(self, failure: Failure) -> None:
        """Nothing more is sent or taken: all that has no outcome fails."""
        self.failure = failure
        for parcel in list(self._aging):
            if not parcel.is_settled:
                self._give_up(parcel, failure)

    def _due(self, parcel: RecordBatch) -> None:
        parcel.is_due = True
        pipeline = parcel.pipeline
        pipeline.queue.append(parcel)
        pipeline.route.turn(pipeline)
        self._ready(pipeline)

    # --- what the driver found out

    def identify(self, producer_id: int, epoch: int) -> None:
        """The broker gave this producer a number."""
        for pipeline in self._numbering.identified(producer_id, epoch):
            self._ready(pipeline)

    @property
    def wants_identity(self) -> bool:
        """Whether something cannot be sent before `identify`."""
        return self._numbering.is_wanted

    def route(self, now: int, layout: Layout) -> None:
        """Where a topic is, newly found out."""
        self.misplaced.pop(layout.topic, None)
        route = self.routes.get(layout.topic)
        if route is None:
            self.routes[layout.topic] = Route(layout, self._random, self._limit)
            return
        for pipeline in route.revise(layout):
            message = f"topic {layout.topic} has partitions 0 to {len(layout.leaders) - 1}, not {pipeline.partition}"
            self._drop(pipeline, Failure(str(Code.PARTITION_NOT_FOUND), message, "partition"))
        for pipeline in route.all_pipelines():
            self._move(pipeline, layout.leaders[pipeline.partition])
            pipeline.is_misplaced = False
            self._ready(pipeline)

    def unroute(self, topic: str, failure: Failure) -> None:
        """A topic cannot be published to: all that waits for it fails, and it is forgotten."""
        self.misplaced.pop(topic, None)
        route = self.routes.pop(topic, None)
        if route is not None:
            for pipeline in route.all_pipelines():
                self._drop(pipeline, failure)

    def _drop(self, pipeline: Pipeline, failure: Failure) -> None:
        for parcel in pipeline.parcels():
            self._give_up(parcel, failure)
        self._halted.pop(pipeline, None)
        self._numbering.forget(pipeline)

    def _move(self, pipeline: Pipeline, address: str) -> None:
        """Send to another address at once, whatever was to be waited for at the one before."""
        if address != pipeline.address:
            for parcel in pipeline.flight:
                if parcel.request_id:
                    self._withdraw(parcel)
            self._halted.pop(pipeline, None)
            pipeline.go_to(address)

    # --- what the broker says

    def acknowledged(self, now: int, address: str, request_id: int, offset: int, latest_ms: int = -1) -> None:
        """A parcel is where it belongs; one that was given up meanwhile is of no interest."""
        parcel = self._answered(address, request_id)
        if parcel is None:
            return
        pipeline = parcel.pipeline
        if not pipeline.is_halted:
            pipeline.attempts = 0
        parcel.tell_time(latest_ms)
        self._settle(parcel, offset, None)
        self._continue(pipeline)

    def refused(self, now: int, address: str, request_id: int, failure: Failure) -> None:
        """A parcel was not taken: try again if that can help, or tell who waits for it."""
        parcel = self._answered(address, request_id)
        if parcel is None:
            return
        pipeline = parcel.pipeline
        code = failure.code
        parcel.is_doubtful = parcel.is_doubtful or failure.what_happened is Outcome.UNKNOWN
        is_first, is_numbered = parcel is pipeline.flight[0], self.terms.is_numbered
        # A leader that was replaced may say what is not so any more: it is looked who leads before that is believed.
        is_first_news = self.terms.is_idempotent and pipeline.attempts < _REFUSALS_MAX
        if code == Code.OUT_OF_ORDER and self.terms.is_idempotent and not (is_first and is_numbered):
            pipeline.renumbers = pipeline.renumbers or is_first
            self._halt(now, pipeline, failure)
        elif code in MISPLACED or (code == Code.FENCED and is_first_news):
            self._misplace(pipeline)
            self._halt(now, pipeline, failure)
        elif code in PASSING:
            self._halt(now, pipeline, failure)
            if pipeline.attempts >= _REFUSALS_MAX:
                self.misplaced[pipeline.topic] = None
        elif code == Code.FENCED and self.terms.is_idempotent:
            self.abandon(failure)
        elif code == Code.DUPLICATE and self.terms.is_idempotent:
            # It is there, and nobody remembers at which offset.
            self._settle(parcel, -1, None)
        else:
            if code == Code.TOO_LARGE:
                # What is known of the topic is out of date; once it is not, users hear of it before they are taken in.
                self.misplaced[pipeline.topic] = None
            if code == Code.TOO_LARGE and parcel.count > 1 and not is_numbered:
                self._halve(parcel)
            else:
                self._settle(parcel, -1, failure)
        self._continue(pipeline)

    def _misplace(self, pipeline: Pipeline) -> None:
        """Hold back the batches of a partition until the client has found its leader."""
        pipeline.is_misplaced = True
        self.misplaced[pipeline.topic] = None

    def lost(self, now: int, address: str) -> None:
        """What was sent to this address and not answered may have arrived or not."""
        place = self._place(address)
        awaiting, place.awaiting = list(place.awaiting.values()), {}
        for parcel in awaiting:
            parcel.is_doubtful = True
            parcel.pipeline.withdraw(parcel)
            self._ready(parcel.pipeline)
        self._look_again(address)

    def _look_again(self, address: str) -> None:
        """Somebody else may lead what an address was thought to lead."""
        place = self._place(address)
        if address:
            pipelines = [*(parcel.pipeline for parcel in place.awaiting.values()), *place.ready]
            for pipeline in pipelines:
                if pipeline.address == address:
                    self.misplaced[pipeline.topic] = None

    def _halve(self, parcel: RecordBatch) -> None:
        """Send half of the records at a time, in the same place and under the same numbers.

        What is in flight behind them is refused as out of order, and is sent again behind them.
        """
        front, back = parcel.halve()
        parcel.pipeline.replace(parcel, (front, back))
        place = self._aging.index(parcel)
        self._aging[place] = front
        self._aging.insert(place + 1, back)
        self.buffered += front.size + back.size - parcel.size

    def _answered(self, address: str, request_id: int) -> RecordBatch | None:
        parcel = self._place(address).awaiting.pop(request_id, None)
        if parcel is not None:
            parcel.pipeline.withdraw(parcel)
        return parcel

    def _withdraw(self, parcel: RecordBatch) -> None:
        del self._place(parcel.pipeline.address).awaiting[parcel.request_id]
        parcel.is_doubtful = True
        parcel.pipeline.withdraw(parcel)

    def _halt(self, now: int, pipeline: Pipeline, failure: Failure) -> None:
        if not pipeline.is_halted:
            pipeline.attempts += 1
            self._halted[pipeline] = None
        pipeline.halt_until(now, failure, self._backoff.delay_ns(pipeline.attempts))

    def _continue(self, pipeline: Pipeline) -> None:
        if not pipeline.is_halted:
            self._ready(pipeline)

    # --- outcomes

    def _settle(self, parcel: RecordBatch, offset: int, failure: Failure | None) -> None:
        if failure is not None:
            failure = parcel.as_a_whole(failure)
            if failure.what_happened is Outcome.NONE:
                parcel.pipeline.leave_gap(parcel)
        parcel.pipeline.remove(parcel)
        self.buffered -= parcel.size
        parcel.settle(offset, failure)
        self.settled.append(parcel)
        whole = parcel.whole
        while whole is not None and whole.halves is not None and all(half.is_settled for half in whole.halves):
            whole.settle(-1, None)
            self.settled.append(whole)
            whole = whole.whole
        aging = self._aging
        while aging and aging[0].is_settled:
            aging.popleft()

    def _give_up(self, parcel: RecordBatch, failure: Failure) -> None:
        if parcel.request_id:
            self._withdraw(parcel)
        self._settle(parcel, -1, failure)

    # --- time

    def deadline(self) -> int | None:
        """When `wake` wants to be called; None while nothing depends on time."""
        self._prune_lingering()
        due = _FOREVER
        if self._lingering:
            due = self._lingering[0].opened + self.terms.linger_ns
        if self._aging:
            due = min(due, self._aging[0].opened + self.terms.delivery_timeout_ns)
        for pipeline in self._halted:
            if not pipeline.awaiting and not pipeline.is_misplaced:
                due = min(due, pipeline.halt)
        for place in self._places.values():
            oldest, look_at = place.oldest(), place.look_at()
            if oldest is not None and look_at is not None:
                due = min(due, oldest.sent + self.terms.request_timeout_ns, look_at)
        return None if due == _FOREVER else due

    def wake(self, now: int) -> None:
        """Do what time alone brings about."""
        self._prune_lingering()
        lingered = now - self.terms.linger_ns
        while self._lingering and self._lingering[0].opened <= lingered:
            self._due(self._lingering.popleft())
            self._prune_lingering()
        self._expire_requests(now)
        self._look_for_late(now)
        self._expire_parcels(now)
        # After those: a connection that is given up leaves nothing for a pipeline to wait for.
        for pipeline in list(self._halted):
            if pipeline.halt <= now and not pipeline.awaiting and not pipeline.is_misplaced:
                self._resume(pipeline)

    def _prune_lingering(self) -> None:
        lingering = self._lingering
        while lingering and (lingering[0].is_due or lingering[0].is_settled):
            lingering.popleft()

    def _resume(self, pipeline: Pipeline) -> None:
        del self._halted[pipeline]
        pipeline.is_halted = False
        self._ready(pipeline)

    def _expire_requests(self, now: int) -> None:
        unanswered = now - self.terms.request_timeout_ns
        for address, place in self._places.items():
            oldest = place.oldest()
            if oldest is not None and oldest.sent <= unanswered:
                self._reset(now, address)

    def _look_for_late(self, now: int) -> None:
        """Ask who leads what is not answered for long."""
        for place in self._places.values():
            look_at = place.look_at()
            if look_at is not None and look_at <= now:
                place.looked = now
                for parcel in place.awaiting.values():
                    self.misplaced[parcel.pipeline.topic] = None

    def _expire_parcels(self, now: int) -> None:
        expired = now - self.terms.delivery_timeout_ns
        while self._aging and self._aging[0].opened <= expired:
            parcel = self._aging[0]
            pipeline = parcel.pipeline
            where = f"partition {pipeline.partition} of {pipeline.topic}"
            said = f"no answer from {where} within {self.terms.delivery_timeout_ns / 1e9:g} s"
            if parcel.request_id:
                # Without it the pipeline would wait for an answer about something that is over.
                self._reset(now, pipeline.address)
            if parcel.may_be_stored:
                said += "; the messages may have arrived or not"
            self._settle(parcel, -1, Failure(DELIVERY_TIMEOUT, said))

    def _reset(self, now: int, address: str) -> None:
        self.resets.append(address)
        self.lost(now, address)

    # --- what goes out

    def addresses(self) -> list[str]:
        """Where there may be something to send to."""
        return [address for address, place in self._places.items() if place.ready]

    def take(self, now: int, address: str) -> list[RecordBatch]:
        """What to send there now, in this order; each has its request's number and its bytes."""
        taken: list[RecordBatch] = []
        place = self._place(address)
        size, ready = 0, place.ready
        while ready and size < TAKE_BYTES_MAX:
            pipeline = ready[0]
            if not pipeline.is_ready or pipeline.address != address:
                ready.popleft()
                continue
            parcel = self._next(pipeline)
            if parcel is None:
                ready.popleft()
                pipeline.is_ready = False
                continue
            self._last_request += 1
            parcel.request_id = self._last_request
            parcel.sent = now
            pipeline.awaiting += 1
            pipeline.unsent -= 1
            place.awaiting[parcel.request_id] = parcel
            taken.append(parcel)
            size += parcel.size
            ready.rotate(-1)
        return taken

    def _next(self, pipeline: Pipeline) -> RecordBatch | None:
        """The parcel to be sent next, if one may be sent."""
        if pipeline.is_halted or pipeline.is_misplaced or pipeline.awaiting >= pipeline.limit:
            return None
        if not pipeline.unsent and not pipeline.queue:
            return None
        if self._numbers and (pipeline.renumbers or pipeline.producer_id == NO_PRODUCER):
            if pipeline.awaiting or not self._renumber(pipeline):
                return None
        if pipeline.unsent:
            parcel = next(parcel for parcel in pipeline.flight if not parcel.request_id)
            return parcel if pipeline.is_near(parcel) else None
        while pipeline.queue and pipeline.has_room:
            parcel = pipeline.queue[0]
            if self._seal(parcel):
                return parcel
        return None

    def _renumber(self, pipeline: Pipeline) -> bool:
        """Number what is in flight anew, and what follows; False where that waits for an id, or is no good."""
        if any(parcel.may_be_stored for parcel in pipeline.flight):
            pipeline.renumbers = False
            self._misplace(pipeline)
            return False
        return self._numbering.renew(pipeline)

    def _seal(self, parcel: RecordBatch) -> bool:
        """Move a parcel from the queue into flight; False if what it holds cannot be written."""
        pipeline = parcel.pipeline
        sequence = pipeline.sequence if self.terms.is_idempotent else NO_SEQUENCE
        epoch = pipeline.epoch if self.terms.is_idempotent else NO_EPOCH
        try:
            parcel.seal(self.terms.codec, pipeline.producer_id, epoch, sequence)
        except BatchError as error:
            self._settle(parcel, -1, Failure(str(Code.INVALID), str(error)))
            return False
        pipeline.queue.popleft()
        if pipeline.open[parcel.lane] is parcel:
            pipeline.open[parcel.lane] = None
        pipeline.launch(parcel)
        pipeline.count_on(parcel.count)
        return True

    def _ready(self, pipeline: Pipeline) -> None:
        if not pipeline.is_ready and not pipeline.is_halted:
            pipeline.is_ready = True
            self._place(pipeline.address).ready.append(pipeline)

    def _place(self, address: str) -> Place:
        place = self._places.get(address)
        if place is None:
            place = self._places[address] = Place()
        return place

    def check(self) -> None:
        """Assert the invariants."""
        unsettled = [parcel for parcel in self._aging if not parcel.is_settled]
        assert self.buffered == sum(parcel.size for parcel in unsettled)
        for parcel in unsettled:
            assert (parcel.request_id in self._place(parcel.pipeline.address).awaiting) == (parcel.request_id > 0)
        pipelines = dict.fromkeys(parcel.pipeline for parcel in unsettled)
        for pipeline in pipelines:
            pipeline.check()
            assert pipeline.is_halted == (pipeline in self._halted)
        assert sum(len(pipeline.parcels()) for pipeline in pipelines) == len(unsettled)
        for address, place in self._places.items():
            for request_id, parcel in place.awaiting.items():
                assert parcel.request_id == request_id
                assert parcel.pipeline.address == address
