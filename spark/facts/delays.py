"""Delayed messages: kept back, put off, given up, and delivered when due, noted by the node that leads the partition.

That a message is kept back stands in the schedule, with the time it is due as its timestamp. When it is delivered it is
appended to the data under the number of its move, and the schedule said before which message has which number. Whoever
has it cancelled or put off is answered once that is durable, and from then on it is a fact.
"""

from collections.abc import Iterator

from goqueue.core.delays.records import Intended, Withdrawn, due_of, read_control
from goqueue.core.log.producers import MOVER_ID, advance
from goqueue.core.node import Node
from goqueue.core.records.record import iterate
from goqueue.core.requests.delays import CancelDelayed, DelayedMessage, RescheduleDelayed
from goqueue.core.requests.messages import Side
from goqueue.core.requests.refusals import Refusal
from goqueue.spark.facts.listening import Batch, Errand, Hears, Listener
from goqueue.spark.facts.notebook import Notebook
from goqueue.spark.facts.services import Slot, schedule_of

# What is intended and not moved yet is bounded by the node; a little more for what it makes anew.
_INTENDED_MAX = 1 << 14


class Delays(Listener):
    """The delayed messages of all partitions that a node leads."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__(notebook)
        # By partition and number of the move: which message, and when it is due.
        self._moves: dict[Slot, dict[int, tuple[int, int]]] = {}

    def hears(self) -> Hears:
        """Schedules, what they bring about in the data, and who has changed his mind."""
        return Hears(
            answered={CancelDelayed: self._cancelled, RescheduleDelayed: self._rescheduled},
            batches={Side.SCHEDULE: self._written, Side.DATA: self._appended},
        )

    def begin(self, node: Node) -> list[tuple[int, Errand]]:
        """Nothing is asked for before it is needed."""
        self._moves = {}
        return []

    def _moves_of(self, node: Node, slot: Slot) -> dict[int, tuple[int, int]]:
        """What is on its way; of a partition that is seen for the first time, as the node has it."""
        moves = self._moves.get(slot)
        if moves is None:
            schedule = schedule_of(node, slot)
            known = () if schedule is None else schedule.moves
            moves = self._moves[slot] = {move.sequence: (move.offset, move.due_ms) for move in known}
        return moves

    # --- schedules

    def _written(self, node: Node, batch: Batch) -> None:
        if not batch.is_led:
            return
        slot = (batch.stream.topic, batch.stream.partition)
        if not batch.header.is_control:
            self._kept_back(slot, batch)
            return
        for record in iterate(batch.content):
            control = read_control(record)
            if isinstance(control, Intended):
                self._intended(self._moves_of(node, slot), control)
            elif isinstance(control, Withdrawn):
                self._withdrawn(self._moves_of(node, slot), control)

    def _kept_back(self, slot: Slot, batch: Batch) -> None:
        for first, end, due_ms in _runs(batch):
            self.notebook.note(
                "scheduled", topic=slot[0], partition=slot[1], side=Side.SCHEDULE.value, first=first, end=end,
                due=due_ms, lane=int(batch.header.lane),
            )  # fmt: skip

    def _intended(self, moves: dict[int, tuple[int, int]], intended: Intended) -> None:
        for at, (offset, mark) in enumerate(zip(intended.offsets, intended.marks, strict=True)):
            moves[advance(intended.first_sequence, at)] = offset, due_of(mark)
        while len(moves) > _INTENDED_MAX:
            moves.pop(next(iter(moves)))

    def _withdrawn(self, moves: dict[int, tuple[int, int]], withdrawn: Withdrawn) -> None:
        offsets = dict.fromkeys(withdrawn.offsets)
        for number in [number for number, (offset, _) in moves.items() if offset in offsets]:
            del moves[number]

    # --- the data

    def _appended(self, node: Node, batch: Batch) -> None:
        header = batch.header
        if header.producer_id != MOVER_ID or not batch.is_led:
            return
        slot = (batch.stream.topic, batch.stream.partition)
        moves = self._moves_of(node, slot)
        for first, end, due_ms in _runs(batch):
            for offset in range(first, end):
                number = advance(header.base_sequence, offset - header.base_offset)
                known = moves.pop(number, None)
                self.notebook.note(
                    "moved", topic=slot[0], partition=slot[1], first=offset, end=offset + 1,
                    sequence=None if known is None else known[0], due=due_ms, lane=int(header.lane),
                )  # fmt: skip

    # --- second thoughts

    def _cancelled(self, node: Node, errand: Errand, reply: object) -> None:
        self._note(node, "cancelled", errand, reply, None)

    def _rescheduled(self, node: Node, errand: Errand, reply: object) -> None:
        if isinstance(reply, DelayedMessage):
            self._note(node, "rescheduled", errand, reply, reply.due_ms)

    def _note(self, node: Node, kind: str, errand: Errand, reply: object, due_ms: int | None) -> None:
        """A node that has only passed the request on leaves this to the leader."""
        request: CancelDelayed | RescheduleDelayed = errand.request
        slot = (request.topic, request.partition)
        if isinstance(reply, Refusal) or schedule_of(node, slot) is None:
            return
        self.notebook.note(
            kind, topic=slot[0], partition=slot[1], side=Side.SCHEDULE.value, first=request.offset,
            end=request.offset + 1, due=due_ms, since=errand.at, client=errand.caller.client_id or None,
        )  # fmt: skip


def _runs(batch: Batch) -> Iterator[tuple[int, int, int]]:
    """The messages of a batch, those together that are due at one time: first, the one after the last, when."""
    first, end, due_ms = -1, -1, -1
    for record in iterate(batch.content):
        if record.offset == end and record.timestamp == due_ms:
            end += 1
            continue
        if end > first:
            yield first, end, due_ms
        first, end, due_ms = record.offset, record.offset + 1, record.timestamp
    if end > first:
        yield first, end, due_ms
