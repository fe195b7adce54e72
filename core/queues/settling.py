"""What members say of the messages that they have: by receipts, of which each names the queue that it came from.

A request is checked as a whole, and each of its receipts on its own. To acknowledge twice is answered as done, since
the first time may have been lost on its way; all else is refused for a message that is settled. A receipt of a queue
that is not here is refused as out of date, as long as it looks like one, for its group or its topic may be gone; while
its ledger is being read nobody can tell, and it is to be shown again. So it is where another node leads the partition:
whoever was asked shows each receipt where it belongs (`spreading`), and may have been late with that.
"""

from collections.abc import Callable, Sequence

from attrs import define, field

from goqueue.core.cluster.queue_settings import DELAY_MS_MAX, SPAN_MS_MAX
from goqueue.core.errors import ProtocolError
from goqueue.core.queues.errands import Slot
from goqueue.core.queues.proving import Answer, Outcome
from goqueue.core.queues.queue_ledger import QueueLedger
from goqueue.core.queues.reader import QueueReader
from goqueue.core.queues.receipts import Stem, ending_of, mark_of, read_stem
from goqueue.core.replicas.elsewhere import elsewhere
from goqueue.core.replicas.replica_set import ReplicaSet
from goqueue.core.requests.messages import Side
from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    NackWork,
    ReceiptRefusal,
    ReceiptRun,
    RejectWork,
    ReleaseWork,
    WorkDone,
)
from goqueue.core.requests.refusals import Code, Refusal

RECEIPTS_MAX = 10_000
REASON_LETTERS_MAX = 1_000
# Longer than any that was ever given.
_MEMBER_LETTERS_MAX = 256

Settling = AckWork | NackWork | RejectWork | ExtendWork | ReleaseWork


@define(eq=False)
class Settled:
    """A request that was carried out: its answer so far, and the readers that it touched."""

    answer: WorkDone
    readers: list[QueueReader] = field(factory=list)


def problem(request: Settling) -> Refusal | None:
    """Why a request cannot be taken at all."""
    count = 0
    for run in request.receipts:
        if run.count < 1 or run.first_offset < 0:
            return Refusal(Code.INVALID, "a run of receipts has an offset and at least one message", "receipts")
        count += run.count
    if not 0 < count <= RECEIPTS_MAX:
        return Refusal(Code.INVALID, f"a request shows from 1 to {RECEIPTS_MAX} receipts, not {count}", "receipts")
    if len(request.member_id) > _MEMBER_LETTERS_MAX:
        message = f"a member's id has at most {_MEMBER_LETTERS_MAX} characters, not {len(request.member_id)}"
        return Refusal(Code.INVALID, message, "member_id")
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
    """The readers by the home that receipts name; hardly ever are there two of one home."""

    _led: ReplicaSet
    _books: dict[Slot, QueueLedger]
    # Whether a group is known, and so how often its messages may fail.
    _is_known: Callable[[str], bool]
    _readers: dict[int, list[QueueReader]] = field(factory=dict)
    # Topics by what homes keep of their ids.
    _topics: dict[int, str] = field(factory=dict)

    def topics_changed(self) -> None:
        """There are other topics."""
        self._topics = {ending_of(leader.topic.topic_id): name for name, leader in self._led.topics.items()}

    def slot(self, stem: Stem) -> Slot | None:
        """The partition that a receipt is of, as far as it says so and there is such a topic."""
        ending, partition = stem.place
        name = self._topics.get(ending)
        return None if name is None else (name, partition)

    def open(self, reader: QueueReader) -> None:
        """Receipts of a reader can be shown."""
        self._readers.setdefault(reader.queue.seal.home, []).append(reader)

    def close(self, reader: QueueReader) -> None:
        """Receipts of a reader cannot be shown any more."""
        home = reader.queue.seal.home
        left = [each for each in self._readers[home] if each is not reader]
        if left:
            self._readers[home] = left
        else:
            del self._readers[home]

    def sort(self, request: Settling, answer: WorkDone) -> list[tuple[QueueReader, list[ReceiptRun]]]:
        """The receipts of a request by reader; those of none are refused in the answer."""
        homes: dict[str, QueueReader | Refusal] = {}
        sorted_by: dict[tuple[str, Slot], tuple[QueueReader, list[ReceiptRun]]] = {}
        member = mark_of(request.member_id) if request.member_id else b""
        for run in request.receipts:
            reader = homes.get(run.stem)
            if reader is None:
                reader = homes[run.stem] = self._find(run.stem, request, member)
            if isinstance(reader, Refusal):
                answer.refusals += [ReceiptRefusal(run.stem, run.first_offset + at, reader) for at in range(run.count)]
            else:
                sorted_by.setdefault((reader.group, reader.slot), (reader, []))[1].append(run)
        return [*sorted_by.values()]

    def _find(self, letters: str, request: Settling, member: bytes) -> QueueReader | Refusal:
        try:
            stem = read_stem(letters)
        except ProtocolError:
            return _forged()
        readers = self._readers.get(stem.home)
        if readers is None:
            return _expired() if self._is_gone(stem) else _unseen()
        reader = readers[0]
        if len(readers) > 1:
            reader = next((each for each in readers if each.queue.seal.is_genuine(stem)), reader)
        if request.group and request.group != reader.group:
            return Refusal(Code.RECEIPT_INVALID, f"the receipt is not one of group {request.group}", "receipts")
        if member and member != stem.member:
            message = f"the receipt was not given to member {request.member_id}"
            return Refusal(Code.RECEIPT_INVALID, message, "receipts")
        return reader if self._is_known(reader.group) else _unseen()

    def _is_gone(self, stem: Stem) -> bool:
        """Whether it is known that there is no such queue: its ledger was read, or all that are led here were."""
        slot = self.slot(stem)
        leader = None if slot is None else self._led.topics[slot[0]]
        if slot is None or leader is None or slot[1] >= leader.topic.partitions:
            return True
        if elsewhere(self._led, *slot) is not None:
            return False
        return Side.LEDGER not in leader.topic.sides or self._is_read(slot)

    def _is_read(self, slot: Slot) -> bool:
        book = self._books.get(slot)
        return book is not None and book.is_ready

    def check(self, readers: list[QueueReader]) -> None:
        """Assert that these are the readers that are open."""
        assert sum(map(len, self._readers.values())) == len(readers)
        for reader in readers:
            assert reader in self._readers[reader.queue.seal.home]


def _forged() -> Refusal:
    return Refusal(Code.RECEIPT_INVALID, "this is no receipt that was given out", "receipts")


def _unseen() -> Refusal:
    message = "the queue that the receipt is of is being read, or cannot be; show it again"
    return Refusal(Code.UNAVAILABLE, message, "receipts", retry_after_ms=200)


def _expired() -> Refusal:
    message = "the lease is over, and the message is on its way to another member or gone"
    return Refusal(Code.RECEIPT_EXPIRED, message, "receipts")


def _settled() -> Refusal:
    return Refusal(Code.ALREADY_SETTLED, "the message is settled already", "receipts")


def carry_out(now: int, request: Settling, homes: Homes) -> Settled:
    """Do what a request asks for, wherever its receipts lead."""
    settled = Settled(WorkDone(0))
    for reader, runs in homes.sort(request, settled.answer):
        reader.book.touch(reader.group)
        _add(request, reader, _said(now, request, reader, runs), settled.answer)
        settled.readers.append(reader)
    return settled


def _said(now: int, request: Settling, reader: QueueReader, runs: Sequence[ReceiptRun]) -> Answer:
    queue = reader.queue
    if isinstance(request, AckWork):
        return queue.ack(now, runs)
    if isinstance(request, NackWork):
        return queue.nack(now, runs, request.delay_ms)
    if isinstance(request, RejectWork):
        return queue.reject(now, runs, request.reason)
    if isinstance(request, ExtendWork):
        return queue.extend(now, runs, request.timeout_ms)
    return queue.release(now, runs)


def _add(request: Settling, reader: QueueReader, said: Answer, answer: WorkDone) -> None:
    """Add what one queue has answered."""
    answer.done += said.done
    answer.dead += said.dead
    if said.at:
        answer.at_ms = max(answer.at_ms, reader.wall_ms(said.at))
    if answer.dead:
        answer.topic = answer.topic or reader.dead_topic
    for stem, offset, outcome in said.others:
        if outcome is Outcome.SETTLED and isinstance(request, AckWork):
            answer.done += 1
        else:
            answer.refusals.append(ReceiptRefusal(stem, offset, _REFUSALS[outcome]))


_REFUSALS = {Outcome.FORGED: _forged(), Outcome.STALE: _expired(), Outcome.SETTLED: _settled()}
