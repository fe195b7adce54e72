"""What a node wants of its disk, carried out: writes and warm reads at once, whatever waits as work for any thread.

A driver's turn hands each `Ready` to `act`, runs what `take` answers wherever it likes, and gives it back by
`finish`. This is no loop and keeps no clock: a broker runs the work in threads, a simulator when its seed says so,
and both drive the same code.

A stream whose disk failed is recovered after a pause that grows, for as long as it takes; so is one that cannot be
opened, and so is a folder that cannot be removed.

Invariants: at most one piece of work touches the files of a stream, save reads, which hold theirs open, and the one
compaction, which reads sealed segments and writes files that nobody else knows of; recovery, which would take those for
leftovers, waits for it. A removal begins when no work is left that touches the stream, and no answer for a stream comes
after that. A read has its files open before anything that could remove them runs.
"""

from collections.abc import Callable

from attrs import define, field

from goqueue.core.cluster.agreement import METADATA_STREAM
from goqueue.core.errors import GoQueueError
from goqueue.core.log.compaction import CompactionOutput
from goqueue.core.log.config import LogConfig
from goqueue.core.log.effects import Read, ReadResult, TimeResult
from goqueue.core.node import Node
from goqueue.core.quorum.entries import Entry
from goqueue.core.ready import Compact, Fetching, Ready, SaveVote
from goqueue.core.records.batch import read_header, split
from goqueue.core.records.record import iterate
from goqueue.storage.claims import claim, claimed
from goqueue.storage.compacting import Compacted, compact, discard
from goqueue.storage.disk import Disk
from goqueue.storage.errors import DamageError
from goqueue.storage.jobs import StreamJob
from goqueue.storage.reading import ColdFindTime, ColdRead
from goqueue.storage.recovery import Recovery, recover
from goqueue.storage.removal import remove_topic_folder
from goqueue.storage.segment_files import ColdError, SegmentFiles
from goqueue.storage.store import Store
from goqueue.storage.vote import VoteDesk, VoteSaving, read_vote

_PAUSE_FIRST_NS = 500_000_000
_PAUSE_MOST_NS = 30_000_000_000


@define
class Opening:
    """A stream to be recovered; for the metadata, its entries, the last vote and what is claimed are read as well."""

    disk: Disk
    stream: str
    config: LogConfig
    wall_ms: int
    distrust: bool
    topic_id: int = 0
    recovery: Recovery | None = None
    entries: list[Entry] = field(factory=list)
    vote: SaveVote | None = None
    claimed: dict[str, int] = field(factory=dict)
    error: GoQueueError | OSError | None = None

    def run(self) -> None:
        """Wait for the disk; an error ends up in `error`."""
        try:
            if self.topic_id:
                claim(self.disk, self.stream, self.topic_id)
            recovery = recover(self.disk, self.stream, self.config, self.wall_ms, distrust=self.distrust)
            if self.stream == METADATA_STREAM:
                self.entries = _entries(self.disk, self.stream, recovery)
                self.vote = read_vote(self.disk)
                self.claimed = claimed(self.disk)
        except (GoQueueError, OSError) as error:
            self.error = error
        else:
            self.recovery = recovery


@define
class Removal:
    """A topic's folder to be removed."""

    disk: Disk
    folder: str
    error: OSError | None = None

    def run(self) -> None:
        """Wait for the disk; an error ends up in `error`."""
        try:
            remove_topic_folder(self.disk, self.folder)
        except OSError as error:
            self.error = error


@define
class Reading:
    """A read that has to wait for the disk."""

    token: int
    job: ColdRead | ColdFindTime
    result: ReadResult | TimeResult | None = None
    error: GoQueueError | OSError | None = None

    def run(self) -> None:
        """Wait for the disk; an error ends up in `error`."""
        try:
            self.result = self.job.run()
        except (GoQueueError, OSError) as error:
            self.error = error


@define
class Compaction:
    """Sealed segments to be written anew with fewer records, beside whatever else the stream does."""

    disk: Disk
    wanted: Compact
    result: Compacted | None = None
    error: GoQueueError | OSError | None = None

    @property
    def stream(self) -> str:
        """Whose segments they are."""
        return self.wanted.plan.stream

    def run(self) -> None:
        """Wait for the disk; an error ends up in `error`."""
        try:
            self.result = compact(self.disk, self.wanted.plan, self.wanted.config)
        except (GoQueueError, OSError) as error:
            self.error = error


@define
class Leftovers:
    """The files of a compaction that did not come to be."""

    disk: Disk
    stream: str
    outputs: list[CompactionOutput]
    error: OSError | None = None

    def run(self) -> None:
        """Wait for the disk; an error ends up in `error`, and the next recovery removes what stays."""
        try:
            discard(self.disk, self.stream, self.outputs)
        except OSError as error:
            self.error = error


Work = StreamJob | Opening | Removal | Reading | Compaction | Leftovers | VoteSaving


@define
class _Wanted:
    """A stream to be recovered or a folder to be removed at `due`."""

    due: int
    pause_ns: int
    under_way: bool = False
    is_tried: bool = False
    streams: list[str] = field(factory=list)

    def again(self, now: int, pause_most_ns: int) -> None:
        """It failed: try once more, later than the last time."""
        self.under_way = False
        self.is_tried = True
        self.due = now + self.pause_ns
        self.pause_ns = min(2 * self.pause_ns, pause_most_ns)


class NodeDisk:
    """The disk of one node."""

    def __init__(
        self,
        node: Node,
        store: Store,
        report: Callable[[str], None] = lambda _: None,
        *,
        pause_first_ns: int = _PAUSE_FIRST_NS,
        pause_most_ns: int = _PAUSE_MOST_NS,
    ) -> None:
        self._node = node
        self._store = store
        self._report = report
        self._pause_first_ns = pause_first_ns
        self._pause_most_ns = pause_most_ns
        self._configs: dict[str, LogConfig] = {}
        self._topic_ids: dict[str, int] = {}
        self._opens: dict[str, _Wanted] = {}
        self._removals: dict[str, _Wanted] = {}
        self._compacting = ""
        self._begun: list[Work] = []
        self._reading_count = 0
        self._votes = VoteDesk(pause_first_ns, pause_most_ns)

    def drive(self, node: Node) -> None:
        """From here on this is told what the disk says: the same node, with or without one who takes notes."""
        self._node = node

    # --- what the node wants

    def act(self, now: int, ready: Ready) -> None:
        """Do at once what can be done at once, and keep the rest for `take`; `sends` are not looked at."""
        if ready.writes:
            self._store.perform(ready.writes)
            self._tell_failures(now)
            self._node.written(now)
        for fetching in ready.reads:
            self._read(now, fetching)
        for compact_wanted in ready.compactions:
            self._compacting = compact_wanted.plan.stream
            self._begun.append(Compaction(self._store.disk, compact_wanted))
        for wanted in ready.opens:
            self._configs[wanted.stream] = wanted.config
            self._topic_ids[wanted.stream] = wanted.topic_id
            self._opens[wanted.stream] = _Wanted(now, self._pause_first_ns)
        for vote in ready.votes:
            self._votes.want(now, vote)
        for removal in ready.removes:
            self._removals[removal.folder] = _Wanted(now, self._pause_first_ns, streams=removal.streams)
            for stream in removal.streams:
                self._leave(stream)
        for note in ready.notes:
            self._report(note)

    def take(self, now: int) -> list[Work]:
        """The work that can begin; `run` each anywhere and give it back to `finish`."""
        work, self._begun = self._begun, []
        if self._removals:
            work.extend(self._begin_removals(now))
        work.extend(self._store.take_jobs())
        if self._opens:
            work.extend(self._begin_opens(now))
        work.extend(self._votes.begin(now, self._store.disk))
        return work

    def _begin_opens(self, now: int) -> list[Work]:
        begun: list[Work] = []
        for stream, wanted in self._opens.items():
            if wanted.due <= now and not wanted.under_way and not self._is_busy(stream):
                wanted.under_way = True
                # A sync that failed in an earlier attempt makes what reads show as doubtful as one in a job does.
                distrust = self._store.doubts(stream) or wanted.is_tried
                wall_ms = self._node.clock.wall_ms(now)
                topic_id = self._topic_ids.get(stream, 0)
                begun.append(Opening(self._store.disk, stream, self._configs[stream], wall_ms, distrust, topic_id))
        return begun

    def _begin_removals(self, now: int) -> list[Work]:
        begun: list[Work] = []
        for folder, wanted in self._removals.items():
            if wanted.due <= now and not wanted.under_way and not self._is_held(wanted):
                wanted.under_way = True
                for stream in wanted.streams:
                    self._store.forget(stream)
                begun.append(Removal(self._store.disk, folder))
        return begun

    def _is_held(self, removal: _Wanted) -> bool:
        """Whether work is under way for any stream that is to be removed."""
        return any(self._is_busy(stream) or stream in self._opens for stream in removal.streams)

    def _is_busy(self, stream: str) -> bool:
        return stream == self._compacting or self._store.is_busy(stream)

    def _leave(self, stream: str) -> None:
        """The node has no use for a stream any more."""
        self._configs.pop(stream, None)
        self._topic_ids.pop(stream, None)
        wanted = self._opens.get(stream)
        if wanted is not None and not wanted.under_way:
            del self._opens[stream]

    def _read(self, now: int, fetching: Fetching) -> None:
        request = fetching.request
        try:
            if isinstance(request, Read):
                self._node.read_done(now, fetching.token, self._store.read(request))
            else:
                self._node.read_done(now, fetching.token, self._store.find_time(request))
        except ColdError:
            self._read_later(now, fetching)
        except (GoQueueError, OSError) as error:
            self._read_failed(now, fetching.token, error)

    def _read_later(self, now: int, fetching: Fetching) -> None:
        request = fetching.request
        try:
            if isinstance(request, Read):
                reading = Reading(fetching.token, self._store.cold_read(request))
            else:
                reading = Reading(fetching.token, self._store.cold_find_time(request))
        except OSError as error:
            self._read_failed(now, fetching.token, error)
        else:
            self._reading_count += 1
            self._begun.append(reading)

    def _read_failed(self, now: int, token: int, error: GoQueueError | OSError) -> None:
        self._report(str(error))
        self._node.read_failed(now, token, str(error), damaged=isinstance(error, GoQueueError))

    # --- what came of it

    def finish(self, now: int, work: Work) -> None:
        """Tell the node what came of a piece of work that has been run. Raises DamageError for damaged metadata."""
        if isinstance(work, StreamJob):
            self._store.finish(work)
            self._tell_failures(now)
            if work.failed is None and work.token is not None:
                self._node.synced(now, work.folder, work.token)
            if work.failed is None and work.cut is not None and work.folder in self._configs:
                # What is left is read back, and the stream goes on from there.
                self._opens[work.folder] = _Wanted(now, self._pause_first_ns)
        elif isinstance(work, Opening):
            self._finish_opening(now, work)
        elif isinstance(work, Removal):
            self._finish_removal(now, work)
        elif isinstance(work, Compaction):
            self._finish_compaction(now, work)
        elif isinstance(work, Leftovers):
            self._compacting = ""
        elif isinstance(work, VoteSaving):
            if self._votes.finish(now, work):
                self._node.vote_saved(now, work.vote)
            else:
                self._report(f"the vote is not saved yet: {work.error}")
        else:
            self._reading_count -= 1
            if work.error is not None:
                self._read_failed(now, work.token, work.error)
            else:
                if isinstance(work.result, ReadResult):
                    self._store.meters.bytes_read += len(work.result.batches)
                self._node.read_done(now, work.token, work.result)

    def _finish_opening(self, now: int, opening: Opening) -> None:
        stream = opening.stream
        if stream not in self._configs:
            del self._opens[stream]
        elif opening.recovery is None:
            assert opening.error is not None
            if stream == METADATA_STREAM and isinstance(opening.error, GoQueueError):
                raise opening.error
            advice = f"; {opening.error.advice}" if isinstance(opening.error, DamageError) else ""
            self._report(f"{stream}: not open yet: {opening.error}{advice}")
            self._opens[stream].again(now, self._pause_most_ns)
            self._node.open_failed(now, stream, str(opening.error))
        else:
            del self._opens[stream]
            for note in opening.recovery.notes:
                self._report(note)
            self._store.opened(stream)
            self._node.opened(
                now, stream, opening.recovery.state, opening.entries, opening.vote, opening.claimed.items()
            )

    def _finish_removal(self, now: int, removal: Removal) -> None:
        if removal.error is not None:
            self._report(f"{removal.folder}: not removed yet: {removal.error}")
            self._removals[removal.folder].again(now, self._pause_most_ns)
        else:
            del self._removals[removal.folder]
            self._node.removed(now, removal.folder)

    def _finish_compaction(self, now: int, work: Compaction) -> None:
        self._compacting = ""
        if work.result is None:
            self._report(f"{work.stream}: not compacted: {work.error}")
            self._node.compaction_failed(now)
        elif not self._node.compacted(now, work.stream, work.result.end_offset, work.result.outputs):
            self._compacting = work.stream
            self._begun.append(Leftovers(self._store.disk, work.stream, work.result.outputs))

    def _tell_failures(self, now: int) -> None:
        for failure in self._store.failures():
            self._report(f"{failure.stream}: {failure.operation} failed: {failure.why}")
            if failure.stream in self._configs:
                self._opens[failure.stream] = _Wanted(now + self._pause_first_ns, self._pause_first_ns)
            self._node.disk_failed(now, failure.stream, failure.why)

    def deadline(self) -> int | None:
        """When `take` will have something that it has not yet; None when no time brings that about."""
        times = [
            wanted.due for stream, wanted in self._opens.items() if not wanted.under_way and not self._is_busy(stream)
        ]
        times += [one.due for one in self._removals.values() if not one.under_way and not self._is_held(one)]
        vote_due = self._votes.deadline()
        times += [vote_due] if vote_due is not None else []
        return min(times, default=None)

    @property
    def is_whole(self) -> bool:
        """Whether no stream has failed or waits to be recovered: once nothing is pending, all of it is on the disk."""
        return not self._opens and not self._store.failed()

    def pending(self) -> bool:
        """Whether any write is not yet on the disk as its topic wants it, or work is under way."""
        wanted = [*self._opens.values(), *self._removals.values()]
        is_under_way = any(one.under_way for one in wanted) or self._votes.is_busy
        return self._store.pending() or self._reading_count > 0 or bool(self._compacting) or is_under_way


def _entries(disk: Disk, stream: str, recovery: Recovery) -> list[Entry]:
    """Every record in a stream, which must be a small one."""
    entries: list[Entry] = []
    for segment in [*recovery.state.sealed, recovery.state.tail.segment]:
        if segment.size:
            end = segment.next_offset
            read = Read(stream, segment.name, segment.base, 0, segment.size, end, end, segment.size)
            result = ColdRead(SegmentFiles(disk, stream, segment.name), read).run()
            for batch in split(result.batches):
                term = max(0, read_header(batch).leader_epoch)
                for record in iterate(batch):
                    if record.offset >= recovery.state.start_offset:
                        kind = bytes(record.key) if record.key is not None else None
                        entries.append(Entry(record.offset, term, kind, bytes(record.value or b"")))
    return entries
