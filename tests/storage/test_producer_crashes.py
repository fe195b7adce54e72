"""Idempotent producers on a simulated disk: what is sent again after a disaster stands in the log once and in order."""

import errno
from collections import deque
from contextlib import suppress

import pytest
from attrs import define, field
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from goqueue.core.clock import Clock
from goqueue.core.log.config import UNLIMITED, Fsync, LogConfig
from goqueue.core.log.effects import Read
from goqueue.core.log.log import Log
from goqueue.core.partition.partition import Partition
from goqueue.core.partition.publishing import Publishing
from goqueue.core.partition.recent import RecentBatches
from goqueue.core.records.batch import split
from goqueue.core.records.build import encode
from goqueue.core.records.record import iterate
from goqueue.core.requests.messages import Acks, Fetch, Published
from goqueue.core.requests.refusals import Code, Outcome, Refusal
from goqueue.storage.jobs import StreamJob
from goqueue.storage.layout import CHECKPOINT_FILE
from goqueue.storage.segment_files import ColdError
from goqueue.storage.simulated import SimulatedDisk
from goqueue.storage.store import Store
from tests.core.calls import call
from tests.storage.logbook import NOW_MS, STREAM, Fuse, PowerCut, flip, in_stream

CLIENTS = 2
UNDER_WAY_MAX = 5
OPERATIONS = ("sync", "sync", "write", "sync_folder", "rename")


@define
class Sent:
    """A batch of a client: its first sequence, how many records it has, and where it is known to be."""

    first: int
    count: int
    offset: int = -1
    # How often it was sent, and how often the broker answered that this did nothing.
    attempts: int = 0
    undone: int = 0


@define
class Client:
    """A producer that keeps every batch until it is acknowledged, and sends them in order."""

    producer_id: int
    next_sequence: int = 0
    under_way: deque[Sent] = field(factory=deque)
    acknowledged: list[Sent] = field(factory=list)

    def batch(self, sent: Sent) -> bytearray:
        """The bytes of a batch, every time the same."""
        records = [(NOW_MS, None, b"%d.%d" % (self.producer_id, sent.first + at), ()) for at in range(sent.count)]
        return encode(records, producer_id=self.producer_id, producer_epoch=0, base_sequence=sent.first)

    def answered(self, sent: Sent, result: object) -> None:
        """The broker has said something of a batch."""
        if isinstance(result, Published):
            assert sent.offset in (-1, result.offset), "one batch, two places"
            sent.offset = result.offset
            while self.under_way and self.under_way[0].offset >= 0:
                self.acknowledged.append(self.under_way.popleft())
        else:
            assert isinstance(result, Refusal)
            assert result.code in (Code.UNAVAILABLE, Code.OUTCOME_UNKNOWN, Code.OUT_OF_ORDER, Code.DUPLICATE), result
            assert result.code is not Code.DUPLICATE or sent.offset >= 0, "it was never taken"
            sent.undone += result.outcome is Outcome.NONE


class Broker:
    """One partition on a disk, with the work of the disk done when somebody says so."""

    def __init__(self, disk: SimulatedDisk, config: LogConfig) -> None:
        self.disk = disk
        self.config = config
        self.store = Store(disk)
        state = self.store.recover(STREAM, config, NOW_MS).state
        self.partition = Partition("orders", 0, Log(STREAM, config, Clock(0, NOW_MS), state), RecentBatches(0))
        self.asked: list[tuple[Publishing, Client, Sent]] = []

    def send(self, client: Client, sent: Sent, acks: Acks = Acks.ALL) -> Publishing:
        """Publish a batch of a client."""
        publishing = Publishing(call(0), [None], 1, acks is not Acks.NONE)
        if publishing.awaits:
            self.asked.append((publishing, client, sent))
        sent.attempts += 1
        self.partition.publish_batch(0, client.batch(sent), publishing)
        self.hear()
        return publishing

    def hear(self) -> None:
        """Let the clients have their answers."""
        self.partition.done.clear()
        asked, self.asked = self.asked, []
        for publishing, client, sent in asked:
            if publishing.missing:
                self.asked.append((publishing, client, sent))
            else:
                client.answered(sent, publishing.results[0])

    def write(self) -> None:
        """Hand over to the disk what was taken."""
        self.store.perform(self.partition.take(0))
        self._tell_failures()
        self.partition.written()
        self.hear()

    def finish(self, job: StreamJob) -> None:
        """Take back a job."""
        self.store.finish(job)
        self._tell_failures()
        if job.failed is None and job.token is not None:
            self.partition.synced(0, job.token)
        self.hear()

    def _tell_failures(self) -> None:
        for failure in self.store.failures():
            self.partition.disk_failed(0, failure.why)

    def recover(self) -> None:
        """Find out what the disk holds after a failure."""
        with suppress(OSError):
            self.partition.reopened(0, self.store.recover(STREAM, self.config, NOW_MS).state)
            self.write()

    def run_jobs(self) -> None:
        """Do all that waits for the disk."""
        while jobs := self.store.take_jobs():
            for job in jobs:
                job.run()
                self.finish(job)

    def values(self) -> list[bytes]:
        """The values of all records, as a reader gets them."""
        found: list[bytes] = []
        offset = self.partition.log.start_offset
        while isinstance(read := self.partition.read(Fetch("orders", 0, offset)), Read):
            try:
                result = self.store.read(read)
            except ColdError:
                result = self.store.cold_read(read).run()
            for batch in split(result.batches):
                found += [bytes(record.value or b"") for record in iterate(batch)]
            offset = result.next_offset
        return found


class ProducerMachine(RuleBasedStateMachine):
    """Two clients, one partition, and every disaster there is."""

    fsync = Fsync.EVERY

    @initialize(
        seed=st.integers(0, 1 << 32),
        segment_bytes=st.sampled_from([250, 700, 5000]),
        interval_bytes=st.sampled_from([0, 200, 4096]),
        checkpoint_bytes=st.sampled_from([200, 500, 1 << 20]),
    )
    def begin(self, seed: int, segment_bytes: int, interval_bytes: int, checkpoint_bytes: int) -> None:
        """Open a fresh partition."""
        self.disk = SimulatedDisk(seed)
        self.config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=interval_bytes,
            checkpoint_bytes=checkpoint_bytes,
            retention_ms=UNLIMITED,
            fsync=self.fsync,
        )
        self.clients = [Client(1000 + number) for number in range(CLIENTS)]
        self.job: StreamJob | None = None
        self.has_deleted = False
        self.broker = Broker(self.disk, self.config)

    # --- what clients do

    @rule(number=st.integers(0, CLIENTS - 1), count=st.integers(1, 3), batches=st.integers(1, 3))
    def send(self, number: int, count: int, batches: int) -> None:
        """Some more batches of a client, as many as it may have under way."""
        client = self.clients[number]
        for _ in range(min(batches, UNDER_WAY_MAX - len(client.under_way))):
            sent = Sent(client.next_sequence, count)
            client.next_sequence += count
            client.under_way.append(sent)
            self.broker.send(client, sent)

    @rule(number=st.integers(0, CLIENTS - 1))
    def send_again(self, number: int) -> None:
        """A client that lost its patience sends everything again, in order."""
        for sent in list(self.clients[number].under_way):
            self.broker.send(self.clients[number], sent)

    @rule(number=st.integers(0, CLIENTS - 1), back=st.integers(0, 7), acks=st.sampled_from(Acks))
    def duplicate(self, number: int, back: int, acks: Acks) -> None:
        """The network brings some batch once more."""
        client = self.clients[number]
        all_sent = [*client.acknowledged, *client.under_way]
        if back < len(all_sent):
            sent = all_sent[-1 - back]
            was_known = sent.offset >= 0 and back < 5 and self.broker.partition.log.unsound is None
            publishing = self.broker.send(client, sent, acks)
            if was_known:
                assert isinstance(publishing.results[0], Published)

    # --- what the disk does

    @rule()
    def write(self) -> None:
        """Let the stream perform what the log wants."""
        self.broker.write()

    @precondition(lambda self: self.job is None)
    @rule()
    def run_job(self) -> None:
        """The thread does its work; the log hears of it later."""
        jobs = self.broker.store.take_jobs()
        if jobs:
            self.job = jobs[0]
            self.job.run()

    @precondition(lambda self: self.job is not None)
    @rule()
    def finish_job(self) -> None:
        """Tell the log what came of its job."""
        job, self.job = self.job, None
        assert job is not None
        self.broker.finish(job)

    @precondition(lambda self: self.job is None)
    @rule()
    def flush(self) -> None:
        """A whole turn with nothing in between."""
        self.broker.write()
        self.broker.run_jobs()

    @precondition(lambda self: self.broker.partition.log.unsound is None)
    @rule()
    def delete_all(self) -> None:
        """What is acknowledged may go: the batches of a producer, not what is known of it."""
        self.broker.partition.log.delete_before(0, self.broker.partition.high_watermark)
        self.has_deleted = True

    # --- what goes wrong

    @precondition(lambda self: self.fsync is Fsync.EVERY)
    @rule(operation=st.sampled_from(OPERATIONS), at_once=st.booleans())
    def trouble(self, operation: str, at_once: bool) -> None:
        """The next operation of a kind fails, and the log may run into it at once."""
        self.disk.fail_next(operation, errno.EIO, STREAM)
        if at_once and self.job is None:
            self.send(0, 2, 1)
            self.flush()

    @precondition(lambda self: self.broker.partition.log.unsound is not None and self.job is None)
    @rule()
    def recover(self) -> None:
        """Look what is there after a failure, and go on."""
        self.broker.recover()
        self._check_order()

    @precondition(lambda self: self.fsync is Fsync.EVERY)
    @rule(left=st.none() | st.integers(0, 12), again=st.none() | st.integers(0, 25))
    def crash(self, left: int | None, again: int | None) -> None:
        """The power goes, maybe amid the work on the disk, and maybe once more while the log recovers."""
        self._until_power_cut(left)
        self.disk.crash()
        self.disk.faults.clear()
        if again is not None:
            faults, self.disk.faults = self.disk.faults, Fuse(self.disk.faults, again)
            with suppress(PowerCut):
                Broker(self.disk, self.config)
            self.disk.faults = faults
            self.disk.crash()
        self._begin_process()

    @rule(left=st.none() | st.integers(0, 12))
    def kill(self, left: int | None) -> None:
        """The process goes, and what it knew of failed syncs; what it wrote stays, unless the disk refused it."""
        self._until_power_cut(left)
        self.disk.kill()
        self._begin_process()

    def _until_power_cut(self, left: int | None) -> None:
        if left is None or self.job is not None:
            return
        # What fails in the work on the disk and what ends it are not both of interest.
        self.disk.faults.clear()
        faults, self.disk.faults = self.disk.faults, Fuse(self.disk.faults, left)
        try:
            with suppress(PowerCut):
                self.broker.write()
                for job in self.broker.store.take_jobs():
                    job.run()
        finally:
            self.disk.faults = faults

    @precondition(lambda self: self.job is None)
    @rule(lost=st.sampled_from(["nothing", "checkpoint", "a bit of it"]))
    def close(self, lost: str) -> None:
        """An orderly end, after which the checkpoint may be missing or damaged."""
        self.disk.faults.clear()
        broker = self.broker
        if broker.partition.log.unsound is not None:
            broker.recover()
        broker.partition.close(0)
        broker.write()
        broker.run_jobs()
        assert broker.asked == []
        broker.store.close()
        if self.has_deleted:
            # Then the checkpoint is all there is.
            lost = "nothing"
        if lost == "checkpoint":
            self.disk.remove(in_stream(CHECKPOINT_FILE))
        elif lost == "a bit of it":
            flip(self.disk, in_stream(CHECKPOINT_FILE), 30)
        before = broker.partition.log
        self._begin_process()
        if lost == "nothing":
            after = self.broker.partition.log
            assert after.producers.encode() == before.producers.encode()

    def _begin_process(self) -> None:
        self.job = None
        self.disk.faults.clear()
        self.broker = Broker(self.disk, self.config)
        self._check_order()

    # --- what must hold

    def _check_order(self) -> None:
        """Each client's records follow one another without a gap, up to the last that was acknowledged or further."""
        if self.broker.partition.log.unsound is not None:
            return
        found: dict[int, list[int]] = {client.producer_id: [] for client in self.clients}
        for value in self.broker.values():
            producer_id, sequence = map(int, value.split(b"."))
            found[producer_id].append(sequence)
        for client in self.clients:
            sequences = found[client.producer_id]
            if sequences:
                assert self.has_deleted or sequences[0] == 0
                assert sequences == list(range(sequences[0], sequences[0] + len(sequences)))
                acknowledged = client.acknowledged[-1] if client.acknowledged else Sent(0, 0)
                assert sequences[-1] + 1 >= acknowledged.first + acknowledged.count
                for sent in client.under_way:
                    if sent.first in sequences:
                        assert sent.attempts > sent.undone, "it is stored, and every answer was that nothing was done"

    @invariant()
    def the_partition_is_in_order(self) -> None:
        """What the components assert of themselves holds at every moment."""
        if hasattr(self, "broker"):
            self.broker.partition.check()
            self.broker.partition.log.producers.check()

    def teardown(self) -> None:
        """After the last crash everything that is sent again is taken, and stands there once."""
        if not hasattr(self, "broker"):
            return
        if self.fsync is Fsync.EVERY:
            self.disk.crash()
        else:
            self.disk.kill()
        self._begin_process()
        for client in self.clients:
            for sent in list(client.under_way):
                self.broker.send(client, sent)
        self.broker.write()
        self.broker.run_jobs()
        assert [client.under_way for client in self.clients] == [deque()] * CLIENTS
        self._check_order()


class IntervalMachine(ProducerMachine):
    """The same where a killed process loses nothing, and nothing else goes wrong."""

    fsync = Fsync.INTERVAL


class LazyMachine(ProducerMachine):
    """The same without a sync."""

    fsync = Fsync.NONE


@pytest.mark.parametrize("machine", [ProducerMachine, IntervalMachine, LazyMachine])
def test_what_is_sent_again_after_any_disaster_is_there_once_and_in_order(machine: type[ProducerMachine]) -> None:
    class Run(machine.TestCase):  # type: ignore[name-defined,misc]
        settings = settings(max_examples=100, stateful_step_count=50, suppress_health_check=[HealthCheck.too_slow])

    Run().runTest()
