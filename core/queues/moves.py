"""What a partition's ledger knows of the moves out of it, and the only code that changes it.

A move is an intent, then its batch, then the word that it arrived. An intent without that word is published again
after a crash, with the same producer and the same sequences; a target that has the batch answers as the first time. So
it makes no difference between which two steps the crash was, and one intent at a time is all that there ever is.

What is remembered of a target is the sequence at which the next batch begins. Another producer id begins at 0 with all
of them, so whenever a target and this disagree, or there are too many to remember, another id is the way out.

In a topic of dead letters the letters that were sent back or purged are gone. That is told by the same record as the
arrival, and so is a redrive's tally.

A stream may begin in the middle, before a snapshot that says everything. So the end of an intent that is not known is
passed over.

Invariant: an intent bears the producer id and the sequence that are next for its target.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from attrs import define, evolve, field

from goqueue.core.errors import ProtocolError
from goqueue.core.log.producers import advance
from goqueue.core.queues.gone import Gone
from goqueue.core.queues.move_records import (
    DEAD_CODEC,
    Abandoned,
    Arrived,
    Closed,
    Cut,
    DeadRecord,
    Enlisted,
    Intent,
    Job,
    MovesSnapshot,
    Passed,
    Tally,
)
from goqueue.core.queues.records import unpacked, unpacked_runs
from goqueue.core.requests.deadletters import RedriveState

Kept = TypeVar("Kept")

NO_PRODUCER = -1
JOBS_REMEMBERED = 100
_TARGETS_MAX = 64


@define
class Moves:
    """The moves out of one partition; the book of its ledger keeps its records beside those of the work queues."""

    producer_id: int = NO_PRODUCER
    intent: Intent | None = None
    gone: Gone = field(factory=Gone)
    # The redrives that look at this partition, and how far they are; those kept by this partition, the oldest first.
    tallies: dict[str, Tally] = field(factory=dict)
    jobs: dict[str, Job] = field(factory=dict)
    last_number: int = 0
    _sequences: dict[str, int] = field(factory=dict)
    _records: list[bytes] = field(factory=list)

    # --- records

    def replay(self, now: int, content: bytes) -> None:
        """Take in a record that was kept; ProtocolError when it is none."""
        self._apply(DEAD_CODEC.decode(content))

    def take(self) -> list[bytes]:
        """The records that came of the calls since the last one, in order."""
        records, self._records = self._records, []
        return records

    @property
    def has_taken(self) -> bool:
        """Whether all records are on their way."""
        return not self._records

    def snapshot(self, now: int) -> bytes:
        """A record of everything; what was kept before it may be dropped once it is durable."""
        assert not self._records, "records are taken before a snapshot is made"
        gone = self.gone
        snapshot = MovesSnapshot(
            self.producer_id,
            self.last_number,
            self._sequences,
            b"" if self.intent is None else DEAD_CODEC.encode(self.intent),
            gone.floor,
            [*gone.pages],
            [bytes(page) for page in gone.pages.values()],
            {job: DEAD_CODEC.encode(tally) for job, tally in self.tallies.items()},
            [DEAD_CODEC.encode(job) for job in self.jobs.values()],
        )
        return DEAD_CODEC.encode(snapshot)

    def keep(self, record: DeadRecord) -> None:
        """Change the state by a record, and have it written."""
        assert not isinstance(record, Intent) or self.intent is None
        self._apply(record)
        self._records.append(DEAD_CODEC.encode(record))

    # --- looking

    def sequence(self, topic: str, partition: int) -> int:
        """The sequence at which the next batch for a target begins."""
        return self._sequences.get(f"{topic}/{partition}", 0)

    def left(self, start: int, end: int) -> int:
        """How many letters of a topic of dead letters are neither sent back nor purged."""
        return end - start - self.gone.count(start, end) if start < end else 0

    # --- how records change the state

    def _apply(self, record: DeadRecord) -> None:
        _APPLY[type(record)](self, record)

    def _enlisted(self, record: Enlisted) -> None:
        self.producer_id = record.producer_id
        self._sequences = {}

    def _intent(self, record: Intent) -> None:
        self.intent = record
        self.last_number = record.number

    def _arrived(self, record: Arrived) -> None:
        intent = self.intent
        if intent is None or intent.number != record.number:
            return
        self.intent = None
        target = f"{intent.topic}/{intent.partition}"
        self._sequences[target] = advance(intent.sequence, record.count)
        while len(self._sequences) > _TARGETS_MAX:
            # Whoever is forgotten is met with sequence 0, is refused, and another producer id begins.
            del self._sequences[next(iter(self._sequences))]
        if not intent.job:
            return
        for offset in unpacked(intent.offsets):
            self.gone.add(offset, offset + 1)
        moved = self.tallies.get(intent.job, Tally()).moved + record.count
        self.tallies[intent.job] = Tally(intent.position, intent.looked, intent.matched, moved)

    def _abandoned(self, record: Abandoned) -> None:
        if self.intent is not None and self.intent.number == record.number:
            self.intent = None

    def _passed(self, record: Passed) -> None:
        self.tallies[record.job] = Tally(record.position, record.looked, record.matched, record.moved)
        for run in unpacked_runs(record.gone):
            self.gone.add(*run)

    def _closed(self, record: Closed) -> None:
        self.tallies.pop(record.job, None)

    def _cut(self, record: Cut) -> None:
        self.gone.cut(record.end)

    def _job(self, record: Job) -> None:
        self.jobs[record.redrive_id] = evolve(record)
        ended = [one.redrive_id for one in self.jobs.values() if one.state is not RedriveState.RUNNING]
        for redrive_id in ended[: max(len(ended) - JOBS_REMEMBERED, 0)]:
            del self.jobs[redrive_id]

    def _restored(self, record: MovesSnapshot) -> None:
        self.producer_id, self.last_number = record.producer_id, record.last_number
        self._sequences = dict(record.sequences)
        self.intent = _decoded(Intent, record.intent) if record.intent else None
        self.gone = Gone()
        self.gone.add(0, record.floor)
        for number, page in zip(record.numbers, record.pages, strict=True):
            self.gone.restore(number, page)
        self.tallies = {job: _decoded(Tally, content) for job, content in record.tallies.items()}
        jobs = [_decoded(Job, content) for content in record.jobs]
        self.jobs = {job.redrive_id: job for job in jobs}

    def check(self) -> None:
        """Assert the invariants."""
        self.gone.check()
        intent = self.intent
        if intent is not None:
            assert intent.number == self.last_number
            assert intent.producer_id == self.producer_id != NO_PRODUCER
            assert intent.sequence == self.sequence(intent.topic, intent.partition)
            assert len(unpacked(intent.deaths)) == 2 * len(unpacked(intent.offsets)) > 0
            assert bool(intent.job) != bool(intent.group)
        assert len(self._sequences) <= _TARGETS_MAX
        assert sum(job.state is not RedriveState.RUNNING for job in self.jobs.values()) <= JOBS_REMEMBERED


def _decoded(cls: type[Kept], content: bytes) -> Kept:
    record = DEAD_CODEC.decode(content)
    if not isinstance(record, cls):
        raise ProtocolError(f"a {type(record).__name__} stands where a {cls.__name__} belongs")
    return record


_APPLY: dict[type, Callable[[Moves, Any], None]] = {
    Enlisted: Moves._enlisted,
    Intent: Moves._intent,
    Arrived: Moves._arrived,
    Abandoned: Moves._abandoned,
    Passed: Moves._passed,
    Closed: Moves._closed,
    Cut: Moves._cut,
    Job: Moves._job,
    MovesSnapshot: Moves._restored,
}
