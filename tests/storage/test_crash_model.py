"""A log on a simulated disk against a list, through any interleaving of appends, jobs, cuts, failures and crashes."""

import errno
from collections import deque
from collections.abc import Callable, Generator
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from goqueue.core.log.checkpoint import decode_checkpoint
from goqueue.core.log.compaction import CompactionPlan
from goqueue.core.log.config import UNLIMITED, Cleanup, Fsync, LogConfig
from goqueue.core.records.batch import read_header
from goqueue.storage.compacting import Compacted, compaction_steps, discard
from goqueue.storage.errors import DamageError
from goqueue.storage.jobs import StreamJob
from goqueue.storage.open_log import DiskFailedError, OpenLog
from goqueue.storage.simulated import SimulatedDisk
from tests.storage.list_model import ListModel
from tests.storage.logbook import STREAM, Fuse, Hands, PowerCut, numbered, split

KEYS = (None, b"a", b"b", b"c")
SIZES = st.lists(st.sampled_from([0, 30, 200, 1500, 4000]), min_size=1, max_size=4)
OPERATIONS = ("sync", "sync", "write", "sync_folder", "rename", "truncate", "remove", "create")
Compaction = tuple[CompactionPlan, Generator[None, None, Compacted]]


class LogMachine(RuleBasedStateMachine):
    """One log; its jobs and compactions run whenever the rules say so, as threads would run them."""

    fsync = Fsync.EVERY
    cleanup = Cleanup.DELETE

    @initialize(
        seed=st.integers(0, 1 << 32),
        segment_bytes=st.sampled_from([250, 700, 5000]),
        interval_bytes=st.sampled_from([0, 200, 4096]),
        checkpoint_bytes=st.sampled_from([500, 1 << 20]),
        retention_ms=st.sampled_from([UNLIMITED, 10_000]),
        p_cold=st.sampled_from([0.0, 0.3]),
    )
    def begin(
        self,
        seed: int,
        segment_bytes: int,
        interval_bytes: int,
        checkpoint_bytes: int,
        retention_ms: int,
        p_cold: float,
    ) -> None:
        """Open a fresh log."""
        self.disk = SimulatedDisk(seed)
        self.disk.conditions.p_cold = p_cold
        self.hands = Hands()
        self.config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=interval_bytes,
            checkpoint_bytes=checkpoint_bytes,
            retention_ms=retention_ms,
            fsync=self.fsync,
            cleanup=self.cleanup,
            dirty_ratio=0.0,
        )
        self.model = ListModel(compacts=self.cleanup.compacts)
        self.number = 0
        self.job: StreamJob | None = None
        self.job_ran = False
        self.compaction: Compaction | None = None
        self.log = self._opened()

    def _opened(self) -> OpenLog:
        return OpenLog(self.disk, STREAM, self.config, now=lambda: self.hands.now, wall_ms=lambda: self.hands.wall_ms)

    # --- appending

    @precondition(lambda self: self.log.log.unsound is None)
    @rule(sizes=SIZES, count=st.integers(1, 3), key=st.sampled_from(KEYS))
    def append(self, sizes: list[int], count: int, key: bytes | None) -> None:
        """Append some batches that wait in memory."""
        for size in sizes:
            batch = numbered(self.number, size, count=count, key=key, ms=self.hands.wall_ms)
            self.number += 1
            self.log.append(batch)
            self.model.append(batch)

    @precondition(lambda self: self.log.log.unsound is None)
    @rule(sizes=SIZES, key=st.sampled_from(KEYS))
    def append_and_write(self, sizes: list[int], key: bytes | None) -> None:
        """Append some batches, and hand them to the system."""
        self.append(sizes, 1, key)
        self.write()

    @precondition(lambda self: self.log.log.unsound is None and self.job is None)
    @rule(sizes=SIZES, key=st.sampled_from(KEYS))
    def append_and_flush(self, sizes: list[int], key: bytes | None) -> None:
        """Append some batches, and wait for the disk."""
        self.append(sizes, 2, key)
        self.flush()

    def write(self) -> None:
        """Let the stream perform what the log wants."""
        try:
            self.log.write()
        except DiskFailedError:
            return
        if self.log.log.unsound is None:
            self.model.written = self.log.log.next_offset

    @precondition(lambda self: self.log.log.unsound is None)
    @rule()
    def roll(self) -> None:
        """Begin a segment."""
        self.log.log.roll(self.hands.now)

    # --- jobs

    @precondition(lambda self: self.job is None)
    @rule()
    def take_job(self) -> None:
        """Gather what waits for the disk."""
        jobs = self.log.store.take_jobs()
        self.job, self.job_ran = (jobs[0], False) if jobs else (None, False)

    @precondition(lambda self: self.job is not None and not self.job_ran)
    @rule()
    def run_job(self) -> None:
        """Let the thread do its work; the log hears of it later."""
        assert self.job is not None
        self.job.run()
        self.job_ran = True

    @precondition(lambda self: self.job_ran)
    @rule()
    def finish_job(self) -> None:
        """Tell the log what came of its job."""
        job = self.job
        assert job is not None
        self.job, self.job_ran = None, False
        if job.failed is None and job.commit is not None:
            start = decode_checkpoint(job.commit.checkpoint).start_offset
            self.model.start_least = max(self.model.start_least, start)
        try:
            self.log.finish(job)
        except (DiskFailedError, OSError):
            self._note_promises()
            return
        if job.cut is not None:
            self.model.reopened(self.log)
        self._note_promises()

    def _note_promises(self) -> None:
        log = self.log.log
        if self.fsync is Fsync.EVERY:
            assert log.acknowledged_offset == log.synced_offset
        self.model.promise(log.synced_offset)

    @precondition(lambda self: self.job is None)
    @rule()
    def flush(self) -> None:
        """A whole turn with nothing in between."""
        self.write()
        self.take_job()
        while self.job is not None:
            self.run_job()
            self.finish_job()
            self.take_job()

    # --- time

    @rule(span_ms=st.sampled_from([1, 1100, 30_000]), sync=st.booleans())
    def let_time_pass(self, span_ms: int, sync: bool) -> None:
        """The interval's sync and retention come by time alone; a sync may be asked for in any mode."""
        self.hands.pass_by(span_ms)
        if sync:
            self.log.log.sync(self.hands.now)
        self.log.log.wake(self.hands.now)
        self._note_start()

    def _note_start(self) -> None:
        self.model.start_most = max(self.model.start_most, self.log.log.start_offset)

    # --- taking away

    @precondition(lambda self: self.log.log.unsound is None)
    @rule(share=st.floats(0, 1))
    def delete_before(self, share: float) -> None:
        """Move the start."""
        log = self.log.log
        log.delete_before(self.hands.now, round(log.start_offset + share * (log.next_offset - log.start_offset)))
        self._note_start()

    @precondition(lambda self: self.log.log.unsound is None)
    @rule(share=st.floats(0, 1), ahead=st.none() | st.none() | st.integers(-2, 5))
    def cut(self, share: float, ahead: int | None) -> None:
        """Take back the end, or begin anew elsewhere."""
        log = self.log.log
        if ahead is not None:
            offset = max(log.start_offset, log.next_offset + ahead)
            log.restart(self.hands.now, offset)
            self.model.cut(offset, restarts=True)
            return
        offset = round(log.start_offset + share * (log.next_offset - log.start_offset))
        # Below, compaction has taken batches, and the end of the log is not where the last of them ends.
        if offset < log.next_offset and (offset > log.cleaned_offset or not log.cleaned_offset):
            log.truncate(self.hands.now, offset)
            self.model.cut(offset)

    @precondition(lambda self: self.cleanup.compacts)
    @rule(steps=st.integers(1, 20))
    def compact(self, steps: int) -> None:
        """Begin to compact, or go on for some blocks, and at the end put the outcome in place."""
        if self.compaction is None:
            self.write()
            plan = self.log.log.compaction(self.hands.now)
            self.compaction = (plan, compaction_steps(self.disk, plan, self.config)) if plan is not None else None
        if self.compaction is None:
            return
        plan, work = self.compaction
        try:
            for _ in range(steps):
                next(work)
        except StopIteration as done:
            self.compaction = None
            compacted: Compacted = done.value
            if not self.log.log.compacted(self.hands.now, plan, compacted.end_offset, compacted.outputs):
                discard(self.disk, STREAM, compacted.outputs)
        except (OSError, DamageError) as error:
            # Segments may go or shrink under it, but only when its outcome is not wanted any more.
            outdated = self.log.log.unsound is not None or plan.incarnation != self.log.log.incarnation
            if not (outdated or isinstance(error, OSError)):
                raise
            self.compaction = None

    # --- what goes wrong

    @rule(operation=st.sampled_from(OPERATIONS), room=st.none() | st.integers(0, 9000), sizes=st.just([]) | SIZES)
    def trouble(self, operation: str, room: int | None, sizes: list[int]) -> None:
        """The next operation of a kind fails, or there is little room left, and the log may run into it at once."""
        if room is None:
            self.disk.fail_next(operation, errno.EIO, STREAM)
        else:
            self.disk.conditions.capacity_bytes = self.disk.used_bytes + room
        if sizes and self.log.log.unsound is None and self.job is None:
            self.append_and_flush(sizes, None)

    @rule()
    def mend(self) -> None:
        """There is room again, and nothing fails any more."""
        self.disk.conditions.capacity_bytes = None
        self.disk.faults.clear()

    @precondition(lambda self: self.log.log.unsound is not None and self.job is None)
    @rule()
    def recover(self) -> None:
        """Look what is there after a failure, and go on; a cut that was under way may be given up."""
        try:
            self.log.recover()
        except (OSError, DiskFailedError):
            return
        self.model.judge_and_adopt(self.log, self.model.promised)
        self._note_promises()

    @rule(sizes=st.just([]) | SIZES, left=st.none() | st.integers(0, 12), again=st.none() | st.integers(0, 25))
    def crash(self, sizes: list[int], left: int | None, again: int | None) -> None:
        """The power goes amid appends or amid the work on them, and maybe once more while the log recovers."""
        if self.log.log.unsound is None:
            self.append(sizes, 1, None)
            self.write()
        if left is not None:
            self._until_power_cut(left, self._work)
        self._end_process()
        self.disk.crash()
        self.mend()
        if again is not None:
            self._until_power_cut(again, self._opened)
            self.disk.crash()
        self._begin_process(self.model.promised)

    def _until_power_cut(self, left: int, work: Callable[[], object]) -> None:
        faults, self.disk.faults = self.disk.faults, Fuse(self.disk.faults, left)
        try:
            with suppress(PowerCut, DiskFailedError, OSError):
                work()
        finally:
            self.disk.faults = faults

    def _work(self) -> None:
        if self.job is None and self.compaction is None:
            self.take_job()
        if self.job is not None and not self.job_ran:
            self.job.run()
        elif self.compaction is not None:
            deque(self.compaction[1], maxlen=0)

    @rule(left=st.none() | st.integers(0, 12))
    def kill(self, left: int | None) -> None:
        """The process goes, maybe in the middle of its work; what it wrote stays, unless the disk refused it."""
        if left is not None:
            self._until_power_cut(left, self._work)
        refused = self.log.log.unsound is not None or self.job_failed or left is not None
        self._end_process()
        self.disk.kill()
        self._begin_process(self.model.promised if refused else self.model.written)

    @precondition(lambda self: self.job is None)
    @rule()
    def close(self) -> None:
        """An orderly end, after which nothing has to be read back."""
        try:
            self.log.close()
        except (DiskFailedError, OSError):
            self.kill(None)
            return
        whole = self.log.log.unsound is None and self.model.cut_offset is None
        if whole:
            self.model.promise(self.log.log.next_offset)
        self._end_process()
        self.disk.crash()
        self._begin_process(self.model.promised)
        assert self.log.recovery.cut_bytes == 0 or not whole

    @property
    def job_failed(self) -> bool:
        """Whether the job that ran last, of which the log has not heard, has failed."""
        return self.job is not None and self.job.failed is not None

    def _end_process(self) -> None:
        if self.compaction is not None:
            # A process that is gone tidies nothing up.
            self._until_power_cut(0, self.compaction[1].close)
        self.job, self.job_ran, self.compaction = None, False, None

    def _begin_process(self, floor: int) -> None:
        self.mend()
        self.log = self._opened()
        self.model.judge_and_adopt(self.log, floor)
        before = self.log.recovery.state
        self.disk.kill()
        self.log = self._opened()
        again = self.log.recovery
        assert (again.cut_bytes, again.notes) == (0, []), again.notes
        assert (again.state.sealed, again.state.tail.segment) == (before.sealed, before.tail.segment)
        assert again.state.epochs.entries() == before.epochs.entries()

    # --- reading

    @rule(share=st.floats(0, 1), max_bytes=st.sampled_from([0, 100, 1000, 1 << 20]))
    def read(self, share: float, max_bytes: int) -> None:
        """A read from anywhere answers with the batch that holds the offset and those that follow it."""
        self.write()
        log = self.log.log
        end = log.next_offset if log.unsound is None else log.synced_offset
        offset = round(log.start_offset + share * (end - log.start_offset))
        if not log.start_offset <= offset <= log.next_offset or self.model.cut_offset is not None:
            return
        result = self.log.read(offset, max_bytes)
        limit = min(self.model.written, end)
        expected = [entry for entry in self.model.entries if offset < entry.next_offset <= limit]
        if result is None:
            assert self.cleanup.compacts or not expected
            return
        found = list(split(result.batches))
        assert found
        assert result.next_offset == read_header(found[-1]).next_offset
        if not self.cleanup.compacts:
            assert found == [entry.batch for entry in expected[: len(found)]]
            assert len(result.batches) <= max_bytes or len(found) == 1

    @rule(evicted=st.booleans())
    def read_all(self, evicted: bool) -> None:
        """A reader gets all that was written, when nothing is amiss, though the system may have dropped it."""
        self.write()
        if evicted:
            for path in self.disk.paths():
                self.disk.evict(path)
        if self.log.log.unsound is None:
            self.model.compare(self.log)

    @invariant()
    def the_log_is_in_order(self) -> None:
        """What the log asserts of itself holds at every moment."""
        self.log.log.check()

    def teardown(self) -> None:
        """At the end nothing is lost, whatever state the run ended in."""
        if hasattr(self, "log"):
            self._end_process()
            self.disk.crash()
            self._begin_process(self.model.promised)
            self.disk.check()


class CompactingMachine(LogMachine):
    """The same with compaction."""

    cleanup = Cleanup.COMPACT_DELETE


class IntervalMachine(LogMachine):
    """The same with a sync now and then."""

    fsync = Fsync.INTERVAL


class LazyMachine(LogMachine):
    """The same with syncs where segments end only."""

    fsync = Fsync.NONE
    cleanup = Cleanup.COMPACT


@pytest.mark.parametrize("machine", [LogMachine, CompactingMachine, IntervalMachine, LazyMachine])
def test_no_interleaving_of_work_and_disaster_loses_what_was_acknowledged(machine: type[LogMachine]) -> None:
    class Run(machine.TestCase):  # type: ignore[name-defined,misc]
        settings = settings(max_examples=100, stateful_step_count=50, suppress_health_check=[HealthCheck.too_slow])

    Run().runTest()
