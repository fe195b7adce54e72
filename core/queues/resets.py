"""Resets of shared groups: their queues begin anew at other offsets, once nothing of them is in flight."""

from attrs import define, field

from goqueue.core.queues.desk import Desk
from goqueue.core.queues.errands import Slot
from goqueue.core.queues.hall import Hall
from goqueue.core.queues.ledgers import Ledgers
from goqueue.core.queues.polling import Polls
from goqueue.core.requests.call import Call
from goqueue.core.requests.queues import ResetQueues
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.services.service import Site


@define(eq=False)
class Resets:
    """Resets, and those that wait until there is a queue to be reset."""

    _site: Site
    _ledgers: Ledgers
    _polls: Polls
    _waiting: dict[Call, ResetQueues] = field(factory=dict)

    def reset(self, now: int, call: Call, request: ResetQueues, hall: Hall) -> None:
        """Have queues go on where the changes say, and answer with these when that is durable."""
        moves = request.changes
        if request.topic in hall.opening:
            self._waiting[call] = request
            return
        desks: list[Desk] = []
        for move in moves:
            found = self._desk(hall, (request.topic, move.partition))
            if isinstance(found, Refusal):
                self._site.send(call, found)
                return
            desks.append(found)
            move.before = found.floor
        for desk, move in zip([] if request.dry_run else desks, moves, strict=not request.dry_run):
            desk.book.touch(desk.group)
            desk.queue.restart(now, move.after)
            self._polls.reread(desk)
            self._ledgers.reach_back(desk.book, desk.group)
        self._ledgers.say(call, moves, [desk.slot for desk in desks])

    def _desk(self, hall: Hall, slot: Slot) -> Desk | Refusal:
        """The desk of a partition, or why it cannot be reset."""
        desk = hall.desks.get(slot)
        if desk is None:
            return self._ledgers.unready(slot)
        in_flight = desk.queue.counts().in_flight
        if not in_flight:
            return desk
        message = f"members have {in_flight} messages of {slot[0]}-{slot[1]}; it can be reset once they are settled"
        return Refusal(Code.GROUP_NOT_EMPTY, message, "partitions")

    def forget(self, call: Call) -> None:
        """Nobody waits for a reset any more, and it is not made."""
        self._waiting.pop(call, None)

    def take_waiting(self) -> list[tuple[Call, ResetQueues]]:
        """Resets to be tried again."""
        waiting, self._waiting = self._waiting, {}
        return [*waiting.items()]
