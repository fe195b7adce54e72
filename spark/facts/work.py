"""Work queues: who was given what, and what became of it, noted by the node that leads the partition.

What happened stands in the ledger, which the leader writes; whom it was done for, in requests and their answers. So a
lease is a fact when the answer with it leaves for the member, or for the node that asked on its behalf, and an
acknowledgement when that is answered; both rest on records that are durable then. An end that nobody asked for is a
fact as soon as it is written.

Each is noted once: a node that only passes something on does not know its lease. What is written and not answered when
the file ends is noted there and then, as `pending`, since the next file begins with a lease that it takes for told.
"""

from collections.abc import Mapping

from goqueue.core.capture.events import Event
from goqueue.core.node import Node
from goqueue.core.partition.partition import Partition
from goqueue.core.queues.queue_ledger import MOVES_KEY, QueueLedger
from goqueue.core.queues.receipts import read_stem
from goqueue.core.requests.groups import ResetOffsets
from goqueue.core.requests.messages import Side
from goqueue.core.requests.queues import (
    AckWork,
    ExtendWork,
    LeasedBatches,
    LeaseRun,
    NackWork,
    PolledWork,
    PollWork,
    RejectWork,
    ReleaseWork,
    ResetQueues,
    WorkDone,
)
from goqueue.core.services.secret_names import SECRET_KEY
from goqueue.spark.facts.claims import Claims
from goqueue.spark.facts.entries import entries_of
from goqueue.spark.facts.holdings import Held, Holdings, Piece, held_of
from goqueue.spark.facts.inside import agreed_state
from goqueue.spark.facts.listening import Batch, Errand, Hears, Listener, Stream
from goqueue.spark.facts.notebook import Notebook
from goqueue.spark.facts.queues import Queues
from goqueue.spark.facts.services import Slot, books_of

_SHOWING = AckWork, NackWork, RejectWork, ExtendWork, ReleaseWork
_RESETTING = ResetOffsets, ResetQueues
# So many ledgers are looked at in a turn, whether they were read anew: all of them, where there are no more.
_LOOKED_MAX = 16


class Work(Listener):
    """The work queues of a node."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__(notebook)
        self._claims = Claims()
        self._queues = Queues(notebook, self._claims)
        self._holdings: dict[tuple[Slot, str], Holdings] = {}
        self._homes: dict[int, Holdings] = {}
        # Which reading of which ledger the leases are of, and where looking goes on. A topic that is made again, and a
        # leader that comes again, has another ledger, whose readings are counted anew.
        self._loads: dict[Slot, tuple[QueueLedger, int]] = {}
        self._looked = 0
        self._books: Mapping[Slot, QueueLedger] = {}
        self._streams: Mapping[str, Partition] = {}

    def hears(self) -> Hears:
        """Receipts that are shown, answers, and ledgers."""
        return Hears(
            verbs={"take": self._taken},
            asked={**dict.fromkeys(_SHOWING, self._shown), **dict.fromkeys(_RESETTING, self._reset_asked)},
            answered={
                **dict.fromkeys(_SHOWING, self._said),
                **dict.fromkeys(_RESETTING, self._reset_over),
                PollWork: self._polled,
            },
            forgotten={**dict.fromkeys(_SHOWING, self._unheard), **dict.fromkeys(_RESETTING, self._reset_unheard)},
            batches={Side.LEDGER: self._written},
            dropped=self._dropped,
        )

    def begin(self, node: Node) -> list[tuple[int, Errand]]:
        """Know the leases that there are."""
        self._books, self._streams = books_of(node), node.led.streams
        for slot, book in self._books.items():
            self._look(slot, book)
        return []

    def end(self, node: Node) -> None:
        """Note what is written and not answered."""
        for showing in self._claims.all():
            self._queues.answered(showing, "pending")
        for holdings in self._holdings.values():
            for held in holdings.leases.values():
                for piece in held.given:
                    self._note_lease(node, holdings, held, piece)

    def _note_lease(self, node: Node, holdings: Holdings, held: Held, piece: Piece) -> None:
        due_ms = node.clock.wall_ms(held.until)
        self._queues.note(
            "leased", holdings, held, piece, due=due_ms, cause="pending", sequence=held.written,
            value=self._attempts_max(holdings),
        )  # fmt: skip

    def _attempts_max(self, holdings: Holdings) -> int | None:
        """How often a message is given to members, as the group has it at the moment."""
        book = self._books.get(holdings.slot)
        queue = None if book is None else book.queues.get(holdings.group)
        return None if queue is None else queue.settings.max_attempts

    # --- ledgers

    def _taken(self, node: Node, event: Event, came: object) -> None:
        """See whether a ledger was read anew: by another process or leader, its leases may be others."""
        books = self._books
        if len(books) <= _LOOKED_MAX:
            for slot, book in books.items():
                if not self._is_known(slot, book):
                    self._look(slot, book)
            return
        slots = [*books]
        for at in range(self._looked, self._looked + _LOOKED_MAX):
            slot = slots[at % len(slots)]
            if not self._is_known(slot, books[slot]):
                self._look(slot, books[slot])
        self._looked = (self._looked + _LOOKED_MAX) % len(slots)

    def _is_known(self, slot: Slot, book: QueueLedger) -> bool:
        known = self._loads.get(slot)
        return known is not None and known[0] is book and known[1] == book.load

    def _look(self, slot: Slot, book: QueueLedger, *, is_begun: bool = False) -> None:
        """Take over the leases of a ledger, once it is read; `is_begun` where some of them are told by records too."""
        if not book.is_ready:
            return
        self._loads[slot] = book, book.load
        for key in [key for key in self._holdings if key[0] == slot]:
            self._drop(key)
        for group in book.queues:
            holdings, queue = self._of(slot, group, book), book.queues[group]
            window, has_lanes = queue.ledger.window, not queue.settings.key_ordered
            # The record that a queue begins with may be still to come.
            holdings.is_new = is_begun or window.floor == window.reach
            for lease in queue.ledger.leases.all():
                holdings.leases[lease.number] = held_of(lease, window, has_lanes=has_lanes)

    def _dropped(self, node: Node, stream: Stream) -> None:
        """The node has a ledger no more; if that is so since its topic was deleted, nothing will end its leases."""
        if stream.side is not Side.LEDGER:
            return
        slot = stream.topic, stream.partition
        self._loads.pop(slot, None)
        topic = agreed_state(node).topics.get(stream.topic)
        for key in [key for key in self._holdings if key[0] == slot]:
            holdings = self._holdings[key]
            if topic is None or topic.topic_id != holdings.topic_id:
                self._queues.deleted(holdings)
            self._drop(key)

    def _drop(self, key: tuple[Slot, str]) -> None:
        holdings = self._holdings.pop(key)
        for home in [home for home, one in self._homes.items() if one is holdings]:
            del self._homes[home]

    def _of(self, slot: Slot, group: str, book: QueueLedger) -> Holdings:
        holdings = self._holdings.get((slot, group))
        if holdings is None:
            queue = book.queues.get(group)
            home = 0 if queue is None else queue.seal.home
            holdings = self._holdings[slot, group] = Holdings(group, slot, home, is_new=True)
            ledger = self._streams.get(f"logs/{slot[0]}/{slot[1]}/{Side.LEDGER.value}")
            holdings.epoch = None if ledger is None else ledger.leader_epoch
            holdings.topic_id = self.notebook.topic_id(slot[0])
            if queue is not None:
                self._homes[queue.seal.home] = holdings
        return holdings

    def _written(self, node: Node, batch: Batch) -> None:
        if not batch.is_led:
            return
        slot = (batch.stream.topic, batch.stream.partition)
        book = self._books.get(slot)
        if book is None:
            return
        if not self._is_known(slot, book):
            self._look(slot, book, is_begun=True)
        for key, value in entries_of(batch.content):
            if key in (MOVES_KEY, SECRET_KEY):
                continue
            group = key.decode()
            holdings = self._of(slot, group, book)
            holdings.epoch = batch.header.leader_epoch
            if value is None:
                self._queues.end(holdings)
                self._drop((slot, group))
            else:
                self._queues.read(node, book.queues.get(group), holdings, value)

    # --- requests and answers

    def _reset_asked(self, node: Node, errand: Errand) -> None:
        if not errand.request.dry_run:
            self._queues.resets[errand.request.group, errand.request.topic] += 1

    def _reset_over(self, node: Node, errand: Errand, reply: object) -> None:
        self._reset_unheard(node, errand)

    def _reset_unheard(self, node: Node, errand: Errand) -> None:
        key = errand.request.group, errand.request.topic
        if self._queues.resets[key] and not errand.request.dry_run:
            self._queues.resets[key] -= 1

    def _shown(self, node: Node, errand: Errand) -> None:
        self._claims.add(errand, self._homes.get)

    def _said(self, node: Node, errand: Errand, reply: object) -> None:
        showing = self._claims.pop(errand)
        if showing is not None and isinstance(reply, WorkDone):
            self._queues.answered(showing, None)
            self._queues.promised(showing, {(one.stem, one.offset) for one in reply.refusals}, self._homes.get)

    def _unheard(self, node: Node, errand: Errand) -> None:
        showing = self._claims.pop(errand)
        if showing is not None:
            self._queues.answered(showing, "unheard")

    def _polled(self, node: Node, errand: Errand, reply: object) -> None:
        for part in reply.parts if isinstance(reply, PolledWork) else ():
            holdings = self._holdings.get(((part.topic, part.partition), errand.request.group))
            if holdings is not None:
                self._told(errand, holdings, part)

    def _told(self, errand: Errand, holdings: Holdings, part: LeasedBatches) -> None:
        """A member hears of leases on a partition; those that it heard of before are on another node's account."""
        found: list[tuple[LeaseRun, Held]] = []
        for run in part.leases:
            held = holdings.told(read_stem(run.stem).lease)
            if held is not None:
                found.append((run, held))
        attempts_max = self._attempts_max(holdings) if found else None
        for run, held in found:
            first, end = run.first_offset, run.first_offset + run.count
            for piece in held.given:
                if piece.first < end and first < piece.end:
                    within = Piece(max(piece.first, first), min(piece.end, end), run.attempt, piece.lane)
                    self._queues.note(
                        "leased", holdings, held, within, due=run.until_ms, since=errand.at, sequence=held.written,
                        client=errand.caller.client_id or None, value=attempts_max,
                    )  # fmt: skip
        for _, held in found:
            held.given = []
