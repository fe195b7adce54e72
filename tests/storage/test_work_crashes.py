"""Whatever members do and whenever the node goes down: nothing acknowledged comes again, and all else ends.

The disk is cut off at any moment, with what was not synced kept or lost. A message that was acknowledged, with an
answer, is never given again; no two members have one at a time; what failed too often is told as dead; and once nothing
fails any more every message has ended.
"""

from random import Random

import pytest
from attrs import define, field

from goqueue.core.requests.queues import AckWork, NackWork, PolledWork, PollWork, ReceiptRun, ReleaseWork, WorkDone
from goqueue.core.requests.refusals import Refusal
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.driven_broker import DrivenBroker
from tests.storage.worked_broker import begun, join, leases, messages, publish

VISIBILITY_S = 20


@define
class Seen:
    """What a member knows of a message: by whom it was last given, until when, and what was answered of it."""

    receipt: ReceiptRun
    member: str
    until: int
    attempt: int
    is_acked: bool = False
    may_be_settled: bool = False


@define
class Story:
    """A broker, its disk, two members, and all that they were told."""

    random: Random
    disk: SimulatedDisk
    broker: DrivenBroker = field(init=False)
    members: list[str] = field(factory=list)
    seen: dict[int, Seen] = field(factory=dict)
    published: int = 0

    def begin(self) -> None:
        """A topic and members."""
        self.broker = begun(self.disk)
        self.broker.create("orders", visibility_timeout=f"{VISIBILITY_S}s", max_attempts=1_000, retry_backoff="1s")
        self.members = [join(self.broker, max_in_flight=7) for _ in range(2)]

    def publish(self) -> None:
        """Some messages more."""
        count = self.random.randint(1, 5)
        publish(self.broker, count, self.published)
        self.published += count

    def poll(self, member: str) -> int:
        """A member polls; how many it was given."""
        reply = self.broker.answer(PollWork("billing", member, self.random.choice((1, 3, 10))))
        if isinstance(reply, Refusal):
            return 0
        assert isinstance(reply, PolledWork)
        stems = {run.first_offset + at: run.stem for run in leases(reply.parts) for at in range(run.count)}
        for offset, value, attempt in messages(reply.parts):
            assert value == b"%d" % offset
            before = self.seen.get(offset)
            if before is not None:
                assert not before.is_acked, f"{offset} was acknowledged and came again"
                assert before.until <= self.broker.now, f"{offset} is another member's"
                assert attempt >= before.attempt
            until = self.broker.now + VISIBILITY_S * 1_000_000_000
            self.seen[offset] = Seen(ReceiptRun(stems[offset], offset), member, until, attempt)
        return len(stems)

    def say(self) -> None:
        """Something is said of a message that somebody has, or had."""
        if not self.seen:
            return
        one = self.seen[self.random.choice([*self.seen])]
        kind = self.random.choice((AckWork, AckWork, NackWork, ReleaseWork))
        one.until = 0
        one.may_be_settled = one.may_be_settled or kind is AckWork
        reply = self.broker.answer(kind([one.receipt]))
        if kind is AckWork and isinstance(reply, WorkDone) and reply.done:
            one.is_acked = True

    def crash(self) -> None:
        """The node goes down in the middle of something, and another takes its place."""
        if self.random.random() < 0.5:
            self.broker.ask(PollWork("billing", self.random.choice(self.members), 3))
            for _ in range(self.random.randint(0, 4)):
                self.broker.turn()
        self.disk.crash(self.random.random())
        now = self.broker.now
        self.broker = DrivenBroker(self.disk)
        self.broker.now = now
        self.broker.settle()
        for one in self.seen.values():
            # Its member may find that it lasts longer; how long exactly is not promised.
            one.until = min(one.until, now)

    def fail(self) -> None:
        """The disk of the ledger fails once."""
        self.disk.fail_next("sync", 5, "logs/orders/0/ledger")

    def drain(self) -> None:
        """Nothing fails any more: everything is worked off."""
        for _ in range(40):
            self.broker.later(VISIBILITY_S)
            for member in self.members:
                self.poll(member)
            for one in self.seen.values():
                if not one.is_acked:
                    reply = self.broker.answer(AckWork([one.receipt]))
                    one.is_acked = isinstance(reply, WorkDone) and reply.done == 1
            if len(self.seen) == self.published and all(one.is_acked for one in self.seen.values()):
                return
        left = [*range(self.published)]
        raise AssertionError([offset for offset in left if offset not in self.seen or not self.seen[offset].is_acked])


@pytest.mark.parametrize("seed", range(12))
def test_every_message_ends_once_whatever_happens(seed: int) -> None:
    random = Random(seed)
    story = Story(random, SimulatedDisk(seed))
    story.begin()
    for _ in range(30):
        chance = random.random()
        if chance < 0.15:
            story.publish()
        elif chance < 0.45:
            story.poll(random.choice(story.members))
        elif chance < 0.75:
            story.say()
        elif chance < 0.85:
            story.broker.later(random.choice((1, 5, 30)))
        elif chance < 0.93:
            story.crash()
        else:
            story.fail()
    story.drain()
