"""A work queue with messages and time around it, for tests: what it wants is read from a list of keys."""

from random import Random

from attrs import define, field

from goqueue.core.clock import Clock
from goqueue.core.work.plan import Offers
from goqueue.core.work.queue import Grant, WorkQueue
from goqueue.core.work.receipts import Seal
from goqueue.core.work.settings import WorkSettings

MS = 1_000_000
WALL_MS = 1_700_000_000_000
SECRET = b"a secret of sixteen"
# A message that is not there any more.
ABSENT = -1


def seal() -> Seal:
    """The seal of every queue here."""
    return Seal(SECRET, "billing", "orders", 3)


@define
class Worked:
    """A queue over `keys`, the key of each message, None without one and ABSENT where there is none."""

    settings: WorkSettings = field(factory=WorkSettings)
    keys: list[int | None] = field(factory=list)
    now: int = 0
    wall_ms: int = WALL_MS
    epoch: int = 1
    journal: list[bytes] = field(factory=list)
    queue: WorkQueue = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.queue = self.fresh()

    def fresh(self) -> WorkQueue:
        """A queue that knows nothing."""
        return WorkQueue(
            Clock(self.now, self.wall_ms + self.now // MS), Random(self.epoch), seal(), self.epoch, self.settings
        )

    def publish(self, count: int, key: int | None = None) -> None:
        """Messages more."""
        self.keys += [key] * count

    def poll(self, member: str, count: int, span_ms: int = 0) -> Grant | None:
        """What a member is given."""
        read = [
            (start, min(end, len(self.keys)))
            for start, end in self.queue.wanted(self.now, member, count)
            if start < len(self.keys)
        ]
        found = [offset for run in read for offset in range(*run) if self.keys[offset] != ABSENT]
        offers = Offers(read, found, [self.keys[offset] for offset in found])
        return self.queue.lease(self.now, member, offers, span_ms)

    def receipts(self, member: str, count: int, span_ms: int = 0) -> dict[int, str]:
        """The same, as receipts by offset."""
        grant = self.poll(member, count, span_ms)
        return {} if grant is None else dict(zip(grant.offsets, self.queue.receipts(grant), strict=True))

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
