"""Dead letters: stored where they belong, sent back, or dropped, noted by the leader of the partition that they leave.

A move is an intent in the ledger and, once its target has the batch, the word that it arrived. The intent says whose
death each message died; the batch, recognised by its producer and sequence, says at which offset it lies, here or in
the answer of the node that leads its target.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from goqueue.core.node import Node
from goqueue.core.queues.move_records import DEAD_CODEC, Abandoned, Arrived, Intent, Passed
from goqueue.core.queues.queue_ledger import MOVES_KEY
from goqueue.core.queues.records import unpacked, unpacked_runs
from goqueue.core.queues.window import runs_of
from goqueue.core.records.batch import Header, read_header
from goqueue.core.requests.messages import PublishBatch, Published, PublishReply, Side
from goqueue.core.routing.messages import Answered, Forwarded
from goqueue.spark.facts.entries import entries_of
from goqueue.spark.facts.listening import Batch, Errand, Hears, Listener
from goqueue.spark.facts.notebook import Notebook
from goqueue.spark.facts.queues import cause_of
from goqueue.spark.facts.services import Slot, books_of

# Where a batch goes, and what it is recognised by there.
_Key = tuple[str, int, int, int]
_ASKED_MAX = 1 << 12


class Dead(Listener):
    """The moves out of all partitions that a node leads; a partition has one under way at most."""

    def __init__(self, notebook: Notebook) -> None:
        super().__init__(notebook)
        self._intents: dict[Slot, Intent] = {}
        # Batches on their way, and at which offset each came to lie; those that another node was asked to take.
        self._landed: dict[_Key, int | None] = {}
        self._asked: dict[tuple[str, int, int], _Key] = {}
        self._reads: dict[type, Callable[[Slot, Any], None]] = {
            Intent: self._intended,
            Arrived: self._arrived,
            Abandoned: self._abandoned,
            Passed: self._passed,
        }

    def hears(self) -> Hears:
        """Ledgers, and batches wherever they go."""
        return Hears(
            batches={Side.LEDGER: self._written, Side.DATA: self._appended},
            sent={Forwarded: self._sent},
            received={Answered: self._received},
        )

    def begin(self, node: Node) -> list[tuple[int, Errand]]:
        """Know what is on its way."""
        for slot, book in books_of(node).items():
            if book.moves.intent is not None:
                self._intended(slot, book.moves.intent)
        return []

    # --- where batches come to lie

    def _appended(self, node: Node, batch: Batch) -> None:
        if self._landed and batch.is_led:
            key = _key(batch.stream.topic, batch.stream.partition, batch.header)
            if key in self._landed:
                self._landed[key] = batch.header.base_offset

    def _sent(self, node: Node, peer: str, letter: Forwarded) -> None:
        request = letter.request
        if self._landed and isinstance(request, PublishBatch) and letter.is_own:
            key = _key(request.topic, request.partition, read_header(request.batch))
            if key in self._landed and len(self._asked) < _ASKED_MAX:
                self._asked[peer, letter.origin, letter.number] = key

    def _received(self, node: Node, peer: str, letter: Answered) -> None:
        key = self._asked.pop((peer, letter.origin, letter.number), None) if self._asked else None
        if key in self._landed and isinstance(letter.reply, PublishReply):
            result = letter.reply.results[0]
            if isinstance(result, Published):
                self._landed[key] = result.offset

    # --- ledgers

    def _written(self, node: Node, batch: Batch) -> None:
        if not batch.is_led:
            return
        slot = (batch.stream.topic, batch.stream.partition)
        for key, value in entries_of(batch.content):
            if key == MOVES_KEY and value is not None:
                record = DEAD_CODEC.decode(value)
                read = self._reads.get(type(record))
                if read is not None:
                    read(slot, record)

    def _intended(self, slot: Slot, intent: Intent) -> None:
        self._forget(slot)
        self._intents[slot] = intent
        self._landed[_key_of(intent)] = None

    def _forget(self, slot: Slot) -> tuple[Intent, int | None] | None:
        intent = self._intents.pop(slot, None)
        return None if intent is None else (intent, self._landed.pop(_key_of(intent), None))

    def _abandoned(self, slot: Slot, record: Abandoned) -> None:
        self._forget(slot)

    def _arrived(self, slot: Slot, record: Arrived) -> None:
        found = self._forget(slot)
        if found is None or found[0].number != record.number:
            return
        intent, base_offset = found
        is_whole = record.count == len(unpacked(intent.offsets))
        note = self._sent_back if intent.job else self._buried
        note(slot, intent, base_offset if is_whole else None)

    def _buried(self, slot: Slot, intent: Intent, base_offset: int | None) -> None:
        for first, count, at, reason, attempt in _deaths(intent):
            place = "" if base_offset is None else f"/{base_offset + at}"
            self.notebook.note(
                "buried", topic=slot[0], partition=slot[1], first=first, end=first + count, group=intent.group,
                attempt=attempt, cause=cause_of(reason), detail=f"{intent.topic}/{intent.partition}{place}",
            )  # fmt: skip

    def _sent_back(self, slot: Slot, intent: Intent, base_offset: int | None) -> None:
        place = "" if base_offset is None else f"/{base_offset}"
        for first, end in runs_of(sorted(unpacked(intent.offsets))):
            self.notebook.note(
                "redriven", topic=slot[0], partition=slot[1], first=first, end=end, count=end - first,
                detail=f"{intent.topic}/{intent.partition}{place}",
            )  # fmt: skip

    def _passed(self, slot: Slot, record: Passed) -> None:
        for first, end in unpacked_runs(record.gone):
            self.notebook.note(
                "redriven", topic=slot[0], partition=slot[1], first=first, end=end, count=end - first, cause="purged"
            )


def _key(topic: str, partition: int, header: Header) -> _Key:
    return topic, partition, header.producer_id, header.base_sequence


def _key_of(intent: Intent) -> _Key:
    return intent.topic, intent.partition, intent.producer_id, intent.sequence


def _deaths(intent: Intent) -> Iterator[tuple[int, int, int, str, int]]:
    """The letters of a batch, those together that follow each other and died of the same: offset, count and place."""
    offsets, deaths = unpacked(intent.offsets), unpacked(intent.deaths)
    died = [(intent.reasons[why], attempt) for why, attempt in zip(deaths[::2], deaths[1::2], strict=True)]
    letters = enumerate(zip(offsets, died, strict=True))
    for (_, (reason, attempt)), alike in groupby(letters, lambda each: (each[1][0] - each[0], each[1][1])):
        together = [*alike]
        at, (first, _) = together[0]
        yield first, len(together), at, reason, attempt
