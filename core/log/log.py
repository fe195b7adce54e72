"""One log: batches in, effects out.

`append` gives a batch its offsets and a place; `take` hands over what is to be done on the disk; `synced` says how
much of it is there. Between `append` and `synced` lies the promise: `acknowledged_offset` is the end of what may be
confirmed to a producer under the log's fsync mode. The log reads no file: a `read` answers with a request that names
segment and position, and the storage fetches the bytes.

Invariants (`check`): segments lie in order without overlap; the last one is active and the only one that grows;
start <= synced <= next offset; offsets once acknowledged are never given to another batch, save by `truncate`, which
raises the incarnation so that late answers of the disk are known for what they are.

A disk that failed leaves the log unsound: what was written last is not known. Appends are refused until the storage has
recovered the stream and `reopened` brings the state that is really there.
"""

from attrs import define, field

from goqueue.core.clock import Clock
from goqueue.core.errors import BatchError, GoQueueError
from goqueue.core.log.checkpoint import Checkpoint, encode_checkpoint
from goqueue.core.log.compaction import CompactionOutput, CompactionPlan, plan_compaction
from goqueue.core.log.config import TIME_MS_MAX, Fsync, LogConfig
from goqueue.core.log.cursors import Cursors
from goqueue.core.log.effects import (
    Append,
    Buffer,
    Commit,
    Cut,
    Effect,
    FindTime,
    Read,
    Roll,
    Sync,
    SyncToken,
    Trim,
    WriteIndex,
)
from goqueue.core.log.epochs import EpochCache
from goqueue.core.log.errors import OffsetOutOfRange
from goqueue.core.log.producers import OWN_IDS, Producers
from goqueue.core.log.retention import HELD_MS, NEVER_MS, expired_count, held_count, is_expired, next_removal_ms
from goqueue.core.log.segment import NO_TIMESTAMP, RELATIVE_OFFSET_MAX, Segment
from goqueue.core.log.segments import SegmentList
from goqueue.core.log.tail import SegmentTail
from goqueue.core.records.batch import NO_PRODUCER, Header, stamp, validate_exact
from goqueue.core.records.claims import check_claims

_NEVER = 1 << 63


class LogUnsound(GoQueueError):
    """The log takes no appends at the moment: its disk failed, or its end is being cut; try again later."""


@define
class LogState:
    """A log as recovery found it, ready to go on."""

    sealed: list[Segment]
    tail: SegmentTail
    incarnation: int = 0
    start_offset: int = 0
    cleaned_offset: int = 0
    epochs: EpochCache = field(factory=EpochCache)
    producers: Producers = field(factory=Producers)


class Log:
    """The state machine of one append-only stream."""

    def __init__(self, stream: str, config: LogConfig, clock: Clock, state: LogState) -> None:
        self.stream = stream
        self.config = config
        self.clock = clock
        self._effects: list[Effect] = []
        self._buffers: list[Buffer] = []
        self._cursors = Cursors()
        # What lies here or behind stays, however old: not all replicas are known to have it.
        self.held_from = _NEVER
        self._adopt(state)

    def _adopt(self, state: LogState) -> None:
        self._segments = SegmentList(state.sealed, state.tail)
        self._tail = state.tail
        self.incarnation = state.incarnation
        # A cut takes a batch that straddles the start whole.
        self.start_offset = min(state.start_offset, self.next_offset)
        self.cleaned_offset = state.cleaned_offset
        self.epochs = state.epochs
        self.producers = state.producers
        # What recovery hands over has been read back from the disk and synced.
        self._synced = self._readable = self._end()
        self._written_position = self._checkpoint_position = state.tail.segment.size
        self._sync_asked_offset = self.next_offset
        self._sync_due = _NEVER
        self._expiry_due_ms = next_removal_ms(self._segments, self.config)
        self._commit_due = False
        self._compaction_held_at = -1
        self._removed: list[str] = []
        self.unsound: str | None = None
        self._is_closed = False
        self._cursors.clear()

    def configure(self, config: LogConfig) -> None:
        """Go on under other settings; what they let go is due at once."""
        self.config = config
        self._expiry_due_ms = next_removal_ms(self._segments, config)

    @property
    def segments(self) -> list[Segment]:
        """All segments, oldest first; the last one is active."""
        return self._segments.all()

    @property
    def next_offset(self) -> int:
        """The offset that the next record gets."""
        return self._tail.segment.next_offset

    @property
    def synced_offset(self) -> int:
        """The end of what is certainly on the disk."""
        return self._synced.next_offset

    @property
    def acknowledged_offset(self) -> int:
        """The end of what may be confirmed to producers: what survives as the fsync mode says, of what was taken."""
        waits = self.config.fsync is Fsync.EVERY or self.unsound is not None
        return self.synced_offset if waits else self.next_offset

    @property
    def size_bytes(self) -> int:
        """The bytes of all batches together."""
        return sum(segment.size for segment in self._segments.all())

    # --- appending

    def append(self, now: int, batch: bytearray | memoryview, leader_epoch: int = 0) -> int:
        """Take over one producer's batch, stamp it in place, and answer its first offset.

        Raises BatchError when it is not a valid batch, LogUnsound when the disk cannot be trusted now.
        """
        self.refuse_if_unsound()
        assert leader_epoch >= self.epochs.latest
        header = validate_exact(batch)
        check_claims(batch, header)
        base_offset = self._tail.segment.next_offset
        self._make_room(now, header, base_offset)
        stamp(batch, base_offset, leader_epoch)
        self._enter(now, header, batch, base_offset, leader_epoch)
        return base_offset

    def replicate(self, now: int, batch: Buffer) -> int:
        """Take over a batch that a leader stamped; its offsets may leave a gap but never go back."""
        self.refuse_if_unsound()
        header = validate_exact(batch, compacted=True)
        if header.base_offset < self.next_offset:
            message = f"expected offset {self.next_offset} or later, found {header.base_offset}"
            raise BatchError("offsets", message)
        if header.last_offset - self.next_offset > RELATIVE_OFFSET_MAX:
            message = f"offset {header.base_offset} is too far beyond {self.next_offset}; restart the log there"
            raise BatchError("offsets", message)
        if header.leader_epoch < self.epochs.latest:
            message = f"expected leader epoch {self.epochs.latest} or later, found {header.leader_epoch}"
            raise BatchError("epochs", message)
        self._make_room(now, header, header.base_offset)
        self._enter(now, header, batch, header.base_offset, header.leader_epoch)
        return header.base_offset

    def refuse_if_unsound(self) -> None:
        """Raise LogUnsound unless an append could be taken at this moment."""
        if self.unsound is not None:
            raise LogUnsound(f"{self.stream} takes no appends: {self.unsound}")
        if self._is_closed:
            raise LogUnsound(f"{self.stream} takes no appends: it is closed")

    def _make_room(self, now: int, header: Header, base_offset: int) -> None:
        config, segment, size = self.config, self._tail.segment, header.length + 12
        if size > config.batch_bytes_max and header.producer_id not in OWN_IDS:
            message = f"a batch of {size} bytes is over the limit of {config.batch_bytes_max}"
            raise BatchError("too_large", message, status_hint=413)
        if segment.size == 0:
            segment.created_ms = self.clock.wall_ms(now)
        elif (
            segment.size + size > config.segment_bytes
            or base_offset + header.last_offset_delta - segment.base > RELATIVE_OFFSET_MAX
            or self.clock.wall_ms(now) - segment.created_ms >= config.segment_age_ms
        ):
            self._roll(now)

    def _enter(self, now: int, header: Header, batch: Buffer, base_offset: int, leader_epoch: int) -> None:
        if leader_epoch > self.epochs.latest:
            self.epochs.assign(leader_epoch, base_offset)
        next_offset = base_offset + header.last_offset_delta + 1
        self._tail.add(base_offset, next_offset, header.max_timestamp, header.length + 12)
        self._buffers.append(batch)
        if header.producer_id != NO_PRODUCER:
            self.producers.enter(header, base_offset, self.clock.wall_ms(now))
        if self._expiry_due_ms == NEVER_MS:
            self._expiry_due_ms = next_removal_ms(self._segments, self.config)

    def roll(self, now: int) -> bool:
        """Seal the active segment and open the next; False when it is empty and can as well go on."""
        self.refuse_if_unsound()
        if self._tail.segment.size == 0:
            return False
        self._roll(now)
        return True

    def _roll(self, now: int) -> None:
        self._flush()
        tail, segment = self._tail, self._tail.segment
        if pages := tail.partial_pages():
            self._effects.append(WriteIndex(self.stream, tail.name, pages))
        opened = Segment(segment.next_offset, 0, 0, segment.next_offset, NO_TIMESTAMP, self.clock.wall_ms(now))
        self._tail = SegmentTail(opened, self.config.index_interval_bytes)
        self._segments.seal(self._tail)
        self._effects.append(Roll(self.stream, tail.name, segment.size, self._tail.name))
        self._written_position = self._checkpoint_position = 0
        self._commit_due = True
        self._expiry_due_ms = next_removal_ms(self._segments, self.config)

    def _flush(self) -> None:
        tail = self._tail
        if self._buffers:
            self._effects.append(Append(self.stream, tail.name, self._written_position, self._buffers))
            self._buffers = []
            self._written_position = tail.segment.size
        if tail.pages:
            self._effects.append(WriteIndex(self.stream, tail.name, tail.pages))
            tail.pages = []

    # --- output, and what the disk answers

    def take(self, now: int) -> list[Effect]:
        """Everything to be done on the disk since the last call, in order."""
        if self.unsound is None:
            self._flush()
            self._readable = self._end()
            self._ask_commit()
            self._ask_sync(now)
        effects, self._effects = self._effects, []
        return effects

    def _ask_commit(self) -> None:
        if self._tail.segment.size - self._checkpoint_position >= self.config.checkpoint_bytes:
            self._commit_due = self._commit_due or self.config.fsync is not Fsync.NONE
        if self._commit_due:
            self._commit()

    def _ask_sync(self, now: int) -> None:
        mode, fresh = self.config.fsync, self.next_offset > self._sync_asked_offset
        if fresh and mode is Fsync.EVERY:
            self._sync()
        elif fresh and mode is Fsync.INTERVAL and self._sync_due == _NEVER:
            self._sync_due = now + self.config.fsync_interval_ns

    def _sync(self) -> None:
        self._effects.append(Sync(self.stream, self._end()))
        self._sync_asked_offset = self.next_offset

    def _end(self) -> SyncToken:
        segment = self._tail.segment
        return SyncToken(self.incarnation, segment.next_offset, self._tail.name, segment.size)

    def _commit(self) -> None:
        self._effects.append(Commit(self.stream, encode_checkpoint(self.checkpoint()), self._removed))
        self._removed = []
        self._commit_due = False
        self._checkpoint_position = self._tail.segment.size

    def checkpoint(self) -> Checkpoint:
        """What a checkpoint made at this moment says; it is true once all effects so far are on the disk."""
        epochs, producers = self.epochs.entries(), self.producers.encode()
        return Checkpoint(self.incarnation, self.start_offset, self.cleaned_offset, self.segments, epochs, producers)

    def synced(self, now: int, token: SyncToken) -> None:
        """The disk kept the promise of `token`."""
        if token.incarnation == self.incarnation and token.next_offset > self.synced_offset:
            assert token.next_offset <= self.next_offset
            self._synced = token

    def sync(self, now: int) -> None:
        """Ask that all appended so far be forced to the disk, whatever the mode."""
        if self.unsound is None and self.synced_offset < self.next_offset:
            self._flush()
            self._sync()
            self._sync_due = _NEVER

    def close(self, now: int) -> None:
        """Leave everything so that the next start needs to read nothing back; `take` what that means.

        Nothing is appended after that: the room behind the last batch is on its way back to the disk.
        """
        if self.unsound is None and not self._is_closed:
            self._is_closed = True
            self._flush()
            if pages := self._tail.partial_pages():
                self._effects.append(WriteIndex(self.stream, self._tail.name, pages))
            self._effects.append(Trim(self.stream, self._tail.name, self._tail.segment.size))
            self._commit_due = True

    def disk_failed(self, now: int, why: str) -> None:
        """The disk refused or lost a write: nothing more is appended until `reopened`."""
        self.unsound = why
        self.incarnation += 1
        self._readable = self._synced
        self._buffers = []
        self._effects = []

    def reopened(self, now: int, state: LogState) -> None:
        """Go on from what recovery found after a failure or a cut."""
        state.incarnation = max(state.incarnation, self.incarnation)
        self._effects = []
        self._adopt(state)
        self._commit_due = True

    # --- time

    def deadline(self) -> int | None:
        """The monotonic time at which `wake` has something to do; None when only appends can bring that about."""
        if self.unsound is not None or self._is_closed:
            return None
        due = min(self._sync_due, self._expiry_due(0))
        return due if due < _NEVER else None

    def wake(self, now: int) -> None:
        """Do what time alone brings about: the interval's sync, retention."""
        if self.unsound is not None or self._is_closed:
            return
        if now >= self._sync_due:
            self._sync_due = _NEVER
            self.sync(now)
        if now >= self._expiry_due(now):
            self.retain(now)

    def _expiry_due(self, now: int) -> int:
        if self._expiry_due_ms == NEVER_MS:
            return _NEVER
        return now + (self._expiry_due_ms - self.clock.wall_ms(now)) * 1_000_000

    # --- removing

    def retain(self, now: int) -> int:
        """Remove the segments that age, size or the start offset let go; answers how many."""
        self.refuse_if_unsound()
        config, wall_ms = self.config, self.clock.wall_ms(now)
        active, sealed = self._tail.segment, self._segments.sealed
        count = expired_count(sealed, active, config, self.start_offset, wall_ms)
        count = held_count(sealed, count, self.held_from)
        is_whole = count == len(sealed) and 0 < active.next_offset <= self.held_from
        if is_whole and active.size and is_expired(active, None, config, self.start_offset, wall_ms):
            self._roll(now)
            count += 1
        if count:
            self._remove(self._segments.drop(count))
            self.start_offset = max(self.start_offset, self._segments.first_base)
            self.epochs.cut_before(self.start_offset)
        self._expiry_due_ms = next_removal_ms(self._segments, self.config)
        if self._expiry_due_ms <= wall_ms:
            self._expiry_due_ms = wall_ms + HELD_MS
        return count

    def delete_before(self, now: int, offset: int) -> int:
        """Let readers begin at `offset` at the earliest, and remove what lies wholly below; answers the new start."""
        self.refuse_if_unsound()
        if offset > self.next_offset or offset < 0:
            raise OffsetOutOfRange(offset, self.start_offset, self.next_offset)
        if offset > self.start_offset:
            self.start_offset = offset
            self.epochs.cut_before(offset)
            self._commit_due = True
            self.retain(now)
        return self.start_offset

    def _remove(self, segments: list[Segment]) -> None:
        gone = [segment.name for segment in segments]
        self._removed.extend(gone)
        self._commit_due = True
        self._cursors.forget(gone)

    def truncate(self, now: int, offset: int) -> None:
        """Take back everything at `offset` and later, as a follower must whose leader's history differs.

        A batch that straddles `offset` goes whole. Until `reopened` answers, appends are refused.
        """
        self.refuse_if_unsound()
        if not self.start_offset <= offset:
            raise OffsetOutOfRange(offset, self.start_offset, self.next_offset)
        if offset < self.next_offset:
            kept, gone = self._segments.split(offset)
            self._cut(offset, kept, gone)

    def restart(self, now: int, offset: int) -> None:
        """Forget everything and begin anew at `offset`, as a follower must that its leader's log has left behind."""
        self.refuse_if_unsound()
        begin = Segment(offset, 0, 0, offset, NO_TIMESTAMP, self.clock.wall_ms(now))
        self.start_offset = self.cleaned_offset = offset
        self.epochs = EpochCache()
        self._cut(offset, [begin], [segment for segment in self.segments if segment.name != begin.name])

    def _cut(self, offset: int, kept: list[Segment], gone: list[Segment]) -> None:
        self._flush()
        self.incarnation += 1
        self.epochs.cut_from(offset)
        last = kept[-1]
        # How far the last one reaches is known when it has been cut; until then the checkpoint claims nothing of it.
        claimed = [*kept[:-1], Segment(last.base, last.generation, 0, last.base, NO_TIMESTAMP, last.created_ms)]
        cleaned, epochs = min(self.cleaned_offset, offset), self.epochs.entries()
        # Which batches of a producer came last before the cut only what stays of the log can tell.
        producers = None if self.producers else b""
        checkpoint = Checkpoint(self.incarnation, self.start_offset, cleaned, claimed, epochs, producers)
        removed = [*self._removed, *(segment.name for segment in gone)]
        self._removed = []
        self._effects.append(Cut(self.stream, last.name, offset, encode_checkpoint(checkpoint), removed))
        # Where in the last segment the cut will be is not known; all before that segment stays.
        self._readable = SyncToken(self.incarnation, min(self._readable.next_offset, last.base), last.name, 0)
        self._synced = SyncToken(self.incarnation, min(self.synced_offset, offset), last.name, 0)
        self.unsound = f"its end is being cut back to offset {offset}"

    # --- compaction

    def compaction(self, now: int, limit_offset: int | None = None) -> CompactionPlan | None:
        """What is worth compacting at this time; the storage carries it out and answers with `compacted`.

        Segments that reach beyond `limit_offset`, the first offset of a transaction that is still open, stay out.
        """
        if self.unsound is not None or not self.config.cleanup.compacts:
            return None
        limit = min(self.acknowledged_offset, self._readable.next_offset)
        limit = limit if limit_offset is None else min(limit, limit_offset)
        sealed, config, wall_ms = self._segments.sealed, self.config, self.clock.wall_ms(now)
        terms = self.cleaned_offset, self.incarnation, config, wall_ms, limit
        plan = plan_compaction(self.stream, sealed, *terms, self._tail.segment)
        # One that got nowhere, for a transaction whose end it did not see, gets no further before more is sealed.
        return plan if plan is not None and plan.end_offset > self._compaction_held_at else None

    def compacted(self, now: int, plan: CompactionPlan, end_offset: int, outputs: list[CompactionOutput]) -> bool:
        """Put compacted segments in the place of those they were made from; keys are unique below `end_offset`.

        False when the log has changed meanwhile so that they no longer fit; the storage then removes them.
        """
        if self.unsound is not None or plan.incarnation != self.incarnation:
            return False
        replaced = [segment for output in outputs for segment in output.inputs]
        written = [output.segment for output in outputs if output.segment is not None]
        if not self._segments.replace(replaced, written):
            return False
        self._compaction_held_at = plan.end_offset if end_offset <= plan.dirty_from else -1
        self.cleaned_offset = max(self.cleaned_offset, end_offset)
        self._remove(replaced)
        self._expiry_due_ms = next_removal_ms(self._segments, self.config)
        return True

    # --- reading

    def read(self, offset: int, max_bytes: int, limit_offset: int | None = None) -> Read | None:
        """The request that fetches whole batches from `offset` on; None when there is nothing yet.

        Reads see what was handed to the disk, never what still waits in memory. `limit_offset` keeps out what is at or
        above it, such as what is not replicated yet. Raises OffsetOutOfRange.
        """
        reach = self._readable
        limit = reach.next_offset if limit_offset is None else min(limit_offset, reach.next_offset)
        if not self.start_offset <= offset <= self.next_offset:
            raise OffsetOutOfRange(offset, self.start_offset, self.next_offset)
        if offset >= limit:
            return None
        segment = self._segments.at(offset)
        end = reach.position if segment.name == reach.segment else segment.size
        if end == 0:
            return None
        position = self._cursors.position(offset, segment.name)
        if position is None:
            position = self._tail.offsets.floor_position(offset) if segment is self._tail.segment else -1
        place = self.stream, segment.name, offset, position, end, segment.next_offset
        return Read(*place, limit, max_bytes, self.incarnation)

    def read_done(self, read: Read, next_offset: int, next_position: int) -> None:
        """Remember where a read ended, so that one that goes on from there need not look it up."""
        goes_on = next_position < read.end_position or read.segment == self._tail.name
        if goes_on and read.incarnation == self.incarnation:
            self._cursors.note(next_offset, read.segment, next_position)

    def find_time(self, timestamp: int, latest_ms: int = TIME_MS_MAX) -> FindTime | None:
        """The request that finds the first record from `timestamp` to `latest_ms`; None when every record is older."""
        segments = self._segments.reaching(timestamp, self.start_offset, self._readable)
        if not segments:
            return None
        position = self._tail.times.floor_position(timestamp - 1) if segments[-1][0] == self._tail.name else -1
        return FindTime(self.stream, timestamp, self.start_offset, segments, position, latest_ms)

    def check(self) -> None:
        """Assert the invariants that the module's opening names."""
        self._segments.check()
        self.epochs.check()
        # A restart may leave the end of the old log behind, until it is reopened at the new one.
        assert self.start_offset <= self.next_offset or self.unsound is not None
        assert self.synced_offset <= self.next_offset
        assert self._readable.next_offset <= self.next_offset
        assert self._written_position <= self._tail.segment.size
