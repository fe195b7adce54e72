"""Whoever is told that a delayed message is cancelled or put off is told what the schedule says where it is agreed."""

from goqueue.core.delays.records import Cancelled, Rescheduled, read_control
from goqueue.core.partition.partition import Partition
from goqueue.core.records.record import iterate
from goqueue.core.requests.delays import CancelDelayed, RescheduleDelayed
from goqueue.core.requests.messages import Side
from goqueue.core.requests.refusals import Refusal
from goqueue.core.requests.replies import Reply
from goqueue.fuzz.checkers.checker import Broker, Checker, Sight
from goqueue.fuzz.history import Asked, Place, Violation
from goqueue.fuzz.invariants.tapes import Tape


class Schedules(Checker):
    """Reads all schedules as they are agreed, and holds answers against them."""

    def __init__(self, sight: Sight) -> None:
        super().__init__(sight)
        self._tapes: dict[Place, Tape] = {}
        # What was ever said of a message, by place and offset.
        self._cancelled: set[tuple[Place, int]] = set()
        self._put_off: set[tuple[Place, int]] = set()

    def stepped(self) -> None:
        """Read on in what the node leads of which something was heard."""
        if self.sight.stirred is not None:
            self._read(self.sight.stirred, self.sight.stirred_streams())

    def _read(self, broker: Broker, streams: list[tuple[int, Partition]]) -> None:
        for topic_id, partition in streams:
            if partition.side is not Side.SCHEDULE or not self.history.is_strong(topic_id):
                continue
            place = topic_id, partition.number
            tape = self._tapes.get(place)
            if tape is None:
                tape = self._tapes[place] = Tape()
            if partition.high_watermark > tape.end:
                for header, batch in tape.read(broker, partition):
                    for record in iterate(batch) if header.is_control else ():
                        said = read_control(record)
                        if isinstance(said, Cancelled):
                            self._cancelled.add((place, said.offset))
                        elif isinstance(said, Rescheduled):
                            self._put_off.add((place, said.offset))

    def answered(self, asked: Asked, reply: Reply) -> None:
        """Hold what is told against what is agreed."""
        request = asked.request
        if not isinstance(request, CancelDelayed | RescheduleDelayed) or isinstance(reply, Refusal):
            return
        if asked.topic_id is None or not self.history.is_strong(asked.topic_id):
            return
        place = asked.topic_id, request.partition
        broker = self.sight.broker(asked.node_id)
        if broker is not None:
            self._read(broker, self.sight.led_streams(broker))
        tape = self._tapes.get(place)
        if place in self.history.rotten or place[0] in self.history.is_doomed or (tape is not None and tape.has_gap):
            return
        said = self._cancelled if isinstance(request, CancelDelayed) else self._put_off
        if (place, request.offset) not in said:
            what = f"{type(request).__name__} of {request.offset} of {place}"
            raise Violation(f"{what} is answered, and the schedule does not say so as far as it is agreed")
