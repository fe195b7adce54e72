"""A log in all its states, driven at random and held after each step against a plain list of its batches."""

import pytest
from attrs import define
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from goqueue.core.clock import Clock
from goqueue.core.errors import BatchError
from goqueue.core.log.compaction import CompactionOutput, CompactionPlan
from goqueue.core.log.config import UNLIMITED, Cleanup, Fsync, LogConfig
from goqueue.core.log.log import Log, LogUnsound
from goqueue.core.records.batch import read_header, stamp
from goqueue.core.records.build import encode
from tests.core.log.batches import STREAM, WALL_MS, beginning, ms, walk
from tests.core.log.remembered_disk import RememberedDisk

sound = precondition(lambda machine: machine.log.unsound is None)
unsound = precondition(lambda machine: machine.log.unsound is not None)
parts = st.floats(0, 1)


@define
class Stored:
    """One batch as the log should have it."""

    base_offset: int
    next_offset: int
    timestamp: int
    content: bytes


def stored(content: bytes) -> Stored:
    header = read_header(content)
    return Stored(header.base_offset, header.next_offset, header.max_timestamp, content)


class LogMachine(RuleBasedStateMachine):
    """The log, a disk that does what it says, and the list."""

    @initialize(
        fsync=st.sampled_from(Fsync),
        cleanup=st.sampled_from(Cleanup),
        segment_bytes=st.sampled_from([300, 1_000]),
        interval_bytes=st.sampled_from([0, 150]),
        retention_ms=st.sampled_from([UNLIMITED, 5_000]),
        retention_bytes=st.sampled_from([UNLIMITED, 1_500]),
    )
    def begin(
        self,
        fsync: Fsync,
        cleanup: Cleanup,
        segment_bytes: int,
        interval_bytes: int,
        retention_ms: int,
        retention_bytes: int,
    ) -> None:
        self.config = LogConfig(
            fsync=fsync,
            cleanup=cleanup,
            segment_bytes=segment_bytes,
            segment_age_ms=20_000,
            index_interval_bytes=interval_bytes,
            batch_bytes_max=400,
            retention_ms=retention_ms,
            retention_bytes=retention_bytes,
            dirty_ratio=0.3,
            checkpoint_bytes=700,
            tombstone_retention_ms=1_000,
        )
        self.now, self.clock = 0, Clock(0, WALL_MS)
        self.disk = RememberedDisk()
        self.log = Log(STREAM, self.config, self.clock, beginning(self.config))
        self.batches: list[Stored] = []
        self.next_offset = 0
        self.promised_offset = 0
        self.compaction: tuple[CompactionPlan, list[CompactionOutput], int] | None = None

    def somewhere(self, part: float) -> int:
        """An offset that readers may ask for."""
        return self.log.start_offset + round(part * (self.next_offset - self.log.start_offset))

    def built(self, keys: list[bytes], late_ms: int) -> bytearray:
        timestamp = max(self.clock.wall_ms(self.now) + late_ms, 0)
        return encode([(timestamp, key, None if key == b"a" else bytes(40), ()) for key in keys])

    # writing

    @sound
    @rule(keys=st.lists(st.sampled_from([b"a", b"b", b"c"]), min_size=1, max_size=3), late_ms=st.integers(-3_000, 500))
    def append(self, keys: list[bytes], late_ms: int) -> None:
        batch = self.built(keys, late_ms)
        assert self.log.append(self.now, batch, max(self.log.epochs.latest, 0)) == self.next_offset
        self.entered(batch)

    @sound
    @rule(gap=st.integers(0, 3), epochs=st.integers(0, 2))
    def replicate(self, gap: int, epochs: int) -> None:
        batch = self.built([b"a", b"b"], 0)
        stamp(batch, self.next_offset + gap, max(self.log.epochs.latest, 0) + epochs)
        assert self.log.replicate(self.now, batch) == self.next_offset + gap
        self.entered(batch)

    def entered(self, batch: bytearray) -> None:
        self.batches.append(stored(bytes(batch)))
        self.next_offset = self.batches[-1].next_offset

    @sound
    @rule(at=st.integers(16, 120))
    def refuse(self, at: int) -> None:
        batch = self.built([b"a"] * 2, 0)
        batch[at % len(batch)] ^= 0x10
        if at % len(batch) >= 16:
            with pytest.raises(BatchError):
                self.log.append(self.now, batch, max(self.log.epochs.latest, 0))

    @sound
    @rule()
    def refuse_too_large(self) -> None:
        with pytest.raises(BatchError):
            self.log.append(self.now, self.built([b"b"] * 20, 0), max(self.log.epochs.latest, 0))

    @sound
    @rule()
    def roll(self) -> None:
        filled = self.log.segments[-1].size > 0
        assert self.log.roll(self.now) is filled
        assert self.log.segments[-1].size == 0

    # the disk

    @rule()
    def take(self) -> None:
        self.disk.perform(self.log.take(self.now))
        if self.log.unsound is None:
            assert self.log.take(self.now) == []
            on_disk = b"".join(bytes(self.disk.logs[segment.name]) for segment in self.log.segments)
            assert on_disk == b"".join(batch.content for batch in self.batches)

    @precondition(lambda machine: machine.disk.tokens)
    @rule(at=parts, again=st.booleans())
    def synced(self, at: float, again: bool) -> None:
        number = int(at * (len(self.disk.tokens) - 1))
        token = self.disk.tokens[number] if again else self.disk.tokens.pop(number)
        before = self.log.synced_offset
        self.log.synced(self.now, token)
        current = token.incarnation == self.log.incarnation
        assert self.log.synced_offset == (max(before, token.next_offset) if current else before)
        if current:
            self.disk.synced(token)

    @sound
    @rule()
    def sync(self) -> None:
        self.log.sync(self.now)
        self.take()

    @rule()
    def close(self) -> None:
        """A log that was closed has nothing left to be read back, and takes nothing more until it is opened again."""
        self.log.close(self.now)
        self.take()
        if self.log.unsound is None:
            assert self.disk.checkpoint == self.log.checkpoint()
            assert self.disk.kept_bytes == self.log.segments[-1].size
            assert self.log.deadline() is None
            with pytest.raises(LogUnsound, match="it is closed"):
                self.log.append(self.now, encode([(0, None, b"late", ())]))
            # A compaction under way ends with the process that carried it out.
            self.compaction = None
            self.reopen()

    @rule(lost_bytes=st.integers(0, 600))
    def fail(self, lost_bytes: int) -> None:
        self.log.disk_failed(self.now, "it failed")
        assert self.log.take(self.now) == []
        self.disk.tear(lost_bytes)

    @sound
    @rule(part=parts)
    def truncate(self, part: float) -> None:
        offset = self.somewhere(part)
        self.log.truncate(self.now, offset)
        if offset < self.next_offset:
            self.promised_offset = min(self.promised_offset, self.cut_end(offset))
            self.disk.perform(self.log.take(self.now))
            self.batches = [batch for batch in self.batches if batch.next_offset <= offset]

    def cut_end(self, offset: int) -> int:
        """The end of the last batch that lies wholly below the offset."""
        return max((batch.next_offset for batch in self.batches if batch.next_offset <= offset), default=0)

    @unsound
    @rule()
    def refuse_while_unsound(self) -> None:
        with pytest.raises(LogUnsound):
            self.log.append(self.now, self.built([b"a"], 0))
        with pytest.raises(LogUnsound):
            self.log.retain(self.now)
        self.log.sync(self.now)
        self.log.wake(self.now)
        assert self.log.take(self.now) == []
        assert self.log.deadline() is None

    @unsound
    @rule()
    def reopen(self) -> None:
        self.log.reopened(self.now, self.disk.recovered(self.config, self.clock.wall_ms(self.now)))
        expected = {batch.base_offset for batch in self.batches if batch.next_offset <= self.promised_offset}
        logs = (self.disk.logs[segment.name] for segment in self.log.segments)
        self.batches = [stored(bytes(log[at : at + header.size])) for log in logs for at, header in walk(log)]
        assert expected <= {batch.base_offset for batch in self.batches}, "what was promised is there"
        self.next_offset = self.log.next_offset

    # time

    @rule(waited_ms=st.integers(0, 3_000))
    def wait(self, waited_ms: int) -> None:
        self.now += ms(waited_ms)
        deadline = self.log.deadline()
        if deadline is not None and deadline <= self.now:
            self.log.wake(self.now)
            self.removed()
            following = self.log.deadline()
            assert following is None or following > self.now, "or the driver would spin"

    @rule(wall_ms=st.integers(-5_000, 5_000))
    def move_the_wall(self, wall_ms: int) -> None:
        self.clock.moved(self.now, self.clock.wall_ms(self.now) + wall_ms)

    # removing

    @sound
    @rule()
    def retain(self) -> None:
        self.log.retain(self.now)
        self.removed()

    @sound
    @rule(part=parts)
    def delete_before(self, part: float) -> None:
        offset = self.somewhere(part)
        assert self.log.delete_before(self.now, offset) >= offset
        self.removed()

    def removed(self) -> None:
        """Whole batches go from the front, and readers begin no earlier than what is left."""
        first = self.log.segments[0].base
        assert self.log.start_offset >= first or not any(batch.base_offset < first for batch in self.batches)
        self.batches = [batch for batch in self.batches if batch.base_offset >= first]

    @sound
    @precondition(lambda machine: machine.compaction is None)
    @rule()
    def compact(self) -> None:
        self.take()
        plan = self.log.compaction(self.now)
        if plan is not None:
            self.compaction = (plan, *self.disk.compact(plan, self.config))

    @precondition(lambda machine: machine.compaction is not None)
    @rule()
    def compacted(self) -> None:
        assert self.compaction is not None
        (plan, outputs, end_offset), self.compaction = self.compaction, None
        written = [output.segment for output in outputs if output.segment is not None]
        first, end = plan.inputs[0].base, plan.inputs[-1].next_offset
        if self.log.compacted(self.now, plan, end_offset, outputs):
            logs = (self.disk.logs[segment.name] for segment in written)
            kept = [stored(bytes(log[at : at + header.size])) for log in logs for at, header in walk(log)]
            below = [batch for batch in self.batches if batch.base_offset < first]
            above = [batch for batch in self.batches if batch.base_offset >= end]
            self.batches = [*below, *kept, *above]
        else:
            for segment in written:
                if segment.name in self.disk.logs:
                    self.disk.remove(segment.name)

    # reading

    @sound
    @rule(part=parts, max_bytes=st.integers(1, 600), limit_part=parts)
    def read(self, part: float, max_bytes: int, limit_part: float) -> None:
        self.take()
        offset, limit_offset = self.somewhere(part), self.somewhere(limit_part)
        wanted = [batch for batch in self.batches if batch.next_offset > offset]
        found, went_on = b"", False
        while not found and (read := self.log.read(offset, max_bytes, limit_offset)) is not None:
            found, next_offset, next_position = self.disk.fetch(read)
            self.log.read_done(read, next_offset, next_position)
            if next_offset == offset:
                break
            offset, went_on = next_offset, True
        if found:
            batches = [stored(found[at : at + header.size]) for at, header in walk(found)]
            assert batches == wanted[: len(batches)]
            assert batches[-1].next_offset == offset <= limit_offset
            assert len(found) <= max_bytes or len(batches) == 1
        else:
            assert not wanted or wanted[0].next_offset > limit_offset
            assert not went_on or not wanted or offset <= wanted[0].base_offset

    @sound
    @rule(late_ms=st.integers(-10_000, 2_000))
    def find_time(self, late_ms: int) -> None:
        self.take()
        timestamp = max(self.clock.wall_ms(self.now) + late_ms, 0)
        late = [batch for batch in self.batches if batch.timestamp >= timestamp]
        wanted = [batch.base_offset for batch in late if batch.next_offset > self.log.start_offset]
        find = self.log.find_time(timestamp)
        found = self.disk.find_time(find) if find is not None else None
        assert found == (wanted[0] if wanted else None)

    # always

    @invariant()
    def all_is_well(self) -> None:
        log = self.log
        log.check()
        if log.unsound is not None:
            return
        assert log.next_offset == self.next_offset
        assert log.size_bytes == sum(len(batch.content) for batch in self.batches)
        for batch in self.batches:
            if batch.base_offset >= log.start_offset:
                assert log.epochs.epoch_at(batch.base_offset) == read_header(batch.content).leader_epoch
        promised = log.acknowledged_offset if self.config.fsync is Fsync.EVERY else log.synced_offset
        assert promised >= self.promised_offset, "a promise is not taken back"
        self.promised_offset = promised


TestLog = LogMachine.TestCase
TestLog.settings = settings(max_examples=60, stateful_step_count=40)
