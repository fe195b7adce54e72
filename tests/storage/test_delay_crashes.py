"""Delayed messages through crashes and failing disks: none lost, none twice, none early, none that was cancelled."""

import errno
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from goqueue.core.log.thresholds import Thresholds
from goqueue.core.records.batch import read_header, split
from goqueue.core.records.record import Record
from goqueue.core.requests.delays import CancelDelayed, DelayedMessage, GetDelayed, ListDelayed, RescheduleDelayed
from goqueue.core.requests.messages import Fetch, Fetched, Publish, Published, PublishReply, Side
from goqueue.core.requests.refusals import Code, Refusal
from goqueue.storage.jobs import StreamJob
from goqueue.storage.node_disk import Work
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.delayed_broker import (
    TOPIC,
    begun,
    cancel,
    delayed,
    delivered,
    jump,
    measured,
    page,
    pending,
    put_off,
    schedule,
    send,
    started,
)
from tests.storage.driven_broker import WALL_MS, DrivenBroker

DATA = f"logs/{TOPIC}/0"
SCHEDULE = f"{DATA}/{Side.SCHEDULE}"


def is_sync_of(stream: str) -> Callable[[Work], bool]:
    def matches(work: Work) -> bool:
        return isinstance(work, StreamJob) and work.folder == stream

    return matches


# --- restarts


@pytest.mark.parametrize("survives", [0.0, 0.5, 1.0])
def test_what_is_pending_outlives_a_crash(survives: float) -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    first, second, third = schedule(broker, 1_000, 2_000, 3_000)
    cancel(broker, first)
    put_off(broker, third, 1_500)
    disk.crash(survives)
    again = started(disk)
    assert pending(again) == [(1_500, third), (2_000, second)]
    again.later(5)
    assert delivered(again) == [b"3000", b"2000"]


def test_a_schedule_whose_log_begins_within_a_segment_is_read_from_there() -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    schedule(broker, 1_000, 1_500)
    broker.later(2)
    [kept] = schedule(broker, 60_000)
    # A replica that follows what its leader trims has its own segments.
    partition = broker.node.led.streams[SCHEDULE]
    partition.log.delete_before(broker.now, kept)
    broker.node._streams.touch(partition)
    broker.settle()
    broker.close()
    again = started(disk, broker.now)
    assert [offset for _, offset in pending(again)] == [kept]
    again.later(70)
    assert delivered(again)[-1] == b"60000"


def test_a_clean_stop_changes_nothing() -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    schedule(broker, 1_000, 2_000)
    broker.later(1.5)
    broker.close()
    again = started(disk, broker.now)
    assert pending(again) == [(2_000, 1)]
    again.later(1)
    assert delivered(again) == [b"1000", b"2000"]


def test_what_became_due_while_the_node_was_down_comes_at_once_in_order_and_is_not_late_twice() -> None:
    disk = SimulatedDisk(1)
    schedule(begun(disk), 3_000, 1_000, 2_000, 90_000_000)
    disk.crash(0.5)
    again = started(disk, 86_400 * 1_000_000_000)
    assert delivered(again) == [b"1000", b"2000", b"3000"]
    disk.crash(0.5)
    assert delivered(started(disk, 86_400 * 1_000_000_000)) == [b"1000", b"2000", b"3000"]


def test_a_publish_is_answered_when_it_is_durable() -> None:
    broker = begun()
    schedule(broker, 60_000)
    to = broker.ask(Publish(TOPIC, [delayed(b"x", 1_000)]))
    broker.settle(is_sync_of(SCHEDULE))
    assert to not in broker.answered()
    assert page(broker).count == 1
    broker.release()
    broker.settle()
    assert isinstance(broker.taken(to), PublishReply)
    assert page(broker).count == 2


def test_a_cancellation_is_answered_when_it_is_durable() -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    [offset] = schedule(broker, 1_000)
    to = broker.ask(CancelDelayed(TOPIC, 0, offset))
    broker.settle(is_sync_of(SCHEDULE))
    assert to not in broker.answered()
    disk.crash(0.0)
    again = started(disk)
    again.later(2)
    assert delivered(again) == [b"1000"]


def test_nothing_is_written_to_the_data_before_the_intention_is_durable() -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    schedule(broker, 1_000)
    broker.later(2, is_sync_of(SCHEDULE))
    assert broker.node.led.ends(TOPIC, 0) == (0, 0)
    broker.release()
    broker.settle()
    assert delivered(broker) == [b"1000"]


@pytest.mark.parametrize("stream", [SCHEDULE, DATA])
@pytest.mark.parametrize("survives", [0.0, 1.0])
def test_a_crash_between_the_intention_and_the_end_moves_each_message_once(stream: str, survives: float) -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    schedule(broker, *range(1_000, 1_010), 1_000_000)
    broker.later(1.005, is_sync_of(stream))
    disk.crash(survives)
    again = started(disk, broker.now)
    again.later(1)
    assert delivered(again) == [b"%d" % delay_ms for delay_ms in range(1_000, 1_010)]
    assert [offset for _, offset in pending(again)] == [10]


def test_moves_made_before_and_after_a_restart_go_on_with_one_row_of_numbers() -> None:
    disk = SimulatedDisk(1)
    now = 0
    begun(disk)
    for _ in range(5):
        disk.crash(0.5)
        broker = started(disk, now)
        schedule(broker, 1_000, 1_001, 5_000)
        broker.later(2)
        now = broker.now
    reply = broker.answer(Fetch(TOPIC, 0, 0))
    assert isinstance(reply, Fetched)
    headers = [read_header(batch) for batch in split(reply.batches)]
    numbers = [header.base_sequence + at for header in headers for at in range(header.record_count)]
    assert numbers == list(range(len(numbers)))


def test_moves_are_known_however_long_ago_the_last_one_was() -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    schedule(broker, 1_000)
    broker.later(2)
    for day in range(1, 4):
        broker.now = day * 86_400 * 1_000_000_000
        send(broker, delayed(b"now", 0))
        broker.close()
        broker = started(disk, broker.now)
    assert delivered(broker) == [b"1000", b"now", b"now", b"now"]


# --- failing disks


def test_a_schedule_that_cannot_be_made_refuses_whoever_waits_for_it() -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    disk.fail_next("sync", errno.EIO, "meta/cluster")
    refused, taken = send(broker, delayed(b"x", 5), delayed(b"now", 0))
    assert isinstance(refused, Refusal)
    assert refused.code is Code.UNAVAILABLE
    assert isinstance(taken, Published)
    broker.later(60)
    assert schedule(broker, 10) == [0]
    assert delivered(broker) == [b"now"]


@pytest.mark.parametrize("operation", ["sync", "write"])
def test_a_schedule_whose_disk_fails_is_read_again_and_says_so_meanwhile(operation: str) -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    first, second = schedule(broker, 60_000, 90_000)
    to = broker.ask(CancelDelayed(TOPIC, 0, first))
    disk.fail_next(operation, errno.EIO, SCHEDULE)
    broker.settle()
    refusal = broker.taken(to)
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.OUTCOME_UNKNOWN
    for request in (ListDelayed(TOPIC), GetDelayed(TOPIC, 0, second), CancelDelayed(TOPIC, 0, second)):
        refused = broker.answer(request)
        assert isinstance(refused, Refusal)
        assert refused.code is Code.UNAVAILABLE
    broker.later(30)
    assert (90_000, second) in pending(broker)
    broker.later(70)
    assert delivered(broker)[-1] == b"90000"


@pytest.mark.parametrize("operation", ["sync", "write"])
@pytest.mark.parametrize("stream", [SCHEDULE, DATA])
def test_a_disk_that_fails_in_the_middle_of_moves_delays_them_and_doubles_none(operation: str, stream: str) -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    schedule(broker, *range(1_000, 1_200, 10))
    broker.later(0.9)
    for step in range(40):
        if step % 5 == 0:
            disk.fail_next(operation, errno.EIO, stream + "/0000", after=step % 3)
        broker.later(0.01)
    disk.faults.clear()
    for _ in range(3):
        broker.later(60)
    assert sorted(delivered(broker)) == sorted(b"%d" % delay_ms for delay_ms in range(1_000, 1_200, 10))


def test_a_schedule_that_is_damaged_is_refused_with_the_reason_and_all_else_goes_on() -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    schedule(broker, 1_000)
    broker.close()
    disk.rot(f"{SCHEDULE}/00000000000000000000.log", 70, 3)
    again = started(disk)
    refusal = again.answer(ListDelayed(TOPIC))
    assert isinstance(refusal, Refusal)
    assert refusal.code is Code.UNAVAILABLE
    again.publish(TOPIC, (b"k", b"v"))
    assert delivered(again) == [b"v"]


def test_a_read_that_fails_is_made_again() -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    schedule(broker, 1_000)
    disk.crash(1.0)
    disk.conditions.p_cold = 1.0
    again = started(disk)
    disk.fail_next("read", errno.EIO, SCHEDULE)
    again.later(1)
    again.later(30)
    assert delivered(again) == [b"1000"]


# --- summaries


@pytest.fixture
def eager_summaries(monkeypatch: pytest.MonkeyPatch) -> None:
    """A summary every few messages, by parts of a few."""
    thresholds = Thresholds(summary_bytes=2_000, summary_bytes_a_message=0, summary_part_messages=3)
    monkeypatch.setattr("tests.storage.driven_broker.THRESHOLDS", thresholds)


@pytest.mark.usefixtures("eager_summaries")
@pytest.mark.parametrize("survives", [0.0, 0.5, 1.0])
def test_what_a_summary_says_is_what_there_is(survives: float) -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    random = Random(3)
    for step in range(40):
        schedule(broker, *(random.randrange(1_000, 60_000) for _ in range(5)))
        known = pending(broker)
        cancel(broker, random.choice(known[:-1])[1])
        put_off(broker, known[-1][1], random.randrange(1_000, 60_000))
        broker.later(0.5)
        if step % 5 == 0:
            before, seen = pending(broker), delivered(broker)
            disk.crash(survives)
            broker = started(disk, broker.now)
            assert pending(broker) == before
            assert delivered(broker) == seen
    segments = broker.node.led.streams[SCHEDULE].log.segments
    assert len(segments) > 3
    broker.later(120)
    values = delivered(broker)
    assert len(values) == 40 * 5 - 40


@pytest.mark.usefixtures("eager_summaries")
def test_segments_go_in_which_nothing_is_pending_any_more() -> None:
    broker = begun()
    log = None
    for _ in range(60):
        schedule(broker, *range(1_000, 1_010))
        broker.later(2)
        log = broker.node.led.streams[SCHEDULE].log
    assert log is not None
    assert log.start_offset > 300
    assert len(log.segments) < 10
    assert len(delivered(broker)) == 600


@pytest.mark.usefixtures("eager_summaries")
def test_a_summary_that_was_not_finished_is_passed_over() -> None:
    disk = SimulatedDisk(1)
    broker = begun(disk)
    schedule(broker, *range(10_000, 10_020))
    sure = pending(broker)
    for _ in range(6):
        # The turns in which parts of a summary are written are many; the node is killed in each of them in turn.
        broker.ask(Publish(TOPIC, [delayed(b"x" * 3_000, 50_000)]))
        for _ in range(4):
            broker.turn()
            disk.kill()
            broker = started(disk, broker.now)
            assert pending(broker)[: len(sure)] == sure
    broker.later(100)
    assert delivered(broker)[:20] == [b"%d" % delay_ms for delay_ms in range(10_000, 10_020)]


# --- anything


class DelayModel(RuleBasedStateMachine):
    """A topic whose publishes, cancellations and moves meet crashes, failing disks and jumping clocks."""

    @initialize(seed=st.integers(0, 1 << 32), fsync=st.sampled_from(["every", "interval"]))
    def begin(self, seed: int, fsync: str) -> None:
        self.random = Random(seed)
        self.disk = SimulatedDisk(seed)
        # What was not synced a crash may take back, and this model knows of no such loss; a kill takes nothing.
        self.is_every = fsync == "every"
        self.broker = begun(self.disk, fsync=fsync)
        self.skew_ms = 0
        self.latest_ms = WALL_MS
        self.count = 0
        self.asked: dict[int, tuple[str, bytes, int]] = {}
        # By value: the offset and the times at which it may be due, once acknowledged; and who may be gone.
        self.offsets: dict[bytes, int] = {}
        self.dues: dict[bytes, set[int]] = {}
        self.sure: set[bytes] = set()
        self.cancelled: set[bytes] = set()
        self.maybe_cancelled: set[bytes] = set()

    def wall_ms(self) -> int:
        return self.broker.node.clock.wall_ms(self.broker.now)

    def take_answers(self) -> None:
        for to in self.broker.answered():
            kind, value, due_ms = self.asked.pop(to)
            reply = self.broker.taken(to)
            if kind == "publish":
                assert isinstance(reply, PublishReply | Refusal)
                result = reply if isinstance(reply, Refusal) else reply.results[0]
                if isinstance(result, Published):
                    self.sure.add(value)
                    if result.due_ms >= 0:
                        self.offsets[value] = result.offset
            elif kind == "cancel" and reply is None:
                self.cancelled.add(value)
            elif kind == "cancel":
                assert isinstance(reply, Refusal)
                if reply.code is Code.DELAYED_NOT_FOUND:
                    assert value in self.maybe_cancelled
            elif isinstance(reply, DelayedMessage):
                assert reply.due_ms == due_ms
                self.dues[value] = {due_ms}

    @rule(delays_ms=st.lists(st.integers(0, 4_000), min_size=1, max_size=6))
    def publish(self, delays_ms: list[int]) -> None:
        for delay_ms in delays_ms:
            value = b"%d" % self.count
            self.count += 1
            to = self.broker.ask(Publish(TOPIC, [delayed(value, delay_ms)]))
            due_ms = self.wall_ms() + delay_ms
            self.asked[to] = "publish", value, due_ms
            self.dues[value] = {due_ms}

    @precondition(lambda self: self.offsets)
    @rule()
    def cancel(self) -> None:
        value = self.random.choice(list(self.offsets))
        self.maybe_cancelled.add(value)
        to = self.broker.ask(CancelDelayed(TOPIC, 0, self.offsets[value]))
        self.asked[to] = "cancel", value, 0

    @precondition(lambda self: self.offsets)
    @rule(delay_ms=st.integers(0, 4_000))
    def put_off(self, delay_ms: int) -> None:
        value = self.random.choice(list(self.offsets))
        due_ms = self.wall_ms() + delay_ms
        self.dues[value].add(due_ms)
        to = self.broker.ask(RescheduleDelayed(TOPIC, 0, self.offsets[value], delay_ms))
        self.asked[to] = "put off", value, due_ms

    @rule(milliseconds=st.integers(0, 1_500), turns=st.integers(1, 6), p_held=st.sampled_from([0.0, 0.0, 0.5, 0.9]))
    def go_on(self, milliseconds: int, turns: int, p_held: float) -> None:
        self.broker.now += milliseconds * 1_000_000
        self.latest_ms = max(self.latest_ms, self.wall_ms())
        for _ in range(turns):
            self.broker.turn(lambda _: self.random.random() < p_held)
        self.take_answers()

    @rule()
    def release(self) -> None:
        self.broker.release()
        self.broker.turn()
        self.take_answers()

    @rule(by_ms=st.integers(-3_000, 3_000))
    def jump(self, by_ms: int) -> None:
        self.broker.release()
        self.skew_ms += by_ms
        jump(self.broker, by_ms)
        self.latest_ms = max(self.latest_ms, self.wall_ms())
        self.take_answers()

    @rule(survives=st.sampled_from([0.0, 0.3, 1.0]))
    def crash(self, survives: float) -> None:
        if self.is_every:
            self.disk.crash(survives)
        else:
            self.disk.kill()
        self.asked.clear()
        now = self.broker.now
        self.broker = DrivenBroker(self.disk)
        self.broker.now = now
        self.broker.node.clock_moved(now, self.wall_ms() + self.skew_ms)
        self.broker.settle()

    @precondition(lambda self: self.is_every)
    @rule(operation=st.sampled_from(["sync", "write"]), stream=st.sampled_from([DATA + "/0000", SCHEDULE + "/0000"]))
    def fail(self, operation: str, stream: str) -> None:
        self.disk.fail_next(operation, errno.EIO, stream, after=self.random.randrange(3))

    @invariant()
    def nothing_is_early_twice_or_cancelled(self) -> None:
        if not hasattr(self, "broker"):
            return
        stream = self.broker.node.led.streams.get(DATA)
        if stream is None or stream.log.unsound is not None or self.broker.held:
            return
        reply = self.broker.answer(Fetch(TOPIC, 0, 0, 1 << 20))
        self.take_answers()
        if isinstance(reply, Fetched):
            self.look_at(self.broker.records(TOPIC))
            self.take_answers()

    def look_at(self, records: list[Record]) -> None:
        values = [bytes(record.value or b"") for record in records]
        assert len(values) == len(set(values))
        assert not self.cancelled.intersection(values)
        for record in records:
            assert record.timestamp <= self.latest_ms
            assert record.timestamp in self.dues[bytes(record.value or b"")]

    def teardown(self) -> None:
        if not hasattr(self, "broker"):
            return
        self.disk.faults.clear()
        self.broker.release()
        for _ in range(3):
            self.broker.later(100)
            self.latest_ms = max(self.latest_ms, self.wall_ms())
        self.take_answers()
        assert measured(self.broker).pending.get(TOPIC, 0) == 0
        records = self.broker.records(TOPIC)
        self.look_at(records)
        values = {bytes(record.value or b"") for record in records}
        assert self.sure - self.maybe_cancelled <= values


TestDelayModel = DelayModel.TestCase
TestDelayModel.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
