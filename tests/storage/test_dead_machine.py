"""Messages die, are sent back, purged and acknowledged at random, while the broker crashes and disks fail.

The model is a place for each message, by its value: with the group, a letter, or at an end (acknowledged, purged).
What the broker was asked and has not answered may have come to be or not; all that it answered has.
"""

import errno
from collections import Counter

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from goqueue.core.records.batch import split
from goqueue.core.records.record import iterate
from goqueue.core.requests.deadletters import (
    BrowseDead,
    DeadLetters,
    ListRedrives,
    PurgeDead,
    RedriveReply,
    RedriveState,
    Sieve,
    StartRedrive,
)
from goqueue.core.requests.groups import GroupMode, Joined, JoinGroup
from goqueue.core.requests.messages import NewRecord, Publish, PublishReply
from goqueue.core.requests.queues import AckWork, PolledWork, PollWork, ReceiptRun, RejectWork, WorkDone
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.core.requests.topics import CreateTopic
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.dead_letters import counts
from tests.storage.driven_broker import DrivenBroker

PARTITIONS = 2
STREAMS = ["logs/orders/", "logs/orders.dlq/", "logs/orders.dlq/0/ledger", "logs/orders/1/ledger", "meta/cluster"]
KEYS = [b"a", b"b"]

Given = tuple[bytes, ReceiptRun]


class DeadMachine(RuleBasedStateMachine):
    """A broker on a disk that fails, and what its messages have come to."""

    @initialize(seed=st.integers(0, 1 << 32))
    def begin(self, seed: int) -> None:
        """An empty topic and a member."""
        self.disk = SimulatedDisk(seed)
        self.broker = DrivenBroker(self.disk)
        self.broker.settle()
        config: dict[str, object] = {"visibility_timeout": "10s", "max_attempts": 1000, "retry_backoff": "1s"}
        assert not isinstance(self.broker.answer(CreateTopic("orders", PARTITIONS, 1, config)), Refusal)
        self.published = 0
        self.given: list[Given] = []
        self.acknowledged: set[bytes] = set()
        # Whose end is not known: it was asked for, and not answered.
        self.unsure: set[bytes] = set()
        self.purges = False
        self._join()

    def _join(self) -> None:
        reply = self._asked(JoinGroup("billing", ["orders"], mode=GroupMode.SHARED, session_timeout_ms=1_800_000))
        self.member = reply.member_id if isinstance(reply, Joined) else ""

    def _asked(self, request: object) -> object:
        """The answer, or None when there was none."""
        to = self.broker.ask(request)  # type: ignore[arg-type]
        for _ in range(5):
            self.broker.settle()
            if to in self.broker.answered():
                return self.broker.taken(to)
            self.broker.later(1)
        return None

    # --- what clients do

    @rule(number=st.integers(0, PARTITIONS - 1), count=st.integers(1, 8))
    def publish(self, number: int, count: int) -> None:
        """Messages more; those that were refused are not counted on, and never come."""
        values = [b"%d" % (self.published + at) for at in range(count)]
        records = [NewRecord(KEYS[at % 2], value, partition=number) for at, value in enumerate(values)]
        reply = self._asked(Publish("orders", records))
        if isinstance(reply, PublishReply) and not any(isinstance(one, Refusal) for one in reply.results):
            self.published += count
        else:
            self.published += count
            self.unsure.update(values)

    @rule(count=st.integers(1, 10))
    def poll(self, count: int) -> None:
        """Be given something."""
        reply = self._asked(PollWork("billing", self.member, count))
        for part in reply.parts if isinstance(reply, PolledWork) else ():
            values = {one.offset: bytes(one.value or b"") for batch in split(part.batches) for one in iterate(batch)}
            for lease in part.leases:
                for offset in range(lease.first_offset, lease.first_offset + lease.count):
                    assert values[offset] not in self.acknowledged, "an acknowledged message was delivered again"
                    self.given.append((values[offset], ReceiptRun(lease.stem, offset)))

    @rule(count=st.integers(1, 6), are_dead=st.booleans())
    def settle(self, count: int, are_dead: bool) -> None:
        """Say what came of some of it."""
        taken, self.given = self.given[:count], self.given[count:]
        for value, run in taken:
            reply = self._asked(RejectWork([run], "no") if are_dead else AckWork([run]))
            if isinstance(reply, WorkDone) and reply.done and not are_dead:
                self.acknowledged.add(value)
            elif not isinstance(reply, WorkDone) and not are_dead:
                self.unsure.add(value)

    @rule(
        key=st.sampled_from([None, *KEYS]), rate=st.sampled_from([0, 0, 20]), limit=st.sampled_from([0, 0, 3]),
    )  # fmt: skip
    def redrive(self, key: bytes | None, rate: int, limit: int) -> None:
        """Send letters back."""
        self._asked(StartRedrive("orders.dlq", "", Sieve(key=key), rate, limit))

    @rule(key=st.sampled_from(KEYS))
    def purge(self, key: bytes) -> None:
        """Drop letters, of which it is not known how many there are."""
        reply = self._asked(PurgeDead("orders.dlq", Sieve(key=key)))
        # Where the ledger fails, it may have begun or not.
        if not isinstance(reply, Refusal) or reply.code is Code.UNAVAILABLE:
            self.purges = True

    # --- what happens to the broker

    @rule(seconds=st.sampled_from([0.05, 1, 11]))
    def wait(self, seconds: float) -> None:
        """Let leases and pauses end."""
        self.broker.later(seconds)

    @rule(is_clean=st.booleans(), turns=st.integers(0, 6))
    def restart(self, is_clean: bool, turns: int) -> None:
        """Stop in the middle of things."""
        for _ in range(turns):
            self.broker.turn()
        if is_clean:
            self.broker.close()
        else:
            self.disk.crash()
        now = self.broker.now
        self.broker = DrivenBroker(self.disk)
        self.broker.now = now
        self.broker.settle()

    @rule(
        stream=st.sampled_from(STREAMS), operation=st.sampled_from(["sync", "write", "read"]), after=st.integers(0, 4)
    )
    def break_disk(self, stream: str, operation: str, after: int) -> None:
        """Have the disk refuse something before long."""
        self.disk.fail_next(operation, errno.EIO, stream, after)

    # --- what must hold

    def teardown(self) -> None:
        """When all has come to rest each message is in one place, once."""
        if not hasattr(self, "broker"):
            return
        self.disk.faults.clear()
        for _ in range(6):
            self.broker.later(61)
        jobs = self.broker.answer(ListRedrives())
        assert isinstance(jobs, list), jobs
        for job in jobs:
            assert isinstance(job, RedriveReply)
            assert job.state is RedriveState.DONE, job
            assert job.moved == job.matched <= job.looked <= job.total
        places = Counter([*self._letters(), *self._alive()])
        assert all(count == 1 for count in places.values()), places
        everything = {b"%d" % at for at in range(self.published)}
        assert places.keys() <= everything
        assert not places.keys() & self.acknowledged
        if not self.purges:
            assert everything - places.keys() <= self.acknowledged | self.unsure

    def _letters(self) -> list[bytes]:
        if "orders.dlq" not in self.broker.node.led.topics:
            return []
        reply = self.broker.answer(BrowseDead("orders.dlq", limit=1000))
        assert isinstance(reply, DeadLetters), reply
        assert len(reply.letters) == counts(self.broker)["orders.dlq"]
        return [letter.value or b"" for letter in reply.letters]

    def _alive(self) -> list[bytes]:
        self._join()
        assert self.member
        before = len(self.given)
        for _ in range(4):
            self.poll(1000)
        return [value for value, _ in self.given[before:]]


TestDeadLetters = DeadMachine.TestCase
TestDeadLetters.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
