"""A work queue with messages and time around it, for tests: what it wants is read from a list of keys."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from random import Random

from attrs import define, field

from goqueue.core.clock import Clock
from goqueue.core.cluster.queue_settings import WorkSettings
from goqueue.core.errors import ProtocolError
from goqueue.core.partition.lanes import LaneIndex
from goqueue.core.queues.plan import Offers
from goqueue.core.queues.proving import Answer, Outcome
from goqueue.core.queues.queue import Grant, WorkQueue
from goqueue.core.queues.receipts import Seal, read_receipt, spelled_receipt
from goqueue.core.requests.queues import ReceiptRun
from tests.core.seeded_secrets import seal_of

MS = 1_000_000
WALL_MS = 1_700_000_000_000
SECRET = b"a secret of sixteen"
# A message that is not there any more.
ABSENT = -1


def seal() -> Seal:
    """The seal of every queue here."""
    return seal_of(SECRET, "billing", "orders", 3)


def attempts(grant: Grant) -> dict[int, int]:
    """Which attempt each message is that was given, in the order in which they were."""
    return {run.first_offset + at: run.attempt for run in grant.runs for at in range(run.count)}


def spelled(grant: Grant) -> dict[int, str]:
    """The receipts of what was given, a text each."""
    offsets = [(run, run.first_offset + at) for run in grant.runs for at in range(run.count)]
    return {offset: spelled_receipt(run.stem, offset) for run, offset in offsets}


@define
class Worked:
    """A queue over `keys`, the key of each message, None without one and ABSENT where there is none.

    With an index of lanes, `lanes` has the lane of each message. Those in `expired` are past their time.
    """

    settings: WorkSettings = field(factory=WorkSettings)
    keys: list[int | None] = field(factory=list)
    now: int = 0
    wall_ms: int = WALL_MS
    epoch: int = 1
    journal: list[bytes] = field(factory=list)
    index: LaneIndex | None = None
    lanes: list[int] = field(factory=list)
    expired: set[int] = field(factory=set)
    queue: WorkQueue = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.queue = self.fresh()

    def fresh(self) -> WorkQueue:
        """A queue that knows nothing."""
        clock = Clock(self.now, self.wall_ms + self.now // MS)
        return WorkQueue(clock, Random(self.epoch), seal(), self.epoch, self.settings, self.index)

    def publish(self, count: int, key: int | None = None) -> None:
        """Messages more."""
        self.keys += [key] * count

    def publish_in(self, lane: int, count: int) -> None:
        """A batch in a lane."""
        assert self.index is not None
        self.index.add_run(len(self.keys), len(self.keys) + count, lane)
        self.publish(count)
        self.lanes += [lane] * count

    def poll(self, member: str, count: int, span_ms: int = 0) -> Grant | None:
        """What a member is given."""
        read = [
            (start, min(end, len(self.keys)))
            for start, end in self.queue.wanted(self.now, member, count)
            if start < len(self.keys)
        ]
        found = [offset for run in read for offset in range(*run) if self.keys[offset] != ABSENT]
        expired = [offset for offset in found if offset in self.expired]
        offers = Offers(read, found, [self.keys[offset] for offset in found], expired)
        return self.queue.lease(self.now, member, offers, span_ms)

    def receipts(self, member: str, count: int, span_ms: int = 0) -> dict[int, str]:
        """The same, as receipts by offset."""
        grant = self.poll(member, count, span_ms)
        return {} if grant is None else spelled(grant)

    # --- receipts one by one

    def ack(self, now: int, texts: Sequence[str]) -> list[Outcome]:
        """Messages are done."""
        return self._outcomes(texts, partial(self.queue.ack, now))

    def nack(self, now: int, texts: Sequence[str], delay_ms: int | None = None) -> list[Outcome]:
        """Messages failed."""
        return self._outcomes(texts, partial(self.queue.nack, now, delay_ms=delay_ms))

    def reject(self, now: int, texts: Sequence[str], reason: str) -> list[Outcome]:
        """Messages will never do."""
        return self._outcomes(texts, partial(self.queue.reject, now, reason=reason))

    def extend(self, now: int, texts: Sequence[str], span_ms: int) -> list[Outcome]:
        """Messages take longer."""
        return self._outcomes(texts, partial(self.queue.extend, now, span_ms=span_ms))

    def release(self, now: int, texts: Sequence[str]) -> list[Outcome]:
        """Messages were not begun."""
        return self._outcomes(texts, partial(self.queue.release, now))

    def _outcomes(self, texts: Sequence[str], verb: Callable[[list[ReceiptRun]], Answer]) -> list[Outcome]:
        runs: list[ReceiptRun] = []
        for text in texts:
            with suppress(ProtocolError):
                runs.append(read_receipt(text))
        answer = verb(runs)
        assert answer.done + len(answer.others) == len(runs)
        others = {spelled_receipt(stem, offset): outcome for stem, offset, outcome in answer.others}
        readable = {spelled_receipt(run.stem, run.first_offset) for run in runs}
        return [others.get(text, Outcome.DONE) if text in readable else Outcome.FORGED for text in texts]

    def let_pass(self, span_ms: int) -> None:
        """Time passes, and the queue is woken whenever it asks for it."""
        end = self.now + span_ms * MS
        while (due := self.queue.deadline()) is not None and due <= end:
            self.now = max(due, self.now)
            self.queue.wake(self.now)
            self.queue.check()
        self.now = end

    def flush(self) -> None:
        """What was said is durable."""
        self.journal += self.queue.take()

    def restart(self) -> None:
        """The node is gone, and with it what was not durable; another one reads what was."""
        self.epoch += 1
        self.queue = self.fresh()
        for content in self.journal:
            self.queue.replay(self.now, content)
        self.queue.check()
