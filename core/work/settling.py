"""What members say of the messages that they have: by receipts, of which each names the queue that it came from.

A request is checked as a whole, and each of its receipts on its own. To acknowledge twice is answered as done, since
the first time may have been lost on its way; all else is refused for a message that is settled. A receipt of a queue
that is not here is refused as out of date, as long as it looks like one, for its group or its topic may be gone; while
a ledger is being read nobody can tell, and it is to be shown again.
"""

from collections.abc import Sequence

from attrs import define, field

from goqueue.core.errors import ProtocolError
from goqueue.core.led import Led
from goqueue.core.verbs import Code, Refusal, Side
from goqueue.core.work.book import Book
from goqueue.core.work.desk import Desk
from goqueue.core.work.errands import Slot
from goqueue.core.work.proving import Answer, Outcome
from goqueue.core.work.receipts import read_stem
from goqueue.core.work.settings import DELAY_MS_MAX, SPAN_MS_MAX
from goqueue.core.work.verbs import (
    AckWork,
    ExtendWork,
    NackWork,
    ReceiptRefusal,
    ReceiptRun,
    RejectWork,
    ReleaseWork,
    WorkDone,
)

RECEIPTS_MAX = 10_000
REASON_LETTERS_MAX = 1_000

Settling = AckWork | NackWork | RejectWork | ExtendWork | ReleaseWork


@define(eq=False)
class Settled:
    """A request that was carried out: its answer so far, and the desks that it touched."""

    answer: WorkDone
    desks: list[Desk] = field(factory=list)


def problem(request: Settling) -> Refusal | None:
    """Why a request cannot be taken at all."""
    count = 0
    for run in request.receipts:
        if run.count < 1 or run.first_offset < 0:
            return Refusal(Code.INVALID, "a run of receipts has an offset and at least one message", "receipts")
        count += run.count
    if not 0 < count <= RECEIPTS_MAX:
        return Refusal(Code.INVALID, f"a request shows from 1 to {RECEIPTS_MAX} receipts, not {count}", "receipts")
    if isinstance(request, NackWork) and request.delay_ms is not None and not 0 <= request.delay_ms <= DELAY_MS_MAX:
        message = f"delay_ms must be from 0 to {DELAY_MS_MAX}, not {request.delay_ms}"
        return Refusal(Code.INVALID, message, "delay_ms")
    if isinstance(request, ExtendWork) and not 0 <= request.timeout_ms <= SPAN_MS_MAX:
        message = f"timeout_ms must be from 0 to {SPAN_MS_MAX}, not {request.timeout_ms}"
        return Refusal(Code.INVALID, message, "timeout_ms")
    if isinstance(request, NackWork | RejectWork) and len(request.reason) > REASON_LETTERS_MAX:
        message = f"a reason has at most {REASON_LETTERS_MAX} characters, not {len(request.reason)}"
        return Refusal(Code.INVALID, message, "reason")
    return None


@define(eq=False)
class Homes:
    """The desks by the home that receipts name."""

    _led: Led
    _books: dict[Slot, Book]
    desks: dict[int, Desk] = field(factory=dict)

    def sort(self, request: Settling, answer: WorkDone) -> list[tuple[Desk, list[ReceiptRun]]]:
        """The receipts of a request by desk; those of none are refused in the answer."""
        homes: dict[str, Desk | Refusal] = {}
        sorted_by: dict[int, tuple[Desk, list[ReceiptRun]]] = {}
        for run in request.receipts:
            desk = homes.get(run.stem)
            if desk is None:
                desk = homes[run.stem] = self._find(run.stem, request.group)
            if isinstance(desk, Refusal):
                answer.refusals += [ReceiptRefusal(run.stem, run.first_offset + at, desk) for at in range(run.count)]
            else:
                sorted_by.setdefault(desk.queue.seal.home, (desk, []))[1].append(run)
        return [*sorted_by.values()]

    def _find(self, stem: str, group: str) -> Desk | Refusal:
        try:
            home = read_stem(stem).home
        except ProtocolError:
            return _forged()
        desk = self.desks.get(home)
        if desk is None and not self._is_complete():
            message = "the queue that the receipt is of is being read, or cannot be; show it again"
            return Refusal(Code.UNAVAILABLE, message, "receipts", retry_after_ms=200)
        if desk is None:
            return _expired()
        if group and group != desk.group:
            return Refusal(Code.RECEIPT_INVALID, f"the receipt is not one of group {group}", "receipts")
        return desk

    def _is_complete(self) -> bool:
        """Whether all ledgers that there are have been read."""
        for name, leader in self._led.topics.items():
            if Side.LEDGER in leader.topic.sides:
                books = [self._books.get((name, number)) for number in range(leader.topic.partitions)]
                if not all(book is not None and book.is_ready for book in books):
                    return False
        return True


def _forged() -> Refusal:
    return Refusal(Code.RECEIPT_INVALID, "this is no receipt that was given out", "receipts")


def _expired() -> Refusal:
    message = "the lease is over, and the message is on its way to another member or gone"
    return Refusal(Code.RECEIPT_EXPIRED, message, "receipts")


def _settled() -> Refusal:
    return Refusal(Code.ALREADY_SETTLED, "the message is settled already", "receipts")


def carry_out(now: int, request: Settling, homes: Homes) -> Settled:
    """Do what a request asks for, wherever its receipts lead."""
    settled = Settled(WorkDone(0))
    for desk, runs in homes.sort(request, settled.answer):
        desk.book.touch(desk.group)
        _add(request, desk, _said(now, request, desk, runs), settled.answer)
        settled.desks.append(desk)
    return settled


def _said(now: int, request: Settling, desk: Desk, runs: Sequence[ReceiptRun]) -> Answer:
    queue = desk.queue
    if isinstance(request, AckWork):
        return queue.ack(now, runs)
    if isinstance(request, NackWork):
        return queue.nack(now, runs, request.delay_ms)
    if isinstance(request, RejectWork):
        return queue.reject(now, runs, request.reason)
    if isinstance(request, ExtendWork):
        return queue.extend(now, runs, request.timeout_ms)
    return queue.release(now, runs)


def _add(request: Settling, desk: Desk, said: Answer, answer: WorkDone) -> None:
    """Add what one queue has answered."""
    answer.done += said.done
    answer.dead += said.dead
    if said.at:
        answer.at_ms = max(answer.at_ms, desk.wall_ms(said.at))
    if answer.dead:
        answer.topic = answer.topic or desk.dead_topic
    for stem, offset, outcome in said.others:
        if outcome is Outcome.SETTLED and isinstance(request, AckWork):
            answer.done += 1
        else:
            answer.refusals.append(ReceiptRefusal(stem, offset, _REFUSALS[outcome]))


_REFUSALS = {Outcome.FORGED: _forged(), Outcome.STALE: _expired(), Outcome.SETTLED: _settled()}
