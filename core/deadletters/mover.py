"""Moves messages out of one partition, a batch at a time, so that each arrives once whatever happens on the way.

    IDLE     ──►  READING   ──►  ENLISTING  ──►  WRITING  ──►  PUBLISHING  ──►  IDLE
      │  what is dead, or what     a producer id,     until the       until the target
      │  the open intent names     if there is none   intent is       has said so
      └► MAKING                                       durable
         a topic for dead letters

Everything here can be lost. An intent that is open in `Moves` is read and published again, and what has no intent yet
is as it was before. So a pause after a refusal, a failed disk and a restart are one and the same: back to IDLE.

An intent is given up only when its target says that it has nothing of it and takes nothing of it: it is gone, it knows
other sequences, or the batch is too large for it. The last is met with fewer letters, and in the end with one that goes
without its value.

Where messages of an open intent have gone from the source meanwhile, the batch cannot be made as it was. Then what the
target knows of the producer says if it has the batch, and what is left is published only if it has not. Whoever leads
the target is asked that (ASKING, between READING and PUBLISHING).
"""

from enum import Enum

from attrs import define, field

from goqueue.core.deadletters.context import MoverContext
from goqueue.core.deadletters.freight import Freight
from goqueue.core.deadletters.picking import BYTES_MAX, LETTERS_MAX, Bounds, Named, repeated
from goqueue.core.deadletters.produced import produced
from goqueue.core.deadletters.reading import Reading
from goqueue.core.partition.partition import Partition
from goqueue.core.queues.errands import Slot
from goqueue.core.queues.move_records import Abandoned, Arrived, Cut, Enlisted, Intent
from goqueue.core.queues.moves import NO_PRODUCER, Moves
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.queues.records import packed, unpacked
from goqueue.core.queues.targets import creation, dead_topic
from goqueue.core.queues.window import DOOMED
from goqueue.core.replicas.elsewhere import elsewhere
from goqueue.core.requests.deadletters import FindMoved, Moved
from goqueue.core.requests.internal import AskNode
from goqueue.core.requests.messages import (
    Acks,
    InitProducer,
    ProducerReply,
    PublishBatch,
    Published,
    PublishReply,
    Side,
)
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.replies import Reply

_PAUSE_LEAST_NS, _PAUSE_MOST_NS = 100_000_000, 30_000_000_000
_DOUBLINGS_MAX = 10
_DROPPED_MAX = 10_000
_GONE = (Code.TOPIC_NOT_FOUND, Code.PARTITION_NOT_FOUND)
_OTHER_SEQUENCES = (Code.OUT_OF_ORDER, Code.DUPLICATE, Code.FENCED)
_PASSING = (
    Code.UNAVAILABLE, Code.DAMAGED, Code.SHUTTING_DOWN, Code.NOT_LEADER, Code.NOT_ENOUGH_REPLICAS, Code.OUTCOME_UNKNOWN,
)  # fmt: skip


class Stage(Enum):
    """What a carrier waits for."""

    IDLE = "idle"
    MAKING = "making"
    READING = "reading"
    ASKING = "asking"
    ENLISTING = "enlisting"
    WRITING = "writing"
    PUBLISHING = "publishing"


@define(eq=False)
class DeadLetterMover:
    """The moves out of a partition; `until` is the end of a pause, `wanted_by` has the redrives that wait for it."""

    slot: Slot
    _yard: MoverContext
    stage: Stage = Stage.IDLE
    until: int = 0
    wanted_by: dict[str, None] = field(factory=dict)
    # How many letters go into a batch: fewer while a target refuses larger ones.
    letters_max: int = LETTERS_MAX
    # Why a redrive's letters were not taken.
    troubles: dict[str, str] = field(factory=dict)
    # What was seen of the ledger last: another one, or another load of it, knows nothing of what is under way.
    _book: QueueLedger | None = None
    _load: int = 0
    _knows_end: bool = False
    _asked: int = 0
    _reading: Reading | None = None
    _freight: Freight | None = None
    # How many batches of the ledger are to be durable before the open intent is acted on.
    _after: int = 0
    # How many records the batch has that is being published.
    _count: int = 0
    _failures: int = 0
    _is_bare: bool = False
    _wants_producer: bool = False
    # Groups take turns, and so do they and redrives.
    _last_group: str = ""
    _is_redrives_turn: bool = False

    # --- going on

    def step(self, now: int) -> None:
        """Go as far as there is nothing to wait for."""
        book = self._yard.book(self.slot)
        if book is None:
            # It is looked at again when the ledger can be used; no time is waited for.
            self.reset()
            self._book, self.until = None, 0
            return
        if book is not self._book or book.load != self._load:
            self.reset()
            self._book, self._load = book, book.load
            self._after, self.until, self._failures, self._knows_end = 0, 0, 0, False
        if not self._knows_end:
            self._forget_lost(book)
        if self.stage is Stage.WRITING and book.durable >= self._after:
            self._publish(book.moves)
        elif self.stage is Stage.IDLE and now >= self.until:
            self._begin(now, book)

    def carries(self, job: str) -> bool:
        """Whether a batch of a redrive is under way."""
        if self._freight is not None and self._freight.job:
            return self._freight.job == job
        intent = None if self._book is None else self._book.moves.intent
        return intent is not None and intent.job == job

    def reset(self) -> None:
        """Forget what is under way; an open intent is taken up again."""
        self.stage, self._asked = Stage.IDLE, 0
        self._reading = self._freight = None

    def forget_found(self) -> None:
        """Let go of the letters in memory."""
        if self._freight is not None or self._reading is not None:
            self.reset()
            self._yard.look_at(self.slot)

    def is_at_rest(self, book: QueueLedger) -> bool:
        """Whether there is nothing to be done for a ledger, which was looked at before."""
        if self.stage is not Stage.IDLE or self.until or not self._knows_end:
            return False
        if book is not self._book or book.load != self._load or book.moves.intent is not None:
            return False
        return not any(queue.ledger.window.counts[DOOMED] for queue in book.queues.values())

    @property
    def is_busy(self) -> bool:
        """Whether there are letters in memory, or about to be."""
        return self._freight is not None or self._reading is not None

    @property
    def is_free(self) -> bool:
        """Whether a redrive may have its next batch moved."""
        return self.stage is Stage.IDLE and not self.until

    def opened(self) -> None:
        """The partition was recovered, and may have lost its end."""
        self._knows_end = False
        self._yard.look_at(self.slot)

    def renew(self) -> None:
        """There is reason to think that it succeeds by now: end the pause, and let the next one be short."""
        self._failures = 0
        if self.until:
            self.until = 0
            self._yard.look_at(self.slot)

    def _forget_lost(self, book: QueueLedger) -> None:
        """A partition that lost its end has other letters where the lost ones were."""
        partition = self._yard.led.partition(*self.slot)
        if isinstance(partition, Partition):
            self._knows_end = True
            if book.moves.gone.end > partition.log.next_offset:
                book.moves.keep(Cut(partition.log.next_offset))
                self._yard.touch(book)

    def _pause(self, now: int) -> None:
        """Try again in a while, the longer the more often it failed."""
        self.reset()
        self.until = now + min(_PAUSE_LEAST_NS << min(self._failures, _DOUBLINGS_MAX), _PAUSE_MOST_NS)
        self._failures += 1
        self._yard.look_at(self.slot)

    # --- what is to be moved

    def _begin(self, now: int, book: QueueLedger) -> None:
        self.until = 0
        intent = book.moves.intent
        if intent is not None:
            if book.durable >= self._after:
                self._read(now, repeated(*self.slot, intent))
        elif self._wants_producer:
            self._enlist()
        elif self.wanted_by and self._is_redrives_turn:
            self._is_redrives_turn = False
        else:
            self._begin_dead(now, book)

    def _begin_dead(self, now: int, book: QueueLedger) -> None:
        """Take up what the next group gave up."""
        groups = [group for group, queue in book.queues.items() if queue.ledger.window.counts[DOOMED]]
        if not groups:
            return
        after = groups.index(self._last_group) + 1 if self._last_group in groups else 0
        self._last_group = group = groups[after % len(groups)]
        self._is_redrives_turn = True
        source = self._yard.led.topics[self.slot[0]].topic
        name = dead_topic(source)
        if not name:
            self._drop(now, group, book)
            return
        target = self._yard.led.topics.get(name)
        if target is None:
            self.stage = Stage.MAKING
            self._asked = self._yard.errands.ask(self, creation(source, name))
            return
        deaths = {offset: (reason, count) for offset, reason, count in book.queues[group].dead(self.letters_max)}
        bytes_max = min(BYTES_MAX, target.config(Side.DATA).batch_bytes_max)
        bounds = Bounds(1 if self._is_bare else self.letters_max, bytes_max)
        where = (name, self.slot[1] % target.topic.partitions)
        at_ms = self._yard.clock.wall_ms(now)
        self._read(now, Named(*self.slot, group, where, at_ms, deaths, bounds, self._is_bare))

    def _drop(self, now: int, group: str, book: QueueLedger) -> None:
        """Settle what is dead where nobody keeps it."""
        queue = book.queues[group]
        offsets = [offset for offset, _, _ in queue.dead(_DROPPED_MAX)]
        queue.buried(now, offsets)
        self._yard.count_dropped(group, len(offsets))
        self._yard.touch(book, group)
        self._yard.look_at(self.slot)

    def _read(self, now: int, pick: Named) -> None:
        self.stage = Stage.READING
        self._reading = Reading(self._yard.errands, self._yard.led, self, *self.slot, pick)
        self._reading.go()
        self._read_on(now)

    def _read_on(self, now: int) -> None:
        reading = self._reading
        assert reading is not None
        self._asked = reading.asked
        if not reading.has_ended:
            return
        book = self._yard.book(self.slot)
        if reading.refusal is not None or book is None:
            self._pause(now)
            return
        self._reading = None
        assert isinstance(reading.pick, Named)
        if book.moves.intent is not None:
            self._repeat(now, book, book.moves.intent, reading.pick)
        else:
            self._found(now, book, reading.pick)

    def _found(self, now: int, book: QueueLedger, named: Named) -> None:
        """Dead letters were read: send them off, and settle those that are not there any more."""
        queue = book.queues.get(named.group)
        if queue is not None and named.missing:
            queue.buried(now, named.missing)
            self._yard.count_dropped(named.group, len(named.missing))
            self._yard.touch(book, named.group)
        self.stage = Stage.IDLE
        if named.consignment.offsets:
            freight = Freight(named.consignment, named.at_ms, named.group, named.deaths, named.is_bare)
            self.send(now, freight)
        else:
            self._yard.look_at(self.slot)

    # --- the intent

    def send(self, now: int, freight: Freight) -> None:
        """Move a batch; it is looked at once more whether all that is in it is still to be moved."""
        book = self._yard.book(self.slot)
        assert self.stage is Stage.IDLE
        assert book is not None
        assert book.moves.intent is None
        self._freight = freight
        if book.moves.producer_id == NO_PRODUCER:
            self._enlist()
        else:
            self._intend(book)

    def _enlist(self) -> None:
        self.stage = Stage.ENLISTING
        self._asked = self._yard.errands.ask(self, InitProducer())

    def _intend(self, book: QueueLedger) -> None:
        freight, moves = self._freight, book.moves
        assert freight is not None
        if not freight.is_still_there(book):
            self.reset()
            self._yard.look_at(self.slot)
            return
        kind = freight.consignment.kind
        assert kind is not None
        topic, partition, lane, codec = kind
        deaths = [freight.deaths.get(offset, ("", 0)) for offset in freight.consignment.offsets]
        reasons = [*dict.fromkeys(reason for reason, _ in deaths)]
        intent = Intent(
            moves.last_number + 1,
            freight.group,
            freight.job,
            topic,
            partition,
            moves.producer_id,
            moves.sequence(topic, partition),
            lane,
            codec,
            freight.at_ms,
            packed(freight.consignment.offsets),
            packed([each for reason, count in deaths for each in (reasons.index(reason), count)]),
            reasons,
            freight.is_bare,
            freight.tally.position,
            freight.tally.looked,
            freight.tally.matched,
        )
        moves.keep(intent)
        self._after = self._yard.touch(book)
        self.stage = Stage.WRITING

    def _repeat(self, now: int, book: QueueLedger, intent: Intent, named: Named) -> None:
        """The messages of an open intent were read again."""
        self._freight = Freight(named.consignment, intent.at_ms)
        if not named.missing:
            self._publish(book.moves)
            return
        self.stage = Stage.ASKING
        question = FindMoved(intent.topic, intent.partition, intent.producer_id, intent.sequence)
        away = elsewhere(self._yard.led, intent.topic, intent.partition)
        if away is None:
            self._knows(now, book, produced(self._yard.led, question))
        elif away.leader:
            self._asked = self._yard.errands.ask(self, AskNode(away.leader, question))
        else:
            self._pause(now)

    def _knows(self, now: int, book: QueueLedger, reply: Reply) -> None:
        """Whether the target has the batch of the open intent."""
        intent, freight = book.moves.intent, self._freight
        assert intent is not None
        assert freight is not None
        if not isinstance(reply, Moved):
            assert isinstance(reply, Refusal)
            self._refused(now, book, intent, reply)
        elif reply.is_known or not freight.consignment.offsets:
            self._freight = None
            self._arrived(now, book, intent, reply.count)
        else:
            self._publish(book.moves)

    # --- the batch

    def _publish(self, moves: Moves) -> None:
        freight, intent = self._freight, moves.intent
        assert freight is not None
        assert intent is not None
        batch = freight.consignment.batch(intent.producer_id, intent.sequence)
        self._count, self._freight = len(freight.consignment.offsets), None
        self.stage = Stage.PUBLISHING
        self._asked = self._yard.errands.ask(self, PublishBatch(intent.topic, intent.partition, batch, Acks.ALL))

    def _arrived(self, now: int, book: QueueLedger, intent: Intent, count: int) -> None:
        """A batch is where it belongs, or nothing is left that could be."""
        self.stage, self._failures = Stage.IDLE, 0
        self.letters_max, self._is_bare = LETTERS_MAX, False
        offsets = unpacked(intent.offsets)
        queue = book.queues.get(intent.group)
        if queue is not None:
            queue.buried(now, offsets)
            book.touch(intent.group)
        if intent.group:
            self._yard.count_buried(intent.group, count)
            if count < len(offsets):
                self._yard.count_dropped(intent.group, len(offsets) - count)
        book.moves.keep(Arrived(intent.number, count))
        self._yard.touch(book)
        self._yard.look_at(self.slot)

    def _refused(self, now: int, book: QueueLedger, intent: Intent, refusal: Refusal) -> None:
        """A target did not take a batch."""
        if refusal.code in _PASSING or (refusal.code in _GONE and self._is_known(intent)):
            self._pause(now)
            return
        count = len(unpacked(intent.offsets))
        if refusal.code in _GONE:
            if intent.job:
                self.troubles[intent.job] = f"topic {intent.topic} is gone"
        elif refusal.code in _OTHER_SEQUENCES:
            self._wants_producer = True
        elif count > 1:
            self.letters_max = max(count // 2, 1)
        elif intent.job:
            self.troubles[intent.job] = (
                f"the letter at offset {unpacked(intent.offsets)[0]} of partition {self.slot[1]} is refused by"
                f" topic {intent.topic}: {refusal.message}"
            )
        elif intent.is_bare:
            # Nothing is left to leave out; it stays dead, and is counted so.
            self._pause(now)
            return
        else:
            self._is_bare = True
        book.moves.keep(Abandoned(intent.number))
        self._yard.touch(book)
        if refusal.code in _GONE:
            self._pause(now)
        else:
            self.reset()
            self._yard.look_at(self.slot)

    def _is_known(self, intent: Intent) -> bool:
        """Whether there is a target, as far as this node knows; another may not have heard of it yet."""
        target = self._yard.led.topics.get(intent.topic)
        return target is not None and intent.partition < target.topic.partitions

    # --- answers

    def answered(self, now: int, number: int, reply: Reply) -> None:
        """The answer to a wish, which may be of no use any more."""
        book = self._book
        if number != self._asked or book is None or book.load != self._load or not book.is_ready:
            return
        self._asked = 0
        if self.stage is Stage.READING:
            assert self._reading is not None
            self._reading.answered(reply)
            self._read_on(now)
        elif self.stage is Stage.ASKING:
            self._knows(now, book, reply)
        elif self.stage is Stage.MAKING:
            self._made(now, reply)
        elif self.stage is Stage.ENLISTING:
            self._enlisted(now, book, reply)
        else:
            assert self.stage is Stage.PUBLISHING
            self._published(now, book, reply)

    def _made(self, now: int, reply: Reply) -> None:
        """There is an answer to whoever wanted a topic for letters: it is there, or will be seen soon, or is not."""
        source = self._yard.led.topics.get(self.slot[0])
        is_there = source is not None and dead_topic(source.topic) in self._yard.led.topics
        if isinstance(reply, Refusal) and not is_there:
            self._pause(now)
            return
        # One that another node has made is yet to be heard of here, and then everybody is looked at.
        self.reset()
        if is_there:
            self._yard.look_at(self.slot)

    def _enlisted(self, now: int, book: QueueLedger, reply: Reply) -> None:
        if not isinstance(reply, ProducerReply):
            self._pause(now)
            return
        self.stage, self._wants_producer = Stage.IDLE, False
        book.moves.keep(Enlisted(reply.producer_id))
        self._yard.touch(book)
        if self._freight is not None:
            self._intend(book)
        else:
            self._yard.look_at(self.slot)

    def _published(self, now: int, book: QueueLedger, reply: Reply) -> None:
        intent = book.moves.intent
        assert intent is not None
        result = reply.results[0] if isinstance(reply, PublishReply) else reply
        if isinstance(result, Published):
            self._arrived(now, book, intent, self._count)
        else:
            assert isinstance(result, Refusal)
            self._refused(now, book, intent, result)

    def check(self) -> None:
        """Assert the invariants."""
        assert bool(self._asked) == (self.stage not in (Stage.IDLE, Stage.WRITING))
        assert (self._reading is not None) == (self.stage is Stage.READING)
        assert self._freight is None or self.stage in (Stage.ENLISTING, Stage.WRITING, Stage.ASKING)
