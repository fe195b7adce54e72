"""Resets of shared groups: their queues begin anew at other offsets, once nothing of them is in flight."""

from attrs import define, field

from goqueue.core.queues.dispatcher import GroupDispatcher
from goqueue.core.queues.errands import Slot
from goqueue.core.queues.ledgers import Ledgers
from goqueue.core.queues.polling import Polls
from goqueue.core.queues.reader import QueueReader
from goqueue.core.requests.call import Call
from goqueue.core.requests.queues import ResetQueues
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.services.service import ServiceContext


@define(eq=False)
class Resets:
    """Resets, and those that wait until there is a queue to be reset."""

    _site: ServiceContext
    _ledgers: Ledgers
    _polls: Polls
    _waiting: dict[Call, ResetQueues] = field(factory=dict)

    def reset(self, now: int, call: Call, request: ResetQueues, dispatcher: GroupDispatcher) -> None:
        """Have queues go on where the changes say, and answer with these when that is durable."""
        moves = request.changes
        if request.topic in dispatcher.opening:
            self._waiting[call] = request
            return
        readers: list[QueueReader] = []
        for move in moves:
            found = self._reader(dispatcher, (request.topic, move.partition))
            if isinstance(found, Refusal):
                self._site.send(call, found)
                return
            readers.append(found)
            move.before = found.floor
        for reader, move in zip([] if request.dry_run else readers, moves, strict=not request.dry_run):
            reader.book.touch(reader.group)
            reader.queue.restart(now, move.after)
            self._polls.reread(reader)
            self._ledgers.reach_back(reader.book, reader.group)
        self._ledgers.say(call, moves, [reader.slot for reader in readers])

    def _reader(self, dispatcher: GroupDispatcher, slot: Slot) -> QueueReader | Refusal:
        """The reader of a partition, or why it cannot be reset."""
        reader = dispatcher.readers.get(slot)
        if reader is None:
            return self._ledgers.unready(slot)
        in_flight = reader.queue.counts().in_flight
        if not in_flight:
            return reader
        message = f"members have {in_flight} messages of {slot[0]}-{slot[1]}; it can be reset once they are settled"
        return Refusal(Code.GROUP_NOT_EMPTY, message, "partitions")

    def forget(self, call: Call) -> None:
        """Nobody waits for a reset any more, and it is not made."""
        self._waiting.pop(call, None)

    def take_waiting(self) -> list[tuple[Call, ResetQueues]]:
        """Resets to be tried again."""
        waiting, self._waiting = self._waiting, {}
        return [*waiting.items()]
